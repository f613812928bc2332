/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Probes for retransmitted segments and dropped packets. */

/* Reports a segment that was sent again. */
static __always_inline int emit_retransmit(struct sock *sk, struct sk_buff *skb)
{
	struct sock_state *state;
	struct wl_retransmit *out;
	struct tcp_skb_cb *cb = (void *)skb + bpf_core_field_offset(struct sk_buff, cb);
	struct inet_connection_sock *connection = (void *)sk;
	__u32 start = BPF_CORE_READ(cb, seq);

	if (!is_open())
		return 0;
	state = touch(sk, NULL, TRUSTED_SOCK);
	if (!state || !state->announced) {
		count_filtered(WL_PROBE_RETRANSMIT);
		return 0;
	}
	out = reserve(struct wl_retransmit, WL_PROBE_RETRANSMIT);
	if (!out)
		return 0;
	fill_head(&out->head, bpf_ktime_get_ns(), WL_RETRANSMIT, 0);
	out->cookie = state->cookie;
	out->start = start;
	out->len = skb->len;
	/* The state is that of the recovery, because tcp_enter_loss() or tcp_enter_recovery() has run before. */
	out->state = BPF_CORE_READ_BITFIELD_PROBED(connection, icsk_ca_state);
	out->unused = 0;
	submit(out);
	return 0;
}

/*
 * net/ipv4/tcp_output.c __tcp_retransmit_skb(). Where it has a third argument (6.18 has it), it also tells of attempts that failed, for
 * example because the segment is still in the qdisc or at the driver (skb_still_in_host_queue()): nothing was sent again.
 */
SEC("tp_btf/tcp_retransmit_skb")
int KEEPING_PROG(retransmit, struct sock *sk, struct sk_buff *skb, int err)
{
	return err ? 0 : emit_retransmit(sk, skb);
}

/* The same on earlier kernels, which tell only of what was sent; there, the program above does not load. */
SEC("tp_btf/tcp_retransmit_skb")
int KEEPING_PROG(retransmit_sent, struct sock *sk, struct sk_buff *skb)
{
	return emit_retransmit(sk, skb);
}

/* The namespace of a dropped packet, whose device is often no longer set. */
static __always_inline __u32 netns_of(struct sk_buff *skb, struct sock *sk)
{
	struct cpu_state *cpu;

	/* The socket is more reliable: the packet received last may be another one that had the same memory. */
	if (sk)
		return sk->__sk_common.skc_net.net->ns.inum;
	cpu = this_cpu();
	if (cpu && cpu->rx_head == (__u64)skb->head)
		return cpu->rx_netns;
	return skb->dev ? skb->dev->nd_net.net->ns.inum : 0;
}

/* Whether `reason` has this name; false on kernels without this name. */
#define is_reason(reason, name)                                                                    \
	(bpf_core_enum_value_exists(enum skb_drop_reason, SKB_DROP_REASON_##name) &&               \
	 (reason) == bpf_core_enum_value(enum skb_drop_reason, SKB_DROP_REASON_##name))

/* The cause of a drop reason (include/net/dropreason-core.h). The names are the same on all kernels, the numbers are not. */
static __always_inline __u32 cause_of(__u32 reason)
{
	if (is_reason(reason, SOCKET_RCVBUFF) || is_reason(reason, SOCKET_BACKLOG) ||
	    is_reason(reason, PROTO_MEM) || is_reason(reason, TCP_ZEROWINDOW))
		return WL_CAUSE_SOCKET_BUFFER;
	if (is_reason(reason, QDISC_DROP) || is_reason(reason, QDISC_OVERLIMIT) ||
	    is_reason(reason, QDISC_CONGESTED) || is_reason(reason, CPU_BACKLOG) ||
	    is_reason(reason, FULL_RING) || is_reason(reason, FQ_FLOW_LIMIT) ||
	    is_reason(reason, FQ_BAND_LIMIT))
		return WL_CAUSE_QUEUE;
	if (is_reason(reason, NETFILTER_DROP) || is_reason(reason, TC_INGRESS) ||
	    is_reason(reason, TC_EGRESS) || is_reason(reason, BPF_CGROUP_EGRESS))
		return WL_CAUSE_FILTER;
	/* An old copy: its sequence number, or its timestamp (RFC 7323 §5), is before what has arrived. */
	if (is_reason(reason, TCP_OLD_DATA) || is_reason(reason, TCP_OFOMERGE) ||
	    is_reason(reason, TCP_OFO_DROP) || is_reason(reason, TCP_OLD_SEQUENCE) ||
	    is_reason(reason, TCP_RFC7323_PAWS) || is_reason(reason, TCP_RFC7323_PAWS_ACK))
		return WL_CAUSE_DUPLICATE;
	if (is_reason(reason, PKT_TOO_BIG))
		return WL_CAUSE_TOO_BIG;
	return is_reason(reason, NO_SOCKET) ? WL_CAUSE_NO_SOCKET : WL_CAUSE_OTHER;
}

/* include/net/dst.h skb_dst(): the lowest bit says whether the packet counts as a user of its route. */
#define DST_PTRMASK (~1ul)

/* The MTU of the device by which the packet was to leave (net/ipv4/ip_forward.c ip_forward()), or 0. */
static __always_inline __u32 mtu_of(struct sk_buff *skb)
{
	struct dst_entry *route = (void *)(BPF_CORE_READ(skb, _skb_refdst) & DST_PTRMASK);

	return route ? BPF_CORE_READ(route, dev, mtu) : 0;
}

/*
 * Whether the packet has not left its sender's host: its socket then is the sender's. A received packet may have its
 * receiver's socket (early demultiplexing), and a forwarded packet, or one that a device has taken, has none.
 */
static __always_inline bool is_outward(struct sock *sk, const struct wl_packet *p)
{
	return sk && sk->__sk_common.skc_num == p->flow.sport &&
	       (!sk->__sk_common.skc_dport ||
		bpf_ntohs(sk->__sk_common.skc_dport) == p->flow.dport);
}

/* net/core/skbuff.c; the reason exists since 5.17 (c504e5c2f964). */
SEC("tp_btf/kfree_skb")
int KEEPING_PROG(packet_dropped, struct sk_buff *skb, void *location, unsigned int reason)
{
	struct wl_packet p = {};
	struct wl_drop *out;
	struct sock *sk;
	__u32 netns;
	__s32 offset;

	/* A packet that is freed without a reason nearly always was consumed, not dropped. */
	if (reason <= bpf_core_enum_value(enum skb_drop_reason, SKB_DROP_REASON_NOT_SPECIFIED))
		return 0;
	/* A switch, or a device in promiscuous mode, gave a copy to a host that it is not for (net/ipv4/ip_input.c ip_rcv_core()). */
	if (is_reason(reason, OTHERHOST))
		return 0;
	if (is_reason(reason, UDP_CSUM))
		__sync_fetch_and_add(&bad_checksums, 1);
	if (!is_open() || skb->network_header == 0xffff || !is_ip(skb))
		return 0;
	/* Before there are many paths: struct leaving (xmit.bpf.c) says why. */
	sk = skb->sk;
	netns = netns_of(skb, sk);
	offset = skb->network_header - data_offset(skb);
	if (!parse_packet(skb, offset, &p))
		return 0;
	p.flow.netns = netns;
	if (!flow_wanted(&p.flow, !p.payload_len)) {
		count_filtered(WL_PROBE_DROP);
		return 0;
	}
	out = reserve(struct wl_drop, WL_PROBE_DROP);
	if (!out)
		return 0;
	fill_head(&out->head, bpf_ktime_get_ns(), WL_DROP, is_outward(sk, &p) ? WL_OUTWARD : 0);
	out->queued = take_queued(skb, sk, &p);
	out->reason = reason;
	out->len = p.payload_len;
	out->cause = cause_of(reason);
	out->seq = p.seq;
	out->ack = p.ack;
	out->window = p.window;
	out->tcp_flags = p.tcp_flags;
	out->unused = 0;
	out->unused2 = 0;
	out->mtu = out->cause == WL_CAUSE_TOO_BIG ? mtu_of(skb) : 0;
	out->flow = p.flow;
	submit(out);
	return 0;
}
