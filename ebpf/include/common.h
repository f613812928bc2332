/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Maps, settings and helpers that every probe uses. */
#ifndef WL_COMMON_H
#define WL_COMMON_H

/* Filled in by the loader before loading; the verifier then removes what cannot happen. */
const volatile __u8 filter_ports = 0;
const volatile __u8 filter_pids = 0;
const volatile __u64 filter_cgroup = 0; /* id of the cgroup, 0: none */
const volatile __u32 filter_cgroup_level = 0;
const volatile __u32 own_tgid = 0; /* the process to leave out, 0: none */
const volatile __u32 snap_bytes = 65536;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 26);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WL_PROBES);
	__type(key, __u32);
	__type(value, struct wl_counter);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wl_settings);
} settings SEC(".maps");

/* Bit n % 64 of element n / 64 stands for port n. */
struct port_bits {
	__u64 wanted;  /* the user asked for it */
	__u64 learned; /* a traced socket has it, or had: `ends` says where and whether */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct port_bits);
} ports SEC(".maps");

/*
 * Where a learned port is: in a network namespace, or at an address that others can reach, in namespaces that packets
 * of traced sockets have come to. Others may have the same port at the same address, and loopback is everybody's own.
 */
struct socket_end {
	__u8 addr[16] __attribute__((aligned(8))); /* 0: any, in the namespace */
	__u32 netns;                               /* 0: of whatever namespace, at the address */
	__u16 port;
	__u16 transport;
};

/* It is learned as long as a traced socket has it: then it may be another's. */
struct end_use {
	__u32 sockets; /* that have it now */
	__u32 netns; /* at an address: that of the socket, where the port says whether it is still learned */
	__u64 until; /* the last one is gone, and what ends its connections is still of interest */
};

/* TCP: the packets that come when a socket is gone, in TIME_WAIT or answered by resets. */
#define LINGER 1000000000ull

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct socket_end);
	__type(value, struct end_use);
} ends SEC(".maps");

/* Processes of the traced trees, by tgid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u8);
} pids SEC(".maps");

enum verdict { UNKNOWN = 0, TRACED = 1, IGNORED = 2 };

/* Whether a socket's opening was reported. What it sent may leave the host after it was closed. */
enum announced { NOT_ANNOUNCED = 0, ANNOUNCED = 1, CLOSED = 2 };

/* What is known of a socket. A socket made by accept() starts with a copy of its listener's. */
struct sock_state {
	__u64 self; /* whose state this is: tells a copy from the original */
	__u64 cookie;
	__u32 generation;  /* an IGNORED verdict holds for this filter … */
	__u32 judged_tgid; /* … and this process */
	__u32 owner_pid;
	__u32 owner_tid;
	__u32 marked_tid; /* the thread that used it last, marked as traced */
	__u32 netns;
	__u32 held; /* the port that was learned from it, or 0 */
	__u32 unused;
	__u8 owner_comm[16];
	__u64 send_from; /* TCP: where the last send call's buffer, or its array of parts, begins … */
	__u64 send_to;  /* … and where the array ends; the same for a single buffer */
	__u32 send_end; /* and write_seq at that call's end */
	__u8 sending;   /* whether there was one */
	__u8 verdict;
	__u8 announced;
	__u8 origin;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct sock_state);
} sockets SEC(".maps");

/* A datagram: its packet's memory (skb->head), which others have before and after it, and a time at which it was its. */
struct datagram {
	__u64 head;
	__u64 at;
};

/* What is known of a thread. */
struct task_state {
	__u64 woken;    /* time of a wakeup whose switch-in has not come yet, or 0 */
	__u64 left;     /* when it left the CPU, or 0: it has one, or that was not seen … */
	__u32 left_cpu; /* … and which */
	__u32 waker_pid;
	__u32 waker_tid;
	__u8 from_irq;
	__u8 rest;     /* why it left the CPU: enum wl_rest */
	__u8 traced;   /* it has used a traced socket, or its process has and it was woken since */
	__u8 process;  /* group leaders: a thread of the process has used a traced socket */
	__u64 entered; /* entry of the send call in progress, or 0 */
	__u32 sends_many; /* the system call in progress is sendmmsg */
	__u32 window; /* woken and left are of this one: what was before a pause says nothing any more */
	__u64 waker_comm[2];
	__u64 queue;        /* the cfs_rq that it waits in, or 0 … */
	__u64 queue_before; /* … and how long that had had no CPU quota when the wait began */
	__u64 group;        /* the task_group that had none left when it began, or 0 */
	__u32 call;         /* the number of the system call that it sleeps in; ~0: not known */
	__u32 unused;
	struct datagram taken; /* by the receive call in progress */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_state);
} tasks SEC(".maps");

/* What a CPU did last. Softirqs interrupt tasks, so a reader checks that it is still about the same. */
struct cpu_state {
	__u64 rx_head; /* the packet received last: its skb->head … */
	__u64 rx_at;   /* … when it was reported, 0 if it was not … */
	__u64 rx_told; /* … the socket that was told of it last … */
	__u32 rx_netns;
	__u16 rx_port; /* … and destination port */
	__u8 rx_transport;
	__u8 unused;
	__u32 deferred; /* the window in which ksoftirqd was woken, 0 once it has slept again */
	__u32 unused2;
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
 * kernel/softirq.c: what an interrupt's own time did not suffice for is left to the thread ksoftirqd/CPU,
 * which wakeup_softirqd() wakes on that CPU.
 */
static __always_inline bool is_ksoftirqd(struct task_struct *task)
{
	const __u64 name = 0x71726974666f736bull; /* "ksoftirq" */

	return *(__u64 *)task->comm == name && (task->flags & PF_KTHREAD);
}

static __always_inline struct wl_settings *get_settings(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&settings, &zero);
}

/* 0 while the probes pause; otherwise the number of this window. */
static __always_inline __u32 window(void)
{
	struct wl_settings *s = get_settings();

	return s ? s->open : 0;
}

static __always_inline bool is_open(void)
{
	return window() != 0;
}

/* The number of this attachment: the probes see nothing between two. */
static __always_inline __u32 attachment(void)
{
	struct wl_settings *s = get_settings();

	return s ? s->attached : 0;
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

/* Room for a record; a failure is counted. */
#define reserve(type, probe)                                                                       \
	({                                                                                         \
		type *record_ = bpf_ringbuf_reserve(&ring, sizeof(type), 0);                       \
		if (!record_)                                                                      \
			count_lost(probe);                                                         \
		record_;                                                                           \
	})

/* The reader polls: waking it for each record would cost more than the record. */
#define submit(record) bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP)

static __always_inline void fill_head(struct wl_head *head, __u64 at, __u8 kind, __u8 flags)
{
	head->at = at;
	head->cpu = bpf_get_smp_processor_id();
	head->kind = kind;
	head->flags = flags;
	head->captured = 0;
}

static __always_inline void fill_task(struct wl_task *out, struct task_struct *task)
{
	out->pid = task->tgid;
	out->tid = task->pid;
}

static __always_inline bool has_filter(void)
{
	return filter_ports || filter_pids || filter_cgroup;
}

/* Whether ports are learned from the sockets of wanted processes. */
static __always_inline bool has_learned(void)
{
	return filter_pids || filter_cgroup;
}

/* Whether the user asked for it. */
static __always_inline bool port_is(__u16 port)
{
	__u32 index = port / 64;
	struct port_bits *bits = bpf_map_lookup_elem(&ports, &index);

	return bits && ((bits->wanted >> (port % 64)) & 1);
}

/* 127.0.0.0/8 or ::1, where each namespace has its own, or no address. */
static __always_inline bool is_only_here(const __u8 *addr, __u8 family)
{
	const __u64 *half = (const __u64 *)addr;

	if (family == 4)
		return addr[0] == 127 || *(const __u32 *)addr == 0;
	return half[0] == 0 && (half[1] == 0 || half[1] == bpf_cpu_to_be64(1));
}

/* ::ffff:0:0/96 */
static __always_inline bool is_mapped(const __u8 *addr)
{
	return *(const __u64 *)addr == 0 && *(const __u32 *)(addr + 8) == bpf_htonl(0xffff);
}

static __always_inline struct end_use *learn_end(const struct socket_end *end, __u32 netns)
{
	struct end_use *use = bpf_map_lookup_elem(&ends, end);
	struct end_use new = {.netns = netns};

	if (use)
		return use;
	bpf_map_update_elem(&ends, end, &new, BPF_NOEXIST);
	return bpf_map_lookup_elem(&ends, end);
}

/* `is_bare`: for a packet without payload. */
static __always_inline bool is_used(const struct end_use *use, bool is_bare)
{
	return use && (use->sockets || (is_bare && bpf_ktime_get_ns() < use->until));
}

static __always_inline bool is_learned_here(__u32 netns, __u16 port, __u16 transport, bool is_bare)
{
	struct socket_end here = {.netns = netns, .port = port, .transport = transport};

	return is_used(bpf_map_lookup_elem(&ends, &here), is_bare);
}

/* An address that packets to a traced socket bear. */
static __always_inline void learn_address(const __u8 *addr, __u8 family, __u16 port,
					  __u16 transport, __u32 netns)
{
	struct socket_end end = {.port = port, .transport = transport};
	struct end_use *use;

	/* RFC 4291 §2.5.5.2: a socket of IPv6 that is used with IPv4. */
	if (family == 6 && is_mapped(addr)) {
		__builtin_memcpy(end.addr, addr + 12, 4);
		family = 4;
	} else {
		__builtin_memcpy(end.addr, addr, sizeof(end.addr));
	}
	if (is_only_here(end.addr, family))
		return;
	use = learn_end(&end, netns);
	if (!use || use->netns == netns)
		return;
	/* It was another's before. */
	end = (struct socket_end){.netns = use->netns, .port = port, .transport = transport};
	if (!is_used(bpf_map_lookup_elem(&ends, &end), false))
		use->netns = netns;
}

/* One more socket is at a port, of a namespace or, with 0, of whatever namespace; or one less. */
static __always_inline void count_socket(__u32 netns, __u16 port, __u16 transport, bool is_there)
{
	struct socket_end end = {.netns = netns, .port = port, .transport = transport};
	struct end_use *use;

	if (is_there) {
		use = learn_end(&end, netns);
		if (use)
			__sync_fetch_and_add(&use->sockets, 1);
		return;
	}
	use = bpf_map_lookup_elem(&ends, &end);
	/* Where there are more ends than room, it was forgotten, and is another's now. */
	if (!use || !use->sockets)
		return;
	use->until = transport == IPPROTO_TCP ? bpf_ktime_get_ns() + LINGER : 0;
	__sync_fetch_and_add(&use->sockets, -1);
}

/*
 * The socket is closed (0), or has this port: what it taught of another is not known from it any more. Not called by
 * hold_port(): the stacks of a program and of all that it calls have 512 bytes together.
 */
static __noinline int unlearn_port(struct sock_state *state, __u16 transport, __u16 now)
{
	__u32 port;

	if (state->held == now)
		return 0;
	port = __sync_lock_test_and_set(&state->held, 0);
	if (!port)
		return 0;
	count_socket(state->netns, port, transport, false);
	count_socket(0, port, transport, false);
	return 0;
}

/* The source of this flow is a traced socket's own end, and it has no other any more. */
static __noinline int hold_port(struct sock_state *state, const struct wl_flow *flow)
{
	__u32 index = flow->sport / 64;
	struct port_bits *bits = bpf_map_lookup_elem(&ports, &index);
	__u64 bit = 1ull << (flow->sport % 64);

	if (state->held != flow->sport) {
		/* Two CPUs may come here at once. */
		if (__sync_lock_test_and_set(&state->held, flow->sport))
			return 0;
		count_socket(state->netns, flow->sport, flow->transport, true);
		count_socket(0, flow->sport, flow->transport, true);
	}
	learn_address(flow->src, flow->family, flow->sport, flow->transport, state->netns);
	if (bits && !(bits->learned & bit))
		__sync_fetch_and_or(&bits->learned, bit);
	return 0;
}

/* The source of this flow is a traced socket's own end. */
static __always_inline void learn_port(struct sock_state *state, const struct wl_flow *flow)
{
	if (!flow->sport)
		return;
	unlearn_port(state, flow->transport, flow->sport);
	hold_port(state, flow);
}

/* How far a port, or a flow, is wanted. */
enum reach {
	NOT_WANTED = 0,
	WANTED_IF_SENT = 1,    /* by a traced socket: it may be closed by now */
	WANTED_IF_REACHED = 2, /* in a namespace that packets of traced sockets have come to */
	WANTED = 3,
};

/* Which end of a flow, and for what packet. */
enum end_flags {
	IS_SOURCE = 1,
	IS_BARE = 2, /* without payload */
};

/* Without a namespace the port decides. It is not static, so that the verifier looks at it once. */
__noinline int end_reach(const struct wl_flow *flow, __u32 flags)
{
	bool is_source = flags & IS_SOURCE, is_bare = flags & IS_BARE;
	struct socket_end end = {};
	struct port_bits *bits;
	struct end_use *use;
	__u32 index;

	if (!flow)
		return NOT_WANTED;
	end.port = is_source ? flow->sport : flow->dport;
	end.transport = flow->transport;
	index = end.port / 64;
	bits = bpf_map_lookup_elem(&ports, &index);
	if (!bits)
		return NOT_WANTED;
	if ((bits->wanted >> (end.port % 64)) & 1)
		return WANTED;
	if (!((bits->learned >> (end.port % 64)) & 1))
		return NOT_WANTED;
	if (is_learned_here(flow->netns, end.port, end.transport, is_bare))
		return WANTED;
	__builtin_memcpy(end.addr, is_source ? flow->src : flow->dst, sizeof(end.addr));
	use = bpf_map_lookup_elem(&ends, &end);
	if (use && is_learned_here(use->netns, end.port, end.transport, is_bare))
		return WANTED_IF_REACHED;
	return is_source && end.transport == IPPROTO_UDP ? WANTED_IF_SENT : NOT_WANTED;
}

static __always_inline enum reach flow_reach(const struct wl_flow *flow, bool is_bare)
{
	__u32 bare = is_bare ? IS_BARE : 0;
	enum reach src, dst;

	if (!has_filter())
		return WANTED;
	src = end_reach(flow, IS_SOURCE | bare);
	if (src == WANTED)
		return WANTED;
	dst = end_reach(flow, bare);
	return dst > src ? dst : src;
}

static __always_inline bool is_reached(__u32 netns)
{
	return is_learned_here(netns, 0, 0, false);
}

static __always_inline void learn_reached(__u32 netns)
{
	struct socket_end end = {.netns = netns};
	struct end_use *use = learn_end(&end, netns);

	if (use)
		use->sockets = 1;
}

static __always_inline bool is_enough(enum reach reach, __u32 netns)
{
	return reach == WANTED || (reach == WANTED_IF_REACHED && is_reached(netns));
}

/* Whether packets of this flow are wanted; for those whose socket is not known. */
static __always_inline bool flow_wanted(const struct wl_flow *flow, bool is_bare)
{
	return is_enough(flow_reach(flow, is_bare), flow->netns);
}

/* Whether the filter by port names one of this flow's. */
static __always_inline bool flow_has_port(const struct wl_flow *flow)
{
	return filter_ports && (port_is(flow->sport) || port_is(flow->dport));
}

/* Whether the process is one that the filter by process or cgroup wants. Seldom asked: a stack of its own. */
static __noinline bool task_wanted(struct task_struct *task)
{
	if (filter_pids) {
		__u32 tgid = task->tgid;

		if (bpf_map_lookup_elem(&pids, &tgid))
			return true;
	}
	return filter_cgroup && in_cgroup(task, filter_cgroup, filter_cgroup_level);
}

#endif
