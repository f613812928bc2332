/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Differences between kernels, each with the version that introduced it. */
#ifndef WL_CORE_FIXES_H
#define WL_CORE_FIXES_H

/*
 * Since 6.17 (f2362a57aeff) the verifier lets programs load from the kernel's untyped pointers directly, as from typed
 * ones; earlier kernels need a helper call.
 */
const volatile __u8 direct_loads = 0;

/*
 * bpf_dynptr_from_skb() is a kfunc, allowed in tracing programs since 6.12. The loader (aya) cannot
 * resolve kfuncs, so the call is written as raw bytes with a marker where the function's BTF id
 * belongs. The capture crate replaces the marker before loading; on kernels without the function it
 * turns the instruction into `r0 = -EOPNOTSUPP`, and clears have_skb_dynptr.
 */
const volatile __u8 have_skb_dynptr = 0;
/* Whether a cgroup_skb program reads the payload, because have_skb_dynptr is 0; the reader joins it with the packet. */
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
 * bpf_rdonly_cast() to `void` makes any address a pointer that programs may load from, since 6.17 (f2362a57aeff), without the call
 * of a helper: the verifier replaces the call. Its marker is replaced like that of bpf_dynptr_from_skb().
 */
const volatile __u8 have_rdonly_cast = 0;

static __always_inline void *untyped(__u64 address)
{
	register __u64 r1 asm("r1") = address;
	register __u64 r2 asm("r2") = 0;
	register void *r0 asm("r0");

	asm volatile(".byte 0x85, 0x20, 0x00, 0x00; .long 0x77a90002"
		     : "=r"(r0), "+r"(r1), "+r"(r2)
		     :
		     : "r3", "r4", "r5", "memory");
	return r0;
}

/*
 * Whether programs keep their CPU while they run. A kernel that takes it from a thread in the kernel (PREEMPT, or lazy, which is what there is
 * since 7.0) does so also while a program runs for that thread: on functions in any case, on tracepoints since 7.0, which
 * forbade preemption before. Until the thread goes on, the kernel skips that program for all other threads of the CPU.
 */
const volatile __u8 keeps_cpu = 0;

/* Calls that the loader replaces like that of bpf_dynptr_from_skb(): kfuncs without a result. */
#define CALL_KFUNC(marker, argument)                                                               \
	do {                                                                                       \
		register void *r1 asm("r1") = (argument);                                          \
                                                                                                   \
		asm volatile(".byte 0x85, 0x20, 0x00, 0x00; .long " #marker                        \
			     : "+r"(r1)                                                            \
			     :                                                                     \
			     : "r0", "r2", "r3", "r4", "r5", "memory");                            \
	} while (0)

/* bpf_preempt_disable(), since 6.10. */
static __always_inline void keep_cpu(void)
{
	if (keeps_cpu)
		CALL_KFUNC(0x77a90004, NULL);
}

/*
 * bpf_preempt_enable(), which gives the CPU away if another thread is to have it, and that still within the program. Without interrupts it does
 * not (kernel/sched/core.c preempt_schedule()), and the thread goes on until the next occasion. Programs can disable them since 6.14.
 */
static __always_inline void release_cpu(void)
{
	__u64 interrupts;

	if (!keeps_cpu)
		return;
	CALL_KFUNC(0x77a90006, &interrupts); /* bpf_local_irq_save() */
	CALL_KFUNC(0x77a90005, NULL);
	CALL_KFUNC(0x77a90007, &interrupts); /* bpf_local_irq_restore() */
}

/* BPF_PROG() for programs that may run for a thread that can lose its CPU: neither in an interrupt nor with softirqs or interrupts disabled. */
#define KEEPING_PROG(name, args...)                                                                \
	name(unsigned long long *ctx);                                                             \
	static __always_inline int keeping_##name(unsigned long long *ctx);                        \
	int name(unsigned long long *ctx)                                                          \
	{                                                                                          \
		int result;                                                                        \
                                                                                                   \
		keep_cpu();                                                                        \
		result = keeping_##name(ctx);                                                      \
		release_cpu();                                                                     \
		return result;                                                                     \
	}                                                                                          \
	static __always_inline int BPF_PROG(keeping_##name, ##args)

/*
 * preempt_count() on x86 is a per-CPU variable: `__preempt_count` before 6.2 and since 6.15, a field of
 * `pcpu_hot` between. Kernels without CONFIG_KALLSYMS_ALL do not show its address, but a pointer to the run queue, another
 * per-CPU variable of the same CPU, is available, and BTF has the distance of the two. Other architectures have it in
 * task_struct.thread_info.
 */
enum { PREEMPT_COUNT_UNKNOWN = 0, PREEMPT_COUNT_PERCPU = 1, PREEMPT_COUNT_TASK = 2 };
const volatile __u8 preempt_count_in = PREEMPT_COUNT_UNKNOWN;
/* The distance from `runqueues` to `__preempt_count` or to `pcpu_hot`, in bytes. */
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
	void *queue;

	if (preempt_count_in == PREEMPT_COUNT_PERCPU && bpf_core_field_exists(struct cfs_rq, rq)) {
		if (bpf_core_field_exists(struct pcpu_hot, preempt_count))
			distance += bpf_core_field_offset(struct pcpu_hot, preempt_count);
		queue = current->se.cfs_rq->rq;
		if (have_rdonly_cast)
			return *(__u32 *)untyped((__u64)queue + distance);
		bpf_probe_read_kernel(&count, sizeof(count), queue + distance);
	} else if (preempt_count_in == PREEMPT_COUNT_TASK) {
		struct task_struct___thread_info *task = (void *)current;

		count = BPF_CORE_READ(task, thread_info.preempt_count);
	}
	return count;
}

/* Whether a softirq, a hardirq or an NMI is being served (include/linux/preempt.h); disabled softirqs do not count. */
static __always_inline bool in_irq(struct task_struct *current)
{
	return preempt_count(current) & 0x00ff0100;
}

/*
 * The same, or with softirqs disabled (in_softirq() in include/linux/preempt.h): a thread that hands the kernel a packet for somebody
 * else, as a tunnel in user space does (drivers/net/tun.c tun_get_user()), takes it up to its socket itself.
 */
static __always_inline bool in_irq_or_packets(struct task_struct *current)
{
	return preempt_count(current) & 0x00ffff00;
}

/* True if a hardirq is being served, as those of timers that wake threads are: packets come in softirqs. */
static __always_inline bool in_hard_irq(struct task_struct *current)
{
	return preempt_count(current) & 0x000f0000;
}

/*
 * Since 5.18 (9c2136be0878) sched_switch has the state of the thread that leaves; on earlier kernels it is read from the
 * thread, where a wakeup may have changed it. Its `state` was renamed to `__state` in 5.14 (2f064a59a11f).
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

/* Kernels without control groups have no such bit. */
struct task_struct___freezer {
	unsigned int frozen : 1;
} __attribute__((preserve_access_index));

/* True if a thread is frozen with its cgroup v2. */
static __always_inline bool is_frozen(struct task_struct *task)
{
	struct task_struct___freezer *freezer = (void *)task;

	return bpf_core_field_exists(freezer->frozen) &&
	       BPF_CORE_READ_BITFIELD_PROBED(freezer, frozen);
}

/* With CONFIG_SCHED_INFO, kernel/sched/stats.h notes when a thread that can run begins to wait for a CPU, by its run queue's clock. */
struct sched_info___queued {
	unsigned long long last_queued;
} __attribute__((preserve_access_index));

struct task_struct___queued {
	struct sched_info___queued sched_info;
} __attribute__((preserve_access_index));

/* For how long the thread that is switched to has waited for this CPU; 0 if the kernel does not tell. */
static __always_inline __u64 queued_for(struct task_struct *next)
{
	struct task_struct___queued *queued = (void *)next;
	__u64 since, clock;

	if (!bpf_core_field_exists(struct sched_info___queued, last_queued) ||
	    !bpf_core_field_exists(struct cfs_rq, rq))
		return 0;
	since = BPF_CORE_READ(queued, sched_info.last_queued);
	clock = BPF_CORE_READ(next, se.cfs_rq, rq, clock);
	return since && clock > since ? clock - since : 0;
}

/*
 * CPU quotas. Since 6.18 (e1fad12dcb66) each thread of a cgroup without remaining quota leaves the run queue on its return
 * to user space, with a flag; on earlier kernels the whole cgroup leaves the run queue, with all its queued threads.
 */
struct task_struct___throttled {
	bool throttled;
} __attribute__((preserve_access_index));

struct cfs_rq___throttled {
	unsigned int throttled : 1; /* an int before 6.18 */
} __attribute__((preserve_access_index));

/*
 * How long a queue was throttled: since 6.6 (677ea015f231) in throttled_clock_self_time, since 5.19 on the clock of the
 * queue's load (PELT), and on earlier kernels on the clock of its threads.
 */
struct cfs_rq___self {
	__u64 throttled_clock_self;
	__u64 throttled_clock_self_time;
} __attribute__((preserve_access_index));

struct cfs_rq___pelt {
	__u64 throttled_clock_pelt;
	__u64 throttled_clock_pelt_time;
} __attribute__((preserve_access_index));

struct cfs_rq___task {
	__u64 throttled_clock_task;
	__u64 throttled_clock_task_time;
} __attribute__((preserve_access_index));

struct rq___clocks {
	__u64 clock_task;
	__u64 clock_pelt;
} __attribute__((preserve_access_index));

static __always_inline bool throttles_threads(void)
{
	return bpf_core_field_exists(struct task_struct___throttled, throttled);
}

/* Whether a thread that leaves the CPU although it could run does so because no quota is left. */
static __always_inline bool is_throttled(struct task_struct *task)
{
	if (throttles_threads())
		return BPF_CORE_READ((struct task_struct___throttled *)task, throttled);
	return BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0;
}

/* How long so far the queue, or one above it, was throttled. */
static __always_inline __u64 throttled_time(struct cfs_rq *queue)
{
	struct rq___clocks *clocks = (void *)BPF_CORE_READ(queue, rq);
	__u64 sum = 0, since = 0, now = 0;

	if (bpf_core_field_exists(struct cfs_rq___self, throttled_clock_self_time)) {
		struct cfs_rq___self *self = (void *)queue;

		sum = BPF_CORE_READ(self, throttled_clock_self_time);
		since = BPF_CORE_READ(self, throttled_clock_self);
		if (since)
			now = BPF_CORE_READ((struct rq *)clocks, clock);
	} else if (bpf_core_field_exists(struct cfs_rq___pelt, throttled_clock_pelt_time)) {
		struct cfs_rq___pelt *pelt = (void *)queue;

		sum = BPF_CORE_READ(pelt, throttled_clock_pelt_time);
		if (BPF_CORE_READ(queue, throttle_count)) {
			since = BPF_CORE_READ(pelt, throttled_clock_pelt);
			now = BPF_CORE_READ(clocks, clock_pelt);
		}
	} else if (bpf_core_field_exists(struct cfs_rq___task, throttled_clock_task_time)) {
		struct cfs_rq___task *own = (void *)queue;

		sum = BPF_CORE_READ(own, throttled_clock_task_time);
		if (BPF_CORE_READ(queue, throttle_count)) {
			since = BPF_CORE_READ(own, throttled_clock_task);
			now = BPF_CORE_READ(clocks, clock_task);
		}
	}
	return since && now > since ? sum + (now - since) : sum;
}

/* kernfs_node.parent was renamed to __parent in 6.15 (633488947ef6). */
struct kernfs_node___rcu {
	struct kernfs_node *__parent;
} __attribute__((preserve_access_index));

struct kernfs_node___plain {
	struct kernfs_node *parent;
} __attribute__((preserve_access_index));

static __always_inline struct kernfs_node *parent_of(struct kernfs_node *node)
{
	if (bpf_core_field_exists(struct kernfs_node___rcu, __parent))
		return BPF_CORE_READ((struct kernfs_node___rcu *)node, __parent);
	return BPF_CORE_READ((struct kernfs_node___plain *)node, parent);
}

/*
 * The number of the system call that a thread is in: arch/x86/include/asm/ptrace.h, arch/arm64/include/asm/ptrace.h.
 * bpf_task_pt_regs() exists since 5.15 (dd6e10fbd9fb).
 */
const volatile __u8 have_task_regs = 0;

struct pt_regs___x86 {
	unsigned long r14;
	unsigned long orig_ax;
	unsigned long sp;
} __attribute__((preserve_access_index));

struct pt_regs___arm64 {
	__u64 regs[31];
	__u64 sp;
	int syscallno;
} __attribute__((preserve_access_index));

static __always_inline __u32 system_call(struct task_struct *task)
{
	void *regs;

	if (!have_task_regs)
		return ~0u;
	regs = (void *)bpf_task_pt_regs(task);
	if (bpf_core_field_exists(struct pt_regs___x86, orig_ax))
		return ((struct pt_regs___x86 *)regs)->orig_ax;
	if (bpf_core_field_exists(struct pt_regs___arm64, syscallno))
		return ((struct pt_regs___arm64 *)regs)->syscallno;
	return ~0u;
}

/* The register that has g where Go makes a system call (Go's internal ABI: R14 on amd64, R28 on arm64); 0 if it is not known. */
static __always_inline __u64 goroutine_of(struct task_struct *task)
{
	void *regs;

	if (!have_task_regs)
		return 0;
	regs = (void *)bpf_task_pt_regs(task);
	if (bpf_core_field_exists(struct pt_regs___x86, orig_ax))
		return BPF_CORE_READ((struct pt_regs___x86 *)regs, r14);
	if (bpf_core_field_exists(struct pt_regs___arm64, syscallno))
		return BPF_CORE_READ((struct pt_regs___arm64 *)regs, regs[28]);
	return 0;
}

/* The stack pointer where a thread made its system call; 0 if it is not known. */
static __always_inline __u64 user_stack(struct task_struct *task)
{
	void *regs;

	if (!have_task_regs)
		return 0;
	regs = (void *)bpf_task_pt_regs(task);
	if (bpf_core_field_exists(struct pt_regs___x86, orig_ax))
		return BPF_CORE_READ((struct pt_regs___x86 *)regs, sp);
	if (bpf_core_field_exists(struct pt_regs___arm64, syscallno))
		return BPF_CORE_READ((struct pt_regs___arm64 *)regs, sp);
	return 0;
}

/* A cgroup has ancestors[] since 6.1 (7f203bc89eb6), and ancestor_ids[] on earlier kernels. */
struct cgroup___ancestors {
	struct cgroup *ancestors[32];
} __attribute__((preserve_access_index));

struct cgroup___ancestor_ids {
	__u64 ancestor_ids[32];
} __attribute__((preserve_access_index));

/* Whether a task is in the cgroup v2 with this ID, which has `level` cgroups above it, or in one below it. */
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
