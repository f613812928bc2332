/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Threads of traced processes that are woken and run again: one record for both. */

/*
 * Who had a CPU lately. It is written at every switch of the machine, so it is a few stores; it is read
 * only where a thread had to wait for more than one other.
 */
#define TURNS 8

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

/* Who had the CPU how long of a wait, one entry a thread. */
struct shares {
	__u64 held[TURNS];
	__u32 tids[TURNS];
};

/*
 * Finds who had this CPU longest of the time since `since`, until the turn `holder`, which ends now. A
 * thread may have had several turns. Turns that the ring no longer knows do not count. It is not static, so
 * that the verifier looks at it once and not on each way to it.
 */
__noinline __u64 find_holder(struct turns *turns, struct turn *holder, __u64 since)
{
	__u64 until, from, longest = 0;
	struct shares shares = {};
	__u32 turn, first, best = 0;

	if (!turns || !holder)
		return 0;
	until = holder->until;
	/* The one that ends now, and the last ones but the oldest, whose beginning is not known. */
	for (turn = 0; turn < TURNS && until > since; turn++) {
		from = turn_before(turns, turn + 1)->until;
		from = from > since ? from : since;
		shares.tids[turn] = turn ? turn_before(turns, turn)->tid : holder->tid;
		/* To the thread's first entry. */
		for (first = 0; first < turn && shares.tids[first] != shares.tids[turn]; first++)
			;
		first &= TURNS - 1;
		shares.held[first] += until - from;
		if (shares.held[first] > longest) {
			longest = shares.held[first];
			best = first;
		}
		until = from;
	}
	if (best)
		*holder = *turn_before(turns, best);
	return longest;
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
static __always_inline void leave(struct task_state *state, struct task_struct *next, __u8 rest,
				  __u64 now)
{
	state->left = now;
	state->left_cpu = bpf_get_smp_processor_id();
	state->rest = rest;
	if (rest != WL_REST_PREEMPTED)
		return;
	/* It waits from now on; if it had been woken before it had gone to sleep, that is over. */
	state->woken = now;
	state->waker_pid = next->tgid;
	state->waker_tid = next->pid;
	state->from_irq = 0;
}

static __always_inline void emit_wake(struct task_state *state, struct task_struct *task,
				      struct turns *turns, struct turn *holder)
{
	struct wl_wake *out = reserve(struct wl_wake, WL_PROBE_SCHED);
	__u64 now = holder->until;
	/* Another CPU may have woken it a moment after this one took the time. */
	__u64 held = now > state->woken ? now - state->woken : 0;

	if (!out)
		return;
	if (turn_before(turns, 1)->until > state->woken)
		held = find_holder(turns, holder, state->woken);
	fill_head(&out->head, now, WL_WAKE, state->from_irq ? WL_FROM_IRQ : 0);
	if (state->left && state->left_cpu != out->head.cpu)
		out->head.flags |= WL_MIGRATED;
	fill_task(&out->task, task);
	out->waker.pid = state->waker_pid;
	out->waker.tid = state->waker_tid;
	out->woken = state->woken;
	out->left = state->left;
	out->held = held;
	out->holder.pid = holder->pid;
	out->holder.tid = holder->tid;
	__builtin_memcpy(out->holder_comm, holder->comm, sizeof(out->holder_comm));
	out->rest = state->rest;
	out->unused = 0;
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
			leave(state, next, rest_of(ctx[0], prev_state(ctx)), turn.until);
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
