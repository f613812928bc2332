/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reading a packet's headers and payload. */
#ifndef WL_PACKET_H
#define WL_PACKET_H

/* Room for an IPv6 header and a TCP header without options. */
#define HEADER_BYTES 60

static __always_inline bool is_ip(struct sk_buff *skb)
{
	return skb->protocol == bpf_htons(ETH_P_IP) || skb->protocol == bpf_htons(ETH_P_IPV6);
}

/* From skb->head to skb->data. In 64 bits: the verifier knows that both are pointers. */
static __always_inline __s32 data_offset(struct sk_buff *skb)
{
	__u64 offset = (__u64)skb->data - (__u64)skb->head;

	asm volatile("" : "+r"(offset));
	return offset;
}

/*
 * Copies `len` bytes from `offset` after skb->data. Heads are larger than HEADER_BYTES and followed by
 * skb_shared_info, so reading past a short packet's end is harmless; lengths are checked later.
 */
static __always_inline bool read_skb(struct sk_buff *skb, __s32 offset, void *out, __s32 len)
{
	__s32 linear = skb->len - skb->data_len;

	/* Headers before skb->data were pulled, and so are linear. */
	if (offset >= 0 && offset + len > linear && skb->data_len && have_skb_dynptr) {
		__u32 there = skb->len - offset;
		struct bpf_dynptr bytes;

		if (there > (__u32)len)
			there = len;
		asm volatile("" : "+r"(there));
		if (there > (__u32)len || skb_dynptr(skb, &bytes))
			return false;
		return bpf_dynptr_read(out, there, &bytes, offset, 0) == 0;
	}
	if (direct_loads) {
		__s32 at;

		for (at = 0; at < len; at += 4)
			*(__u32 *)(out + at) = *(__u32 *)(skb->data + offset + at);
		return true;
	}
	return bpf_probe_read_kernel(out, len, skb->data + offset) == 0;
}

/* Which piece of an IP packet's payload a packet has. */
struct ip_piece {
	__u32 id;
	__u16 offset; /* 0: it has the transport header */
	__u16 more;   /* others follow */
};

/* A header says how long its packet is. What is not there is not believed: `bytes` is what is. */
static __always_inline void shorten(__u32 *bytes, __u32 said)
{
	if (said < *bytes)
		*bytes = said;
}

/* RFC 791 §3.1. Returns the header's length, 0 if that cannot be. */
static __always_inline __u32 parse_ipv4(const __u8 *header, struct wl_packet *p, __u32 *ip_bytes,
					struct ip_piece *piece)
{
	__u16 total = bpf_ntohs(*(__be16 *)(header + 2));
	__u16 place = bpf_ntohs(*(__be16 *)(header + 6));
	__u32 len = (header[0] & 0xf) * 4;

	piece->id = *(__u16 *)(header + 4);
	piece->offset = (place & 0x1fff) * 8;
	piece->more = place & 0x2000;
	if (total) /* BIG TCP's has no room for it */
		shorten(ip_bytes, total);
	p->flow.family = 4;
	p->flow.transport = header[9];
	*(__u32 *)p->flow.src = *(__u32 *)(header + 12);
	*(__u32 *)p->flow.dst = *(__u32 *)(header + 16);
	return header[0] >> 4 == 4 && len >= 20 ? len : 0;
}

/* RFC 8200 §3, §4.5. Extension headers other than hop-by-hop and fragment are not followed. */
static __always_inline __u32 parse_ipv6(const __u8 *header, struct wl_packet *p, __u32 *ip_bytes,
					struct ip_piece *piece)
{
	__u16 payload = bpf_ntohs(*(__be16 *)(header + 4));

	if (payload)
		shorten(ip_bytes, 40 + payload);
	p->flow.family = 6;
	p->flow.transport = header[6];
	__builtin_memcpy(p->flow.src, header + 8, 16);
	__builtin_memcpy(p->flow.dst, header + 24, 16);
	if (header[0] >> 4 != 6)
		return 0;
	if (header[6] == 0) { /* hop-by-hop options: how BIG TCP says its length */
		p->flow.transport = header[40];
		return 40 + 8 * (header[41] + 1);
	}
	if (header[6] == 44) {
		__u16 place = bpf_ntohs(*(__be16 *)(header + 42));

		piece->id = *(__u32 *)(header + 44);
		piece->offset = place & 0xfff8;
		piece->more = place & 1;
		p->flow.transport = header[40];
		return 48;
	}
	return 40;
}

/* RFC 9293 §3.1. */
static __always_inline bool parse_tcp(const __u8 *header, struct wl_packet *p, __u32 bytes)
{
	__u32 len = (header[12] >> 4) * 4;

	if (len < 20 || len > bytes)
		return false;
	p->seq = bpf_ntohl(*(__be32 *)(header + 4));
	p->ack = bpf_ntohl(*(__be32 *)(header + 8));
	p->transport_header = len;
	p->tcp_flags = header[13];
	p->window = bpf_ntohs(*(__be16 *)(header + 14));
	p->payload_len = bytes - len;
	return true;
}

/* RFC 768; RFC 2675 §4: in IPv6, 0 is as long as the packet. The first of several fragments has less than it says. */
static __always_inline bool parse_udp(const __u8 *header, struct wl_packet *p, __u32 bytes,
				      bool has_more)
{
	__u32 len = bpf_ntohs(*(__be16 *)(header + 4));

	if (!len && p->flow.family == 6)
		len = bytes;
	if (bytes < 8 || len < 8 || (len > bytes && !has_more))
		return false;
	shorten(&bytes, len);
	p->seq = bpf_ntohl(*(__be32 *)(header + 4)); /* length and checksum: nearly unique */
	p->transport_header = 8;
	p->payload_len = bytes - 8;
	return true;
}

/* False for what the stack throws away because of its lengths. */
static __always_inline bool parse_transport(const __u8 *header, struct wl_packet *p, __u32 bytes,
					    const struct ip_piece *piece)
{
	p->flow.sport = bpf_ntohs(*(__be16 *)header);
	p->flow.dport = bpf_ntohs(*(__be16 *)(header + 2));
	return p->flow.transport == IPPROTO_TCP ? parse_tcp(header, p, bytes)
						: parse_udp(header, p, bytes, piece->more);
}

/*
 * Fills in what an IP header says. Returns its length, 0 if that cannot be. `ip_bytes` is the packet's
 * length; what follows the header replaces it.
 */
static __always_inline __u32 parse_ip(const __u8 *header, __be16 protocol, struct wl_packet *p,
				      __u32 *ip_bytes, struct ip_piece *piece)
{
	bool is_v4 = protocol == bpf_htons(ETH_P_IP);

	p->ip_header = is_v4 ? parse_ipv4(header, p, ip_bytes, piece)
			     : parse_ipv6(header, p, ip_bytes, piece);
	if (!p->ip_header || *ip_bytes < p->ip_header)
		return 0;
	*ip_bytes -= p->ip_header;
	return p->ip_header;
}

static __always_inline bool is_followed(const struct wl_packet *p)
{
	return p->flow.transport == IPPROTO_TCP || p->flow.transport == IPPROTO_UDP;
}

static __always_inline __u32 read_ip(struct sk_buff *skb, __s32 offset, __u8 *header,
				     struct wl_packet *p, __u32 *ip_bytes, struct ip_piece *piece)
{
	if (!is_ip(skb))
		return 0;
	if (skb->protocol == bpf_htons(ETH_P_IP) ? !read_skb(skb, offset, header, 40)
						 : !read_skb(skb, offset, header, HEADER_BYTES))
		return 0;
	*ip_bytes = (__s32)skb->len > offset ? skb->len - offset : 0;
	return parse_ip(header, skb->protocol, p, ip_bytes, piece);
}

/* The header after the IP header, of whose packet `header` has the first bytes. */
static __always_inline bool read_transport(struct sk_buff *skb, __s32 offset, __u8 *header,
					   struct wl_packet *p, __u32 ip_bytes,
					   const struct ip_piece *piece)
{
	if (skb->protocol == bpf_htons(ETH_P_IPV6) && p->ip_header == 40)
		return parse_transport(header + 40, p, ip_bytes, piece);
	/* Options or extension headers: the transport header is further back. */
	if (p->ip_header != 20 && !read_skb(skb, offset + p->ip_header, header + 20, 20))
		return false;
	return parse_transport(header + 20, p, ip_bytes, piece);
}

/*
 * Fills in what the headers of a TCP or UDP packet say; false for any other packet, and for later
 * fragments. `offset` is that of the IP header from skb->data, negative where that is past it. `p` must
 * be zeroed.
 */
static __always_inline bool parse_packet(struct sk_buff *skb, __s32 offset, struct wl_packet *p)
{
	__u8 header[HEADER_BYTES] __attribute__((aligned(8)));
	struct ip_piece piece = {};
	__u32 ip_bytes;

	if (!read_ip(skb, offset, header, p, &ip_bytes, &piece) || piece.offset || !is_followed(p))
		return false;
	return read_transport(skb, offset, header, p, ip_bytes, &piece);
}

#include "fragments.h"

/* The same, and for whatever else is on the wire because of a followed packet. */
static __always_inline bool parse_any(struct sk_buff *skb, __s32 offset, struct wl_packet *p)
{
	__u8 header[HEADER_BYTES] __attribute__((aligned(8)));
	struct ip_piece piece = {};
	__u32 ip_bytes;

	if (!read_ip(skb, offset, header, p, &ip_bytes, &piece))
		return false;
	if (!is_followed(p))
		return !piece.offset &&
		       parse_refusal(skb, offset + p->ip_header, header, p, ip_bytes);
	if (piece.offset)
		return find_fragment(p, &piece, ip_bytes);
	if (!read_transport(skb, offset, header, p, ip_bytes, &piece))
		return false;
	if (piece.more)
		remember_fragment(p, &piece, (__u64)skb->head);
	return true;
}

static __always_inline __u16 count_segments(struct sk_buff *skb)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	__u16 segments = direct_loads ? shared->gso_segs : BPF_CORE_READ(shared, gso_segs);

	return segments ? segments : 1;
}

/* Big records fill the ring before the reader's next poll: wake it when a quarter is full. */
const volatile __u32 wakeup_bytes = 1 << 24;

static __always_inline __u64 packet_wakeup(__u32 size)
{
	if (size >= 8192 && bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > wakeup_bytes)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
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

/* Copies 1 to N bytes (a power of two) of payload behind a packet record of constant size. */
#define DEFINE_EMIT(NAME, CTX, COPY, N)                                                            \
	static __noinline int NAME##_##N(CTX *skb, struct wl_packet *p, __u32 offset, __u32 len)   \
	{                                                                                          \
		struct packet_##N *out = bpf_ringbuf_reserve(&ring, sizeof(*out), 0);              \
                                                                                                   \
		if (!out) {                                                                        \
			/* A payload that is lost shows as bytes that were not captured. */        \
			if (p->head.kind != WL_PAYLOAD)                                            \
				count_lost(probe_of(p));                                           \
			return 0;                                                                  \
		}                                                                                  \
		/* 1..=N, as the caller chose it; said so that old verifiers see it, too. */       \
		asm volatile("" : "+r"(len));                                                      \
		len = ((len - 1) & (N - 1)) + 1;                                                   \
		if (COPY(skb, offset, out->payload, len))                                          \
			p->head.captured = len;                                                    \
		__builtin_memcpy(&out->packet, p, sizeof(*p));                                     \
		bpf_ringbuf_submit(out, packet_wakeup(N));                                         \
		return 0;                                                                          \
	}

/* From a tracepoint, and from a program on the socket's way out. */
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
	do {                                                                                       \
		if (len <= 128)                                                                    \
			NAME##_128(skb, p, offset, len);                                           \
		else if (len <= 512)                                                               \
			NAME##_512(skb, p, offset, len);                                           \
		else if (len <= 2048)                                                              \
			NAME##_2048(skb, p, offset, len);                                          \
		else if (len <= 8192)                                                              \
			NAME##_8192(skb, p, offset, len);                                          \
		else if (len <= 32768)                                                             \
			NAME##_32768(skb, p, offset, len);                                         \
		else                                                                               \
			NAME##_65536(skb, p, offset, len);                                         \
	} while (0)

/* Puts the record into the ring with `len` bytes of payload from `offset` after skb->data. */
static __always_inline void emit_packet(struct sk_buff *skb, struct wl_packet *p, __u32 offset,
					__u32 len)
{
	if (payload_from_cgroup && p->head.kind == WL_XMIT)
		len = 0;
	if (!have_skb_dynptr) {
		/* Without the kfunc only the linear part can be read. */
		__u32 linear = skb->len - skb->data_len;
		__u32 there = linear > offset ? linear - offset : 0;

		len = len < there ? len : there;
	}
	if (len > snap_bytes)
		len = snap_bytes;
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
