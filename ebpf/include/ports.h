/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Ports that the filter wants: those that the user named, and those that are learned from the sockets of wanted
 * processes. A packet whose socket is not known is wanted if one of its ports is.
 */
#ifndef WL_PORTS_H
#define WL_PORTS_H

#include "common.h"

/* Bit n % 64 of element n / 64 is port n. */
struct port_bits {
	__u64 wanted; /* the user named the port */
	__u64 learned; /* a traced socket has or had the port; `ends` says where, and whether it still has it */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct port_bits);
} ports SEC(".maps");

/*
 * Where a learned port is: in a network namespace, or at an address that can be reached from other namespaces. An
 * address counts only in namespaces that have received packets of traced sockets, because another socket may have the
 * same port at the same address elsewhere. Loopback addresses never count, because each namespace has its own.
 */
struct socket_end {
	__u8 addr[16] __attribute__((aligned(8))); /* 0: all addresses in the namespace */
	__u32 netns;                               /* 0: the address in any namespace */
	__u16 port;
	__u16 transport;
};

/* How many traced sockets have a port. Once none has it, another socket may use it. */
struct end_use {
	__u32 sockets; /* the number of traced sockets that have the port now */
	__u32 netns; /* for an address: the namespace in which to look up whether the port is still learned */
	__u64 until; /* until then, packets without payload are still wanted after the last socket has closed */
};

/* TCP: how long packets arrive for a closed socket, in TIME_WAIT or answered by resets. */
#define LINGER 1000000000ull

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct socket_end);
	__type(value, struct end_use);
} ends SEC(".maps");

/* Whether ports are learned from the sockets of wanted processes. */
static __always_inline bool has_learned(void)
{
	return filter_pids || filter_cgroup;
}

/* Whether the user named this port. */
static __always_inline bool port_is(__u16 port)
{
	__u32 index = port / 64;
	struct port_bits *bits = bpf_map_lookup_elem(&ports, &index);

	return bits && ((bits->wanted >> (port % 64)) & 1);
}

/* Whether an address is not reachable from other namespaces: 127.0.0.0/8, ::1, or none. */
static __always_inline bool is_only_here(const __u8 *addr, __u8 family)
{
	const __u64 *half = (const __u64 *)addr;

	if (family == 4)
		return addr[0] == 127 || *(const __u32 *)addr == 0;
	return half[0] == 0 && (half[1] == 0 || half[1] == bpf_cpu_to_be64(1));
}

/* Whether an IPv6 address is an IPv4 address in ::ffff:0:0/96. */
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

/* Whether a learned port is still used; `is_bare` is for a packet without payload. */
static __always_inline bool is_used(const struct end_use *use, bool is_bare)
{
	return use && (use->sockets || (is_bare && bpf_ktime_get_ns() < use->until));
}

static __always_inline bool is_learned_here(__u32 netns, __u16 port, __u16 transport, bool is_bare)
{
	struct socket_end here = {.netns = netns, .port = port, .transport = transport};

	return is_used(bpf_map_lookup_elem(&ends, &here), is_bare);
}

/* Learns an address of a traced socket from a packet or a flow. */
static __always_inline void learn_address(const __u8 *addr, __u8 family, __u16 port,
					  __u16 transport, __u32 netns)
{
	struct socket_end end = {.port = port, .transport = transport};
	struct end_use *use;

	/* RFC 4291 §2.5.5.2: an IPv6 socket that is used with IPv4. */
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
	/* The address was learned in another namespace before. */
	end = (struct socket_end){.netns = use->netns, .port = port, .transport = transport};
	if (!is_used(bpf_map_lookup_elem(&ends, &end), false))
		use->netns = netns;
}

/* Counts one socket more, or one less, at a port in a namespace; 0 is any namespace. */
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
	/* If the map was full, this entry may have been evicted and used again. */
	if (!use || !use->sockets)
		return;
	use->until = transport == IPPROTO_TCP ? bpf_ktime_get_ns() + LINGER : 0;
	__sync_fetch_and_add(&use->sockets, -1);
}

/*
 * The socket is closed (now is 0) or has the port `now`: another port that was learned from it is no longer counted.
 * hold_port() does not call this, because the stacks of nested functions have 512 bytes together.
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

/* Counts the source of this flow as the port of a traced socket, which has no other counted port. */
static __noinline int hold_port(struct sock_state *state, const struct wl_flow *flow)
{
	__u32 index = flow->sport / 64;
	struct port_bits *bits = bpf_map_lookup_elem(&ports, &index);
	__u64 bit = 1ull << (flow->sport % 64);

	if (state->held != flow->sport) {
		/* Two CPUs may be here at the same time. */
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

/* Learns the source of this flow as the port of a traced socket. */
static __always_inline void learn_port(struct sock_state *state, const struct wl_flow *flow)
{
	if (!flow->sport)
		return;
	unlearn_port(state, flow->transport, flow->sport);
	hold_port(state, flow);
}

/* Under which condition a port or a flow is wanted. */
enum reach {
	NOT_WANTED = 0,
	WANTED_IF_SENT = 1,    /* if a traced socket sent the packet; the socket may be closed */
	WANTED_IF_REACHED = 2, /* in a namespace that has received packets of traced sockets */
	WANTED = 3,
};

/* Which end of a flow is meant, and whether for a packet without payload. */
enum end_flags {
	IS_SOURCE = 1,
	IS_BARE = 2, /* the packet has no payload */
};

/* Under which condition an end of a flow is wanted. The function is not static, so that the verifier checks it once. */
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

/* Whether packets of this flow are wanted, if their socket is not known. */
static __always_inline bool flow_wanted(const struct wl_flow *flow, bool is_bare)
{
	return is_enough(flow_reach(flow, is_bare), flow->netns);
}

/* Whether the filter by port has a port of this flow. */
static __always_inline bool flow_has_port(const struct wl_flow *flow)
{
	return filter_ports && (port_is(flow->sport) || port_is(flow->dport));
}

#endif
