/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Text of TLS in the memory of programs: who has it, where a send begins with its record, and its report. */
#ifndef WL_PLAIN_H
#define WL_PLAIN_H

const volatile __u8 read_tls = 0;

#define TLS_APPLICATION_DATA 23
#define TLS_HEAD 5
#define TLS_LONGEST 16384
/* A record is longer than its text by a tag of 16 bytes at least, and by at most so much. */
#define TLS_LEAST_OVERHEAD 16
#define TLS_MOST_OVERHEAD 80
/* A text that is divided into records is not divided into shorter ones. */
#define TLS_SHORTEST_PART 512
/* The overhead in TLS 1.3, if no record has shown it yet. */
#define TLS_USUAL_OVERHEAD 17

/* Who writes: a thread, or a goroutine, which may go on in another thread. */
struct tls_writer {
	__u64 pid;
	__u64 who; /* the thread's number, or the address of the goroutine's g */
};

static __always_inline struct tls_writer this_thread(void)
{
	__u64 id = bpf_get_current_pid_tgid();

	return (struct tls_writer){.pid = id >> 32, .who = (__u32)id};
}

/* A connection in the memory of a library. */
struct tls_session {
	__u64 pid;
	__u64 session;
};

/* The user's memory that a send begins with; 0 if it is not known. */
static __always_inline __u64 first_part(struct msghdr *msg)
{
	__u64 from = (__u64)BPF_CORE_READ(msg, msg_iter.ubuf);
	__u64 base = 0;

	if (msg->msg_iter.iter_type == bpf_core_enum_value(enum iter_type, ITER_UBUF))
		return from + msg->msg_iter.iov_offset;
	/* struct iovec begins with the address. */
	if (bpf_probe_read_kernel(&base, sizeof(base), (void *)from))
		return 0;
	return base + msg->msg_iter.iov_offset;
}

#define DEFINE_PLAIN(N)                                                                            \
	struct plain_##N {                                                                         \
		struct wl_plain plain;                                                             \
		__u8 text[N];                                                                      \
	};                                                                                         \
	static __noinline int emit_plain_##N(const struct wl_plain *p, __u64 from, __u32 len)      \
	{                                                                                          \
		struct plain_##N *out =                                                            \
			reserve_bytes(sizeof(struct wl_plain) + CLAMP(len, N), sizeof(*out));      \
                                                                                                   \
		if (!out) {                                                                        \
			count_lost(p->head.kind == WL_PLAIN ? WL_PROBE_SEND : WL_PROBE_READ);      \
			return 0;                                                                  \
		}                                                                                  \
		__builtin_memcpy(&out->plain, p, sizeof(*p));                                      \
		asm volatile("" : "+r"(len));                                                      \
		len = CLAMP(len, N);                                                               \
		if (bpf_probe_read_user(out->text, len, (void *)from))                             \
			len = 0;                                                                   \
		out->plain.head.captured = len;                                                    \
		submit(out);                                                                       \
		return 0;                                                                          \
	}

DEFINE_PLAIN(256)
DEFINE_PLAIN(2048)
DEFINE_PLAIN(16384)

static __always_inline void emit_plain(const struct wl_plain *p, __u64 from)
{
	__u32 captured = p->text_len < snap_bytes ? p->text_len : snap_bytes;

	if (!captured)
		return;
	if (captured <= 256)
		emit_plain_256(p, from, captured);
	else if (captured <= 2048)
		emit_plain_2048(p, from, captured);
	else
		emit_plain_16384(p, from, captured);
}

#endif
