/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Packets whose own headers do not show their flow: later IP fragments, and ICMP errors. */
#ifndef WL_FRAGMENTS_H
#define WL_FRAGMENTS_H

#include "headers.h"

/* Identifies the datagram of a fragment (RFC 791 §3.2, RFC 8200 §4.5). */
struct fragment_key {
	__u8 src[16];
	__u8 dst[16];
	__u32 id;
	__u8 transport;
	__u8 unused[3];
};

/* What only the first fragment of a datagram has. */
struct fragment_state {
	__u64 head; /* the fragment's skb->head, which is also that of the reassembled datagram */
	__u32 seq;
	__u16 sport;
	__u16 dport;
	__u32 payload_len; /* that of the whole datagram */
	__u32 unused;
};

/* By datagram. IP sends the first fragment first, and the others immediately after it. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct fragment_key);
	__type(value, struct fragment_state);
} fragments SEC(".maps");

static __always_inline void name_fragment(struct fragment_key *key, const struct wl_packet *p,
					  const struct ip_fragment *fragment)
{
	__builtin_memcpy(key->src, p->flow.src, sizeof(key->src));
	__builtin_memcpy(key->dst, p->flow.dst, sizeof(key->dst));
	key->id = fragment->id;
	key->transport = p->flow.transport;
}

/* Stores the first fragment of a UDP datagram. TCP makes segments that IP need not divide. */
static __always_inline void remember_fragment(struct wl_packet *p,
					      const struct ip_fragment *fragment, __u64 head)
{
	struct fragment_key key = {};
	struct fragment_state state = {};
	__u32 bytes = p->seq >> 16; /* the UDP header's length */

	if (p->flow.transport != IPPROTO_UDP || bytes < 8)
		return;
	name_fragment(&key, p, fragment);
	state.head = head;
	state.seq = p->seq;
	state.sport = p->flow.sport;
	state.dport = p->flow.dport;
	state.payload_len = bytes - 8;
	bpf_map_update_elem(&fragments, &key, &state, BPF_ANY);
	p->head.flags |= WL_FRAGMENT;
	p->ack = state.payload_len;
}

/* Copies the flow from the first fragment; false if that was not traced. */
static __always_inline bool find_fragment(struct wl_packet *p, const struct ip_fragment *fragment,
					  __u32 ip_bytes)
{
	struct fragment_key key = {};
	struct fragment_state *state;

	if (p->flow.transport != IPPROTO_UDP)
		return false;
	name_fragment(&key, p, fragment);
	state = bpf_map_lookup_elem(&fragments, &key);
	if (!state)
		return false;
	p->id = state->head;
	p->flow.sport = state->sport;
	p->flow.dport = state->dport;
	p->window = fragment->offset - 8;
	/* The payload's position in the datagram, like a sequence number in a stream. */
	p->seq = state->seq + p->window;
	p->ack = state->payload_len;
	p->payload_len = ip_bytes;
	p->head.flags |= WL_FRAGMENT;
	return true;
}

/* The ICMP header is followed by the IP header and 8 bytes of the packet that caused the error. */
#define ICMP_HEADER 8

/* Whether an ICMP type is an error (RFC 792, RFC 4443 §3): unreachable, time exceeded, parameter problem, too big. */
static __always_inline bool is_error(__u8 type, bool is_v4)
{
	return is_v4 ? type == 3 || type == 11 || type == 12 : type >= 1 && type <= 4;
}

/*
 * Parses an ICMP error, whose flow is the reverse of the packet that caused it; false for any other packet. `at` is the
 * offset of the ICMP header.
 */
static __always_inline bool parse_icmp_error(struct sk_buff *skb, __s32 at, __u8 *header,
					     struct wl_packet *p, __u32 ip_bytes)
{
	bool is_v4 = skb->protocol == bpf_htons(ETH_P_IP);
	__u32 ports = is_v4 ? 20 : 40;
	__u16 ip_header = p->ip_header;

	if (p->flow.transport != (is_v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6) ||
	    ip_bytes < 8 + ports + 4 || !read_skb(skb, at, header, ICMP_HEADER) ||
	    !is_error(header[0], is_v4))
		return false;
	at += ICMP_HEADER;
	if (is_v4 ? !read_skb(skb, at, header, 24) : !read_skb(skb, at, header, 44))
		return false;
	/* Packets with options or extension headers are rare and not followed: their ports are further back. */
	if (is_v4 ? header[0] != 0x45 : 0)
		return false;
	p->flow.transport = is_v4 ? header[9] : header[6];
	if (!is_followed(p))
		return false;
	__builtin_memset(p->flow.src, 0, sizeof(p->flow.src));
	__builtin_memset(p->flow.dst, 0, sizeof(p->flow.dst));
	if (is_v4) {
		*(__u32 *)p->flow.src = *(__u32 *)(header + 16);
		*(__u32 *)p->flow.dst = *(__u32 *)(header + 12);
	} else {
		__builtin_memcpy(p->flow.src, header + 24, 16);
		__builtin_memcpy(p->flow.dst, header + 8, 16);
	}
	p->flow.sport = bpf_ntohs(*(__be16 *)(header + ports + 2));
	p->flow.dport = bpf_ntohs(*(__be16 *)(header + ports));
	p->ip_header = ip_header;
	p->transport_header = ICMP_HEADER;
	p->payload_len = ip_bytes - ICMP_HEADER;
	p->head.flags |= WL_REFUSED;
	return true;
}

/* Parses a TCP or UDP packet as parse_packet() does, and also later fragments and ICMP errors. */
static __always_inline bool parse_any(struct sk_buff *skb, __s32 offset, struct wl_packet *p)
{
	__u8 header[HEADER_BYTES] __attribute__((aligned(8)));
	struct ip_fragment fragment = {};
	__u32 ip_bytes;

	if (!read_ip(skb, offset, header, p, &ip_bytes, &fragment))
		return false;
	if (!is_followed(p))
		return !fragment.offset &&
		       parse_icmp_error(skb, offset + p->ip_header, header, p, ip_bytes);
	if (fragment.offset)
		return find_fragment(p, &fragment, ip_bytes);
	if (!read_transport(skb, offset, header, p, ip_bytes, &fragment))
		return false;
	if (fragment.more)
		remember_fragment(p, &fragment, (__u64)skb->head);
	return true;
}

#endif
