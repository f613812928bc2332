/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What nearly all packets are: TCP or UDP, without IP options, not fragmented, with their headers in linear memory. Their headers
 * are read where they are, and their record is written in the ring buffer. Other packets, and all on kernels before 6.17, are
 * parsed into a record on the stack (fragments.h), which is copied.
 */
#ifndef WL_SIMPLE_H
#define WL_SIMPLE_H

#include "packet.h"

/*
 * The kernel checks the address of each load from a packet, so the headers are loaded in words.
 *
 *   bytes   0     2     4             8             12  13    14
 *   TCP   | sport dport sequence    | acknowledged  off flags window |
 *   UDP   | sport dport length sum  |
 *           ports_and_seq             rest (TCP)
 */
struct simple_packet {
	const __u8 *ip;
	__u64 ports_and_seq;
	__u64 rest;
	__u32 payload_len;
	__u8 ip_header; /* lengths of headers */
	__u8 transport_header;
	__u8 protocol;
};

/* A field of a word in network byte order, by its first byte. */
static __always_inline __u16 field16(__u64 word, __u32 at)
{
	return bpf_ntohs((__be16)(word >> (8 * at)));
}

static __always_inline __u32 field32(__u64 word, __u32 at)
{
	return bpf_ntohl((__be32)(word >> (8 * at)));
}

static __always_inline __u8 byte_of(__u64 word, __u32 at)
{
	return word >> (8 * at);
}

/* Finds the IP header; false if the packet is not simple. `bytes` becomes the length of what follows the header. */
static __always_inline bool find_simple_ip(struct sk_buff *skb, __s32 offset,
					   struct simple_packet *out, __u32 *bytes)
{
	bool is_v4 = skb->protocol == bpf_htons(ETH_P_IP);
	const __u8 *ip = skb->data + offset;
	__s32 linear = skb->len - skb->data_len;
	__u32 ip_header = is_v4 ? 20 : 40, said;
	__u64 word;

	if (skb->data_len && offset + (is_v4 ? 40 : HEADER_BYTES) > linear)
		return false;
	out->ip = ip;
	word = *(__u64 *)ip;
	if (is_v4) {
		/* No options; neither the first of several fragments nor a later one. */
		if (byte_of(word, 0) != 0x45 || field16(word, 6) & 0x3fff)
			return false;
		said = field16(word, 2);
		out->protocol = ip[9];
	} else {
		if (byte_of(word, 0) >> 4 != 6)
			return false;
		said = field16(word, 4);
		said = said ? said + 40 : 0;
		out->protocol = byte_of(word, 6);
	}
	*bytes = skb->len - offset;
	/* Of a BIG TCP packet, 0 is said. */
	if (said)
		limit_to(bytes, said);
	if (*bytes < ip_header)
		return false;
	*bytes -= ip_header;
	out->ip_header = ip_header;
	return true;
}

/*
 * Finds the headers of a packet; false if it is not simple. `offset` is that of the IP header from skb->data. The formats are
 * those in headers.h.
 */
static __always_inline bool find_simple(struct sk_buff *skb, __s32 offset,
					struct simple_packet *out)
{
	const __u8 *transport;
	__u32 bytes, len;

	if (!direct_loads || !have_skb_dynptr || offset < 0 ||
	    !find_simple_ip(skb, offset, out, &bytes))
		return false;
	transport = out->ip + out->ip_header;
	out->ports_and_seq = *(__u64 *)transport;
	out->rest = 0;
	if (out->protocol == IPPROTO_TCP) {
		out->rest = *(__u64 *)(transport + 8);
		len = (byte_of(out->rest, 4) >> 4) * 4;
		if (len < 20 || len > bytes)
			return false;
		out->transport_header = len;
		out->payload_len = bytes - len;
		return true;
	}
	len = field16(out->ports_and_seq, 4);
	if (out->protocol != IPPROTO_UDP || len < 8 || len > bytes)
		return false;
	out->transport_header = 8;
	out->payload_len = len - 8;
	return true;
}

/* The length of both headers. */
static __always_inline __u32 simple_headers(const struct simple_packet *p)
{
	return p->ip_header + p->transport_header;
}

static __always_inline __u16 simple_dport(const struct simple_packet *p)
{
	return field16(p->ports_and_seq, 2);
}

static __always_inline __u32 simple_seq(const struct simple_packet *p)
{
	return field32(p->ports_and_seq, 4);
}

/* Fills in a simple packet's flow, without its namespace. */
static __always_inline void fill_simple_flow(struct wl_flow *flow, const struct simple_packet *p)
{
	__u64 *src = (__u64 *)flow->src, *dst = (__u64 *)flow->dst;

	if (p->ip_header == 20) {
		__u64 both = *(__u64 *)(p->ip + 12);

		src[0] = (__u32)both;
		src[1] = 0;
		dst[0] = both >> 32;
		dst[1] = 0;
		flow->family = 4;
	} else {
		src[0] = *(__u64 *)(p->ip + 8);
		src[1] = *(__u64 *)(p->ip + 16);
		dst[0] = *(__u64 *)(p->ip + 24);
		dst[1] = *(__u64 *)(p->ip + 32);
		flow->family = 6;
	}
	flow->sport = field16(p->ports_and_seq, 0);
	flow->dport = simple_dport(p);
	flow->transport = p->protocol;
	flow->unused = 0;
	flow->unused2 = 0;
}

/* Fills in what the headers of a simple packet say. `rest` is 0 of UDP. */
static __always_inline void fill_simple(struct wl_packet *out, const struct simple_packet *p)
{
	fill_simple_flow(&out->flow, p);
	out->payload_len = p->payload_len;
	out->seq = simple_seq(p);
	out->ip_header = p->ip_header;
	out->transport_header = p->transport_header;
	out->ack = field32(p->rest, 0);
	out->tcp_flags = byte_of(p->rest, 5);
	out->window = field16(p->rest, 6);
}

/* The most payload that is captured of a simple packet. What is longer is copied by emit_packet(). */
#define SIMPLE_BYTES 512

/*
 * Reserves a packet's record with room for `len` bytes of payload, at most SIMPLE_BYTES; a failure is counted as lost. The
 * verifier follows each size on its own.
 */
static __always_inline struct wl_packet *reserve_packet(__u32 len, __u32 probe)
{
	struct wl_packet *out;

	if (own_ring)
		out = reserve_own(sizeof(struct wl_packet) + len);
	else if (!len)
		out = bpf_ringbuf_reserve(&ring, sizeof(struct wl_packet), 0);
	else if (len <= 64)
		out = bpf_ringbuf_reserve(&ring, sizeof(struct wl_packet) + 64, 0);
	else if (len <= 128)
		out = bpf_ringbuf_reserve(&ring, sizeof(struct packet_128), 0);
	else
		out = bpf_ringbuf_reserve(&ring, sizeof(struct packet_512), 0);
	if (!out)
		count_lost(probe);
	return out;
}

#endif
