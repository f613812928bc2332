/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The ring buffer: where programs put their records, and user space takes them in the order in which they were reserved.
 *
 * The kernel's ring buffer takes two helper calls, a lock and an exchange for each record. Where the kernel allows it, records go
 * into a ring of our own instead, in the memory of an array that user space maps:
 *
 *   0          128        256                                 256 + ring_bytes   + WL_RING_LONGEST
 *   ┌──────────┬──────────┬───────────────────────────────────┬──────────────────┐
 *   │ produced │ consumed │ head, record, head, record, …     │ end of the last  │
 *   └──────────┴──────────┴───────────────────────────────────┴──────────────────┘
 *
 * `produced` and `consumed` count bytes since the beginning; modulo ring_bytes they are places. A record that begins before the end
 * is in one piece: its end is behind the ring, and the bytes at the beginning of the ring that have its positions stay unused.
 *
 * Memory behind `produced` is all zero, because the reader zeroes what it has read before it moves `consumed`. So a head is 0
 * until its program writes it, whatever was there before.
 */
#ifndef WL_RING_H
#define WL_RING_H

#include "common.h"

/* Whether records go into a ring of our own. */
const volatile __u8 own_ring = 0;
/* The size of the ring of our own, a power of two. */
const volatile __u32 ring_bytes = 0;
/*
 * Whether a processor may show a record's head before the record: ARM does, x86 does not. An exchange then keeps the order,
 * because BPF has no other store that does on kernels before 6.15 (880442305a39).
 */
const volatile __u8 stores_are_unordered = 0;
/* The reader is woken when so much is in the ring, because large records could fill it before the next poll. */
const volatile __u32 wakeup_bytes = 1 << 24;

/* The kernel's ring buffer. With a ring of our own, it is small and only wakes the reader. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 26);
} ring SEC(".maps");

/*
 * The memory of the ring of our own: one element, because the verifier keeps an access within one. The loader replaces the size, which
 * can be that large since 6.0 (63b8ce77b15e).
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 0x77a90003);
} ring_memory SEC(".maps");

struct ring_memory {
	volatile __u64 produced;
	__u8 unused[WL_RING_CONSUMED - 8];
	volatile __u64 consumed;
	__u8 unused2[WL_RING_RECORDS - WL_RING_CONSUMED - 8];
	__u8 records[];
};

#define RING_FULL (~0ull)

static __always_inline struct ring_memory *own_memory(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&ring_memory, &zero);
}

/* Whether `bytes` at this position would overwrite what is not read yet. `consumed` may have been read later than the position. */
static __always_inline bool is_full(__u64 position, __u64 consumed, __u32 bytes)
{
	return (__s64)(position + bytes - consumed) > (__s64)ring_bytes;
}

/*
 * Reserves a place while other CPUs, or programs that interrupt this one, do so too: one of them succeeds at each attempt. The function
 * is not static, so that the verifier checks it once.
 */
__noinline __u64 reserve_contended(__u32 bytes)
{
	struct ring_memory *memory = own_ring ? own_memory() : NULL;
	__u32 attempt;

	if (!memory)
		return RING_FULL;
	for (attempt = 0; attempt < 256; attempt++) {
		__u64 position = memory->produced;

		if (is_full(position, memory->consumed, bytes))
			break;
		if (__sync_val_compare_and_swap(&memory->produced, position, position + bytes) ==
		    position)
			return position;
	}
	return RING_FULL;
}

static __always_inline void *reserve_own(__u32 bytes)
{
	__u32 all = (sizeof(struct wl_ring_head) + bytes + 7) & ~7u;
	struct ring_memory *memory = own_memory();
	struct wl_ring_head *head;
	__u64 position;

	if (!memory)
		return NULL;
	position = memory->produced;
	if (is_full(position, memory->consumed, all))
		return NULL;
	if (__sync_val_compare_and_swap(&memory->produced, position, position + all) != position) {
		position = reserve_contended(all);
		if (position == RING_FULL)
			return NULL;
	}
	head = (void *)memory->records + (position & (ring_bytes - 8));
	head->bytes = bytes;
	return head + 1;
}

/*
 * Reserves a record of `bytes`, and at most `most`, a constant; NULL if the ring is full. The kernel's ring buffer has only records of
 * constant sizes.
 */
static __always_inline void *reserve_bytes(__u32 bytes, __u32 most)
{
	return own_ring ? reserve_own(bytes) : bpf_ringbuf_reserve(&ring, most, 0);
}

/* A length from 1 to N, a power of two, as the verifier sees it. It is what was reserved that bounds a copy, so both take this. */
#define CLAMP(len, N) ((((len)-1) & ((N)-1)) + 1)

/* Reserves a record; a failure is counted as lost. */
#define reserve(type, probe)                                                                       \
	({                                                                                         \
		type *record_ = reserve_bytes(sizeof(type), sizeof(type));                         \
		if (!record_)                                                                      \
			count_lost(probe);                                                         \
		record_;                                                                           \
	})

static __always_inline void submit_own(void *record)
{
	struct wl_ring_head *head = record - sizeof(*head);

	asm volatile("" : : : "memory");
	if (stores_are_unordered)
		__sync_lock_test_and_set(&head->committed, 1);
	else
		*(volatile __u32 *)&head->committed = 1;
}

/* The reader polls, because waking it for each record would cost more than the record. */
static __always_inline void submit(void *record)
{
	if (own_ring)
		submit_own(record);
	else
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline void wake_reader(void)
{
	struct ring_memory *memory = own_memory();
	void *bell;

	if (!memory || memory->produced - memory->consumed <= wakeup_bytes)
		return;
	bell = bpf_ringbuf_reserve(&ring, 8, 0);
	if (bell)
		bpf_ringbuf_discard(bell, BPF_RB_FORCE_WAKEUP);
}

/* Submits a record that may be large: of `size` bytes, a constant. */
static __always_inline void submit_sized(void *record, __u32 size)
{
	if (own_ring) {
		submit_own(record);
		if (size >= 8192)
			wake_reader();
	} else if (size >= 8192 && bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > wakeup_bytes) {
		bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
	} else {
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	}
}

#endif
