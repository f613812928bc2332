/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The time slices of each CPU, and who had it while a thread waited for it. */
#ifndef WL_SLICES_H
#define WL_SLICES_H

/*
 * The last time slices of a CPU: which thread had it, until when. They are written at every context switch of the machine
 * with a few stores, and read only if a thread had to wait for more than one other.
 */
#define SLICES 64

struct slice {
	__u64 until;
	__u32 pid;
	__u32 tid;
	__u64 comm[2];
};

/*
 * Longer slices are kept apart, so that they are still known when many short ones have come after them: a thread that waits for tenths
 * of a second on a busy machine waits for thousands of slices, and for these most of the time.
 */
#define LONG_SLICES 128
#define LONG_SLICE_NS 250000

struct long_slice {
	struct slice slice;
	__u64 from;
};

struct slices {
	__u32 next;
	__u32 next_long;
	struct slice last[SLICES];
	struct long_slice longer[LONG_SLICES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct slices);
} slices SEC(".maps");

/* A slice of this thread ends. */
static __always_inline void record_slice(struct slice *slice, struct task_struct *task, __u64 until)
{
	slice->until = until;
	slice->pid = pid_of(task);
	slice->tid = tid_of(task);
	slice->comm[0] = ((__u64 *)task->comm)[0];
	slice->comm[1] = ((__u64 *)task->comm)[1];
}

/* The slice that ended `back` slices ago; 1 is the last. */
static __always_inline struct slice *slice_before(struct slices *slices, __u32 back)
{
	return &slices->last[(slices->next - back) % SLICES];
}

/*
 * How many threads are counted in one wait, or processes, where it is another process. More than are reported, so that short slices
 * do not displace long ones.
 */
#define SHARES 8

/*
 * How long a thread of the waiting process, or another process, had the CPU during a wait, and the number of one of its slices; 0 is
 * the slice that ends now. A compiler may have more threads than are counted here, and none that has the CPU for long.
 */
struct share {
	__u64 held;
	__u32 who; /* the thread, or the other process: no process has the number of another's thread */
	__u32 slice;
};

struct shares {
	struct share of[SHARES];
	struct slice last; /* the slice that ends now */
	__u64 known;       /* the length of all slices of the wait that are known */
	__u64 throttled;   /* as in struct wl_wake */
	__u64 cgroup;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct shares);
} shares SEC(".maps");

/* Adds a slice to a share. The function is not static, so that the verifier checks it once. */
__noinline int add_share(struct shares *shares, __u32 who, __u32 slice, __u64 held)
{
	__u32 place, least = 0;
	struct share *share;

	if (!shares)
		return 0;
	for (place = 0; place < SHARES; place++) {
		share = &shares->of[place];
		if (share->held && share->who == who) {
			share->held += held;
			return 0;
		}
		if (share->held < shares->of[least & (SHARES - 1)].held)
			least = place;
	}
	share = &shares->of[least & (SHARES - 1)];
	if (share->held < held) {
		share->held = held;
		share->who = who;
		share->slice = slice;
	}
	return 0;
}

/* The long slice that ended `back` long slices ago; 1 is the last. */
static __always_inline struct long_slice *long_slice_before(struct slices *slices, __u32 back)
{
	return &slices->longer[(slices->next_long - back) % LONG_SLICES];
}

/* Notes the slice of a thread that ends now. */
static __always_inline void end_slice(struct slices *slices, struct task_struct *task, __u64 until)
{
	__u64 from = slice_before(slices, 1)->until;

	if (until - from >= LONG_SLICE_NS && from) {
		struct long_slice *slice = &slices->longer[slices->next_long++ % LONG_SLICES];

		record_slice(&slice->slice, task, until);
		slice->from = from;
	}
	record_slice(&slices->last[slices->next++ % SLICES], task, until);
}

/* The process or thread to whose share a slice belongs, for a thread of the process `own`. */
static __always_inline __u32 share_of(struct slice *slice, __u32 own)
{
	return slice->pid == own ? slice->tid : slice->pid;
}

/*
 * Finds who had this CPU while a thread of the process `own` waited, from `since` to the end of the slice `last`, which ends now, the
 * longest first. Each may have had several slices. Of slices that were overwritten, the long ones count. The function is not static, so that the
 * verifier checks it once, and not for each call.
 */
__noinline int find_holders(struct slices *slices, struct slice *last, struct shares *shares,
			    __u64 since, __u32 own)
{
	__u32 slice, place, other;
	__u64 until, from;

	if (!slices || !last || !shares)
		return 0;
	for (place = 0; place < SHARES; place++)
		shares->of[place].held = 0;
	shares->known = 0;
	until = last->until;
	/* The slice that ends now, and the stored ones except the oldest, whose beginning is not known. */
	for (slice = 0; slice < SLICES && until > since; slice++) {
		from = slice_before(slices, slice + 1)->until;
		from = from > since ? from : since;
		if (from < until) {
			add_share(shares, share_of(slice ? slice_before(slices, slice) : last, own),
				  slice, until - from);
			shares->known += until - from;
		}
		until = from;
	}
	for (slice = 1; slice < LONG_SLICES && until > since; slice++) {
		struct long_slice *earlier = long_slice_before(slices, slice);

		if (earlier->slice.until > until)
			continue;
		if (earlier->slice.until <= since)
			break;
		from = earlier->from > since ? earlier->from : since;
		add_share(shares, share_of(&earlier->slice, own), SLICES + slice,
			  earlier->slice.until - from);
		shares->known += earlier->slice.until - from;
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

/* The slice of a share: the one that ends now, or a stored one. */
static __always_inline struct slice *slice_of(struct slices *slices, struct slice *last,
					      struct share *share)
{
	if (share->slice >= SLICES)
		return &long_slice_before(slices, share->slice - SLICES)->slice;
	return share->slice ? slice_before(slices, share->slice) : last;
}

#endif
