/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which datagram a read takes (docs/decisions/probes.md). A packet's memory is reused, so a datagram is identified by its
 * skb->head and a time at which it had that memory.
 *
 * On kernels where functions can be traced, the function that takes a datagram off the queue reports it, in calls that begin once
 * it is traced. Otherwise, no hook at a UDP socket's reader has the packet, but the queue can be examined: the datagram that is first in it while no
 * read is in progress is taken by the next read. The exit of a read examines the queue; if it is empty, the CPU that
 * announces the next datagram does. A datagram that neither has found is not known.
 */
#ifndef WL_DATAGRAMS_H
#define WL_DATAGRAMS_H

/* wl_settings.attached + 1 when datagram_taken() ran last, for any socket: it is there. */
volatile __u32 sees_taken = 0;

/*
 * Whether datagram_taken() runs for what is read from this socket: then its queue need not be examined. It does not run for a call
 * that began before it was attached, as that of a reader that has slept since.
 */
static __always_inline bool is_taken_seen(const struct sock_state *socket)
{
	return socket->takes == settings.attached + 1;
}

/*
 * The longest time from taking a datagram to the exit of the read call, and between two reads of a thread that shares a
 * socket with others, including waits for the CPU.
 */
#define LONGEST_READ 60000000000ull

/*
 * Who may write `announced`. In LOOKS_OPEN any CPU may claim it; it is CLAIMED until the CPU has written it, and then SEEN.
 * If a read ends before that, the claim is ABANDONED, and no other CPU may write until the claiming one has noticed. The
 * number above these bits changes with each read, so that an observation from before a read is not stored after it.
 */
enum looks { LOOKS_OPEN = 0, CLAIMED = 1, SEEN = 2, LOOKS_CLOSED = 3, ABANDONED = 4 };
#define LOOKS 7
#define NEXT_LOOK 8

/* The state of a socket's queue. */
struct datagram_queue {
	__u64 self;       /* the socket: distinguishes a copy from the original */
	__u64 looks;      /* enum looks, and the number of reads */
	__u64 other_read; /* when a thread last read after another thread had, or 0 */
	__u64 bad;        /* bad_checksums at the last read */
	__u32 attached;   /* wl_settings.attached at the last read: all since then was traced */
	__u32 window;     /* wl_settings.open at the last read */
	__u32 reader;     /* the thread that read last */
	__u32 unused;
	struct datagram
		first; /* the first in the queue when the last read ended; head is 0 if it was empty */
	struct datagram
		announced; /* the first in the queue when it was announced, if the queue was empty before */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct datagram_queue);
} datagrams SEC(".maps");

/* The number of datagrams with wrong checksums, which leave their queues without being read. */
volatile __u64 bad_checksums = 0;

/*
 * The datagram that is read next (net/ipv4/udp.c __skb_recv_udp()): readers empty their own queue first, then the one to
 * which packets are added.
 */
static __always_inline __u64 first_skb(struct sock *sk)
{
	__u64 own = (__u64)sk + bpf_core_field_offset(struct udp_sock, reader_queue);
	__u64 common = (__u64)sk + bpf_core_field_offset(struct sock, sk_receive_queue);
	__u64 skb = 0;

	/* A raw socket may have the same protocol, but does not have these queues. */
	if (sk->sk_type != SOCK_DGRAM)
		return 0;
	if (bpf_probe_read_kernel(&skb, sizeof(skb), (void *)own))
		return 0;
	if (skb != own)
		return skb;
	skb = (__u64)sk->sk_receive_queue.next;
	return skb != common ? skb : 0;
}

/* The first datagram in the queue; false if there is none, or if it may be taken off the queue just now. */
static __always_inline bool look(struct sock *sk, struct datagram *out)
{
	__u64 skb = first_skb(sk);

	out->head = 0;
	/* It means nothing then, but is copied: kernels before 6.3 refuse a program that copies what it has not written. */
	out->at = 0;
	if (!skb)
		return false;
	out->head = (__u64)BPF_CORE_READ((struct sk_buff *)skb, head);
	out->at = bpf_ktime_get_ns();
	if (first_skb(sk) == skb)
		return true;
	out->head = 0;
	return false;
}

static __always_inline bool is_current(const struct datagram_queue *queue, struct sock *sk)
{
	return queue->self == (__u64)sk && queue->attached == settings.attached &&
	       queue->window == settings.open;
}

static __always_inline void start_queue(struct datagram_queue *queue, struct sock *sk)
{
	queue->attached = settings.attached;
	queue->window = settings.open;
	queue->self = (__u64)sk;
}

/*
 * Examines the queue at data ready, when packets are already in it. The first time after a pause, nothing is known of the reads
 * before: what is first in the queue is taken by the next read, unless a read is in progress that has taken another. That
 * read ends with the first still in the queue, and leave_queue() notices.
 */
static __always_inline void look_at_announced(struct sock *sk, const struct sock_state *socket)
{
	struct datagram_queue *queue;
	struct datagram first;
	__u64 before, claimed;
	bool begins;

	if (is_taken_seen(socket))
		return;
	queue = bpf_sk_storage_get(&datagrams, sk, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!queue)
		return;
	before = *(volatile __u64 *)&queue->looks;
	begins = !is_current(queue, sk);
	if ((before & LOOKS) == CLAIMED || (before & LOOKS) == ABANDONED)
		return;
	if (!begins && (before & LOOKS) != LOOKS_OPEN)
		return;
	if (!look(sk, &first))
		return;
	claimed = (before & ~(__u64)LOOKS) + (begins ? NEXT_LOOK : 0) + CLAIMED;
	if (__sync_val_compare_and_swap(&queue->looks, before, claimed) != before)
		return;
	if (begins) {
		queue->first.head = 0;
		queue->bad = bad_checksums;
		start_queue(queue, sk);
	}
	queue->announced = first;
	if (__sync_val_compare_and_swap(&queue->looks, claimed, claimed - CLAIMED + SEEN) !=
	    claimed)
		__sync_lock_test_and_set(&queue->looks, claimed - CLAIMED + NEXT_LOOK);
}

/* A read has ended: `announced` from before it is no longer valid. */
static __always_inline bool turn_over(struct datagram_queue *queue, bool is_found)
{
	__u64 before, after;
	int attempt;

	/* Another CPU can interfere twice: when it claims, and when it has written. */
	for (attempt = 0; attempt < 3; attempt++) {
		before = *(volatile __u64 *)&queue->looks;
		if ((before & LOOKS) == ABANDONED)
			return true;
		after = before & ~(__u64)LOOKS;
		if ((before & LOOKS) == CLAIMED)
			after |= ABANDONED;
		else
			after += NEXT_LOOK + (is_found ? LOOKS_CLOSED : LOOKS_OPEN);
		if (__sync_val_compare_and_swap(&queue->looks, before, after) == before)
			return true;
	}
	return false;
}

/* Whether only this thread reads the socket. Another thread may have taken a datagram in a call that has not ended. */
static __always_inline bool reads_alone(struct datagram_queue *queue, struct task_struct *task,
					__u64 now)
{
	if (queue->reader && queue->reader != (__u32)task->pid)
		queue->other_read = now;
	queue->reader = task->pid;
	/* On another CPU a thread that reads now may have stored a later time than this one's. */
	return !queue->other_read || (__s64)(now - queue->other_read) > (__s64)LONGEST_READ;
}

/*
 * The datagram that a receive call has taken off the queue, at the call's exit. The head is 0 if it is not known; the time
 * is then one at which the queue was empty, or 0.
 */
static __always_inline void leave_queue(struct sock *sk, struct task_struct *task,
					struct datagram *out)
{
	__u64 bad = bad_checksums, now, looks;
	struct datagram_queue *queue;
	struct datagram first;
	bool is_known, is_found, is_empty;

	out->head = 0;
	out->at = 0;
	if (!is_open())
		return;
	queue = bpf_sk_storage_get(&datagrams, sk, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!queue)
		return;
	now = bpf_ktime_get_ns();
	is_known = is_current(queue, sk) && queue->bad == bad;
	/* Before the queue is examined: what is announced after that must not be taken for what this call took. */
	looks = __sync_fetch_and_add(&queue->looks, 0);
	if (queue->first.head)
		*out = queue->first;
	else if ((looks & LOOKS) == SEEN)
		*out = queue->announced;
	is_found = look(sk, &first);
	is_empty = !is_found && !first_skb(sk);
	if (!out->head)
		is_known = false;
	/* The datagram was stored when this call had already taken its own. */
	if (!queue->first.head && is_found && first.head == out->head)
		is_known = false;
	queue->first = first;
	queue->bad = bad;
	if (!is_current(queue, sk))
		start_queue(queue, sk);
	if (!reads_alone(queue, task, now))
		is_known = false;
	if (!turn_over(queue, is_found))
		queue->other_read = now;
	if (is_known)
		return;
	out->head = 0;
	out->at = is_empty ? now : 0;
}

/*
 * net/ipv4/udp.c: all reads of a UDP socket take their datagram off the queue with this function. Since 5.19
 * (ec095263a965) it has no `int noblock` after the flags.
 */
SEC("fexit/__skb_recv_udp")
int KEEPING_PROG(datagram_taken, struct sock *sk, unsigned int flags, int *off, int *err,
		 struct sk_buff *skb)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sock_state *socket;
	struct task_state *state;

	if (!is_open())
		return 0;
	if (sees_taken != settings.attached + 1)
		sees_taken = settings.attached + 1;
	if (!skb || (flags & MSG_PEEK))
		return 0;
	socket = bpf_sk_storage_get(&sockets, sk, NULL, 0);
	if (!socket || socket->verdict != TRACED)
		return 0;
	if (!is_taken_seen(socket))
		socket->takes = settings.attached + 1;
	state = bpf_task_storage_get(&tasks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!state)
		return 0;
	state->taken.datagram.head = (__u64)skb->head;
	state->taken.datagram.at = bpf_ktime_get_ns();
	state->taken.sleeps = task->nvcsw;
	state->taken.window = window();
	return 0;
}

/*
 * Whether it is the call in progress that has taken this datagram. The end of a call is not seen where the probes pause meanwhile,
 * nor, where it is that of a function, if any tracer attaches to that function or detaches from it meanwhile
 * (kernel/bpf/trampoline.c bpf_tramp_image_put()). What is left of that call must not name what a later one took, for which
 * datagram_taken() may not have run. In one window, only a thread that has not slept since can be deceived, one that polls. If a thread
 * sleeps in a call after it has taken a datagram, as it copies to memory that is not there yet, it is not known what that call took.
 */
static __always_inline bool is_of_this_call(const struct taken *taken, struct task_struct *task)
{
	return taken->window == window() && taken->sleeps == task->nvcsw;
}

/* The datagram that a receive call has taken, at the call's exit; the head is 0 if it is not known. */
static __always_inline void take_datagram(struct sock *sk, struct task_struct *task,
					  struct datagram *out)
{
	struct sock_state *socket;
	struct task_state *state;

	if (sees_taken != settings.attached + 1) {
		leave_queue(sk, task, out);
		return;
	}
	state = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (state && state->taken.datagram.head) {
		bool is_its = is_of_this_call(&state->taken, task);

		if (is_its)
			*out = state->taken.datagram;
		state->taken.datagram.head = 0;
		if (is_its)
			return;
	}
	socket = bpf_sk_storage_get(&sockets, sk, NULL, 0);
	if (!socket || !is_taken_seen(socket))
		leave_queue(sk, task, out);
}

#endif
