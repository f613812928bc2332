/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Probes for reads from sockets. */

/* copied_seq without the FIN, which a read takes together with the last data. */
static __always_inline __u32 end_of_data(struct sock *sk, struct tcp_sock *tcp)
{
	__u32 end = tcp->copied_seq;

	if ((sk->sk_shutdown & RCV_SHUTDOWN) && end == tcp->rcv_nxt)
		return end - 1;
	return end;
}

static __always_inline void emit_read(struct sock *sk, struct sock_state *state,
				      struct task_struct *task, __u32 len,
				      const struct datagram *packet)
{
	struct wl_read *out = reserve(struct wl_read, WL_PROBE_READ);
	bool stream = sk->sk_protocol == IPPROTO_TCP;

	if (!out)
		return;
	fill_head(&out->head, bpf_ktime_get_ns(), stream ? WL_READ_STREAM : WL_READ_DATAGRAM, 0);
	out->cookie = state->cookie;
	fill_task(&out->task, task);
	out->packet = packet->head;
	out->seen = packet->at;
	out->end = 0;
	out->len = len;
	if (stream) {
		struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);

		if (tcp)
			out->end = end_of_data(sk, tcp);
	}
	submit(out);
}

/* Reports the exit of a receive call. */
static __always_inline void read_done(struct sock *sk, int ret, int flags)
{
	struct task_struct *task;
	struct sock_state *state;
	struct datagram packet = {};

	if (ret == -EAGAIN || (flags & (MSG_PEEK | MSG_ERRQUEUE)) || !is_inet(sk) || !is_open())
		return;
	task = bpf_get_current_task_btf();
	/* A call that fails may have taken a datagram, too. */
	if (sk->sk_protocol == IPPROTO_UDP)
		take_datagram(sk, task, &packet);
	else if (!ret)
		return;
	if (ret < 0)
		return;
	state = touch(sk, task, TRUSTED_SOCK);
	if (!state) {
		count_filtered(WL_PROBE_READ);
		return;
	}
	if (is_muted(state, WL_PROBE_READ))
		return;
	mark_user(state, task);
	if (!state->announced) {
		count_lost(WL_PROBE_READ);
		return;
	}
	emit_read(sk, state, task, ret, &packet);
	if (read_tls && sk->sk_protocol == IPPROTO_TCP) {
		struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);

		if (tcp)
			note_tls_read(task, state->cookie, end_of_data(sk, tcp), ret);
	}
}

/* net/socket.c sock_recvmsg(), since 6.3. */
SEC("tp_btf/sock_recv_length")
int KEEPING_PROG(read_exit, struct sock *sk, int ret, int flags)
{
	read_done(sk, ret, flags);
	return 0;
}

/* Since 5.19 (ec095263a965) addr_len follows the flags; earlier kernels have `noblock` before the flags. */
SEC("fexit/tcp_recvmsg")
int KEEPING_PROG(read_exit_tcp, struct sock *sk, struct msghdr *msg, unsigned long len, int flags,
		 int *addr_len, int ret)
{
	read_done(sk, ret, flags);
	return 0;
}

SEC("fexit/udp_recvmsg")
int KEEPING_PROG(read_exit_udp, struct sock *sk, struct msghdr *msg, unsigned long len, int flags,
		 int *addr_len, int ret)
{
	read_done(sk, ret, flags);
	return 0;
}

SEC("fexit/udpv6_recvmsg")
int KEEPING_PROG(read_exit_udpv6, struct sock *sk, struct msghdr *msg, unsigned long len, int flags,
		 int *addr_len, int ret)
{
	read_done(sk, ret, flags);
	return 0;
}
