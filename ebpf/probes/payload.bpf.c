/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The probe for the payload of packets that are sent, on kernels whose tracepoints cannot read it. */

/* Whether the payload of a packet that is being sent is wanted, because of its socket or of the receiving socket. */
static __always_inline bool is_wanted_ctx(struct __sk_buff *skb, const struct wl_packet *p)
{
	struct bpf_sock *sk = skb->sk;
	struct wl_flow flow = p->flow;
	struct sock_state *state;

	if (!has_filter() || flow_has_port(&flow))
		return true;
	sk = sk ? bpf_sk_fullsock(sk) : NULL;
	if (!sk)
		return false;
	state = bpf_sk_storage_get(&sockets, sk, NULL, 0);
	if (!state)
		return false;
	if (state->verdict == TRACED)
		return true;
	flow.netns = state->netns;
	return flow.netns && is_enough(end_reach(&flow, 0), flow.netns);
}

/* Whether the socket that is sending a packet is muted. */
static __always_inline bool is_muted_ctx(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	struct sock_state *state;

	sk = sk ? bpf_sk_fullsock(sk) : NULL;
	state = sk ? bpf_sk_storage_get(&sockets, sk, NULL, 0) : NULL;
	return state && look_up_muted(state);
}

/*
 * net/ipv4/ip_output.c ip_finish_output(), before the qdisc, on kernels without bpf_dynptr_from_skb().
 * skb->data is at the IP header.
 */
SEC("cgroup_skb/egress")
int packet_payload(struct __sk_buff *skb)
{
	__u8 header[HEADER_BYTES] __attribute__((aligned(8))) = {};
	__u32 there = skb->len, len, ip_bytes = skb->len, at;
	struct ip_fragment fragment = {};
	struct cpu_state *cpu = this_cpu();
	struct wl_packet p = {};

	if (!cpu || !is_open() ||
	    (skb->protocol != bpf_htons(ETH_P_IP) && skb->protocol != bpf_htons(ETH_P_IPV6)))
		return 1;
	cpu->copied = 0;
	cpu->copied_skb = name_of(skb);
	if (there > HEADER_BYTES)
		there = HEADER_BYTES;
	asm volatile("" : "+r"(there));
	if (there < 28 || there > HEADER_BYTES || bpf_skb_load_bytes(skb, 0, header, there))
		return 1;
	at = parse_ip(header, skb->protocol, &p, &ip_bytes, &fragment);
	/* Packets with options or extension headers are rare, and their payload is not captured. */
	if ((at != 20 && at != 40) || fragment.offset || !is_followed(&p) ||
	    !(at == 20 ? parse_transport(header + 20, &p, ip_bytes, &fragment)
		       : parse_transport(header + 40, &p, ip_bytes, &fragment)))
		return 1;
	/* The bytes of a send are reported with it then. */
	if (is_seen_at_ends(p.flow.transport))
		return 1;
	if (!p.payload_len || !is_wanted_ctx(skb, &p) || is_muted_ctx(skb))
		return 1;
	len = snapped(p.payload_len);
	fill_head(&p.head, bpf_ktime_get_ns(), WL_PAYLOAD, 0);
	if (p.flow.transport == IPPROTO_UDP)
		p.ack = name_of(skb);
	at += p.transport_header;
	if (EMIT_SIZED(emit_ctx, skb, &p, at, len))
		cpu->copied = window();
	return 1;
}
