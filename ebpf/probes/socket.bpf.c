/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Probes for opened and closed sockets. */

/* Every TCP state change (net/ipv4/af_inet.c). */
SEC("tp_btf/inet_sock_set_state")
int KEEPING_PROG(socket_state, struct sock *sk, int from, int to)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sock_state *state;
	bool own = to == TCP_SYN_SENT || to == TCP_LISTEN;

	if (to == TCP_CLOSE && has_learned() && sk->sk_protocol == IPPROTO_TCP) {
		state = bpf_sk_storage_get(&sockets, sk, NULL, 0);
		if (state && state->self == (__u64)sk)
			unlearn_port(state, IPPROTO_TCP, 0);
		return 0;
	}
	if (!(own || to == TCP_ESTABLISHED) || sk->sk_protocol != IPPROTO_TCP)
		return 0;
	state = state_of(sk);
	if (!state)
		return 0;
	if (own) {
		/* connect() and listen() run in their caller's context. */
		judge(sk, state, task);
		state->origin = WL_ORIGIN_CONNECTED;
		if (to == TCP_LISTEN)
			learn_own_port(sk, state);
		return 0;
	}
	state->origin = from == TCP_SYN_SENT ? WL_ORIGIN_CONNECTED : WL_ORIGIN_ACCEPTED;
	judge(sk, state, NULL);
	if (is_open() && state->verdict == TRACED && !state->announced)
		announce(sk, state, state->origin, TRUSTED_SOCK);
	return 0;
}

static __always_inline void emit_closed(struct sock_state *state, __u16 transport)
{
	struct wl_closed *out;
	__u8 announced;

	if (!state)
		return;
	if (has_learned())
		unlearn_port(state, transport, 0);
	announced = state->announced;
	state->announced = CLOSED;
	if (announced != ANNOUNCED)
		return;
	out = reserve(struct wl_closed, WL_PROBE_SOCKET);
	if (!out)
		return;
	fill_head(&out->head, bpf_ktime_get_ns(), WL_CLOSED, 0);
	out->cookie = state->cookie;
	submit(out);
}

/* net/ipv4/tcp_ipv4.c tcp_v4_destroy_sock(): the last function that handles a TCP socket. */
SEC("tp_btf/tcp_destroy_sock")
int KEEPING_PROG(tcp_closed, struct sock *sk)
{
	struct sock_state *state = bpf_sk_storage_get(&sockets, sk, NULL, 0);

	if (!state || state->self != (__u64)sk)
		return 0;
	if (read_tls)
		forget_rustls(state);
	emit_closed(state, IPPROTO_TCP);
	return 0;
}

/* net/ipv4/af_inet.c inet_release(): the only hook at the close of a UDP socket. */
SEC("cgroup/sock_release")
int udp_closed(struct bpf_sock *sk)
{
	if (sk->protocol == IPPROTO_UDP)
		emit_closed(bpf_sk_storage_get(&sockets, sk, NULL, 0), IPPROTO_UDP);
	return 1;
}

/*
 * net/ipv4/af_inet.c inet_create(): stores the process that opens the socket, and makes its cookie. The first packet of a
 * UDP socket comes before the exit of its send, and needs the cookie.
 */
SEC("cgroup/sock_create")
int socket_created(struct bpf_sock *sk)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sock_state *state;

	if ((sk->family != AF_INET && sk->family != AF_INET6) ||
	    (sk->protocol != IPPROTO_TCP && sk->protocol != IPPROTO_UDP))
		return 1;
	bpf_get_socket_cookie(sk);
	state = bpf_sk_storage_get(&sockets, sk, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!state)
		return 1;
	state->self = (__u64)sk;
	state->netns = task->nsproxy ? task->nsproxy->net_ns->ns.inum : 0;
	state->origin = WL_ORIGIN_FIRST_SEEN;
	remember_owner(state, task);
	if (own_tgid && own_tgid == pid_of(task))
		state->verdict = IGNORED;
	else if (task_wanted(task))
		state->verdict = TRACED;
	return 1;
}

/* Walks the open files of all processes once, to find the sockets that are already open. */
SEC("iter/task_file")
int existing_sockets(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct sock *sk = sock_of(ctx->file);
	struct sock_state *state;

	if (!task || !sk || !is_inet(sk))
		return 0;
	state = state_of(sk);
	if (!state || state->announced)
		return 0;
	judge(sk, state, task);
	if (state->verdict != TRACED)
		return 0;
	mark_task(task);
	if (sk->__sk_common.skc_state == TCP_LISTEN && sk->sk_protocol == IPPROTO_TCP)
		learn_own_port(sk, state);
	if (is_presentable(sk) && sk->__sk_common.skc_num)
		announce(sk, state, WL_ORIGIN_EXISTING, TRUSTED_SOCK);
	return 0;
}
