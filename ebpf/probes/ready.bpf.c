/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Probes for sockets that notify their readers of data. */

/*
 * The packet that this CPU has just received, if it is for this socket. Since 6.18 (9db27c80622b) a CPU also adds the
 * packets of other CPUs to a socket's queue, and announces one after the other. Its own packet is the first of them;
 * the others are not known here.
 */
static __always_inline void received_packet(struct sock *sk, struct datagram *out)
{
	struct cpu_state *cpu = this_cpu();

	if (!cpu || cpu->rx_transport != IPPROTO_UDP || cpu->rx_port != sk->__sk_common.skc_num ||
	    !cpu->rx_at || cpu->rx_told == (__u64)sk)
		return;
	cpu->rx_told = (__u64)sk;
	out->head = cpu->rx_head;
	out->at = cpu->rx_at;
}

/* Whether it is reported when a TCP socket has data. */
const volatile __u8 stream_ready = 1;

static __always_inline void data_ready(struct sock *sk)
{
	struct sock_state *state;
	struct wl_ready *out;
	struct datagram packet = {};
	bool stream;

	if (!is_inet(sk))
		return;
	stream = sk->sk_protocol == IPPROTO_TCP;
	if (stream && (!stream_ready || sk->__sk_common.skc_state == TCP_LISTEN))
		return;
	state = touch(sk, NULL, TRUSTED_SOCK);
	if (!is_open())
		return;
	if (!state) {
		count_filtered(WL_PROBE_READY);
		return;
	}
	if (is_muted(state, WL_PROBE_READY))
		return;
	if (!stream) {
		received_packet(sk, &packet);
		look_at_announced(sk, state);
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
	out->packet = packet.head;
	out->seen = packet.at;
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
int KEEPING_PROG(ready, struct sock *sk)
{
	data_ready(sk);
	return 0;
}

SEC("fentry/sock_def_readable")
int KEEPING_PROG(ready_fentry, struct sock *sk)
{
	data_ready(sk);
	return 0;
}
