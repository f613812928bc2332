/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reading and parsing a packet's headers. */
#ifndef WL_HEADERS_H
#define WL_HEADERS_H

#include "common.h"

/* Bytes of an IPv6 header and a TCP header without options. */
#define HEADER_BYTES 60

static __always_inline bool is_ip(struct sk_buff *skb)
{
	return skb->protocol == bpf_htons(ETH_P_IP) || skb->protocol == bpf_htons(ETH_P_IPV6);
}

/* The distance from skb->head to skb->data. It is computed in 64 bits, because the verifier knows both as pointers. */
static __always_inline __s32 data_offset(struct sk_buff *skb)
{
	__u64 offset = (__u64)skb->data - (__u64)skb->head;

	asm volatile("" : "+r"(offset));
	return offset;
}

/*
 * Copies what a packet has of `len` bytes from `offset` after skb->data, its page fragments included. It is a function of its own
 * because the verifier keeps a dynptr until the function ends that has it: where the compiler reuses its place on the stack, kernels refuse the
 * program. Which read that is depends on the architecture.
 */
static __noinline int read_fragments(struct sk_buff *skb, __u32 offset, void *out, __u32 len)
{
	__u32 there = skb->len - offset;
	struct bpf_dynptr bytes;

	if (there > len)
		there = len;
	asm volatile("" : "+r"(there));
	if (there > len || skb_dynptr(skb, &bytes))
		return -1;
	return bpf_dynptr_read(out, there, &bytes, offset, 0);
}

/*
 * Copies `len` bytes from `offset` after skb->data. A packet's linear memory is larger than HEADER_BYTES and followed by
 * skb_shared_info, so reading past the end of a short packet is harmless; lengths are checked later.
 */
static __always_inline bool read_skb(struct sk_buff *skb, __s32 offset, void *out, __s32 len)
{
	__s32 linear = skb->len - skb->data_len;

	/* Headers before skb->data were pulled, and so are linear. */
	if (offset >= 0 && offset + len > linear && skb->data_len && have_skb_dynptr)
		return read_fragments(skb, offset, out, len) == 0;
	if (direct_loads) {
		__s32 at;

		for (at = 0; at < len; at += 4)
			*(__u32 *)(out + at) = *(__u32 *)(skb->data + offset + at);
		return true;
	}
	return bpf_probe_read_kernel(out, len, skb->data + offset) == 0;
}

/* Which part of an IP packet's payload a fragment has. */
struct ip_fragment {
	__u32 id;
	__u16 offset; /* 0: the fragment has the transport header */
	__u16 more;   /* whether more fragments follow */
};

/* Limits `bytes`, the captured length, to the length in a header. */
static __always_inline void limit_to(__u32 *bytes, __u32 said)
{
	if (said < *bytes)
		*bytes = said;
}

/* Parses an IPv4 header (RFC 791 §3.1). Returns the header's length; 0 if the header is invalid. */
static __always_inline __u32 parse_ipv4(const __u8 *header, struct wl_packet *p, __u32 *ip_bytes,
					struct ip_fragment *fragment)
{
	__u16 total = bpf_ntohs(*(__be16 *)(header + 2));
	__u16 place = bpf_ntohs(*(__be16 *)(header + 6));
	__u32 len = (header[0] & 0xf) * 4;

	fragment->id = *(__u16 *)(header + 4);
	fragment->offset = (place & 0x1fff) * 8;
	fragment->more = place & 0x2000;
	if (total) /* the length of a BIG TCP packet does not fit, and is 0 */
		limit_to(ip_bytes, total);
	p->flow.family = 4;
	p->flow.transport = header[9];
	*(__u32 *)p->flow.src = *(__u32 *)(header + 12);
	*(__u32 *)p->flow.dst = *(__u32 *)(header + 16);
	return header[0] >> 4 == 4 && len >= 20 ? len : 0;
}

/* Parses an IPv6 header (RFC 8200 §3, §4.5). Only the extension headers hop-by-hop and fragment are followed. */
static __always_inline __u32 parse_ipv6(const __u8 *header, struct wl_packet *p, __u32 *ip_bytes,
					struct ip_fragment *fragment)
{
	__u16 payload = bpf_ntohs(*(__be16 *)(header + 4));

	if (payload)
		limit_to(ip_bytes, 40 + payload);
	p->flow.family = 6;
	p->flow.transport = header[6];
	__builtin_memcpy(p->flow.src, header + 8, 16);
	__builtin_memcpy(p->flow.dst, header + 24, 16);
	if (header[0] >> 4 != 6)
		return 0;
	if (header[6] == 0) { /* hop-by-hop options, which have the length of a BIG TCP packet */
		p->flow.transport = header[40];
		return 40 + 8 * (header[41] + 1);
	}
	if (header[6] == 44) {
		__u16 place = bpf_ntohs(*(__be16 *)(header + 42));

		fragment->id = *(__u32 *)(header + 44);
		fragment->offset = place & 0xfff8;
		fragment->more = place & 1;
		p->flow.transport = header[40];
		return 48;
	}
	return 40;
}

/* Parses a TCP header (RFC 9293 §3.1). */
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

/*
 * Parses a UDP header (RFC 768). In IPv6, a length of 0 means the packet's length (RFC 2675 §4). The first of several
 * fragments is shorter than the header's length.
 */
static __always_inline bool parse_udp(const __u8 *header, struct wl_packet *p, __u32 bytes,
				      bool has_more)
{
	__u32 len = bpf_ntohs(*(__be16 *)(header + 4));

	if (!len && p->flow.family == 6)
		len = bytes;
	if (bytes < 8 || len < 8 || (len > bytes && !has_more))
		return false;
	limit_to(&bytes, len);
	p->seq = bpf_ntohl(
		*(__be32 *)(header + 4)); /* length and checksum, which are nearly unique */
	p->transport_header = 8;
	p->payload_len = bytes - 8;
	return true;
}

/* Parses a transport header; false if its lengths are invalid, so that the stack drops the packet. */
static __always_inline bool parse_transport(const __u8 *header, struct wl_packet *p, __u32 bytes,
					    const struct ip_fragment *fragment)
{
	p->flow.sport = bpf_ntohs(*(__be16 *)header);
	p->flow.dport = bpf_ntohs(*(__be16 *)(header + 2));
	return p->flow.transport == IPPROTO_TCP ? parse_tcp(header, p, bytes)
						: parse_udp(header, p, bytes, fragment->more);
}

/*
 * Parses an IP header. Returns its length; 0 if it is invalid. `ip_bytes` is the packet's length, and becomes the
 * length without the header.
 */
static __always_inline __u32 parse_ip(const __u8 *header, __be16 protocol, struct wl_packet *p,
				      __u32 *ip_bytes, struct ip_fragment *fragment)
{
	bool is_v4 = protocol == bpf_htons(ETH_P_IP);

	p->ip_header = is_v4 ? parse_ipv4(header, p, ip_bytes, fragment)
			     : parse_ipv6(header, p, ip_bytes, fragment);
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
				     struct wl_packet *p, __u32 *ip_bytes,
				     struct ip_fragment *fragment)
{
	if (!is_ip(skb))
		return 0;
	if (skb->protocol == bpf_htons(ETH_P_IP) ? !read_skb(skb, offset, header, 40)
						 : !read_skb(skb, offset, header, HEADER_BYTES))
		return 0;
	*ip_bytes = (__s32)skb->len > offset ? skb->len - offset : 0;
	return parse_ip(header, skb->protocol, p, ip_bytes, fragment);
}

/* Parses the transport header of a packet whose first bytes are in `header`. */
static __always_inline bool read_transport(struct sk_buff *skb, __s32 offset, __u8 *header,
					   struct wl_packet *p, __u32 ip_bytes,
					   const struct ip_fragment *fragment)
{
	if (skb->protocol == bpf_htons(ETH_P_IPV6) && p->ip_header == 40)
		return parse_transport(header + 40, p, ip_bytes, fragment);
	/* After options or extension headers, the transport header is further back. */
	if (p->ip_header != 20 && !read_skb(skb, offset + p->ip_header, header + 20, 20))
		return false;
	return parse_transport(header + 20, p, ip_bytes, fragment);
}

/*
 * Parses the headers of a TCP or UDP packet; false for any other packet, and for later fragments. `offset` is that of
 * the IP header from skb->data; it is negative if skb->data is after the IP header. `p` must be zeroed.
 */
static __always_inline bool parse_packet(struct sk_buff *skb, __s32 offset, struct wl_packet *p)
{
	__u8 header[HEADER_BYTES] __attribute__((aligned(8)));
	struct ip_fragment fragment = {};
	__u32 ip_bytes;

	if (!read_ip(skb, offset, header, p, &ip_bytes, &fragment) || fragment.offset ||
	    !is_followed(p))
		return false;
	return read_transport(skb, offset, header, p, ip_bytes, &fragment);
}

#endif
