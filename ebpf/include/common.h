/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Maps, settings and helpers that every probe uses. */
#ifndef WL_COMMON_H
#define WL_COMMON_H

/* The loader sets these before loading, so that the verifier removes branches that are never taken. */
const volatile __u8 filter_ports = 0;
const volatile __u8 filter_pids = 0;
const volatile __u64 filter_cgroup = 0; /* id of the cgroup, 0: none */
const volatile __u32 filter_cgroup_level = 0;
const volatile __u32 own_tgid = 0; /* the process to leave out, 0: none */
/* The inode number of wirelap's PID namespace, 0: the machine's own, in which tasks have their plain numbers. */
const volatile __u32 own_pid_namespace = 0;
const volatile __u32 snap_bytes = 65536;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WL_PROBES);
	__type(key, __u32);
	__type(value, struct wl_counter);
} counters SEC(".maps");

/* User space writes these at any time. A program loads them directly, where a map would have to be asked. */
volatile struct wl_settings settings SEC(".data.settings") = {};

/* Processes of the traced trees, by tgid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u8);
} pids SEC(".maps");

/*
 * Sockets whose conversations cannot be followed, or whose rows the user has muted, by cookie. Their calls are not reported, and
 * their packets without payload, so that bytes of what cannot be followed are still counted.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u8);
} muted SEC(".maps");

enum verdict { UNKNOWN = 0, TRACED = 1, IGNORED = 2 };

/* Whether a socket was reported. Its packets may leave the host after it was closed. */
enum announced { NOT_ANNOUNCED = 0, ANNOUNCED = 1, CLOSED = 2 };

/* The state of a socket. A socket made by accept() starts with a copy of its listener's state. */
struct sock_state {
	__u64 self; /* the socket: distinguishes a copy from the original */
	__u64 cookie;
	__u32 generation;  /* the filter for which an IGNORED verdict is valid */
	__u32 judged_tgid; /* the process for which an IGNORED verdict is valid */
	__u32 owner_pid;
	__u32 owner_tid;
	__u32 marked_tid; /* the thread that used it last, marked as traced */
	__u32 netns;
	__u32 held;   /* the port that was learned from the socket, or 0 */
	__u32 tls_at; /* TLS: where the last record began whose text was reported */
	__u8 owner_comm[16];
	__u64 send_from; /* TCP: start of the last send call's buffer, or of its array of buffers */
	__u64 send_to;   /* TCP: end of that array; equal to send_from for a single buffer */
	__u32 send_end;  /* TCP: write_seq at the end of the last send call */
	__u8 sending;    /* TCP: whether there was a send call */
	__u8 verdict;
	__u8 announced;
	__u8 origin;
	__u8 tls_told;     /* TLS: whether there was such a record */
	__u8 tls_overhead; /* TLS: how much longer a record is than its text; 0: not known */
	__u8 muted;        /* whether it is in the map `muted`, as far as `mutes` says */
	__u8 unused;
	__u32 tls_text; /* TLS: bytes of the text so far */
	__u32 mutes;    /* the state of the map `muted` for which that is so */
	__u32 takes;    /* UDP: wl_settings.attached + 1 when datagram_taken() ran for it last */
	__u32 tls_pid;  /* TLS: the process that has the next field */
	__u64 tls_connection; /* TLS: the address of the connection in the memory of rustls; 0: not known */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct sock_state);
} sockets SEC(".maps");

/* A datagram, identified by its memory (skb->head) and a time at which it used it: the memory is reused by others. */
struct datagram {
	__u64 head;
	__u64 at;
};

/* The datagram that a receive call has taken, for the end of that call. */
struct taken {
	struct datagram datagram; /* head is 0 once the call has ended, or if there is none */
	__u64 sleeps;             /* how often the thread had left its CPU to sleep by then */
	__u32 window;
	__u32 unused;
};

/* The state of a thread. */
struct task_state {
	__u64 woken;    /* time of a wakeup after which the thread has not run yet, or 0 */
	__u64 left;     /* when it left the CPU; 0 if it is running, or if that was not traced */
	__u32 left_cpu; /* the CPU that it left */
	__u32 waker_pid;
	__u32 waker_tid;
	__u8 from_irq;
	__u8 from_hard_irq;
	__u8 off_cpu;     /* why it left the CPU: enum wl_off_cpu */
	__u8 traced;      /* it, or its process before its last wakeup, has used a traced socket */
	__u8 process;     /* of a group leader: a thread of the process has used a traced socket */
	__u64 entered;    /* entry of the send call in progress, or 0 */
	__u32 entered_in; /* the window in which that was */
	__u8 sends_many;  /* the system call in progress is sendmmsg */
	__u8 unused[3];
	__u32 window; /* the window in which woken and left are valid */
	__u64 waker_comm[2];
	__u64 queue;        /* the cfs_rq that it waits in, or 0 */
	__u64 queue_before; /* how long that queue had been throttled when the wait began */
	__u64 group;        /* the task_group without remaining quota when the wait began, or 0 */
	__u32 call;         /* the number of the system call that it sleeps in; ~0: not known */
	__u32 missed;       /* 1: a switch to it was not traced since the last record */
	struct taken taken;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_state);
} tasks SEC(".maps");

/*
 * The packet that a CPU received last. A softirq may interrupt a task and receive another packet, so a reader
 * checks that the state is still that of its packet.
 */
struct cpu_state {
	__u64 rx_head; /* the packet's skb->head */
	__u64 rx_at;   /* when the packet was reported; 0 if it was not */
	__u64 rx_told; /* the socket that was last notified of the packet */
	__u32 rx_netns;
	__u16 rx_port; /* the packet's destination port */
	__u8 rx_transport;
	__u8 unused;
	__u32 deferred; /* the window in which ksoftirqd was woken; 0 once it sleeps again */
	__u32 copied;   /* the window in which packet_payload() reported what it ran for; 0: not */
	__u32 copied_skb; /* the packet that it ran for last, name_of() */
	__u32 unused2;
	__u64 deferred_since; /* since when ksoftirqd waits for the CPU, or waited for it last */
	__u64 deferred_until; /* when it was given the CPU */
	__u64 looping; /* skb->head of the packet that was reported last as sent, if it is simple and comes back through loopback; or 0 */
	__u64 looping_seq;    /* its ports and sequence number, struct simple_packet */
	__u32 looping_window; /* the window in which that was */
	__u8 looping_header;  /* the length of its IP header */
	__u8 looping_protocol;
	__u16 unused3;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_state);
} cpus SEC(".maps");

static __always_inline struct cpu_state *this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

/*
 * kernel/softirq.c: work that exceeds an interrupt's time budget is left to the thread ksoftirqd/CPU, which
 * wakeup_softirqd() wakes on that CPU.
 */
static __always_inline bool is_ksoftirqd(struct task_struct *task)
{
	const __u64 name = 0x71726974666f736bull; /* "ksoftirq" */

	return *(__u64 *)task->comm == name && (task->flags & PF_KTHREAD);
}

/*
 * A packet, by the lower half of the address of its struct sk_buff. A move of half a register makes a number of a pointer; half a pointer
 * cannot be stored.
 */
static __always_inline __u32 name_of(const void *skb)
{
	__u32 name;

	asm volatile("%0 = %1" : "=w"(name) : "w"((__u32)(__u64)skb));
	return name;
}

/* The number of the current window; 0 while the probes pause. */
static __always_inline __u32 window(void)
{
	return settings.open;
}

static __always_inline bool is_open(void)
{
	return window() != 0;
}

/* The number of this attachment. Nothing is traced between two attachments. */
static __always_inline __u32 attachment(void)
{
	return settings.attached;
}

/*
 * Makes the verifier forget what it knows of the bytes of `p`, which changes nothing. It would otherwise check all code that
 * follows once for each way in which the bytes may have come about: of a packet's headers, there are dozens.
 */
static __always_inline void forget(struct wl_packet *p)
{
	__u32 zero = settings.zero;

	asm volatile("" : "+r"(zero));
	/* The first byte is of the time, which is filled in later and 0 until then. */
	if (zero < sizeof(*p))
		((volatile __u8 *)p)[zero] = zero;
}

static __always_inline void count_lost(__u32 probe)
{
	struct wl_counter *c = bpf_map_lookup_elem(&counters, &probe);

	if (c)
		c->lost++;
}

static __always_inline void count_filtered(__u32 probe)
{
	struct wl_counter *c = bpf_map_lookup_elem(&counters, &probe);

	if (c)
		c->filtered++;
}

static __always_inline void count_muted(__u32 probe)
{
	struct wl_counter *c = bpf_map_lookup_elem(&counters, &probe);

	if (c)
		c->muted++;
}

static __always_inline void fill_head(struct wl_head *head, __u64 at, __u8 kind, __u8 flags)
{
	head->at = at;
	head->cpu = bpf_get_smp_processor_id();
	head->kind = kind;
	head->flags = flags;
	head->captured = 0;
}

/* include/linux/pid_namespace.h: namespaces below each other. */
#define MAX_PID_NS_LEVEL 32

/*
 * The number of a task in wirelap's PID namespace (kernel/pid.c pid_nr_ns(), whose level is not known here). A task outside of the namespace
 * has none there: it gets its number in the machine's own namespace, which is below 2^22, and so much more. The sum is below the distance
 * between the numbers of two hosts (HOST_STRIDE of the crate `events`).
 */
#define WL_OUTSIDE 5000000

static __noinline __u32 number_in_namespace(__u64 address)
{
	struct pid *pid = (struct pid *)address;
	__u32 level = BPF_CORE_READ(pid, level), number;
	struct upid upid;
	__u32 place;

	for (place = 0; place <= MAX_PID_NS_LEVEL; place++) {
		if (place > level)
			break;
		if (bpf_core_read(&upid, sizeof(upid), &pid->numbers[place]))
			break;
		if (BPF_CORE_READ(upid.ns, ns.inum) == own_pid_namespace)
			return upid.nr;
	}
	number = BPF_CORE_READ(pid, numbers[0].nr);
	return number ? number + WL_OUTSIDE : 0;
}

/* The number of a process, as user space knows it. */
static __always_inline __u32 pid_of(struct task_struct *task)
{
	if (!own_pid_namespace)
		return task->tgid;
	return number_in_namespace((__u64)BPF_CORE_READ(task, group_leader, thread_pid));
}

/* The number of a thread, as user space knows it. */
static __always_inline __u32 tid_of(struct task_struct *task)
{
	if (!own_pid_namespace)
		return task->pid;
	return number_in_namespace((__u64)BPF_CORE_READ(task, thread_pid));
}

static __always_inline void fill_task(struct wl_task *out, struct task_struct *task)
{
	out->pid = pid_of(task);
	out->tid = tid_of(task);
}

static __always_inline bool has_filter(void)
{
	return filter_ports || filter_pids || filter_cgroup;
}

/* Whether the filter by process or cgroup wants this process. It is called rarely and has a stack frame of its own. */
static __noinline bool task_wanted(struct task_struct *task)
{
	if (filter_pids) {
		__u32 tgid = pid_of(task);

		if (bpf_map_lookup_elem(&pids, &tgid))
			return true;
	}
	return filter_cgroup && in_cgroup(task, filter_cgroup, filter_cgroup_level);
}

#endif
