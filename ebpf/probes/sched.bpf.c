/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Threads of traced processes that are woken and run again: one record for both. */

#include "quota.h"

/*
 * Who had a CPU lately. It is written at every switch of the machine, so it is a few stores; it is read
 * only where a thread had to wait for more than one other.
 */
#define TURNS 64

struct turn {
	__u64 until;
	__u32 pid;
	__u32 tid;
	__u64 comm[2];
};

struct turns {
	__u32 next;
	__u32 unused;
	struct turn last[TURNS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct turns);
} turns SEC(".maps");

static __always_inline void take_turn(struct turn *turn, struct task_struct *task, __u64 until)
{
	turn->until = until;
	turn->pid = task->tgid;
	turn->tid = task->pid;
	turn->comm[0] = ((__u64 *)task->comm)[0];
	turn->comm[1] = ((__u64 *)task->comm)[1];
}

/* The turn that ended `back` turns ago; 1 is the last. */
static __always_inline struct turn *turn_before(struct turns *turns, __u32 back)
{
	return &turns->last[(turns->next - back) % TURNS];
}

/* Threads that are told apart in one wait: more than are reported, so that short turns crowd no long one out. */
#define SHARES 8

/* How long a thread had the CPU in a wait, and one of its turns: 0 is the one that ends now. */
struct share {
	__u64 held;
	__u32 tid;
	__u32 turn;
};

struct shares {
	struct share of[SHARES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct shares);
} shares SEC(".maps");

/* A thread had the CPU for another while. It is not static, so that the verifier looks at it once. */
__noinline int add_share(struct shares *shares, __u32 tid, __u32 turn, __u64 held)
{
	__u32 place, least = 0;
	struct share *share;

	if (!shares)
		return 0;
	for (place = 0; place < SHARES; place++) {
		share = &shares->of[place];
		if (share->held && share->tid == tid) {
			share->held += held;
			return 0;
		}
		if (share->held < shares->of[least & (SHARES - 1)].held)
			least = place;
	}
	share = &shares->of[least & (SHARES - 1)];
	if (share->held < held) {
		share->held = held;
		share->tid = tid;
		share->turn = turn;
	}
	return 0;
}

/*
 * Finds who had this CPU how long since `since`, until the turn `last`, which ends now: the longest first. A
 * thread may have had several turns. Turns that the ring no longer knows do not count. It is not static, so
 * that the verifier looks at it once and not on each way to it.
 */
__noinline int find_holders(struct turns *turns, struct turn *last, struct shares *shares,
			    __u64 since)
{
	__u32 turn, place, other;
	__u64 until, from;

	if (!turns || !last || !shares)
		return 0;
	for (place = 0; place < SHARES; place++)
		shares->of[place].held = 0;
	until = last->until;
	/* The one that ends now, and the last ones but the oldest, whose beginning is not known. */
	for (turn = 0; turn < TURNS && until > since; turn++) {
		from = turn_before(turns, turn + 1)->until;
		from = from > since ? from : since;
		if (from < until)
			add_share(shares, turn ? turn_before(turns, turn)->tid : last->tid, turn,
				  until - from);
		until = from;
	}
	for (place = 0; place < SHARES / 2; place++) {
		for (other = place + 1; other < SHARES; other++) {
			struct share more = shares->of[other];

			if (more.held > shares->of[place].held) {
				shares->of[other] = shares->of[place];
				shares->of[place] = more;
			}
		}
	}
	return 0;
}

/* This CPU's packets wait for ksoftirqd from now on, in the window of this number; 0: no more. */
static __always_inline void defer_packets(__u32 number)
{
	struct cpu_state *cpu = this_cpu();

	if (cpu)
		cpu->deferred = number;
}

/* Forgets what is of another window. */
static __always_inline void enter_window(struct task_state *state, __u32 window)
{
	if (state->window == window)
		return;
	state->window = window;
	state->woken = 0;
	state->left = 0;
	state->queue = 0;
	state->call = ~0u;
	state->rest = WL_REST_ASLEEP;
}

/* kernel/sched/core.c try_to_wake_up(), on the CPU of whoever wakes. */
SEC("tp_btf/sched_waking")
int BPF_PROG(task_woken, struct task_struct *task)
{
	struct task_struct *current, *leader;
	struct task_state *state, *process;
	__u32 number = window();

	if (!number)
		return 0;
	if (is_ksoftirqd(task)) {
		defer_packets(number);
		return 0;
	}
	state = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (!state || !state->traced) {
		/* Another thread of a traced process: one may poll for others that read. */
		leader = task->group_leader;
		if (!leader)
			return 0;
		process = bpf_task_storage_get(&tasks, leader, NULL, 0);
		if (!process || !process->process)
			return 0;
		state = bpf_task_storage_get(&tasks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (!state)
			return 0;
		state->traced = 1;
	}
	enter_window(state, number);
	/* Preempted on its way to sleep: it was waiting for a CPU already. */
	if (state->left && state->rest == WL_REST_PREEMPTED)
		return 0;
	current = bpf_get_current_task_btf();
	state->waker_pid = current->tgid;
	state->waker_tid = current->pid;
	state->from_irq = in_irq(current);
	state->waker_comm[0] = ((__u64 *)current->comm)[0];
	state->waker_comm[1] = ((__u64 *)current->comm)[1];
	/* A thread that was asleep gets to run, and only then has to wait for quota. */
	if (throttles_threads())
		state->queue = 0;
	else
		begin_wait(state, task);
	state->woken = bpf_ktime_get_ns();
	return 0;
}

/* include/linux/sched.h: bits of task_struct.__state. */
#define STATE_UNINTERRUPTIBLE 0x0002
#define STATE_STOPPED 0x800c /* stopped, traced, frozen */

static __always_inline __u8 rest_of(bool preempt, __u32 prev_state)
{
	if (preempt || prev_state == 0)
		return WL_REST_PREEMPTED;
	if (prev_state & STATE_STOPPED)
		return WL_REST_STOPPED;
	return prev_state & STATE_UNINTERRUPTIBLE ? WL_REST_BLOCKED : WL_REST_ASLEEP;
}

/* A traced thread leaves the CPU to `next`. */
static __always_inline void leave(struct task_state *state, struct task_struct *prev,
				  struct task_struct *next, __u8 rest, __u64 now)
{
	state->left = now;
	state->left_cpu = bpf_get_smp_processor_id();
	state->rest = rest;
	state->call = rest == WL_REST_PREEMPTED ? ~0u : system_call(prev);
	if (rest != WL_REST_PREEMPTED)
		return;
	/* It waits from now on; if it had been woken before it had gone to sleep, that is over. */
	state->woken = now;
	state->waker_pid = next->tgid;
	state->waker_tid = next->pid;
	state->waker_comm[0] = ((__u64 *)next->comm)[0];
	state->waker_comm[1] = ((__u64 *)next->comm)[1];
	state->from_irq = 0;
	begin_wait(state, prev);
}

static __always_inline void fill_wake(struct wl_wake *out, struct task_state *state,
				      struct task_struct *task, __u64 throttled)
{
	out->head.flags = state->from_irq ? WL_FROM_IRQ : 0;
	if (state->left && state->left_cpu != out->head.cpu)
		out->head.flags |= WL_MIGRATED;
	fill_task(&out->task, task);
	out->waker.pid = state->waker_pid;
	out->waker.tid = state->waker_tid;
	__builtin_memcpy(out->waker_comm, state->waker_comm, sizeof(out->waker_comm));
	out->woken = state->woken;
	out->left = state->left;
	out->throttled = throttled;
	out->rest = state->rest;
	out->call = state->call;
}

static __always_inline void fill_holder(struct wl_wake *out, struct turn *holder, __u64 held)
{
	out->held = held;
	out->holder.pid = holder->pid;
	out->holder.tid = holder->tid;
	__builtin_memcpy(out->holder_comm, holder->comm, sizeof(out->holder_comm));
}

/* The turn of a share: the one that ends now, or one of the ring. */
static __always_inline struct turn *turn_of(struct turns *turns, struct turn *last,
					    struct share *share)
{
	return share->turn ? turn_before(turns, share->turn) : last;
}

/* A wait in which more than one thread had the CPU. */
static __always_inline void emit_shared(struct task_state *state, struct task_struct *task,
					struct turns *turns, struct turn *last, __u64 throttled,
					__u64 cgroup)
{
	struct wl_wake_shared *out;
	__u32 zero = 0, place;
	struct shares *found = bpf_map_lookup_elem(&shares, &zero);

	if (!found)
		return;
	find_holders(turns, last, found, state->woken + throttled);
	out = reserve(struct wl_wake_shared, WL_PROBE_SCHED);
	if (!out)
		return;
	fill_head(&out->wake.head, last->until, WL_WAKE_SHARED, 0);
	fill_wake(&out->wake, state, task, throttled);
	out->wake.cgroup = cgroup;
	fill_holder(&out->wake, turn_of(turns, last, &found->of[0]), found->of[0].held);
	for (place = 0; place < 3; place++) {
		struct share *share = &found->of[place + 1];
		struct turn *turn = turn_of(turns, last, share);
		struct wl_share *other = &out->others[place];

		other->held = share->held;
		other->task.pid = turn->pid;
		other->task.tid = turn->tid;
		__builtin_memcpy(other->comm, turn->comm, sizeof(other->comm));
	}
	submit(out);
}

static __always_inline void emit_wake(struct task_state *state, struct task_struct *task,
				      struct turns *turns, struct turn *holder)
{
	__u64 now = holder->until, cgroup = 0, since, throttled;
	struct wl_wake *out;

	throttled = end_wait(state, task, now, &cgroup);
	since = state->woken + throttled;
	if (turn_before(turns, 1)->until > since) {
		emit_shared(state, task, turns, holder, throttled, cgroup);
		return;
	}
	out = reserve(struct wl_wake, WL_PROBE_SCHED);
	if (!out)
		return;
	fill_head(&out->head, now, WL_WAKE, 0);
	fill_wake(out, state, task, throttled);
	out->cgroup = cgroup;
	/* Another CPU may have woken it a moment after this one took the time. */
	fill_holder(out, holder, now > since ? now - since : 0);
	submit(out);
}

/* kernel/sched/core.c __schedule(). */
SEC("tp_btf/sched_switch")
int task_switch(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct task_state *state;
	struct turns *cpu_turns;
	__u32 zero = 0, number = window();
	struct turn turn;

	if (!number)
		return 0;
	cpu_turns = bpf_map_lookup_elem(&turns, &zero);
	if (!cpu_turns)
		return 0;
	take_turn(&turn, prev, bpf_ktime_get_ns());
	if (is_ksoftirqd(prev)) {
		if (rest_of(ctx[0], prev_state(ctx)) != WL_REST_PREEMPTED)
			defer_packets(0);
	} else if (prev->pid) {
		state = bpf_task_storage_get(&tasks, prev, NULL, 0);
		if (state && state->traced) {
			enter_window(state, number);
			leave(state, prev, next, rest_of(ctx[0], prev_state(ctx)), turn.until);
		}
	}
	if (next->pid) {
		state = bpf_task_storage_get(&tasks, next, NULL, 0);
		if (state && state->traced) {
			if (state->woken && state->window == number)
				emit_wake(state, next, cpu_turns, &turn);
			state->woken = 0;
			state->left = 0;
		}
	}
	take_turn(&cpu_turns->last[cpu_turns->next++ % TURNS], prev, turn.until);
	return 0;
}

/* kernel/fork.c: children of a traced process are traced. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(task_forked, struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = parent->tgid, new_tgid = child->tgid;
	__u8 yes = 1;

	if (tgid != new_tgid && bpf_map_lookup_elem(&pids, &tgid))
		bpf_map_update_elem(&pids, &new_tgid, &yes, BPF_ANY);
	return 0;
}

/* kernel/exit.c: process ids are used again. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(task_exited, struct task_struct *task)
{
	__u32 tgid = task->tgid;

	if (BPF_CORE_READ(task, signal, live.counter) == 0)
		bpf_map_delete_elem(&pids, &tgid);
	return 0;
}
