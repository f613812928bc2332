/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Putting a packet's record and payload into the ring buffer. */
#ifndef WL_PACKET_H
#define WL_PACKET_H

#include "ring.h"

static __always_inline __u16 count_segments(struct sk_buff *skb)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	__u16 segments = direct_loads ? shared->gso_segs : BPF_CORE_READ(shared, gso_segs);

	return segments ? segments : 1;
}

/* Fills in what is reported of every packet, except what its headers say. */
static __always_inline void describe(struct sk_buff *skb, struct net_device *dev,
				     struct wl_packet *p, __u32 link_header)
{
	p->device = dev->ifindex;
	/* The counters of a loopback device do not include its (unused) link header. */
	p->link_header = dev->flags & IFF_LOOPBACK ? 0 : link_header;
	p->segments = count_segments(skb);
}

static __always_inline __u32 probe_of(const struct wl_packet *p)
{
	return p->head.kind == WL_RX ? WL_PROBE_RX : WL_PROBE_XMIT;
}

static __always_inline bool copy_skb(struct sk_buff *skb, __u32 offset, void *out, __u32 len)
{
	struct bpf_dynptr bytes;

	if (have_skb_dynptr)
		return !skb_dynptr(skb, &bytes) && !bpf_dynptr_read(out, len, &bytes, offset, 0);
	return !bpf_probe_read_kernel(out, len, skb->data + offset);
}

static __always_inline bool copy_ctx(struct __sk_buff *skb, __u32 offset, void *out, __u32 len)
{
	return !bpf_skb_load_bytes(skb, offset, out, len);
}

/*
 * Copies 1 to N bytes of payload after a packet record of constant size; N is a power of two. Returns whether there was room for the
 * record.
 */
#define DEFINE_EMIT(NAME, CTX, COPY, N)                                                            \
	static __noinline bool NAME##_##N(CTX *skb, struct wl_packet *p, __u32 offset, __u32 len)  \
	{                                                                                          \
		struct packet_##N *out =                                                           \
			reserve_bytes(sizeof(struct wl_packet) + CLAMP(len, N), sizeof(*out));     \
                                                                                                   \
		if (!out) {                                                                        \
			/* A lost payload is reported as bytes that were not captured. */          \
			if (p->head.kind != WL_PAYLOAD)                                            \
				count_lost(probe_of(p));                                           \
			return false;                                                              \
		}                                                                                  \
		/* The caller guarantees 1..=N; old verifiers need to see it here. */              \
		asm volatile("" : "+r"(len));                                                      \
		len = CLAMP(len, N);                                                               \
		if (COPY(skb, offset, out->payload, len))                                          \
			p->head.captured = len;                                                    \
		__builtin_memcpy(&out->packet, p, sizeof(*p));                                     \
		submit_sized(out, N);                                                              \
		return true;                                                                       \
	}

/* Defines the functions for a tracepoint and for a cgroup_skb program. */
#define DEFINE_SIZE(N)                                                                             \
	struct packet_##N {                                                                        \
		struct wl_packet packet;                                                           \
		__u8 payload[N];                                                                   \
	};                                                                                         \
	DEFINE_EMIT(emit, struct sk_buff, copy_skb, N)                                             \
	DEFINE_EMIT(emit_ctx, struct __sk_buff, copy_ctx, N)

DEFINE_SIZE(128)
DEFINE_SIZE(512)
DEFINE_SIZE(2048)
DEFINE_SIZE(8192)
DEFINE_SIZE(32768)
DEFINE_SIZE(65536)

#define EMIT_SIZED(NAME, skb, p, offset, len)                                                      \
	(len <= 128     ? NAME##_128(skb, p, offset, len)                                          \
	 : len <= 512   ? NAME##_512(skb, p, offset, len)                                          \
	 : len <= 2048  ? NAME##_2048(skb, p, offset, len)                                         \
	 : len <= 8192  ? NAME##_8192(skb, p, offset, len)                                         \
	 : len <= 32768 ? NAME##_32768(skb, p, offset, len)                                        \
			: NAME##_65536(skb, p, offset, len))

/* How much of a payload is captured. */
static __always_inline __u32 snapped(__u32 len)
{
	return len < snap_bytes ? len : snap_bytes;
}

/* Puts the record into the ring with `len` bytes of payload from `offset` after skb->data. */
static __always_inline void emit_packet(struct sk_buff *skb, struct wl_packet *p, __u32 offset,
					__u32 len)
{
	if (payload_from_cgroup && p->head.kind == WL_XMIT)
		len = 0;
	if (!have_skb_dynptr) {
		/* Without the kfunc, only the linear part can be read. */
		__u32 linear = skb->len - skb->data_len;
		__u32 there = linear > offset ? linear - offset : 0;

		len = len < there ? len : there;
	}
	len = snapped(len);
	if (len == 0) {
		struct wl_packet *out = reserve(struct wl_packet, probe_of(p));

		if (!out)
			return;
		__builtin_memcpy(out, p, sizeof(*p));
		submit(out);
		return;
	}
	EMIT_SIZED(emit, skb, p, offset, len);
}

#endif
