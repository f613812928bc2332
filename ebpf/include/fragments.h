/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Packets that belong to a flow and do not say so themselves: later IP fragments, and ICMP errors. */
#ifndef WL_FRAGMENTS_H
#define WL_FRAGMENTS_H

/* What the fragments of one datagram have in common (RFC 791 §3.2, RFC 8200 §4.5). */
struct fragment_key {
	__u8 src[16];
	__u8 dst[16];
	__u32 id;
	__u8 transport;
	__u8 unused[3];
};

/* What only the first of them tells. */
struct fragment_state {
	__u64 head; /* its skb->head, which the datagram has when it is whole again */
	__u32 seq;
	__u16 sport;
	__u16 dport;
	__u32 payload_len; /* of the whole datagram */
	__u32 unused;
};

/* IP sends the first fragment first, and the others at once. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct fragment_key);
	__type(value, struct fragment_state);
} fragments SEC(".maps");

static __always_inline void name_fragment(struct fragment_key *key, const struct wl_packet *p,
					  const struct ip_piece *piece)
{
	__builtin_memcpy(key->src, p->flow.src, sizeof(key->src));
	__builtin_memcpy(key->dst, p->flow.dst, sizeof(key->dst));
	key->id = piece->id;
	key->transport = p->flow.transport;
}

/* TCP cuts its stream itself, so that IP need not. */
static __always_inline void remember_fragment(struct wl_packet *p, const struct ip_piece *piece,
					      __u64 head)
{
	struct fragment_key key = {};
	struct fragment_state state = {};
	__u32 bytes = p->seq >> 16; /* the UDP header's length */

	if (p->flow.transport != IPPROTO_UDP || bytes < 8)
		return;
	name_fragment(&key, p, piece);
	state.head = head;
	state.seq = p->seq;
	state.sport = p->flow.sport;
	state.dport = p->flow.dport;
	state.payload_len = bytes - 8;
	bpf_map_update_elem(&fragments, &key, &state, BPF_ANY);
	p->head.flags |= WL_FRAGMENT;
	p->ack = state.payload_len;
}

/* Fills in what the first fragment told; false if it was not seen. */
static __always_inline bool find_fragment(struct wl_packet *p, const struct ip_piece *piece,
					  __u32 ip_bytes)
{
	struct fragment_key key = {};
	struct fragment_state *state;

	if (p->flow.transport != IPPROTO_UDP)
		return false;
	name_fragment(&key, p, piece);
	state = bpf_map_lookup_elem(&fragments, &key);
	if (!state)
		return false;
	p->id = state->head;
	p->flow.sport = state->sport;
	p->flow.dport = state->dport;
	p->window = piece->offset - 8;
	/* Where its payload stands, as in a stream: so it is found in the whole datagram's. */
	p->seq = state->seq + p->window;
	p->ack = state->payload_len;
	p->payload_len = ip_bytes;
	p->head.flags |= WL_FRAGMENT;
	return true;
}

/* ICMP's header, then the IP header and 8 bytes of the packet that it answers. */
#define ICMP_HEADER 8

/* RFC 792, RFC 4443 §3: unreachable, time exceeded, parameter problem, too big. */
static __always_inline bool is_error(__u8 type, bool is_v4)
{
	return is_v4 ? type == 3 || type == 11 || type == 12 : type >= 1 && type <= 4;
}

/*
 * An ICMP error: the flow is the one that would have answered. False for everything else. `at` is the
 * offset of ICMP's header.
 */
static __always_inline bool parse_refusal(struct sk_buff *skb, __s32 at, __u8 *header,
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
	/* Options or extension headers are rare, and then the ports are not where we look. */
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

#endif
