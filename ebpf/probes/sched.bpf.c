/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Probes for threads of traced processes: one record for a wakeup and the switch to the thread. */

#include "quota.h"
#include "slices.h"

/* Notes that this CPU's packets wait for ksoftirqd from `now` on, in the window of this number; 0: they no longer do. */
static __always_inline void defer_packets(__u32 number, __u64 now)
{
	struct cpu_state *cpu = this_cpu();

	if (!cpu)
		return;
	cpu->deferred = number;
	cpu->deferred_since = now;
}

/* ksoftirqd is given the CPU. */
static __always_inline void take_deferred(__u64 now)
{
	struct cpu_state *cpu = this_cpu();

	if (cpu)
		cpu->deferred_until = now;
}

/* Forgets the state of an earlier window. */
static __always_inline void enter_window(struct task_state *state, __u32 window)
{
	if (state->window == window)
		return;
	state->window = window;
	state->woken = 0;
	state->left = 0;
	state->missed = 0;
	state->queue = 0;
	state->call = ~0u;
	state->off_cpu = WL_OFF_CPU_ASLEEP;
}

/* kernel/sched/core.c try_to_wake_up(), on the CPU of the waking thread. */
SEC("tp_btf/sched_waking")
int BPF_PROG(task_woken, struct task_struct *task)
{
	struct task_struct *current, *leader;
	struct task_state *state, *process;
	__u32 number = window();

	if (!number)
		return 0;
	if (is_ksoftirqd(task)) {
		defer_packets(number, bpf_ktime_get_ns());
		return 0;
	}
	state = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (!state || !state->traced) {
		/* Other threads of a traced process are traced, too: one thread may poll while others read. */
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
	/* A thread that was preempted before it slept is already waiting for the CPU. */
	if (state->left && state->off_cpu == WL_OFF_CPU_PREEMPTED)
		return 0;
	current = bpf_get_current_task_btf();
	state->waker_pid = pid_of(current);
	state->waker_tid = tid_of(current);
	state->from_irq = in_irq_or_packets(current);
	state->from_hard_irq = in_hard_irq(current);
	state->waker_comm[0] = ((__u64 *)current->comm)[0];
	state->waker_comm[1] = ((__u64 *)current->comm)[1];
	/* With throttled threads, a thread that was asleep runs first and only then waits for quota. */
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

static __always_inline __u8 off_cpu_reason(bool preempt, __u32 prev_state)
{
	if (preempt || prev_state == 0)
		return WL_OFF_CPU_PREEMPTED;
	if (prev_state & STATE_STOPPED)
		return WL_OFF_CPU_STOPPED;
	return prev_state & STATE_UNINTERRUPTIBLE ? WL_OFF_CPU_BLOCKED : WL_OFF_CPU_ASLEEP;
}

/*
 * A thread of a frozen cgroup v2 sleeps like one that waits for something (kernel/signal.c do_freezer_trap()). Who waits for a child that it
 * has made by vfork(2) is frozen, too, but not interruptible.
 */
static __always_inline __u8 reason_of(struct task_struct *prev, bool preempt, __u32 prev_state)
{
	__u8 reason = off_cpu_reason(preempt, prev_state);

	return reason == WL_OFF_CPU_ASLEEP && is_frozen(prev) ? WL_OFF_CPU_STOPPED : reason;
}

static __always_inline void fill_wake(struct wl_wake *out, struct task_state *state,
				      struct task_struct *task, __u64 throttled)
{
	out->head.flags = state->from_irq ? WL_FROM_IRQ : 0;
	if (state->from_hard_irq)
		out->head.flags |= WL_HARD_IRQ;
	if (state->left && state->left_cpu != out->head.cpu)
		out->head.flags |= WL_MIGRATED;
	if (state->missed)
		out->head.flags |= WL_MISSED;
	fill_task(&out->task, task);
	out->waker.pid = state->waker_pid;
	out->waker.tid = state->waker_tid;
	__builtin_memcpy(out->waker_comm, state->waker_comm, sizeof(out->waker_comm));
	out->woken = state->woken;
	out->left = state->left;
	out->throttled = throttled;
	out->off_cpu = state->off_cpu;
	out->call = state->call;
}

/* Rests are reported so long after their end at most: other events come in the order of time. */
#define LATEST_REPORT_NS 50000000

/*
 * Reports the rest before a switch for which the kernel has not called this program, up to the wakeup, where that was seen. When the thread
 * got a CPU after it is not known.
 */
static __noinline int emit_rest(struct task_state *state, struct task_struct *task, __u64 now)
{
	struct wl_wake *out;

	if (!state || !task || state->off_cpu == WL_OFF_CPU_PREEMPTED ||
	    state->woken <= state->left || now - state->woken > LATEST_REPORT_NS)
		return 0;
	out = reserve(struct wl_wake, WL_PROBE_SCHED);
	if (!out)
		return 0;
	fill_head(&out->head, state->woken, WL_WAKE, 0);
	fill_wake(out, state, task, 0);
	out->cgroup = 0;
	out->held = 0;
	__builtin_memset(&out->holder, 0, sizeof(out->holder));
	__builtin_memset(out->holder_comm, 0, sizeof(out->holder_comm));
	submit(out);
	return 0;
}

/* A traced thread leaves the CPU to `next`. */
static __always_inline void leave(struct task_state *state, struct task_struct *prev,
				  struct task_struct *next, __u8 off_cpu, __u64 now)
{
	/* It had left before: the kernel has not called this program for the switch to it. */
	if (state->left) {
		emit_rest(state, prev, now);
		state->woken = 0;
		state->missed = 1;
	}
	state->left = now;
	state->left_cpu = bpf_get_smp_processor_id();
	state->off_cpu = off_cpu;
	state->call = off_cpu == WL_OFF_CPU_PREEMPTED ? ~0u : system_call(prev);
	if (off_cpu != WL_OFF_CPU_PREEMPTED)
		return;
	/* The thread waits from now on; a wakeup before it slept no longer matters. */
	state->woken = now;
	state->waker_pid = pid_of(next);
	state->waker_tid = tid_of(next);
	state->waker_comm[0] = ((__u64 *)next->comm)[0];
	state->waker_comm[1] = ((__u64 *)next->comm)[1];
	state->from_irq = 0;
	state->from_hard_irq = 0;
	begin_wait(state, prev);
}

static __always_inline void fill_holder(struct wl_wake *out, struct slice *holder, __u64 held)
{
	out->held = held;
	out->holder.pid = holder->pid;
	out->holder.tid = holder->tid;
	__builtin_memcpy(out->holder_comm, holder->comm, sizeof(out->holder_comm));
}

/*
 * Reports a wait in which more than one thread had the CPU. The function has a stack frame of its own, which most switches do not
 * need.
 */
static __noinline int emit_shared(struct task_state *state, struct task_struct *task,
				  struct slices *slices, struct shares *found)
{
	struct slice *last = &found->last;
	struct wl_wake_shared *out;
	__u32 place;

	find_holders(slices, last, found, state->woken + found->throttled, pid_of(task));
	out = reserve(struct wl_wake_shared, WL_PROBE_SCHED);
	if (!out)
		return 0;
	fill_head(&out->wake.head, last->until, WL_WAKE_SHARED, 0);
	fill_wake(&out->wake, state, task, found->throttled);
	out->wake.cgroup = found->cgroup;
	fill_holder(&out->wake, slice_of(slices, last, &found->of[0]), found->of[0].held);
	out->rest = found->known - found->of[0].held;
	for (place = 0; place < 3; place++) {
		struct share *share = &found->of[place + 1];
		struct slice *slice = slice_of(slices, last, share);
		struct wl_share *other = &out->others[place];

		other->held = share->held;
		out->rest -= share->held;
		other->task.pid = slice->pid;
		other->task.tid = slice->tid;
		__builtin_memcpy(other->comm, slice->comm, sizeof(other->comm));
	}
	submit(out);
	return 0;
}

/* Reports a wait that ends because `prev` leaves the CPU. */
static __always_inline void emit_wake(struct task_state *state, struct task_struct *task,
				      struct slices *slices, struct task_struct *prev, __u64 now)
{
	__u64 cgroup = 0, since, throttled;
	struct shares *found;
	struct wl_wake *out;
	__u32 zero = 0;

	throttled = end_wait(state, task, now, &cgroup);
	since = state->woken + throttled;
	if (slice_before(slices, 1)->until > since) {
		found = bpf_map_lookup_elem(&shares, &zero);
		if (!found)
			return;
		record_slice(&found->last, prev, now);
		found->throttled = throttled;
		found->cgroup = cgroup;
		emit_shared(state, task, slices, found);
		return;
	}
	out = reserve(struct wl_wake, WL_PROBE_SCHED);
	if (!out)
		return;
	fill_head(&out->head, now, WL_WAKE, 0);
	fill_wake(out, state, task, throttled);
	out->cgroup = cgroup;
	/* Another CPU may have woken the thread just after this CPU took the time. */
	out->held = now > since ? now - since : 0;
	fill_task(&out->holder, prev);
	((__u64 *)out->holder_comm)[0] = ((__u64 *)prev->comm)[0];
	((__u64 *)out->holder_comm)[1] = ((__u64 *)prev->comm)[1];
	submit(out);
}

/* A thread may be woken on another CPU just before this one notes that it leaves. */
#define STALE_WAKEUP_NS 1000000

/*
 * A thread is switched to that was not seen to be woken, or to leave the CPU: the kernel has not called these programs then. Its run queue tells
 * since when it has waited.
 */
static __always_inline void find_unseen(struct task_state *state, struct task_struct *next,
					__u64 now)
{
	__u64 waited = queued_for(next);

	if (!waited || now - waited < state->left)
		return;
	if (!state->left) {
		state->left = now - waited;
		state->left_cpu = bpf_get_smp_processor_id();
		state->off_cpu = WL_OFF_CPU_PREEMPTED;
		state->call = ~0u;
		state->missed = 1;
	}
	state->woken = now - waited;
	state->waker_pid = 0;
	state->waker_tid = 0;
	state->waker_comm[0] = 0;
	state->waker_comm[1] = 0;
	state->from_irq = 0;
	state->from_hard_irq = 0;
	state->queue = 0;
}

/* kernel/sched/core.c __schedule(). */
SEC("tp_btf/sched_switch")
int task_switch(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct task_state *state;
	struct slices *cpu_slices;
	__u32 zero = 0, number = window();
	__u64 now;

	if (!number)
		return 0;
	cpu_slices = bpf_map_lookup_elem(&slices, &zero);
	if (!cpu_slices)
		return 0;
	now = bpf_ktime_get_ns();
	if (is_ksoftirqd(prev)) {
		/* One that lost the CPU has work left. */
		defer_packets(off_cpu_reason(ctx[0], prev_state(ctx)) == WL_OFF_CPU_PREEMPTED
				      ? number
				      : 0,
			      now);
	} else if (prev->pid) {
		state = bpf_task_storage_get(&tasks, prev, NULL, 0);
		if (state && state->traced) {
			enter_window(state, number);
			leave(state, prev, next, reason_of(prev, ctx[0], prev_state(ctx)), now);
		}
	}
	if (is_ksoftirqd(next)) {
		take_deferred(now);
	} else if (next->pid) {
		state = bpf_task_storage_get(&tasks, next, NULL, 0);
		if (state && state->traced) {
			/* A wakeup long before it left was one while it ran, after which nothing was switched. */
			if (state->left && state->woken + STALE_WAKEUP_NS < state->left)
				state->woken = 0;
			if (!state->woken && state->window == number)
				find_unseen(state, next, now);
			if (state->woken && state->window == number) {
				emit_wake(state, next, cpu_slices, prev, now);
				state->missed = 0;
			} else if (state->left) {
				state->missed = 1;
			}
			state->woken = 0;
			state->left = 0;
		}
	}
	end_slice(cpu_slices, prev, now);
	return 0;
}
