/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Probes for packets that are sent. */

/*
 * net/core/dev.c __dev_queue_xmit(): the packet reaches the qdisc. This probe is attached only when a packet has passed a
 * device with a qdisc.
 */
SEC("tp_btf/net_dev_queue")
int BPF_PROG(packet_queued, struct sk_buff *skb)
{
	struct queued_packet packet = {};
	__u64 key = (__u64)skb;

	if (!has_qdisc(skb->dev) || !is_ip(skb) || !is_open())
		return 0;
	packet.at = bpf_ktime_get_ns();
	packet.window = window();
	packet.uncopied = is_uncopied(skb);
	bpf_map_update_elem(&queued, &key, &packet, BPF_ANY);
	remember_queued(skb, packet.at);
	return 0;
}

/*
 * Whether a packet of a socket that is not traced goes to a traced one. Its source port does not count, because a traced
 * socket of another process may have the same port.
 */
static __always_inline bool comes_to_wanted(struct sock *sk, const struct wl_packet *p)
{
	struct sock_state *state = bpf_sk_storage_get(&sockets, sk, NULL, 0);
	bool is_bare = !p->payload_len;

	if (!state || state->self != (__u64)sk || state->verdict != IGNORED)
		return flow_wanted(&p->flow, is_bare);
	return is_enough(end_reach(&p->flow, is_bare ? IS_BARE : 0), p->flow.netns);
}

/*
 * A packet that is handed to the driver, and what its pointers lead to. They are followed once: for each pointer that is loaded
 * through another, the verifier searches all types of the kernel by name, again on each path. More than 32 bytes would be too many
 * for the stacks of nested functions, which have 512 together.
 */
struct leaving {
	struct sk_buff *skb;
	struct net_device *dev;
	struct sock *sk; /* NULL if it was forwarded */
	__u32 netns;
	__s16 link_header; /* its length; skb->data is where it begins */
	bool has_qdisc;
};

/*
 * Whether a packet that is being sent is wanted; fills in its socket's cookie if the socket was reported, and whether its
 * payload is not wanted.
 */
static __always_inline bool is_wanted(struct sock *sk, struct wl_packet *p,
				      struct task_struct *task, bool *bare)
{
	struct sock_state *state;
	struct task_struct *owner;

	if (!sk || !is_inet(sk) || sk->__sk_common.skc_state == TCP_LISTEN)
		return flow_wanted(&p->flow, !p->payload_len);
	/* Resets are sent on a socket of the kernel. */
	if (sk->__sk_common.skc_state == TCP_CLOSE && sk->sk_protocol == IPPROTO_TCP)
		return flow_wanted(&p->flow, !p->payload_len);
	state = bpf_sk_storage_get(&sockets, sk, NULL, 0);
	if (!state || !state->announced || state->self != (__u64)sk) {
		owner = has_filter() && in_irq(task) ? NULL : task;
		state = touch(sk, owner, READ_SOCK);
		if (!state && sk->sk_protocol == IPPROTO_UDP && flow_has_port(&p->flow))
			state = claim(sk, owner, READ_SOCK);
	}
	/* The packet may go to a traced socket on this host, and then its bytes are captured here. */
	if (!state)
		return has_filter() && comes_to_wanted(sk, p);
	*bare = is_muted(state, WL_PROBE_XMIT);
	if (state->announced)
		p->cookie = state->cookie;
	else if (has_learned())
		/* The answer to a SYN, for example a reset, has no socket to decide by, so the port is learned here. */
		learn_port(state, &p->flow);
	return true;
}

/* The socket that sends a packet: its state if it was reported before; NULL if what is wanted of it must be decided. */
static __always_inline struct sock_state *reported_sender(struct sock *sk)
{
	struct sock_state *state;

	if (!sk || !is_inet(sk) || sk->__sk_common.skc_state == TCP_LISTEN ||
	    (sk->__sk_common.skc_state == TCP_CLOSE && sk->sk_protocol == IPPROTO_TCP))
		return NULL;
	state = bpf_sk_storage_get(&sockets, sk, NULL, 0);
	return state && state->announced && state->self == (__u64)sk ? state : NULL;
}

/* Notes the packet that was reported: if it comes back through loopback, only the time is reported then (rx_looped()). */
static __always_inline void note_reported(const struct leaving *packet,
					  const struct simple_packet *p)
{
	struct cpu_state *cpu = this_cpu();

	if (!cpu)
		return;
	if (!p || !(packet->dev->flags & IFF_LOOPBACK)) {
		cpu->looping = 0;
		return;
	}
	cpu->looping = (__u64)packet->skb->head;
	cpu->looping_seq = p->ports_and_seq;
	cpu->looping_window = window();
	cpu->looping_header = p->ip_header;
	cpu->looping_protocol = p->protocol;
}

/* Fills in what is reported of every packet that is sent, except what its headers say. */
static __always_inline void describe_sent(const struct leaving *packet, struct wl_packet *p)
{
	struct sk_buff *skb = packet->skb;

	describe(skb, packet->dev, p, packet->link_header);
	if (packet->has_qdisc) {
		p->queued = take_queued(skb, packet->sk, p);
	} else {
		/* It is passed to the driver immediately. */
		p->queued = p->head.at;
		if (is_uncopied(skb))
			p->head.flags |= WL_UNCOPIED;
	}
	p->queue = skb->queue_mapping;
	p->wire_bytes = skb->len - packet->link_header + p->link_header;
}

/*
 * Reports a simple packet of a socket that was reported; false if it is another packet. This and xmit_any() have stack frames of
 * their own, because one for both would be too large.
 */
static __noinline bool xmit_simple(const struct leaving *packet)
{
	struct sk_buff *skb = packet->skb;
	struct sock_state *state;
	struct simple_packet p;
	struct wl_packet *out;
	__u32 len;
	__u64 now;

	if (!find_simple(skb, packet->link_header, &p))
		return false;
	len = snapped(p.payload_len);
	if (len > SIMPLE_BYTES)
		return false;
	if (is_seen_at_ends(p.protocol))
		return true;
	state = reported_sender(packet->sk);
	if (!state)
		return false;
	if (is_muted(state, WL_PROBE_XMIT))
		len = 0;
	now = bpf_ktime_get_ns();
	out = reserve_packet(len, WL_PROBE_XMIT);
	if (!out)
		return true;
	fill_head(&out->head, now, WL_XMIT, 0);
	out->id = (__u64)skb->head;
	out->cookie = state->cookie;
	fill_task(&out->task, bpf_get_current_task_btf());
	fill_simple(out, &p);
	out->flow.netns = packet->netns;
	describe_sent(packet, out);
	if (!(packet->dev->flags & IFF_LOOPBACK) && (p.payload_len || has_learned()))
		remember_sent(out);
	if (len && copy_skb(skb, packet->link_header + simple_headers(&p), out + 1, len))
		out->head.captured = len;
	submit(out);
	if (!has_filter())
		note_reported(packet, &p);
	return true;
}

/* Reports any packet. */
static __noinline int xmit_any(const struct leaving *packet)
{
	struct sk_buff *skb = packet->skb;
	struct task_struct *task = bpf_get_current_task_btf();
	struct wl_packet p = {};
	bool bare = false;
	__u32 headers;

	if (!parse_any(skb, packet->link_header, &p) || is_seen_at_ends(p.flow.transport))
		return 0;
	forget(&p);
	p.flow.netns = packet->netns;
	if (!is_wanted(packet->sk, &p, task, &bare)) {
		count_filtered(WL_PROBE_XMIT);
		return 0;
	}
	if (!has_filter())
		note_reported(packet, NULL);
	fill_head(&p.head, bpf_ktime_get_ns(), WL_XMIT, p.head.flags);
	if (!p.id) /* a fragment has the ID of its datagram */
		p.id = (__u64)skb->head;
	fill_task(&p.task, task);
	describe_sent(packet, &p);
	if (payload_from_cgroup && p.flow.transport == IPPROTO_UDP && !(p.head.flags & WL_FRAGMENT))
		p.ack = name_of(skb);
	headers = packet->link_header + p.ip_header + p.transport_header;
	/* The payload of a forwarded packet was captured when it was received, and an ICMP error has none. */
	if (!packet->sk || p.head.flags & WL_REFUSED) {
		emit_packet(skb, &p, headers, 0);
		return 0;
	}
	if (!(packet->dev->flags & IFF_LOOPBACK) && (p.payload_len || has_learned()))
		remember_sent(&p);
	emit_packet(skb, &p, headers, bare ? 0 : p.payload_len);
	return 0;
}

/* net/core/dev.c xmit_one(): the packet is handed to the driver. */
SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(packet_xmit, struct sk_buff *skb, struct net_device *dev)
{
	struct leaving packet = {.skb = skb, .dev = dev};

	if (!is_open() || !is_ip(skb))
		return 0;
	packet.sk = skb->sk;
	packet.netns = dev->nd_net.net->ns.inum;
	packet.link_header = skb->network_header - data_offset(skb);
	packet.has_qdisc = has_qdisc(dev);
	if (!xmit_simple(&packet))
		xmit_any(&packet);
	return 0;
}
