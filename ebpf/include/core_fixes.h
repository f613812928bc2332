/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What differs between kernels, each with the version that made it. */
#ifndef WL_CORE_FIXES_H
#define WL_CORE_FIXES_H

/*
 * Since 6.17 the verifier lets programs load from the kernel's untyped pointers directly, as it does from
 * typed ones (f2362a57aeff); before, only through a helper call.
 */
const volatile __u8 direct_loads = 0;

/*
 * bpf_dynptr_from_skb() is a kfunc, allowed in tracing programs since 6.12. The loader (aya) cannot
 * resolve kfuncs, so the call is written as raw bytes with a marker where the function's BTF id
 * belongs. The capture crate replaces the marker before loading; on kernels without the function it
 * turns the instruction into `r0 = -EOPNOTSUPP`, and clears have_skb_dynptr.
 */
const volatile __u8 have_skb_dynptr = 0;
/* Then a program on the sockets' way out reads it, and the reader joins it with the packet. */
const volatile __u8 payload_from_cgroup = 0;

static __always_inline long skb_dynptr(struct sk_buff *skb, struct bpf_dynptr *out)
{
	register void *r1 asm("r1") = skb;
	register __u64 r2 asm("r2") = 0;
	register void *r3 asm("r3") = out;
	register long r0 asm("r0");

	asm volatile(".byte 0x85, 0x20, 0x00, 0x00; .long 0x77a90001"
		     : "=r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
		     :
		     : "r4", "r5", "memory");
	return r0;
}

/*
 * preempt_count() on x86 is a per-CPU variable: `__preempt_count` before 6.2 and since 6.15, a field of
 * `pcpu_hot` between. Its address is not to be had on kernels without CONFIG_KALLSYMS_ALL, but a pointer
 * to another per-CPU variable of the same CPU is, the run queue, and BTF tells the distance of the two.
 * Other architectures keep it in task_struct.thread_info.
 */
enum { PREEMPT_COUNT_UNKNOWN = 0, PREEMPT_COUNT_PERCPU = 1, PREEMPT_COUNT_TASK = 2 };
const volatile __u8 preempt_count_in = PREEMPT_COUNT_UNKNOWN;
/* From `runqueues` to `__preempt_count` or to `pcpu_hot`, bytes. */
const volatile __s32 preempt_count_distance = 0;

struct thread_info___preempt {
	int preempt_count;
} __attribute__((preserve_access_index));

struct task_struct___thread_info {
	struct thread_info___preempt thread_info;
} __attribute__((preserve_access_index));

struct pcpu_hot {
	int preempt_count;
} __attribute__((preserve_access_index));

static __always_inline __u32 preempt_count(struct task_struct *current)
{
	__s64 distance = preempt_count_distance;
	__u32 count = 0;

	if (preempt_count_in == PREEMPT_COUNT_PERCPU && bpf_core_field_exists(struct cfs_rq, rq)) {
		if (bpf_core_field_exists(struct pcpu_hot, preempt_count))
			distance += bpf_core_field_offset(struct pcpu_hot, preempt_count);
		bpf_probe_read_kernel(&count, sizeof(count),
				      (void *)current->se.cfs_rq->rq + distance);
	} else if (preempt_count_in == PREEMPT_COUNT_TASK) {
		struct task_struct___thread_info *task = (void *)current;

		count = BPF_CORE_READ(task, thread_info.preempt_count);
	}
	return count;
}

/* include/linux/preempt.h: serving a softirq, a hardirq or an NMI; not merely "softirqs are off". */
static __always_inline bool in_irq(struct task_struct *current)
{
	return preempt_count(current) & 0x00ff0100;
}

/*
 * sched_switch says in what state the thread was that leaves, since 5.18 (9c2136be0878); before, the thread
 * itself does, unless it has been woken meanwhile. Its `state` became `__state` in 5.14 (2f064a59a11f).
 */
const volatile __u8 switch_tells_state = 0;

struct task_struct___state {
	unsigned int __state;
} __attribute__((preserve_access_index));

struct task_struct___old_state {
	long state;
} __attribute__((preserve_access_index));

/* The context of sched_switch: preempt, prev, next, and prev's state. */
static __always_inline __u32 prev_state(__u64 *ctx)
{
	void *prev = (void *)ctx[1];

	if (switch_tells_state)
		return *(volatile __u64 *)&ctx[3];
	if (bpf_core_field_exists(struct task_struct___state, __state))
		return BPF_CORE_READ((struct task_struct___state *)prev, __state);
	return BPF_CORE_READ((struct task_struct___old_state *)prev, state);
}

/* cgroup.ancestors[] since 6.1 (7f203bc89eb6), ancestor_ids[] before. */
struct cgroup___ancestors {
	struct cgroup *ancestors[32];
} __attribute__((preserve_access_index));

struct cgroup___ancestor_ids {
	__u64 ancestor_ids[32];
} __attribute__((preserve_access_index));

/* Whether a task is in the cgroup v2 with this id, which has `level` cgroups above it, or below it. */
static __always_inline bool in_cgroup(struct task_struct *task, __u64 id, __u32 level)
{
	struct cgroup *own = BPF_CORE_READ(task, cgroups, dfl_cgrp);

	if (!own || level >= 32 || (__u32)BPF_CORE_READ(own, level) < level)
		return false;
	if (bpf_core_field_exists(struct cgroup___ancestors, ancestors)) {
		struct cgroup *ancestor = NULL;
		void *base =
			(void *)own + bpf_core_field_offset(struct cgroup___ancestors, ancestors);

		bpf_probe_read_kernel(&ancestor, sizeof(ancestor), base + level * sizeof(ancestor));
		return ancestor && BPF_CORE_READ(ancestor, kn, id) == id;
	}
	if (bpf_core_field_exists(struct cgroup___ancestor_ids, ancestor_ids)) {
		__u64 found = 0;
		void *base = (void *)own +
			     bpf_core_field_offset(struct cgroup___ancestor_ids, ancestor_ids);

		bpf_probe_read_kernel(&found, sizeof(found), base + level * sizeof(found));
		return found == id;
	}
	return false;
}

#endif
