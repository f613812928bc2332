/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Connections over Unix sockets: their messages are not followed, so it is said where there are some. */

/*
 * Walks the open files of all processes and writes down the servers' ends of Unix connections. net/unix/af_unix.c
 * unix_stream_connect(): the accepted socket has the listener's address; the client's end has none of its own.
 */
SEC("iter/task_file")
int unix_connections(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct sock *sk = sock_of(ctx->file);
	struct wl_unix out = {};
	struct unix_address *addr;
	__u32 len;

	if (!task || !sk || sk->__sk_common.skc_family != AF_UNIX ||
	    sk->__sk_common.skc_state != TCP_ESTABLISHED ||
	    (sk->sk_type != SOCK_STREAM && sk->sk_type != SOCK_SEQPACKET))
		return 0;
	addr = BPF_CORE_READ((struct unix_sock *)sk, addr);
	if (!addr)
		return 0;
	len = BPF_CORE_READ(addr, len) - sizeof(((struct sockaddr_un *)0)->sun_family);
	if (len > sizeof(((struct sockaddr_un *)0)->sun_path))
		return 0;
	bpf_core_read(out.name, len, &addr->name[0].sun_path);
	out.name_len = len;
	out.socket = (__u64)sk;
	out.pid = pid_of(task);
	if (own_pid_namespace)
		out.peer = number_in_namespace((__u64)BPF_CORE_READ(sk, sk_peer_pid));
	else
		out.peer = BPF_CORE_READ(sk, sk_peer_pid, numbers[0].nr);
	bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
	return 0;
}
