/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The plain text of rustls, which encrypts in memory and knows no socket.
 *
 *   PlaintextSink::write()   text ─▶ records in memory ─▶ send, mostly in the same thread
 *
 * The socket of a connection is known when a thread has written a text and then sends just the records of its length. From then on
 * each text is reported when it is written, with the place that its records will have: whatever is sent later, and by whom, they
 * follow each other. A send of just that record tells the place anew.
 */
#ifndef WL_RUSTLS_H
#define WL_RUSTLS_H

/* A text is divided into so many records that are reported, and the rest is counted. */
#define RUSTLS_RECORDS 8
/* The parts of a text that are copied. */
#define RUSTLS_PARTS 64

/* Whether a program with rustls is probed: 1 in its only place. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} rustls_probed SEC(".maps");

static __always_inline int has_rustls(void)
{
	__u32 key = 0, *probed = bpf_map_lookup_elem(&rustls_probed, &key);

	return probed && *probed;
}

/* A text that a thread writes. The loader makes this map and the next one large if the text of TLS is to be read. */
struct rustls_write {
	__u64 from; /* the text, or the list of its parts */
	__u64 len;
	struct tls_session connection;
	__u32 parts;  /* 0: it is in one piece */
	__u32 placed; /* it was reported, with its place */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 64);
	__type(key, struct tls_writer);
	__type(value, struct rustls_write);
} rustls_writes SEC(".maps");

/* A connection whose socket is known. */
struct rustls_connection {
	__u64 cookie;
	__u32 next; /* where the next record begins in the stream */
	__u32 text; /* bytes of the text so far */
	__u32 overhead;
	__u32 window; /* the window in which that is valid */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 64);
	__type(key, struct tls_session);
	__type(value, struct rustls_connection);
} rustls_connections SEC(".maps");

/* A part of a text: struct iovec. */
struct text_part {
	__u64 from;
	__u64 len;
};

/*
 * Reports a text in parts, of which the last 16 bits of `which` are the number, from its byte `which >> 16` on; `len` bytes are copied.
 * What changes from part to part stands in the record, where verifiers do not follow it: they would look at every sequence of lengths.
 */
#define DEFINE_PARTS(N)                                                                            \
	struct plain_parts_##N {                                                                   \
		struct wl_plain plain;                                                             \
		__u8 text[2 * (N)];                                                                \
	};                                                                                         \
	static __noinline int emit_parts_##N(const struct wl_plain *p, __u64 list, __u64 which,    \
					     __u32 len)                                            \
	{                                                                                          \
		struct plain_parts_##N *out =                                                      \
			reserve_bytes(sizeof(struct wl_plain) + CLAMP(len, N), sizeof(*out));      \
		volatile __u32 *skip, *got;                                                        \
		__u32 parts = which & 0xffff, at, wanted, i;                                       \
		struct text_part part;                                                             \
                                                                                                   \
		if (!out) {                                                                        \
			count_lost(WL_PROBE_SEND);                                                 \
			return 0;                                                                  \
		}                                                                                  \
		__builtin_memcpy(&out->plain, p, sizeof(*p));                                      \
		skip = &out->plain.start;                                                          \
		got = &out->plain.bytes;                                                           \
		*skip = which >> 16;                                                               \
		*got = 0;                                                                          \
		for (i = 0; i < RUSTLS_PARTS && i < parts && *got < len; i++) {                    \
			if (bpf_probe_read_user(&part, sizeof(part),                               \
						(void *)(list + i * sizeof(part))))                \
				break;                                                             \
			if (part.len <= *skip) {                                                   \
				*skip -= part.len;                                                 \
				continue;                                                          \
			}                                                                          \
			part.from += *skip;                                                        \
			part.len -= *skip;                                                         \
			*skip = 0;                                                                 \
			at = *got;                                                                 \
			wanted = part.len < len - at ? part.len : len - at;                        \
			asm volatile("" : "+r"(at), "+r"(wanted));                                 \
			at &= (N)-1;                                                               \
			wanted = CLAMP(wanted, N);                                                 \
			if (bpf_probe_read_user(out->text + at, wanted, (void *)part.from))        \
				break;                                                             \
			*got += wanted;                                                            \
		}                                                                                  \
		out->plain.head.captured = *got;                                                   \
		out->plain.start = p->start;                                                       \
		out->plain.bytes = p->bytes;                                                       \
		submit(out);                                                                       \
		return 0;                                                                          \
	}

DEFINE_PARTS(2048)
DEFINE_PARTS(16384)

/* Reports the text of one record, from byte `at` of what is written on. */
static __always_inline void emit_written(const struct wl_plain *p, const struct rustls_write *write,
					 __u64 at)
{
	__u32 captured = p->text_len < snap_bytes ? p->text_len : snap_bytes;
	__u64 which = at << 16 | (write->parts & 0xffff);

	if (!write->parts)
		emit_plain(p, write->from + at);
	else if (captured && captured <= 2048)
		emit_parts_2048(p, write->from, which, captured);
	else if (captured)
		emit_parts_16384(p, write->from, which, captured);
}

/*
 * Reports a record of what the current thread has written, from byte `at` on, where its connection is known. Returns the bytes of its
 * text. A function of its own to verifiers, which look at it once.
 */
__noinline int place_record(__u64 at)
{
	struct tls_writer id = this_thread();
	struct rustls_write *write = bpf_map_lookup_elem(&rustls_writes, &id);
	struct task_struct *task = bpf_get_current_task_btf();
	struct rustls_connection *connection;
	struct wl_plain p = {};
	__u32 len;

	if (!write || write->len <= at)
		return 0;
	connection = bpf_map_lookup_elem(&rustls_connections, &write->connection);
	if (!connection || connection->window != window())
		return 0;
	len = write->len - at < TLS_LONGEST ? write->len - at : TLS_LONGEST;
	write->placed = 1;
	fill_head(&p.head, bpf_ktime_get_ns(), WL_PLAIN, 0);
	p.cookie = connection->cookie;
	fill_task(&p.task, task);
	p.text_len = len;
	p.start = connection->next;
	p.bytes = len + connection->overhead + TLS_HEAD;
	p.text_start = connection->text;
	connection->next += p.bytes;
	connection->text += len;
	emit_written(&p, write, at);
	return len;
}

static __always_inline int begin_rustls_write(__u64 connection, __u64 from, __u64 len, __u32 parts)
{
	struct tls_writer id = this_thread();
	struct rustls_write write = {
		.from = from,
		.len = len,
		.connection = {.pid = id.pid, .session = connection},
		.parts = parts,
	};

	if (!is_open())
		return 0;
	bpf_map_update_elem(&rustls_writes, &id, &write, BPF_ANY);
	return 0;
}

/* Reports the records of what the current thread has written, and counts what is behind those that are reported. */
static __always_inline void place_records(const struct tls_session *key, __u64 len)
{
	struct rustls_connection *connection;
	__u64 at = 0;
	int i, placed;

	for (i = 0; i < RUSTLS_RECORDS; i++) {
		placed = place_record(at);
		if (placed <= 0)
			break;
		at += placed;
	}
	connection = bpf_map_lookup_elem(&rustls_connections, key);
	if (!at || at >= len || !connection)
		return;
	len -= at;
	connection->text += len;
	connection->next +=
		len + (len + TLS_LONGEST - 1) / TLS_LONGEST * (connection->overhead + TLS_HEAD);
}

/* The write function returns, and has taken so many bytes, unless it failed. */
static __always_inline int end_rustls_write(__u64 failed, __u64 taken)
{
	struct tls_writer id = this_thread();
	struct rustls_write *write = bpf_map_lookup_elem(&rustls_writes, &id);

	if (!write)
		return 0;
	if (failed || !taken || taken > 1u << 30 || !is_open()) {
		bpf_map_delete_elem(&rustls_writes, &id);
		return 0;
	}
	write->len = taken;
	place_records(&write->connection, taken);
	return 0;
}

/*
 * How much longer a record is than its text, if a send of `left` bytes is the records of a text of `len` bytes, and nothing else;
 * otherwise 0.
 */
static __always_inline __u32 overhead_of(struct msghdr *msg, __u32 left, __u64 len)
{
	__u32 first = len < TLS_LONGEST ? len : TLS_LONGEST, overhead;
	__u64 from = first_part(msg);
	__u8 head[TLS_HEAD] = {};

	if (!from || bpf_probe_read_user(head, sizeof(head), (void *)from))
		return 0;
	overhead = ((__u32)head[3] << 8 | head[4]) - first;
	if (head[0] != TLS_APPLICATION_DATA || head[1] != 3 || overhead < TLS_LEAST_OVERHEAD ||
	    overhead > TLS_MOST_OVERHEAD)
		return 0;
	len += (len + TLS_LONGEST - 1) / TLS_LONGEST * (overhead + TLS_HEAD);
	return left == len ? overhead : 0;
}

/* A thread sends `left` bytes at `start`. Returns 1 if that is the text that it has written with rustls just before. */
static __noinline int sends_rustls(struct sock_state *state, struct msghdr *msg, __u32 start,
				   __u32 left)
{
	struct tls_writer id = this_thread();
	struct rustls_write *write = bpf_map_lookup_elem(&rustls_writes, &id);
	struct rustls_connection *connection, new = {.cookie = state->cookie, .next = start};
	int is_it = 1;

	if (!write)
		return 0;
	connection = bpf_map_lookup_elem(&rustls_connections, &write->connection);
	if (write->placed && connection && connection->cookie == state->cookie) {
		if (left == write->len + connection->overhead + TLS_HEAD)
			connection->next = start + left;
	} else if (!write->placed && (new.overhead = overhead_of(msg, left, write->len))) {
		/* A connection that has moved in memory goes on where it was. */
		struct tls_session before = {.pid = state->tls_pid,
					     .session = state->tls_connection};

		connection = bpf_map_lookup_elem(&rustls_connections, &before);
		if (connection)
			new.text = connection->text;
		bpf_map_delete_elem(&rustls_connections, &before);
		new.window = window();
		state->tls_connection = write->connection.session;
		state->tls_pid = id.pid;
		bpf_map_update_elem(&rustls_connections, &write->connection, &new, BPF_ANY);
		place_records(&write->connection, write->len);
	} else {
		is_it = 0;
	}
	bpf_map_delete_elem(&rustls_writes, &id);
	return is_it;
}

/* A socket is closed: the memory of its connection will be another one's. */
static __always_inline void forget_rustls(struct sock_state *state)
{
	struct tls_session key = {.pid = state->tls_pid, .session = state->tls_connection};

	bpf_map_delete_elem(&rustls_connections, &key);
}

#endif
