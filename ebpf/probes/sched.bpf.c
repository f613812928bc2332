/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Threads of traced processes that are woken and run again: one record for both. */

/* kernel/sched/core.c try_to_wake_up(), on the CPU of whoever wakes. */
SEC("tp_btf/sched_waking")
int BPF_PROG(task_woken, struct task_struct *task)
{
	struct task_struct *current, *leader;
	struct task_state *state, *process;

	if (!is_open())
		return 0;
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
	current = bpf_get_current_task_btf();
	state->waker_pid = current->tgid;
	state->waker_tid = current->pid;
	state->from_irq = in_irq(current);
	state->woken = bpf_ktime_get_ns();
	return 0;
}

/* kernel/sched/core.c __schedule(). The last argument came in 5.18 (fa2c3254d7cf). */
SEC("tp_btf/sched_switch")
int BPF_PROG(task_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct task_state *state;
	struct wl_wake *out;

	/* Woken before it had gone to sleep, then preempted: its next switch-in is no wakeup. */
	if (prev_state == 0 && prev->pid) {
		state = bpf_task_storage_get(&tasks, prev, NULL, 0);
		if (state)
			state->woken = 0;
	}
	if (!next->pid)
		return 0;
	state = bpf_task_storage_get(&tasks, next, NULL, 0);
	if (!state || !state->woken)
		return 0;
	if (is_open()) {
		out = reserve(struct wl_wake, WL_PROBE_SCHED);
		if (out) {
			fill_head(&out->head, bpf_ktime_get_ns(), WL_WAKE,
				  state->from_irq ? WL_FROM_IRQ : 0);
			fill_task(&out->task, next);
			out->waker.pid = state->waker_pid;
			out->waker.tid = state->waker_tid;
			out->woken = state->woken;
			out->previous = prev->pid;
			out->unused = 0;
			((__u64 *)out->previous_comm)[0] = ((__u64 *)prev->comm)[0];
			((__u64 *)out->previous_comm)[1] = ((__u64 *)prev->comm)[1];
			submit(out);
		}
	}
	state->woken = 0;
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
