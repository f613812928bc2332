/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* When packets reached a qdisc. */
#ifndef WL_QUEUED_H
#define WL_QUEUED_H

#include "packet.h"

/* Whether a device has a qdisc. noqueue has no enqueue function (net/sched/sch_generic.c), but neither has mq. */
static __always_inline bool has_qdisc(struct net_device *dev)
{
	struct Qdisc *qdisc = dev->qdisc;

	return !qdisc || qdisc->enqueue || (qdisc->flags & TCQ_F_MQROOT);
}

struct queued_packet {
	__u64 at;
	__u32 window; /* in which that was: the skb of a packet that left while the probes paused is another's later */
	__u32 uncopied;
};

/*
 * Whether packet_payload() ran for a packet on this CPU, and did not report its payload in this window. If it ran for another packet
 * since, that is not known.
 */
static __always_inline bool is_uncopied(struct sk_buff *skb)
{
	struct cpu_state *cpu;

	if (!payload_from_cgroup)
		return false;
	cpu = this_cpu();
	return cpu && cpu->copied_skb == name_of(skb) && cpu->copied != window();
}

/* When packets reached a qdisc, by the skb's address: they may wait there and leave on another CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct queued_packet);
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
static __always_inline __u64 find_queued(struct sock *sk, const struct wl_packet *p)
{
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

/* When this packet of a socket reached the qdisc; 0 if that is not known. Notes whether its payload was not reported. */
static __noinline __u64 take_queued(struct sk_buff *skb, struct sock *sk, struct wl_packet *p)
{
	struct queued_packet *found;
	__u64 key = (__u64)skb, at;

	found = bpf_map_lookup_elem(&queued, &key);
	if (!found)
		return find_queued(sk, p);
	at = found->window == window() ? found->at : 0;
	if (found->uncopied)
		p->head.flags |= WL_UNCOPIED;
	bpf_map_delete_elem(&queued, &key);
	return at;
}

#endif
