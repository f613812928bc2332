/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which datagram a read takes. No hook at a UDP socket's reader sees the packet (a linear one is copied
 * without a tracepoint), so each socket's queue is kept a second time here: packets enter at data ready
 * and leave at the exit of the receive call, first in, first out, like in udp_recvmsg().
 */
#ifndef WL_DATAGRAMS_H
#define WL_DATAGRAMS_H

/* Default receive buffers (net.core.rmem_default) hold fewer. */
#define DATAGRAMS 512

struct datagram_queue {
	__u64 self;     /* whose queue this is: tells a copy from the original */
	__u32 head;     /* number of the first packet that was not read */
	__u32 tail;     /* one past the number of the last packet */
	__u32 reader;   /* the thread that read last */
	__u32 attached; /* since when it was kept without a gap: wl_settings.attached */
	__u32 known;    /* number of the first packet that was seen coming */
	__u32 unused;
	__u64 packets[DATAGRAMS]; /* skb->head by number; 0 if unknown */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct datagram_queue);
} datagrams SEC(".maps");

/* How many datagrams the kernel holds for the socket's readers. */
static __always_inline __u32 queued_datagrams(struct sock *sk)
{
	struct udp_sock *udp = (void *)sk;

	return sk->sk_receive_queue.qlen + BPF_CORE_READ(udp, reader_queue.qlen);
}

/* At data ready: the packet is in the kernel's queue already. */
static __always_inline void put_datagram(struct sock *sk, __u64 packet)
{
	struct datagram_queue *queue =
		bpf_sk_storage_get(&datagrams, sk, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	__u32 number, attached = attachment();

	if (!queue)
		return;
	if (queue->self != (__u64)sk || queue->attached != attached) {
		/* What came before is unknown, but counts. */
		__u32 before = queued_datagrams(sk);

		queue->self = (__u64)sk;
		queue->attached = attached;
		queue->head = queue->tail;
		queue->tail += before ? before - 1 : 0;
		queue->known = queue->tail;
	}
	number = __sync_fetch_and_add(&queue->tail, 1);
	queue->packets[number % DATAGRAMS] = packet;
}

/* At the exit of a receive call; 0 if the packet is not known. */
static __always_inline __u64 take_datagram(struct sock *sk, struct task_struct *task)
{
	struct datagram_queue *queue = bpf_sk_storage_get(&datagrams, sk, NULL, 0);
	__u32 tail, number, last;

	if (!queue || queue->self != (__u64)sk || queue->attached != attachment())
		return 0;
	/* The tail first: what arrives in between must not look as if it had been read. */
	tail = *(volatile __u32 *)&queue->tail;
	last = tail - 1 - queued_datagrams(sk);
	/*
	 * A thread that reads alone has just taken `last`. If that is later than the head, some left
	 * without a read (a bad checksum). If it is earlier, one is arriving just now.
	 */
	if (queue->reader == (__u32)task->pid && (__s32)(last - queue->head) > 0)
		queue->head = last;
	queue->reader = task->pid;
	number = __sync_fetch_and_add(&queue->head, 1);
	if ((__s32)(tail - number) <= 0 || tail - number > DATAGRAMS ||
	    (__s32)(number - queue->known) < 0)
		return 0;
	return queue->packets[number % DATAGRAMS];
}

#endif
