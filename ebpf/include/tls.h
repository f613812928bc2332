/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The plain text of TLS. A uprobe at the entry of a library's write function remembers the caller's buffer, and the send of the
 * record that it becomes, in the same thread or goroutine, reports the plain bytes with the record's place in the stream.
 *
 * A uprobe at the entry of a library's read function remembers the caller's buffer, the reads from a socket inside the call
 * tell the place, and uprobes at the function's returns report the plain bytes. These are no uretprobes, which change the return
 * address on the stack: programs with coroutines, and all programs in Go, may not survive that.
 *
 * A record: type, 3, minor, length (2), then the encrypted bytes (RFC 8446 §5.2, RFC 5246 §6.2.3).
 */
#ifndef WL_TLS_H
#define WL_TLS_H

/* What is being written. */
struct tls_write {
	__u64 from; /* the text that is in no record yet */
	__u64 left;
	__u64 end;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct tls_writer);
	__type(value, struct tls_write);
} tls_writes SEC(".maps");

static __always_inline int begin_tls_write(struct tls_writer id, __u64 from, __u64 len)
{
	struct tls_write write = {.from = from, .left = len, .end = from + len};
	struct tls_write *before;

	if (!is_open() || !len || len > 1u << 30)
		return 0;
	before = bpf_map_lookup_elem(&tls_writes, &id);
	/* A call that is repeated because the socket was full goes on where it was. */
	if (before && before->left && before->left < len && before->end == write.end &&
	    before->from > from)
		return 0;
	bpf_map_update_elem(&tls_writes, &id, &write, BPF_ANY);
	return 0;
}

/* How many bytes of the text the record has whose encrypted bytes are `body`; 0 if it is none of the text. */
static __always_inline __u32 text_of_record(struct sock_state *state, __u64 left, __u32 body)
{
	__u32 overhead = state->tls_overhead;

	if (body >= left + TLS_LEAST_OVERHEAD && body <= left + TLS_MOST_OVERHEAD) {
		state->tls_overhead = body - left;
		return left;
	}
	if (left > TLS_LONGEST && body >= TLS_LONGEST + TLS_LEAST_OVERHEAD)
		return TLS_LONGEST;
	if (!overhead)
		overhead = TLS_USUAL_OVERHEAD;
	if (body < TLS_SHORTEST_PART + overhead || body - overhead > left)
		return 0;
	return body - overhead;
}

/* A call of a read function. In C, the stack pointer at its entry is its name, which is the same at its return. */
struct tls_read {
	__u64 session;
	__u64 to;     /* the caller's buffer */
	__u64 len_at; /* where the length of the text will stand; 0: the function returns it */
	__u64 cookie; /* the socket that the function has read from; 0: none yet */
	__u32 end;    /* one past what was read from it */
	__u32 taken;  /* bytes read from it */
	__u8 ahead;   /* the library reads as much as there is, not record by record */
	__u8 torn; /* its thread has begun another call: it has coroutines, and what else it read is not known */
	__u8 unused[6];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct tls_writer);
	__type(value, struct tls_read);
} tls_reads SEC(".maps");

/* The call in C that a thread began last. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct tls_writer);
	__type(value, __u64);
} tls_reading SEC(".maps");

/* What was read from it last. */
struct tls_session_state {
	__u64 cookie;
	__u32 end;
	__u32 text;   /* bytes of the text so far */
	__u32 window; /* the window in which that is valid */
	__u32 unused;
};

/* The loader makes it large if the text of TLS is to be read. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 64);
	__type(key, struct tls_session);
	__type(value, struct tls_session_state);
} tls_sessions SEC(".maps");

static __always_inline int begin_tls_read(struct tls_writer id, const struct tls_read *read)
{
	if (is_open())
		bpf_map_update_elem(&tls_reads, &id, read, BPF_ANY);
	return 0;
}

/* So far below the stack pointer at its entry, a function and all that it calls have their stack. */
#define TLS_STACK 65536

/* A call in C, with this stack pointer at its entry. */
static __always_inline int begin_tls_read_c(__u64 stack, const struct tls_read *read)
{
	struct tls_writer thread = this_thread(), id = {.pid = thread.pid, .who = stack};
	__u64 *before = bpf_map_lookup_elem(&tls_reading, &thread);

	if (before && *before != stack && *before - stack > TLS_STACK) {
		struct tls_writer other = {.pid = thread.pid, .who = *before};
		struct tls_read *torn = bpf_map_lookup_elem(&tls_reads, &other);

		if (torn)
			torn->torn = 1;
	}
	bpf_map_update_elem(&tls_reading, &thread, &stack, BPF_ANY);
	return begin_tls_read(id, read);
}

/* The call in which the current thread, or the goroutine that runs in it, is reading. */
static __always_inline struct tls_read *current_tls_read(struct task_struct *task)
{
	struct tls_writer thread = this_thread(), id = {.pid = thread.pid};
	__u64 *stack = bpf_map_lookup_elem(&tls_reading, &thread);
	struct tls_read *read = NULL;

	if (stack && *stack - user_stack(task) < TLS_STACK) {
		id.who = *stack;
		read = bpf_map_lookup_elem(&tls_reads, &id);
	}
	if (read)
		return read;
	id.who = goroutine_of(task);
	return id.who ? bpf_map_lookup_elem(&tls_reads, &id) : NULL;
}

/* Notes that the current thread has read from a socket, of which all before `end` was read. */
static __noinline int note_tls_read(struct task_struct *task, __u64 cookie, __u32 end, __u32 len)
{
	struct tls_read *read = current_tls_read(task);

	if (read) {
		read->cookie = cookie;
		read->end = end;
		read->taken += len;
	}
	return 0;
}

/* Where the text that was read last lies; NULL if that is not known, because all of its record was read before the probes were. */
static __always_inline struct tls_session_state *state_of_session(const struct tls_read *read,
								  struct tls_session *key)
{
	struct tls_session_state *state = bpf_map_lookup_elem(&tls_sessions, key);

	if (!read->cookie)
		return state && state->window == window() ? state : NULL;
	if (!state || state->cookie != read->cookie) {
		struct tls_session_state new = {.cookie = read->cookie};

		bpf_map_update_elem(&tls_sessions, key, &new, BPF_ANY);
		state = bpf_map_lookup_elem(&tls_sessions, key);
		if (!state)
			return NULL;
	}
	state->end = read->end;
	state->window = window();
	return state;
}

/* The read function `id` returns; `returned` is the length of the text, or 1 if that stands elsewhere. */
static __always_inline int end_tls_read(struct tls_writer id, __u64 returned)
{
	struct tls_read *found = bpf_map_lookup_elem(&tls_reads, &id);
	struct task_struct *task = bpf_get_current_task_btf();
	struct tls_session key = {.pid = id.pid};
	struct tls_session_state *state;
	__s32 result = (__s32)returned;
	struct wl_plain p = {};
	struct tls_read read;
	__u64 len;

	if (!found)
		return 0;
	read = *found;
	bpf_map_delete_elem(&tls_reads, &id);
	if (result <= 0 || !is_open())
		return 0;
	len = result;
	if (read.len_at &&
	    (result != 1 || bpf_probe_read_user(&len, sizeof(len), (void *)read.len_at)))
		return 0;
	if (!len || len > TLS_LONGEST)
		return 0;
	key.session = read.session;
	state = state_of_session(&read, &key);
	if (!state)
		return 0;
	fill_head(&p.head, bpf_ktime_get_ns(), WL_PLAIN_READ, read.ahead ? WL_AHEAD : 0);
	p.cookie = state->cookie;
	fill_task(&p.task, task);
	p.start = state->end;
	p.bytes = read.taken;
	p.text_len = len;
	p.text_start = state->text;
	state->text += len;
	if (!read.torn)
		emit_plain(&p, read.to);
	return 0;
}

/* What the current thread is writing, or the goroutine that runs in it. */
static __always_inline struct tls_write *current_tls_write(struct task_struct *task)
{
	struct tls_writer id = this_thread();
	struct tls_write *write = bpf_map_lookup_elem(&tls_writes, &id);

	if (write && write->left)
		return write;
	id.who = goroutine_of(task);
	return id.who ? bpf_map_lookup_elem(&tls_writes, &id) : NULL;
}

/* Reports the text of the record that a send of `left` bytes at `start` begins with, if its library was seen to write it. */
static __always_inline void report_plain(struct sock_state *state, struct task_struct *task,
					 struct msghdr *msg, __u32 start, __u32 left)
{
	struct tls_write *write = current_tls_write(task);
	__u8 head[TLS_HEAD] = {};
	struct wl_plain p = {};
	__u64 from;
	__u32 body, text;

	if (has_rustls() && sends_rustls(state, msg, start, left))
		return;
	if (!write || !write->left)
		return;
	from = first_part(msg);
	if (!from || bpf_probe_read_user(head, sizeof(head), (void *)from))
		return;
	body = (__u32)head[3] << 8 | head[4];
	if (head[0] != TLS_APPLICATION_DATA || head[1] != 3 || left < body + TLS_HEAD)
		return;
	/* Nothing was taken of the same record before. */
	if (state->tls_told && state->tls_at == start)
		return;
	text = text_of_record(state, write->left, body);
	if (!text || text > TLS_LONGEST)
		return;
	fill_head(&p.head, bpf_ktime_get_ns(), WL_PLAIN, 0);
	p.cookie = state->cookie;
	fill_task(&p.task, task);
	p.start = start;
	p.bytes = body + TLS_HEAD;
	p.text_len = text;
	p.text_start = state->tls_text;
	state->tls_text += text;
	from = write->from;
	write->from += text;
	write->left -= text;
	state->tls_told = 1;
	state->tls_at = start;
	emit_plain(&p, from);
}

#endif
