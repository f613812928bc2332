/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* CPU quotas of cgroups: how long a waiting thread's cgroup had no quota left, and which cgroup that was. */
#ifndef WL_QUOTA_H
#define WL_QUOTA_H

/* The shortest time between two reports about the same cgroup, in ns. */
#define QUOTA_INTERVAL 20000000

/* How many levels of cgroups are examined, from the thread's own upwards. */
#define GROUP_LEVELS 16

/* When a cgroup's quota was reported last. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u64);
} quotas SEC(".maps");

static __always_inline bool has_quotas(void)
{
	return bpf_core_field_exists(struct cfs_rq, throttle_count);
}

/*
 * The nearest group of the thread that has no quota left now, or else the nearest one that has a quota.
 */
static __noinline struct task_group *find_group(struct task_struct *task)
{
	struct sched_entity *entity = (void *)task + bpf_core_field_offset(struct task_struct, se);
	struct task_group *limited = NULL;
	__u32 level;

	for (level = 0; level < GROUP_LEVELS && entity; level++) {
		struct cfs_rq *queue = BPF_CORE_READ(entity, cfs_rq);
		struct cfs_rq___throttled *itself = (void *)queue;
		struct task_group *group = BPF_CORE_READ(queue, tg);

		if (BPF_CORE_READ_BITFIELD_PROBED(itself, throttled))
			return group;
		if (!limited && BPF_CORE_READ(group, cfs_bandwidth.quota) != ~0ull)
			limited = group;
		entity = BPF_CORE_READ(entity, parent);
	}
	return limited;
}

/* A thread begins to wait for a CPU. */
static __always_inline void begin_wait(struct task_state *state, struct task_struct *task)
{
	bool throttled;

	state->queue = 0;
	state->group = 0;
	if (!has_quotas())
		return;
	throttled = is_throttled(task);
	if (throttles_threads() && !throttled)
		return;
	state->queue = (__u64)BPF_CORE_READ(task, se.cfs_rq);
	state->queue_before = throttled_time((void *)state->queue);
	if (throttled)
		state->group = (__u64)find_group(task);
}

static __always_inline void emit_quota(struct task_group *group, __u64 cgroup,
				       struct task_struct *task, __u64 now)
{
	__u64 *last = bpf_map_lookup_elem(&quotas, &cgroup);
	struct kernfs_node *node, *parent;
	struct wl_quota *out;

	if (last && now < *last + QUOTA_INTERVAL)
		return;
	bpf_map_update_elem(&quotas, &cgroup, &now, BPF_ANY);
	out = reserve(struct wl_quota, WL_PROBE_SCHED);
	if (!out)
		return;
	fill_head(&out->head, now, WL_QUOTA, 0);
	fill_task(&out->task, task);
	out->cgroup = cgroup;
	out->quota = BPF_CORE_READ(group, cfs_bandwidth.quota);
	out->period = BPF_CORE_READ(group, cfs_bandwidth.period);
	out->throttled = BPF_CORE_READ(group, cfs_bandwidth.throttled_time);
	out->periods = BPF_CORE_READ(group, cfs_bandwidth.nr_periods);
	out->throttled_periods = BPF_CORE_READ(group, cfs_bandwidth.nr_throttled);
	out->hierarchy = BPF_CORE_READ(group, css.cgroup, root, hierarchy_id);
	out->level = BPF_CORE_READ(group, css.cgroup, level);
	node = BPF_CORE_READ(group, css.cgroup, kn);
	out->name[0] = 0;
	out->parent[0] = 0;
	bpf_probe_read_kernel_str(out->name, sizeof(out->name), BPF_CORE_READ(node, name));
	parent = parent_of(node);
	if (out->level > 1 && parent)
		bpf_probe_read_kernel_str(out->parent, sizeof(out->parent),
					  BPF_CORE_READ(parent, name));
	submit(out);
}

/*
 * How long, from the beginning of the wait that ends now, no quota was left, and in which cgroup; 0 if that did not happen
 * or is not known.
 */
static __always_inline __u64 end_wait(struct task_state *state, struct task_struct *task, __u64 now,
				      __u64 *cgroup)
{
	__u64 wait = now > state->woken ? now - state->woken : 0, after, throttled = wait;
	struct task_group *group;
	struct cfs_rq *queue;

	if (!has_quotas() || !state->queue || !wait)
		return 0;
	queue = BPF_CORE_READ(task, se.cfs_rq);
	if ((__u64)queue == state->queue) {
		after = throttled_time(queue);
		throttled = after > state->queue_before ? after - state->queue_before : 0;
		throttled = throttled < wait ? throttled : wait;
	} else if (!throttles_threads()) {
		/* The thread waited in the queue of another CPU, whose throttled time at the beginning is not known. */
		return 0;
	}
	if (!throttled)
		return 0;
	group = state->group ? (void *)state->group : find_group(task);
	if (!group)
		return 0;
	*cgroup = BPF_CORE_READ(group, css.cgroup, kn, id);
	if (*cgroup)
		emit_quota(group, *cgroup, task, now);
	return *cgroup ? throttled : 0;
}

#endif
