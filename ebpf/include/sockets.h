/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which sockets are traced. Each traced socket is reported before its first event. */
#ifndef WL_SOCKETS_H
#define WL_SOCKETS_H

static __always_inline bool is_inet(const struct sock *sk)
{
	__u16 family = sk->__sk_common.skc_family;
	__u16 protocol = sk->sk_protocol;

	return (family == AF_INET || family == AF_INET6) &&
	       (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP);
}

/* The socket of an open file; NULL if the file is none. */
static __always_inline struct sock *sock_of(struct file *file)
{
	struct socket *socket = file ? bpf_sock_from_file(file) : NULL;

	return socket ? socket->sk : NULL;
}

/* Fills in the flow of a socket in a namespace; src is the socket's own side. */
static __always_inline void fill_socket_flow(struct wl_flow *flow, struct sock *sk, __u32 netns)
{
	__builtin_memset(flow, 0, sizeof(*flow));
	flow->sport = sk->__sk_common.skc_num;
	flow->dport = bpf_ntohs(sk->__sk_common.skc_dport);
	flow->transport = sk->sk_protocol;
	flow->netns = netns;
	if (sk->__sk_common.skc_family == AF_INET) {
		flow->family = 4;
		*(__be32 *)flow->src = sk->__sk_common.skc_rcv_saddr;
		*(__be32 *)flow->dst = sk->__sk_common.skc_daddr;
	} else {
		flow->family = 6;
		bpf_core_read(flow->src, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(flow->dst, 16, &sk->__sk_common.skc_v6_daddr);
	}
}

static __always_inline void remember_owner(struct sock_state *state, struct task_struct *task)
{
	state->owner_pid = pid_of(task);
	state->owner_tid = tid_of(task);
	bpf_core_read(state->owner_comm, sizeof(state->owner_comm), &task->group_leader->comm);
}

/* Whether the socket is of wirelap itself, which is not traced. */
static __always_inline bool is_own(const struct sock_state *state)
{
	return own_tgid && state->owner_pid == own_tgid;
}

/* Whether a socket has its final ports; a socket that was only created has none. */
static __always_inline bool has_ports(const struct sock *sk)
{
	return sk->__sk_common.skc_num &&
	       (sk->__sk_common.skc_dport || sk->sk_protocol == IPPROTO_UDP ||
		sk->__sk_common.skc_state == TCP_LISTEN);
}

/*
 * Decides whether a socket is traced. `owner` is a thread that uses it; NULL if the current thread does not, and then only
 * the socket's ports can match the filter.
 */
static __always_inline void judge(struct sock *sk, struct sock_state *state,
				  struct task_struct *owner)
{
	__u32 generation = settings.generation;
	__u32 tgid = owner ? pid_of(owner) : 0;
	bool wanted;

	if (state->verdict == TRACED)
		return;
	if (is_own(state)) {
		state->verdict = IGNORED;
		return;
	}
	if (state->verdict == IGNORED && state->generation == generation &&
	    (!tgid || state->judged_tgid == tgid))
		return;
	wanted = !has_filter();
	if (filter_ports)
		wanted = wanted || port_is(sk->__sk_common.skc_num) ||
			 port_is(bpf_ntohs(sk->__sk_common.skc_dport));
	if (owner && !wanted)
		wanted = task_wanted(owner);
	if (!wanted && !owner)
		return;
	if (owner && (wanted || tgid == own_tgid))
		remember_owner(state, owner);
	if (filter_ports && !wanted && !has_ports(sk))
		return;
	state->verdict = wanted && !is_own(state) ? TRACED : IGNORED;
	state->generation = generation;
	state->judged_tgid = tgid;
}

/* Whether a socket's peer and sequence numbers are final. */
static __always_inline bool is_presentable(const struct sock *sk)
{
	__u8 tcp_state = sk->__sk_common.skc_state;

	return sk->sk_protocol == IPPROTO_UDP ||
	       !(tcp_state == TCP_SYN_SENT || tcp_state == TCP_SYN_RECV ||
		 tcp_state == TCP_LISTEN || tcp_state == TCP_CLOSE);
}

/*
 * Whether the verifier trusts a pointer: it trusts a tracepoint's argument, but not a pointer read from a packet. Helpers
 * that take sockets need a trusted pointer.
 */
enum sock_pointer { TRUSTED_SOCK, READ_SOCK };

/* A socket's cookie. The kernel makes it at the first request, which needs a trusted pointer. */
static __always_inline __u64 socket_cookie(struct sock *sk, enum sock_pointer pointer)
{
	if (pointer == TRUSTED_SOCK)
		return bpf_get_socket_cookie(sk);
	return BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);
}

static __noinline int announce(struct sock *sk, struct sock_state *state, __u8 origin,
			       enum sock_pointer pointer)
{
	struct tcp_sock *tcp = (void *)sk;
	bool is_tcp = sk->sk_protocol == IPPROTO_TCP;
	__u64 cookie = socket_cookie(sk, pointer);
	__u8 flags = is_tcp ? WL_HAS_SEQ : 0;
	struct wl_socket *out;

	if (!cookie)
		return 0;

	/*
	 * Two may be here at the same time: two CPUs, or a CPU and the softirq that interrupts it. Both announce the socket, so
	 * that each one's next event comes after an announcement; the second one says nothing new.
	 */
	out = reserve(struct wl_socket, WL_PROBE_SOCKET);
	if (!out)
		return 0;
	if (is_tcp && bpf_core_field_exists(tcp->is_mptcp) && BPF_CORE_READ(tcp, is_mptcp))
		flags |= WL_SUBFLOW;
	fill_head(&out->head, bpf_ktime_get_ns(), WL_SOCKET, flags);
	out->cookie = cookie;
	out->task.pid = state->owner_pid;
	out->task.tid = state->owner_tid;
	__builtin_memcpy(out->comm, state->owner_comm, sizeof(out->comm));
	fill_socket_flow(&out->flow, sk, state->netns);
	if (has_learned())
		learn_port(state, &out->flow);
	out->tx_next = is_tcp ? BPF_CORE_READ(tcp, write_seq) : 0;
	out->rx_next = is_tcp ? BPF_CORE_READ(tcp, copied_seq) : 0;
	out->origin = origin;
	out->unused = 0;
	state->cookie = cookie;
	state->announced = ANNOUNCED;
	submit(out);
	return 0;
}

static __always_inline struct sock_state *state_of(struct sock *sk)
{
	struct sock_state *state =
		bpf_sk_storage_get(&sockets, sk, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (state && state->self != (__u64)sk) {
		/*
		 * The state is a copy of the listener's, of which only verdict and owner are inherited, or it is new. A new one is all
		 * zeros, and stays so here: another CPU may be announcing it.
		 */
		if (state->self) {
			if (state->verdict == IGNORED)
				state->verdict = UNKNOWN;
			state->held = 0;
			state->cookie = 0;
			state->announced = 0;
			state->sending = 0;
			state->tls_told = 0;
			state->tls_overhead = 0;
			state->tls_text = 0;
			state->tls_connection = 0;
			state->marked_tid = 0;
			state->muted = 0;
			state->mutes = 0;
			state->takes = 0;
		}
		state->netns = sk->__sk_common.skc_net.net->ns.inum;
		state->origin = WL_ORIGIN_FIRST_SEEN;
		state->self = (__u64)sk;
	}
	return state;
}

/* Whether a socket is muted. It is looked up once for each change of what is muted. */
static __always_inline bool look_up_muted(struct sock_state *state)
{
	__u32 mutes = settings.mutes;

	if (state->mutes != mutes) {
		__u64 cookie = state->cookie;

		state->mutes = mutes;
		state->muted = bpf_map_lookup_elem(&muted, &cookie) != NULL;
	}
	return state->muted;
}

/* The same for a probe, by which it is counted. */
static __always_inline bool is_muted(struct sock_state *state, __u32 probe)
{
	bool is = look_up_muted(state);

	if (is)
		count_muted(probe);
	return is;
}

/* Learns the port of a traced listener; listeners are not reported. */
static __always_inline void learn_own_port(struct sock *sk, struct sock_state *state)
{
	struct wl_flow flow;

	if (!has_learned() || state->verdict != TRACED)
		return;
	fill_socket_flow(&flow, sk, state->netns);
	learn_port(state, &flow);
}

static __noinline int touch_slowly(struct sock *sk, struct sock_state *state,
				   struct task_struct *owner, enum sock_pointer pointer)
{
	judge(sk, state, owner);
	if (state->verdict == TRACED && is_presentable(sk)) {
		if (owner && !state->owner_pid)
			remember_owner(state, owner);
		announce(sk, state, state->origin, pointer);
	}
	return 0;
}

/*
 * The state of a traced socket, which is reported if possible; NULL if the socket is not traced. If the ring buffer is
 * full, it is not reported yet, and its events are counted as lost until it is.
 */
static __always_inline struct sock_state *touch(struct sock *sk, struct task_struct *owner,
						enum sock_pointer pointer)
{
	struct sock_state *state = state_of(sk);

	if (!state)
		return NULL;
	if (!state->announced)
		touch_slowly(sk, state, owner, pointer);
	if (state->verdict != TRACED)
		state = NULL;
	/* Callers ask whether it is NULL. The compiler would ask for the verdict again, which tells the verifier nothing. */
	asm volatile("" : "+r"(state));
	return state;
}

/*
 * Traces a socket from now on because a datagram that it sends matches the filter by port. An unconnected socket has a
 * peer's port only in each datagram.
 */
static __always_inline struct sock_state *claim(struct sock *sk, struct task_struct *owner,
						enum sock_pointer pointer)
{
	struct sock_state *state = state_of(sk);

	if (!state || is_own(state))
		return NULL;
	state->verdict = TRACED;
	return touch(sk, owner, pointer);
}

/* Notes that a thread has used a traced socket, so that the wakeups of all threads of its process are traced. */
static __always_inline struct task_state *mark_task(struct task_struct *task)
{
	struct task_state *state =
		bpf_task_storage_get(&tasks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (state && !state->traced) {
		struct task_struct *leader = task->group_leader;

		state->traced = 1;
		if (leader) {
			struct task_state *process = bpf_task_storage_get(
				&tasks, leader, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

			if (process)
				process->process = 1;
		}
	}
	return state;
}

/* Notes the thread that uses this socket. Most sockets are used by the same thread each time, which costs little. */
static __always_inline void mark_user(struct sock_state *state, struct task_struct *task)
{
	if (state->marked_tid == (__u32)task->pid)
		return;
	if (mark_task(task))
		state->marked_tid = task->pid;
}

#endif
