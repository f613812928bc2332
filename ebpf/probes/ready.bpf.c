/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A socket tells its reader that there is data. */

/* The packet that this CPU has just received, if it is for this socket. */
static __always_inline __u64 received_packet(struct sock *sk)
{
	struct cpu_state *cpu = this_cpu();

	if (cpu && cpu->rx_transport == IPPROTO_UDP && cpu->rx_port == sk->__sk_common.skc_num)
		return cpu->rx_head;
	return 0;
}

static __always_inline void data_ready(struct sock *sk)
{
	struct sock_state *state;
	struct wl_ready *out;
	__u64 packet = 0;
	bool stream;

	if (!is_inet(sk))
		return;
	stream = sk->sk_protocol == IPPROTO_TCP;
	if (stream && sk->__sk_common.skc_state == TCP_LISTEN)
		return;
	state = touch(sk, NULL, TRUSTED_SOCK);
	if (state && !stream) {
		packet = received_packet(sk);
		/* Also while probes pause, or the queue would go wrong. */
		put_datagram(sk, packet);
	}
	if (!is_open())
		return;
	if (!state) {
		count_filtered(WL_PROBE_READY);
		return;
	}
	if (!state->announced) {
		count_lost(WL_PROBE_READY);
		return;
	}
	out = reserve(struct wl_ready, WL_PROBE_READY);
	if (!out)
		return;
	fill_head(&out->head, bpf_ktime_get_ns(), stream ? WL_READY_STREAM : WL_READY_DATAGRAM, 0);
	out->cookie = state->cookie;
	out->packet = packet;
	out->rcv_nxt = 0;
	out->unused = 0;
	if (stream) {
		struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);

		if (tcp)
			out->rcv_nxt = tcp->rcv_nxt;
	}
	submit(out);
}

/* net/core/sock.c sock_def_readable(), since 6.2. */
SEC("tp_btf/sk_data_ready")
int BPF_PROG(ready, struct sock *sk)
{
	data_ready(sk);
	return 0;
}

SEC("fentry/sock_def_readable")
int BPF_PROG(ready_fentry, struct sock *sk)
{
	data_ready(sk);
	return 0;
}
