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

	if (offset + len > linear && skb->data_len && have_skb_dynptr) {
		struct bpf_dynptr bytes;

		if (skb_dynptr(skb, &bytes))
			return false;
		if (len == HEADER_BYTES && offset + len > (__s32)skb->len)
			return bpf_dynptr_read(out, 40, &bytes, offset, 0) == 0;
		return bpf_dynptr_read(out, len, &bytes, offset, 0) == 0;
	}
	if (direct_loads) {
		__s32 at;

		for (at = 0; at < len; at += 4)
			*(__u32 *)(out + at) = *(__u32 *)(skb->data + offset + at);
		return true;
	}
	return bpf_probe_read_kernel(out, len, skb->data + offset) == 0;
}

/* RFC 791 §3.1. Returns the transport header's offset in `header`, 0 if the packet is none of ours. */
static __always_inline __u32 parse_ipv4(const __u8 *header, struct wl_packet *p, __u32 *ip_bytes)
{
	__u16 total = bpf_ntohs(*(__be16 *)(header + 2));

	if (bpf_ntohs(*(__be16 *)(header + 6)) & 0x1fff)
		return 0; /* a later fragment: has no ports */
	if (total)
		*ip_bytes = total;
	p->flow.family = 4;
	p->flow.transport = header[9];
	*(__u32 *)p->flow.src = *(__u32 *)(header + 12);
	*(__u32 *)p->flow.dst = *(__u32 *)(header + 16);
	return (header[0] & 0xf) * 4;
}

/* RFC 8200 §3. Extension headers other than hop-by-hop and first fragments are not followed. */
static __always_inline __u32 parse_ipv6(const __u8 *header, struct wl_packet *p, __u32 *ip_bytes)
{
	__u16 payload = bpf_ntohs(*(__be16 *)(header + 4));

	if (payload)
		*ip_bytes = 40 + payload;
	p->flow.family = 6;
	p->flow.transport = header[6];
	__builtin_memcpy(p->flow.src, header + 8, 16);
	__builtin_memcpy(p->flow.dst, header + 24, 16);
	if (header[6] == 0) { /* hop-by-hop options: how BIG TCP says its length */
		p->flow.transport = header[40];
		return 40 + 8 * (header[41] + 1);
	}
	if (header[6] == 44) {
		if (bpf_ntohs(*(__be16 *)(header + 42)) & 0xfff8)
			return 0;
		p->flow.transport = header[40];
		return 48;
	}
	return 40;
}

static __always_inline void parse_transport(const __u8 *header, struct wl_packet *p, __u32 bytes)
{
	p->flow.sport = bpf_ntohs(*(__be16 *)header);
	p->flow.dport = bpf_ntohs(*(__be16 *)(header + 2));
	if (p->flow.transport == IPPROTO_TCP) {
		p->seq = bpf_ntohl(*(__be32 *)(header + 4));
		p->ack = bpf_ntohl(*(__be32 *)(header + 8));
		p->transport_header = (header[12] >> 4) * 4;
		p->tcp_flags = header[13];
		p->window = bpf_ntohs(*(__be16 *)(header + 14));
	} else {
		p->seq = bpf_ntohl(*(__be32 *)(header + 4)); /* length and checksum: nearly unique */
		p->transport_header = 8;
	}
	p->payload_len = bytes > p->transport_header ? bytes - p->transport_header : 0;
}

/*
 * Fills in what the headers of a TCP or UDP packet say; false for any other packet. `offset` is that of
 * the IP header from skb->data, negative where that is past it. `p` must be zeroed.
 */
static __always_inline bool parse_packet(struct sk_buff *skb, __s32 offset, struct wl_packet *p)
{
	__u8 header[HEADER_BYTES] __attribute__((aligned(8)));
	__u32 ip_bytes = skb->len - offset;
	__be16 protocol = skb->protocol;
	__u32 ip_header, transport_at;

	if (protocol == bpf_htons(ETH_P_IP)) {
		if (!read_skb(skb, offset, header, 40))
			return false;
		ip_header = parse_ipv4(header, p, &ip_bytes);
		transport_at = 20;
	} else if (protocol == bpf_htons(ETH_P_IPV6)) {
		if (!read_skb(skb, offset, header, HEADER_BYTES))
			return false;
		ip_header = parse_ipv6(header, p, &ip_bytes);
		transport_at = 40;
	} else {
		return false;
	}
	if (ip_header < 20 || (p->flow.transport != IPPROTO_TCP && p->flow.transport != IPPROTO_UDP))
		return false;
	p->ip_header = ip_header;
	ip_bytes = ip_bytes > ip_header ? ip_bytes - ip_header : 0;
	if (ip_header != transport_at && !read_skb(skb, offset + ip_header, header + 20, 20))
		return false;
	if (ip_header != transport_at || transport_at == 20)
		parse_transport(header + 20, p, ip_bytes);
	else
		parse_transport(header + 40, p, ip_bytes);
	return true;
}

static __always_inline __u16 count_segments(struct sk_buff *skb)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	__u16 segments = direct_loads ? shared->gso_segs : BPF_CORE_READ(shared, gso_segs);

	return segments ? segments : 1;
}

/* Copies up to N bytes of payload behind a packet record of constant size. */
#define DEFINE_EMIT(N)                                                                             \
	struct packet_##N {                                                                        \
		struct wl_packet packet;                                                           \
		__u8 payload[N];                                                                   \
	};                                                                                         \
	static __noinline int emit_##N(struct sk_buff *skb, struct wl_packet *p, __u32 offset,     \
				       __u32 len)                                                  \
	{                                                                                          \
		__u32 probe = p->head.kind == WL_XMIT ? WL_PROBE_XMIT : WL_PROBE_RX;               \
		struct packet_##N *out = reserve(struct packet_##N, probe);                        \
                                                                                                   \
		if (!out)                                                                          \
			return 0;                                                                  \
		asm volatile("" : "+r"(len));                                                      \
		if (len > N)                                                                       \
			len = N;                                                                   \
		if (have_skb_dynptr) {                                                             \
			struct bpf_dynptr bytes;                                                   \
                                                                                                   \
			if (!skb_dynptr(skb, &bytes) &&                                            \
			    !bpf_dynptr_read(out->payload, len, &bytes, offset, 0))                \
				p->head.captured = len;                                            \
		} else if (!bpf_probe_read_kernel(out->payload, len, skb->data + offset)) {        \
			p->head.captured = len;                                                    \
		}                                                                                  \
		__builtin_memcpy(&out->packet, p, sizeof(*p));                                     \
		bpf_ringbuf_submit(out, packet_wakeup(N));                                         \
		return 0;                                                                          \
	}

/* Big records fill the ring before the reader's next poll: wake it when a quarter is full. */
const volatile __u32 wakeup_bytes = 1 << 24;

static __always_inline __u64 packet_wakeup(__u32 size)
{
	if (size >= 8192 && bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > wakeup_bytes)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

DEFINE_EMIT(128)
DEFINE_EMIT(512)
DEFINE_EMIT(2048)
DEFINE_EMIT(8192)
DEFINE_EMIT(32768)
DEFINE_EMIT(65536)

/* Puts the record into the ring with `len` bytes of payload from `offset` after skb->data. */
static __always_inline void emit_packet(struct sk_buff *skb, struct wl_packet *p, __u32 offset,
					__u32 len)
{
	if (!have_skb_dynptr) {
		/* Without the kfunc only the linear part can be read. */
		__u32 linear = skb->len - skb->data_len;
		__u32 there = linear > offset ? linear - offset : 0;

		len = len < there ? len : there;
	}
	if (len > snap_bytes)
		len = snap_bytes;
	if (len == 0) {
		struct wl_packet *out = reserve(
			struct wl_packet, p->head.kind == WL_XMIT ? WL_PROBE_XMIT : WL_PROBE_RX);

		if (!out)
			return;
		__builtin_memcpy(out, p, sizeof(*p));
		submit(out);
	} else if (len <= 128) {
		emit_128(skb, p, offset, len);
	} else if (len <= 512) {
		emit_512(skb, p, offset, len);
	} else if (len <= 2048) {
		emit_2048(skb, p, offset, len);
	} else if (len <= 8192) {
		emit_8192(skb, p, offset, len);
	} else if (len <= 32768) {
		emit_32768(skb, p, offset, len);
	} else {
		emit_65536(skb, p, offset, len);
	}
}

#endif
