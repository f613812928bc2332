/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Probes for sent and received packets. */

/* When packets reached a qdisc, by the skb's address: they may wait there and leave on another CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u64);
} queued SEC(".maps");

/*
 * A packet of many segments may be divided between the qdisc and the driver (by TBF, or for a device without segmentation
 * offload). The segments are new skbs; their sequence numbers show their packet.
 */
#define CUT_PACKETS 16

struct cut_packets {
	__u32 next;
	__u32 unused;
	struct {
		__u64 at;
		__u32 seq;
		__u32 len;
	} packets[CUT_PACKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct cut_packets);
} cut_packets SEC(".maps");

static __always_inline void remember_queued(struct sk_buff *skb, __u64 now)
{
	struct sock *sk = skb->sk;
	struct cut_packets *cut;
	struct wl_packet p = {};
	__u32 slot;

	if (!sk || count_segments(skb) < 2 ||
	    !parse_packet(skb, skb->network_header - data_offset(skb), &p) ||
	    p.flow.transport != IPPROTO_TCP)
		return;
	cut = bpf_sk_storage_get(&cut_packets, sk, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!cut)
		return;
	slot = cut->next++ % CUT_PACKETS;
	cut->packets[slot].at = now;
	cut->packets[slot].seq = p.seq;
	cut->packets[slot].len = p.payload_len;
}

/* When the packet was queued of which this is a segment; 0 if that is not known. */
static __always_inline __u64 find_queued(struct sk_buff *skb, const struct wl_packet *p)
{
	struct sock *sk = skb->sk;
	struct cut_packets *cut;
	int slot;

	if (!sk || p->flow.transport != IPPROTO_TCP)
		return 0;
	cut = bpf_sk_storage_get(&cut_packets, sk, NULL, 0);
	if (!cut)
		return 0;
	for (slot = 0; slot < CUT_PACKETS; slot++)
		if (p->seq - cut->packets[slot].seq < cut->packets[slot].len)
			return cut->packets[slot].at;
	return 0;
}

/*
 * Packets whose payload was captured when they were sent, so that the other end of a veth pair need not capture it again.
 * A collision only causes a second copy.
 */
#define SENT_SLOTS 4096
#define SENT_NS 10000000

struct sent_packet {
	__u64 head;
	__u64 at;
	__u32 seq;
	__u32 len;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SENT_SLOTS);
	__type(key, __u32);
	__type(value, struct sent_packet);
} sent_here SEC(".maps");

static __always_inline struct sent_packet *sent_slot(__u32 seq)
{
	__u32 index = (seq * 0x9e3779b1u) >> 20;

	return bpf_map_lookup_elem(&sent_here, &index);
}

static __always_inline void remember_sent(const struct wl_packet *p)
{
	struct sent_packet *slot = sent_slot(p->seq);

	if (!slot)
		return;
	slot->head = p->id;
	slot->at = p->head.at;
	slot->seq = p->seq;
	slot->len = p->payload_len;
}

/* Whether the packet with this memory, sequence number and length of payload was sent on this host. */
static __always_inline bool was_sent_here(__u64 head, __u32 seq, __u32 len, __u64 now)
{
	struct sent_packet *slot = sent_slot(seq);

	return slot && slot->head == head && slot->seq == seq && slot->len == len &&
	       now - slot->at < SENT_NS;
}

/* Whether a device has a qdisc. noqueue has no enqueue function (net/sched/sch_generic.c), but neither has mq. */
static __always_inline bool has_qdisc(struct net_device *dev)
{
	struct Qdisc *qdisc = dev->qdisc;

	return !qdisc || qdisc->enqueue || (qdisc->flags & TCQ_F_MQROOT);
}

/*
 * net/core/dev.c __dev_queue_xmit(): the packet reaches the qdisc. This probe is attached only when a packet has passed a
 * device with a qdisc.
 */
SEC("tp_btf/net_dev_queue")
int BPF_PROG(packet_queued, struct sk_buff *skb)
{
	__u64 key = (__u64)skb;
	__u64 now;

	if (!has_qdisc(skb->dev) || !is_ip(skb) || !is_open())
		return 0;
	now = bpf_ktime_get_ns();
	bpf_map_update_elem(&queued, &key, &now, BPF_ANY);
	remember_queued(skb, now);
	return 0;
}

/* When this packet reached the qdisc; 0 if that is not known. */
static __noinline __u64 take_queued(struct sk_buff *skb, const struct wl_packet *p)
{
	__u64 key = (__u64)skb;
	__u64 *found = bpf_map_lookup_elem(&queued, &key);
	__u64 at;

	if (!found)
		return find_queued(skb, p);
	at = *found;
	bpf_map_delete_elem(&queued, &key);
	return at;
}

static __always_inline void describe(struct sk_buff *skb, struct net_device *dev,
				     struct wl_packet *p, __u32 link_header)
{
	p->device = dev->ifindex;
	/* The counters of a loopback device do not include its (unused) link header. */
	p->link_header = dev->flags & IFF_LOOPBACK ? 0 : link_header;
	p->segments = count_segments(skb);
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
 * Whether a packet that is being sent is wanted; fills in its socket's cookie if the socket was reported, and whether its
 * payload is not wanted.
 */
static __always_inline bool is_wanted(struct sk_buff *skb, struct wl_packet *p,
				      struct task_struct *task, bool *bare)
{
	struct sock *sk = skb->sk;
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

/* Whether a packet that is being sent is observed at the calls of its sender and its receiver instead. */
static __always_inline bool is_seen_at_ends(__u8 transport)
{
	return ends_only && transport == IPPROTO_TCP;
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

/* Fills in what is reported of every packet that is sent, except what its headers say. */
static __always_inline void describe_sent(struct sk_buff *skb, struct net_device *dev,
					  struct wl_packet *p, __u32 link_header)
{
	describe(skb, dev, p, link_header);
	/* Without a qdisc, the packet is passed to the driver immediately. */
	p->queued = has_qdisc(dev) ? take_queued(skb, p) : p->head.at;
	p->queue = skb->queue_mapping;
	p->wire_bytes = skb->len - link_header + p->link_header;
}

/*
 * Reports a simple packet of a socket that was reported; false if it is another packet. This and xmit_any() have stack frames of
 * their own, because one for both would be too large.
 */
static __noinline bool xmit_simple(struct sk_buff *skb, struct net_device *dev, __u32 link_header)
{
	struct sock_state *state;
	struct simple_packet p;
	struct wl_packet *out;
	__u32 len;
	__u64 now;

	if (!find_simple(skb, link_header, &p))
		return false;
	len = snapped(p.payload_len);
	if (len > SIMPLE_BYTES)
		return false;
	if (is_seen_at_ends(p.protocol))
		return true;
	state = reported_sender(skb->sk);
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
	out->flow.netns = dev->nd_net.net->ns.inum;
	describe_sent(skb, dev, out, link_header);
	if (!(dev->flags & IFF_LOOPBACK) && (p.payload_len || has_learned()))
		remember_sent(out);
	if (len && copy_skb(skb, link_header + simple_headers(&p), out + 1, len))
		out->head.captured = len;
	submit(out);
	return true;
}

/* Reports any packet. */
static __noinline int xmit_any(struct sk_buff *skb, struct net_device *dev, __u32 link_header)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct wl_packet p = {};
	bool bare = false;
	__u32 headers;

	if (!parse_any(skb, link_header, &p) || is_seen_at_ends(p.flow.transport))
		return 0;
	forget(&p);
	p.flow.netns = dev->nd_net.net->ns.inum;
	if (!is_wanted(skb, &p, task, &bare)) {
		count_filtered(WL_PROBE_XMIT);
		return 0;
	}
	fill_head(&p.head, bpf_ktime_get_ns(), WL_XMIT, p.head.flags);
	if (!p.id) /* a fragment has the ID of its datagram */
		p.id = (__u64)skb->head;
	fill_task(&p.task, task);
	describe_sent(skb, dev, &p, link_header);
	headers = link_header + p.ip_header + p.transport_header;
	/* The payload of a forwarded packet was captured when it was received, and an ICMP error has none. */
	if (!skb->sk || p.head.flags & WL_REFUSED) {
		emit_packet(skb, &p, headers, 0);
		return 0;
	}
	if (!(dev->flags & IFF_LOOPBACK) && (p.payload_len || has_learned()))
		remember_sent(&p);
	emit_packet(skb, &p, headers, bare ? 0 : p.payload_len);
	return 0;
}

/* net/core/dev.c xmit_one(): the packet is handed to the driver. */
SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(packet_xmit, struct sk_buff *skb, struct net_device *dev)
{
	__u32 link_header;

	if (!is_open() || !is_ip(skb))
		return 0;
	/* skb->data is at the link header. */
	link_header = skb->network_header - data_offset(skb);
	if (!xmit_simple(skb, dev, link_header))
		xmit_any(skb, dev, link_header);
	return 0;
}

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
static __always_inline void remember_received(struct cpu_state *cpu, struct net_device *dev,
					      __u64 head, __u16 port, __u8 transport)
{
	cpu->rx_head = head;
	cpu->rx_at = 0;
	cpu->rx_told = 0;
	cpu->rx_port = port;
	cpu->rx_transport = transport;
	cpu->rx_netns = dev->nd_net.net->ns.inum;
}

/* Whether the packet was received by ksoftirqd, or by an interrupt while ksoftirqd waited for the CPU. */
static __always_inline bool is_deferred(struct task_struct *task, const struct cpu_state *cpu,
					__u32 number)
{
	return is_ksoftirqd(task) || (cpu && cpu->deferred == number);
}

/* Fills in what is reported of every packet that is received, except what its headers say. */
static __always_inline void describe_received(struct sk_buff *skb, struct net_device *dev,
					      struct wl_packet *p)
{
	/* skb->data is at the IP header. */
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

/* Reports a simple packet; false if it is another one. */
static __noinline bool rx_simple(struct sk_buff *skb, struct net_device *dev, __u32 number)
{
	__u64 id = (__u64)skb->head, now;
	bool is_loopback = dev->flags & IFF_LOOPBACK;
	__u32 netns = dev->nd_net.net->ns.inum, len = 0;
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
	remember_received(cpu, dev, id, simple_dport(&p), p.protocol);
	if (!is_simple_wanted(dev, &p, id, netns)) {
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
	fill_head(&out->head, now, WL_RX, is_deferred(task, cpu, number) ? WL_DEFERRED : 0);
	out->id = id;
	out->cookie = 0;
	fill_task(&out->task, task);
	out->queued = 0;
	fill_simple(out, &p);
	out->flow.netns = netns;
	describe_received(skb, dev, out);
	out->queue = 0;
	if (len && copy_skb(skb, simple_headers(&p), out + 1, len))
		out->head.captured = len;
	submit(out);
	return true;
}

/* Reports any packet. */
static __noinline int rx_any(struct sk_buff *skb, __u32 number)
{
	struct net_device *dev = skb->dev;
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
		remember_received(cpu, dev, p.id, p.flow.dport, p.flow.transport);
	p.flow.netns = dev->nd_net.net->ns.inum;
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
	if (is_deferred(task, cpu, number))
		p.head.flags |= WL_DEFERRED;
	fill_head(&p.head, bpf_ktime_get_ns(), WL_RX, p.head.flags);
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
	__u32 number = window();
	struct cpu_state *cpu;

	if (!is_ip(skb))
		return 0;
	if (!number) {
		/* The window may open before the packet is dropped or announced. */
		cpu = this_cpu();
		if (cpu)
			remember_received(cpu, skb->dev, (__u64)skb->head, 0, 0);
		return 0;
	}
	if (!rx_simple(skb, skb->dev, number))
		rx_any(skb, number);
	return 0;
}

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
	struct wl_packet p = {};

	if (!is_open() ||
	    (skb->protocol != bpf_htons(ETH_P_IP) && skb->protocol != bpf_htons(ETH_P_IPV6)))
		return 1;
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
	if (!p.payload_len || !is_wanted_ctx(skb, &p) || is_muted_ctx(skb))
		return 1;
	len = snapped(p.payload_len);
	fill_head(&p.head, bpf_ktime_get_ns(), WL_PAYLOAD, 0);
	at += p.transport_header;
	EMIT_SIZED(emit_ctx, skb, &p, at, len);
	return 1;
}
