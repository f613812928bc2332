/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Probes for sends on sockets. */

/*
 * Whether the tracepoint fires again in the same call. It fires for each segment that a call fills, under the socket lock,
 * and write_seq plus the bytes left to copy is the same each time. That sum is also the same in the call that sends the
 * rest of a partial write, but that call begins at its buffer's start.
 */
static __always_inline bool is_same_send(struct sock_state *state, struct msghdr *msg, __u32 end)
{
	__u64 part;

	if (!msg || !state->sending || state->send_end != end)
		return false;
	if (msg->msg_iter.iov_offset)
		return true;
	/* The call may have several buffers. */
	part = (__u64)msg->msg_iter.ubuf;
	return part > state->send_from && part <= state->send_to;
}

static __always_inline void begin_send(struct sock_state *state, struct msghdr *msg, __u32 end)
{
	__u64 part_bytes = 16; /* the size of struct iovec, struct bio_vec and struct kvec */

	if (!msg)
		return;
	if (msg->msg_iter.iter_type == bpf_core_enum_value(enum iter_type, ITER_UBUF))
		part_bytes = 0;
	state->send_from = (__u64)msg->msg_iter.ubuf;
	state->send_to = state->send_from + msg->msg_iter.nr_segs * part_bytes;
	state->send_end = end;
	state->sending = 1;
}

/*
 * Whether a short segment may be delayed (net/ipv4/tcp_output.c tcp_nagle_check()). A cork has priority over TCP_NODELAY,
 * and MSG_MORE is a cork for one call.
 */
static __always_inline __u32 nagle_of(struct tcp_sock *tcp, __u32 flags)
{
	__u32 nonagle = BPF_CORE_READ_BITFIELD(tcp, nonagle);

	if ((nonagle & TCP_NAGLE_CORK) || (flags & MSG_MORE))
		return WL_NAGLE_CORKED;
	return nonagle & TCP_NAGLE_OFF ? WL_NAGLE_OFF : WL_NAGLE_ON;
}

static __always_inline void fill_tx(struct wl_tx *out, struct sock *sk, struct tcp_sock *tcp,
				    __u32 flags)
{
	__u32 snd_nxt = tcp->snd_nxt;

	out->in_flight = snd_nxt - tcp->snd_una;
	out->unsent = tcp->write_seq - snd_nxt;
	out->window = tcp->snd_wnd;
	out->mss = tcp->mss_cache;
	out->cwnd = tcp->snd_cwnd;
	out->segments_out = tcp->packets_out;
	out->nagle = nagle_of(tcp, flags);
	out->send_buffer = sk->sk_sndbuf;
	out->pacing = sk->sk_pacing_status ? sk->sk_pacing_rate : 0;
	out->min_rtt = tcp->rtt_min.s[0].v; /* tcp_min_rtt() */
	out->unused = 0;
}

static __always_inline void fill_send(struct wl_send *out, struct sock *sk, struct tcp_sock *tcp,
				      struct sock_state *state, struct task_struct *task,
				      __u32 left, __u32 flags)
{
	fill_head(&out->head, bpf_ktime_get_ns(), WL_SEND_STREAM, 0);
	out->cookie = state->cookie;
	fill_task(&out->task, task);
	out->entered = 0;
	out->start = tcp->write_seq;
	out->len = left;
	fill_tx(&out->tx, sk, tcp, flags);
}

/* The most bytes of a send that are copied to where its record is filled in. */
#define SHORT_SEND 128

struct short_send {
	struct wl_send send;
	__u8 bytes[SHORT_SEND];
};

/* Reports a send with the bytes that it sends. */
static __always_inline void send_with_bytes(struct sock *sk, struct tcp_sock *tcp,
					    struct sock_state *state, struct task_struct *task,
					    struct msghdr *msg, __u32 left, __u32 flags)
{
	__u32 len = snapped(left);
	struct short_send *out;
	__u64 from;

	if (!is_one_part(msg, &from))
		from = 0;
	if (!from || len > SHORT_SEND) {
		struct wl_send send;

		fill_send(&send, sk, tcp, state, task, left, flags);
		emit_sent(&send, msg, from, len);
		return;
	}
	out = reserve(struct short_send, WL_PROBE_SEND);
	if (!out)
		return;
	fill_send(&out->send, sk, tcp, state, task, left, flags);
	/* Old verifiers (6.1) need to see the limit here. */
	asm volatile("" : "+r"(len));
	if (len <= SHORT_SEND && !bpf_probe_read_user(out->bytes, len, (void *)from))
		out->send.head.captured = len;
	submit(out);
}

/*
 * Reports the entry of a TCP send with these flags. `msg` is NULL if the hook fires only once per call; `bytes` has what is sent,
 * unless it is NULL.
 */
static __always_inline void send_stream(struct sock *sk, struct msghdr *msg, struct msghdr *bytes,
					__u32 left, __u32 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
	struct sock_state *state;
	struct wl_send *out;
	__u32 write_seq;

	if (!tcp)
		return;
	write_seq = tcp->write_seq;
	state = touch(sk, task, TRUSTED_SOCK);
	if (!state) {
		count_filtered(WL_PROBE_SEND);
		return;
	}
	if (is_muted(state, WL_PROBE_SEND) || is_same_send(state, msg, write_seq + left))
		return;
	mark_user(state, task);
	if (!state->announced) {
		count_lost(WL_PROBE_SEND);
		return;
	}
	begin_send(state, msg, write_seq + left);
	if (read_tls && bytes)
		report_plain(state, task, bytes, write_seq, left);
	if (ends_only && bytes && left && is_from_user(bytes)) {
		send_with_bytes(sk, tcp, state, task, bytes, left, flags);
		return;
	}
	out = reserve(struct wl_send, WL_PROBE_SEND);
	if (!out)
		return;
	fill_send(out, sk, tcp, state, task, left, flags);
	submit(out);
}

/* net/ipv4/tcp.c tcp_sendmsg_locked(), since 6.16. */
SEC("tp_btf/tcp_sendmsg_locked")
int KEEPING_PROG(send_tcp, struct sock *sk, struct msghdr *msg)
{
	if (is_open())
		send_stream(sk, msg, msg, msg->msg_iter.count, msg->msg_flags);
	return 0;
}

/* The entry of tcp_sendmsg_locked() on kernels where functions can be traced. */
SEC("fentry/tcp_sendmsg_locked")
int KEEPING_PROG(send_tcp_fentry, struct sock *sk, struct msghdr *msg, unsigned long size)
{
	if (is_open())
		send_stream(sk, NULL, msg, size, msg->msg_flags);
	return 0;
}

/* Until 6.4 sendfile() and splice() did not go through tcp_sendmsg() (2dc334f1a63a). */
SEC("fentry/do_tcp_sendpages")
int KEEPING_PROG(send_page_fentry, struct sock *sk, void *page, int offset, unsigned long size,
		 int flags)
{
	if (is_open())
		send_stream(sk, NULL, NULL, size, flags & MSG_SENDPAGE_NOTLAST ? MSG_MORE : flags);
	return 0;
}

static __always_inline void send_datagram(struct sock *sk, int sent)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 now = bpf_ktime_get_ns();
	struct sock_state *state;
	struct task_state *thread;
	struct wl_send *out;
	__u64 entered = 0;

	state = touch(sk, task, TRUSTED_SOCK);
	if (!state) {
		count_filtered(WL_PROBE_SEND);
		return;
	}
	thread = mark_task(task);
	if (thread) {
		/* The end of a call is not seen while the probes pause. */
		if (thread->entered_in == window())
			entered = thread->entered;
		thread->entered = thread->sends_many ? now : 0;
		thread->entered_in = window();
	}
	if (sent < 0 || is_muted(state, WL_PROBE_SEND))
		return;
	if (!state->announced) {
		count_lost(WL_PROBE_SEND);
		return;
	}
	out = reserve(struct wl_send, WL_PROBE_SEND);
	if (!out)
		return;
	fill_head(&out->head, now, WL_SEND_DATAGRAM, 0);
	out->cookie = state->cookie;
	fill_task(&out->task, task);
	out->entered = entered;
	out->start = 0;
	out->len = sent;
	__builtin_memset(&out->tx, 0, sizeof(out->tx));
	submit(out);
}

/* Reports UDP sends, at the exit of the call, with their length. */
static __always_inline void send_done(struct sock *sk, int sent)
{
	if (sk->sk_protocol == IPPROTO_UDP && is_open() && is_inet(sk))
		send_datagram(sk, sent);
}

/* net/socket.c sock_sendmsg(), since 6.3. */
SEC("tp_btf/sock_send_length")
int KEEPING_PROG(send_exit, struct sock *sk, int ret, int flags)
{
	send_done(sk, ret);
	return 0;
}

SEC("fexit/udp_sendmsg")
int KEEPING_PROG(send_exit_udp, struct sock *sk, struct msghdr *msg, unsigned long size, int ret)
{
	send_done(sk, ret);
	return 0;
}

SEC("fexit/udpv6_sendmsg")
int KEEPING_PROG(send_exit_udpv6, struct sock *sk, struct msghdr *msg, unsigned long size, int ret)
{
	send_done(sk, ret);
	return 0;
}

/* The numbers of the system calls that send, which differ between architectures. */
const volatile __u32 sys_sendto = 0, sys_sendmsg = 0, sys_sendmmsg = 0;
const volatile __u32 sys_write = 0, sys_writev = 0, sys_io_uring_enter = 0;

/*
 * UDP has no tracepoint at the entry of a send, so the entry of the system call is used; sock_send_length takes the time.
 * io_uring sends have no such system call, so an older time is cleared.
 */
SEC("tp_btf/sys_enter")
int KEEPING_PROG(send_syscall, void *regs, long id)
{
	struct task_struct *task;
	struct task_state *thread;
	bool sends = id == sys_sendto || id == sys_sendmsg || id == sys_sendmmsg;

	if (!sends && id != sys_write && id != sys_writev && id != sys_io_uring_enter)
		return 0;
	if (!is_open())
		return 0;
	task = bpf_get_current_task_btf();
	if (sends)
		thread = bpf_task_storage_get(&tasks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	else
		thread = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (!thread)
		return 0;
	thread->entered = id == sys_io_uring_enter ? 0 : bpf_ktime_get_ns();
	thread->entered_in = window();
	thread->sends_many = id == sys_sendmmsg;
	return 0;
}

static __always_inline void enter_datagram(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *thread;

	if (!is_open())
		return;
	thread = bpf_task_storage_get(&tasks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		return;
	thread->entered = bpf_ktime_get_ns();
	thread->entered_in = window();
	thread->sends_many = 0;
}

SEC("fentry/udp_sendmsg")
int KEEPING_PROG(send_udp_fentry, struct sock *sk)
{
	enter_datagram();
	return 0;
}

SEC("fentry/udpv6_sendmsg")
int KEEPING_PROG(send_udpv6_fentry, struct sock *sk)
{
	enter_datagram();
	return 0;
}
