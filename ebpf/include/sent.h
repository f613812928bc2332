/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The bytes of TCP sends, copied from the memory of the program that sends them. */
#ifndef WL_SENT_H
#define WL_SENT_H

/*
 * Whether TCP is observed only at its ends: its bytes are copied where they are sent, and not from packets. Packets are then
 * observed only for datagrams, and for what other hosts send.
 */
const volatile __u8 ends_only = 0;

/* Whether a packet that is being sent is observed at the calls of its sender and its receiver instead. */
static __always_inline bool is_seen_at_ends(__u8 transport)
{
	return ends_only && transport == IPPROTO_TCP;
}

/* The most buffers of one call that are copied (struct iovec). What follows counts as not captured. */
#define SENT_PARTS 16

struct sent_part {
	__u64 base;
	__u64 len;
};

/*
 * Where the buffer of a call is, or the array of its buffers. Verifiers of old kernels (6.1) take the field for a pointer to a
 * struct iovec, to which they let no unknown length be added; what a helper reads is a number.
 */
static __always_inline __u64 buffer_of(struct msghdr *msg)
{
	return (__u64)(direct_loads ? msg->msg_iter.ubuf : BPF_CORE_READ(msg, msg_iter.ubuf));
}

/* Whether a call sends from one buffer of its caller; `from` is where it begins. */
static __always_inline bool is_one_part(struct msghdr *msg, __u64 *from)
{
	struct sent_part part;
	__u64 at = buffer_of(msg);

	if (msg->msg_iter.iter_type == bpf_core_enum_value(enum iter_type, ITER_UBUF)) {
		*from = at + msg->msg_iter.iov_offset;
		return true;
	}
	if (msg->msg_iter.nr_segs != 1 || bpf_probe_read_kernel(&part, sizeof(part), (void *)at))
		return false;
	*from = part.base + msg->msg_iter.iov_offset;
	return true;
}

/* Whether a call sends from memory of its caller, and not from pages of the kernel (sendfile, splice) or of a kernel thread. */
static __always_inline bool is_from_user(struct msghdr *msg)
{
	__u8 type = msg->msg_iter.iter_type;

	return type == bpf_core_enum_value(enum iter_type, ITER_UBUF) ||
	       type == bpf_core_enum_value(enum iter_type, ITER_IOVEC);
}

/*
 * Copies the first `wanted` bytes of several buffers, at most `half`, a power of two, to `out`, which has room for twice as many:
 * so the verifier sees that no part goes beyond. Returns how many were copied.
 */
static __always_inline __u32 gather_sent(struct msghdr *msg, __u8 *out, __u32 wanted, __u32 half)
{
	__u64 parts = buffer_of(msg);
	__u64 skipped = msg->msg_iter.iov_offset;
	__u32 count = msg->msg_iter.nr_segs;
	__u32 at = 0, index;

	for (index = 0; index < SENT_PARTS && index < count && at < wanted; index++) {
		struct sent_part part;
		__u64 len;

		if (bpf_probe_read_kernel(&part, sizeof(part),
					  (void *)(parts + index * sizeof(part))) ||
		    part.len < skipped)
			break;
		len = part.len - skipped;
		if (len > wanted - at)
			len = wanted - at;
		if (!len)
			continue;
		asm volatile("" : "+r"(len), "+r"(at));
		len = ((len - 1) & (half - 1)) + 1;
		at &= half - 1;
		if (bpf_probe_read_user(out + at, len, (void *)(part.base + skipped)))
			break;
		at += len;
		skipped = 0;
	}
	return at;
}

/* Puts a send with its bytes into the ring. One buffer may have N bytes, a power of two; several together have half of that. */
#define DEFINE_SENT(N)                                                                             \
	struct sent_##N {                                                                          \
		struct wl_send send;                                                               \
		__u8 bytes[N];                                                                     \
	};                                                                                         \
	static __noinline int emit_sent_##N(const struct wl_send *send, struct msghdr *msg,        \
					    __u64 from, __u32 len)                                 \
	{                                                                                          \
		struct sent_##N *out =                                                             \
			reserve_bytes(sizeof(struct wl_send) + CLAMP(len, N), sizeof(*out));       \
                                                                                                   \
		if (!out) {                                                                        \
			count_lost(WL_PROBE_SEND);                                                 \
			return 0;                                                                  \
		}                                                                                  \
		__builtin_memcpy(&out->send, send, sizeof(*send));                                 \
		if (from) {                                                                        \
			asm volatile("" : "+r"(len));                                              \
			len = CLAMP(len, N);                                                       \
			if (bpf_probe_read_user(out->bytes, len, (void *)from))                    \
				len = 0;                                                           \
		} else {                                                                           \
			len = gather_sent(msg, out->bytes, len, N / 2);                            \
		}                                                                                  \
		out->send.head.captured = len;                                                     \
		submit_sized(out, N);                                                              \
		return 0;                                                                          \
	}

DEFINE_SENT(128)
DEFINE_SENT(512)
DEFINE_SENT(2048)
DEFINE_SENT(8192)
DEFINE_SENT(32768)
DEFINE_SENT(65536)

/* Puts a send into the ring with the first bytes that it sends: `len`, at most snap_bytes. They begin at `from`, or are in parts. */
static __always_inline void emit_sent(const struct wl_send *send, struct msghdr *msg, __u64 from,
				      __u32 len)
{
	__u32 room;

	if (!from) {
		if (len > 32768)
			len = 32768;
		room = 2 * len;
	} else {
		room = len;
	}
	if (room <= 128)
		emit_sent_128(send, msg, from, len);
	else if (room <= 512)
		emit_sent_512(send, msg, from, len);
	else if (room <= 2048)
		emit_sent_2048(send, msg, from, len);
	else if (room <= 8192)
		emit_sent_8192(send, msg, from, len);
	else if (room <= 32768)
		emit_sent_32768(send, msg, from, len);
	else
		emit_sent_65536(send, msg, from, len);
}

#endif
