/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Probes for the begin and end of traced processes. */

/* kernel/fork.c: children of a traced process are traced. */
SEC("tp_btf/sched_process_fork")
int KEEPING_PROG(task_forked, struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = pid_of(parent), new_tgid = pid_of(child);
	__u8 yes = 1;

	if (tgid != new_tgid && bpf_map_lookup_elem(&pids, &tgid))
		bpf_map_update_elem(&pids, &new_tgid, &yes, BPF_ANY);
	return 0;
}

/* True if a thread of the process has used a traced socket. */
static __always_inline bool is_traced_process(struct task_struct *task)
{
	struct task_state *state = bpf_task_storage_get(&tasks, task, NULL, 0);
	struct task_struct *leader = task->group_leader;

	if (state && state->traced)
		return true;
	state = leader ? bpf_task_storage_get(&tasks, leader, NULL, 0) : NULL;
	return state && state->process;
}

/*
 * kernel/exit.c do_exit(): the process ends, and its sockets are closed after that. A process that has ended is removed, because
 * process IDs are reused. mark_oom_victim() in mm/oom_kill.c sets `oom_mm` of the process that it chooses.
 */
SEC("tp_btf/sched_process_exit")
int KEEPING_PROG(task_exited, struct task_struct *task)
{
	__u32 tgid = pid_of(task);
	struct wl_ended *out;

	if (BPF_CORE_READ(task, signal, live.counter) != 0)
		return 0;
	bpf_map_delete_elem(&pids, &tgid);
	if (!is_traced_process(task))
		return 0;
	out = reserve(struct wl_ended, WL_PROBE_SCHED);
	if (!out)
		return 0;
	fill_head(&out->head, bpf_ktime_get_ns(), WL_ENDED, 0);
	fill_task(&out->task, task);
	out->status = BPF_CORE_READ(task, exit_code);
	out->out_of_memory = BPF_CORE_READ(task, signal, oom_mm) != NULL;
	submit(out);
	return 0;
}
