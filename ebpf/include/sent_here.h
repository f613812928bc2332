/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Packets that were sent on this host, as they are found again where they are received. */
#ifndef WL_SENT_HERE_H
#define WL_SENT_HERE_H

#include "common.h"

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

#endif
