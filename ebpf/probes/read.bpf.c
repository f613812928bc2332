/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A thread has read from a socket. */

static __always_inline void read_stream(struct sock *sk, struct sock_state *state,
					struct task_struct *task, __u32 len)
{
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
	struct wl_read_stream *out;

	if (!tcp || !len)
		return;
	out = reserve(struct wl_read_stream, WL_PROBE_READ);
	if (!out)
		return;
	fill_head(&out->head, bpf_ktime_get_ns(), WL_READ_STREAM, 0);
	out->cookie = state->cookie;
	fill_task(&out->task, task);
	out->end = tcp->copied_seq;
	out->len = len;
	submit(out);
}

static __always_inline void read_datagram(struct sock *sk, struct sock_state *state,
					  struct task_state *thread, struct task_struct *task,
					  __u32 len)
{
	struct wl_read_datagram *out = reserve(struct wl_read_datagram, WL_PROBE_READ);

	if (!out)
		return;
	fill_head(&out->head, bpf_ktime_get_ns(), WL_READ_DATAGRAM, 0);
	out->cookie = state->cookie;
	fill_task(&out->task, task);
	out->len = len;
	out->unused = 0;
	if (thread && thread->packet) {
		out->packet = thread->packet;
		out->flow = thread->flow;
		out->flow.netns = sk->__sk_common.skc_net.net->ns.inum;
		out->head.flags = WL_HAS_FLOW;
		thread->packet = 0;
	} else {
		out->packet = 0;
		__builtin_memset(&out->flow, 0, sizeof(out->flow));
	}
	submit(out);
}

/* The exit of a receive call. */
static __always_inline void read_done(struct sock *sk, int ret, int flags)
{
	struct task_struct *task;
	struct sock_state *state;
	struct task_state *thread;

	if (!is_open() || ret < 0 || (flags & (MSG_PEEK | MSG_ERRQUEUE)) || !is_inet(sk))
		return;
	task = bpf_get_current_task_btf();
	state = touch(sk, task, TRUSTED_SOCK);
	if (!state) {
		count_filtered(WL_PROBE_READ);
		return;
	}
	thread = mark_task(task);
	if (!state->announced)
		return;
	if (sk->sk_protocol == IPPROTO_TCP)
		read_stream(sk, state, task, ret);
	else
		read_datagram(sk, state, thread, task, ret);
}

/* net/socket.c sock_recvmsg(), since 6.3. */
SEC("tp_btf/sock_recv_length")
int BPF_PROG(read_exit, struct sock *sk, int ret, int flags)
{
	read_done(sk, ret, flags);
	return 0;
}

/* int addr_len follows since 5.19 (ec095263a965); before it `noblock` stood before the flags. */
SEC("fexit/tcp_recvmsg")
int BPF_PROG(read_exit_tcp, struct sock *sk, struct msghdr *msg, unsigned long len, int flags,
	     int *addr_len, int ret)
{
	read_done(sk, ret, flags);
	return 0;
}

SEC("fexit/udp_recvmsg")
int BPF_PROG(read_exit_udp, struct sock *sk, struct msghdr *msg, unsigned long len, int flags,
	     int *addr_len, int ret)
{
	read_done(sk, ret, flags);
	return 0;
}

SEC("fexit/udpv6_recvmsg")
int BPF_PROG(read_exit_udpv6, struct sock *sk, struct msghdr *msg, unsigned long len, int flags,
	     int *addr_len, int ret)
{
	read_done(sk, ret, flags);
	return 0;
}

/* net/core/datagram.c: the reader copies a packet out. Says which datagram the read is about. */
SEC("tp_btf/skb_copy_datagram_iovec")
int BPF_PROG(read_copies, struct sk_buff *skb, int len)
{
	struct task_struct *task;
	struct task_state *thread;
	struct wl_packet p = {};
	__s32 offset;

	/* A packet in a TCP or Unix socket's queue knows its socket, one in a UDP socket's does not. */
	if (skb->sk || !is_open())
		return 0;
	offset = skb->network_header - data_offset(skb);
	if (!parse_packet(skb, offset, &p) || p.flow.transport != IPPROTO_UDP)
		return 0;
	task = bpf_get_current_task_btf();
	thread = bpf_task_storage_get(&tasks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		return 0;
	thread->packet = (__u64)skb->head;
	thread->flow = p.flow;
	return 0;
}
