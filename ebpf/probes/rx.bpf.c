/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The probe for packets that are received. */

/*
 * A packet that was received, and what its pointers lead to, which are followed once: struct leaving (xmit.bpf.c) says why.
 * skb->data is at the IP header.
 */
struct arriving {
	struct sk_buff *skb;
	struct net_device *dev;
	__u32 netns;
	__u32 window; /* the number of the current one */
};

/*
 * Whether a received packet is wanted. A packet that a socket of another namespace has sent shows that this namespace can
 * be reached from there. `id` is the packet's memory, as was_sent_here() compares it.
 */
static __always_inline bool is_wanted_here(struct net_device *dev, const struct wl_flow *flow,
					   __u64 id, __u32 seq, __u32 payload_len)
{
	enum reach reach = flow_reach(flow, !payload_len);

	if (reach == NOT_WANTED || is_enough(reach, flow->netns))
		return reach != NOT_WANTED;
	if ((dev->flags & IFF_LOOPBACK) || !was_sent_here(id, seq, payload_len, bpf_ktime_get_ns()))
		return false;
	learn_reached(flow->netns);
	return true;
}

/* Remembers the packet that this CPU received last, which was not reported yet. */
static __always_inline void remember_received(struct cpu_state *cpu, __u32 netns, __u64 head,
					      __u16 port, __u8 transport)
{
	cpu->rx_head = head;
	cpu->rx_at = 0;
	cpu->rx_told = 0;
	cpu->rx_port = port;
	cpu->rx_transport = transport;
	cpu->rx_netns = netns;
}

/* ksoftirqd has received in this time what had come in while it waited for the CPU: a round of the default net.core.netdev_budget_usecs. */
#define DEFERRED_ROUND 2000000

/*
 * Since when ksoftirqd had waited for the CPU when it received the packet; 0 if the packet did not wait for that. Timers of qdiscs, which
 * also run in ksoftirqd, send packets that have waited for something else before. What an interrupt receives did not wait for the thread.
 */
static __always_inline __u64 deferred_since(struct task_struct *task, const struct cpu_state *cpu,
					    __u32 number, __u64 now)
{
	if (!is_ksoftirqd(task) || !cpu || cpu->deferred != number)
		return 0;
	return now - cpu->deferred_until > DEFERRED_ROUND ? 0 : cpu->deferred_since;
}

/* Fills in what is reported of every packet that is received, except what its headers say. */
static __always_inline void describe_received(struct sk_buff *skb, struct net_device *dev,
					      struct wl_packet *p)
{
	describe(skb, dev, p, data_offset(skb) - skb->mac_header);
	p->wire_bytes = skb->len + p->link_header;
}

/* Whether a simple packet that was received is wanted. */
static __always_inline bool is_simple_wanted(struct net_device *dev, const struct simple_packet *p,
					     __u64 id, __u32 netns)
{
	struct wl_flow flow;

	if (!has_filter())
		return true;
	fill_simple_flow(&flow, p);
	flow.netns = netns;
	return is_wanted_here(dev, &flow, id, simple_seq(p), p->payload_len);
}

/*
 * Reports a packet that this CPU has just sent through loopback, and reported then; false if it is another one. One that was left to
 * ksoftirqd has more to report. Filters are asked for each packet.
 */
static __always_inline bool rx_looped(const struct arriving *packet)
{
	struct sk_buff *skb = packet->skb;
	struct task_struct *task;
	struct cpu_state *cpu;
	struct wl_looped *out;
	__u64 id, now;

	if (has_filter() || !direct_loads || !have_skb_dynptr)
		return false;
	cpu = this_cpu();
	id = (__u64)skb->head;
	if (!cpu || cpu->looping != id || cpu->looping_window != packet->window ||
	    *(__u64 *)(skb->data + cpu->looping_header) != cpu->looping_seq)
		return false;
	task = bpf_get_current_task_btf();
	if (is_ksoftirqd(task))
		return false;
	cpu->looping = 0;
	remember_received(cpu, packet->netns, id, field16(cpu->looping_seq, 2),
			  cpu->looping_protocol);
	now = bpf_ktime_get_ns();
	cpu->rx_at = now;
	out = reserve(struct wl_looped, WL_PROBE_RX);
	if (!out)
		return true;
	fill_head(&out->head, now, WL_LOOPED, 0);
	out->id = id;
	fill_task(&out->task, task);
	submit(out);
	return true;
}

/* Reports a simple packet; false if it is another one. */
static __noinline bool rx_simple(const struct arriving *packet)
{
	struct sk_buff *skb = packet->skb;
	struct net_device *dev = packet->dev;
	__u64 id = (__u64)skb->head, now;
	bool is_loopback = dev->flags & IFF_LOOPBACK;
	__u32 len = 0;
	struct simple_packet p;
	struct task_struct *task;
	struct wl_packet *out;
	struct cpu_state *cpu;

	/* A datagram may teach the address of a socket that is bound to none. */
	if (!find_simple(skb, 0, &p) || (has_learned() && p.protocol == IPPROTO_UDP) ||
	    (!is_loopback && snapped(p.payload_len) > SIMPLE_BYTES))
		return false;
	/* Through loopback comes only what was sent here. */
	if (is_seen_at_ends(p.protocol) && is_loopback)
		return true;
	cpu = this_cpu();
	if (!cpu)
		return true;
	remember_received(cpu, packet->netns, id, simple_dport(&p), p.protocol);
	if (!is_simple_wanted(dev, &p, id, packet->netns)) {
		count_filtered(WL_PROBE_RX);
		return true;
	}
	now = bpf_ktime_get_ns();
	if (!is_loopback && !was_sent_here(id, simple_seq(&p), p.payload_len, now))
		len = snapped(p.payload_len);
	cpu->rx_at = now;
	out = reserve_packet(len, WL_PROBE_RX);
	if (!out)
		return true;
	task = bpf_get_current_task_btf();
	out->queued = deferred_since(task, cpu, packet->window, now);
	fill_head(&out->head, now, WL_RX, out->queued ? WL_DEFERRED : 0);
	out->id = id;
	out->cookie = 0;
	fill_task(&out->task, task);
	fill_simple(out, &p);
	out->flow.netns = packet->netns;
	describe_received(skb, dev, out);
	out->queue = 0;
	if (len && copy_skb(skb, simple_headers(&p), out + 1, len))
		out->head.captured = len;
	submit(out);
	return true;
}

/* Reports any packet. */
static __noinline int rx_any(const struct arriving *packet)
{
	struct sk_buff *skb = packet->skb;
	struct net_device *dev = packet->dev;
	struct task_struct *task;
	struct wl_packet p = {};
	struct cpu_state *cpu;
	__u32 payload = 0;

	if (!parse_any(skb, 0, &p))
		return 0;
	/* Through loopback comes only what was sent here. */
	if (is_seen_at_ends(p.flow.transport) && (dev->flags & IFF_LOOPBACK))
		return 0;
	if (!p.id) /* a fragment has the ID of its datagram */
		p.id = (__u64)skb->head;
	cpu = this_cpu();
	if (cpu && !(p.head.flags & WL_REFUSED))
		remember_received(cpu, packet->netns, p.id, p.flow.dport, p.flow.transport);
	p.flow.netns = packet->netns;
	if (!is_wanted_here(dev, &p.flow, p.id, p.seq, p.payload_len)) {
		count_filtered(WL_PROBE_RX);
		return 0;
	}
	/* A socket that is not bound to an address has the addresses of its packets. */
	if (has_learned() && p.flow.transport == IPPROTO_UDP &&
	    !is_only_here(p.flow.dst, p.flow.family) &&
	    is_learned_here(p.flow.netns, p.flow.dport, IPPROTO_UDP, false))
		learn_address(p.flow.dst, p.flow.family, p.flow.dport, IPPROTO_UDP, p.flow.netns);
	task = bpf_get_current_task_btf();
	p.head.at = bpf_ktime_get_ns();
	p.queued = deferred_since(task, cpu, packet->window, p.head.at);
	if (p.queued)
		p.head.flags |= WL_DEFERRED;
	fill_head(&p.head, p.head.at, WL_RX, p.head.flags);
	if (cpu && !(p.head.flags & WL_REFUSED))
		cpu->rx_at = p.head.at;
	fill_task(&p.task, task);
	describe_received(skb, dev, &p);
	if (!(dev->flags & IFF_LOOPBACK) && !(p.head.flags & WL_REFUSED) &&
	    !was_sent_here(p.id, p.seq, p.payload_len, p.head.at))
		payload = p.payload_len;
	emit_packet(skb, &p, p.ip_header + p.transport_header, payload);
	return 0;
}

/*
 * net/core/dev.c __netif_receive_skb_core(): a packet enters the stack, once for each device that receives it; packets of
 * loopback, veth and NAPI (with and without GRO) all pass here.
 */
SEC("tp_btf/netif_receive_skb")
int BPF_PROG(packet_rx, struct sk_buff *skb)
{
	struct arriving packet = {.skb = skb, .window = window()};
	struct cpu_state *cpu;

	if (!is_ip(skb))
		return 0;
	packet.dev = skb->dev;
	packet.netns = packet.dev->nd_net.net->ns.inum;
	if (!packet.window) {
		/* The window may open before the packet is dropped or announced. */
		cpu = this_cpu();
		if (cpu)
			remember_received(cpu, packet.netns, (__u64)skb->head, 0, 0);
		return 0;
	}
	if (!rx_looped(&packet) && !rx_simple(&packet))
		rx_any(&packet);
	return 0;
}
