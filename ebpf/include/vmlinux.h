/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kernel types that the probes read, and only the fields that they read. CO-RE finds each
 * field's real offset in the running kernel's BTF, so neither order nor size here mean anything.
 * Types that differ between kernels are in core_fixes.h.
 */
#ifndef WL_VMLINUX_H
#define WL_VMLINUX_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u16 __sum16;
typedef __u32 __wsum;
typedef _Bool bool;

#define NULL ((void *)0)
#define true 1
#define false 0

/* include/uapi/linux/bpf.h */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_F_NO_PREALLOC = 1, BPF_F_CLONE = 512, BPF_F_MMAPABLE = 1024 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2, BPF_RB_AVAIL_DATA = 0 };
struct bpf_dynptr {
	__u64 opaque[2];
} __attribute__((aligned(8)));
/* The contexts of cgroup programs, include/uapi/linux/bpf.h: the verifier rewrites their accesses. */
struct __sk_buff {
	__u32 len;
	__u32 pkt_type;
	__u32 mark;
	__u32 queue_mapping;
	__u32 protocol;
	__u32 unused[37];
	struct bpf_sock *sk;
};
struct bpf_sock {
	__u32 bound_dev_if;
	__u32 family;
	__u32 type;
	__u32 protocol;
};

/* include/linux/socket.h, include/net/tcp_states.h, include/uapi/linux/if_ether.h, …/in.h, …/if.h */
enum { AF_UNIX = 1, AF_INET = 2, AF_INET6 = 10 };
enum { SOCK_STREAM = 1, SOCK_SEQPACKET = 5 };
enum { EAGAIN = 11 }; /* include/uapi/asm-generic/errno-base.h */
enum { SOCK_DGRAM = 2 }; /* include/linux/net.h, but for MIPS */
enum { MSG_PEEK = 0x2, MSG_ERRQUEUE = 0x2000, MSG_MORE = 0x8000 };
enum { MSG_SENDPAGE_NOTLAST = 0x20000 };        /* until 6.4 */
enum { TCP_NAGLE_OFF = 1, TCP_NAGLE_CORK = 2 }; /* include/net/tcp.h */
enum { PF_KTHREAD = 0x00200000 };               /* include/linux/sched.h */
enum { TCP_ESTABLISHED = 1, TCP_SYN_SENT = 2, TCP_SYN_RECV = 3, TCP_CLOSE = 7, TCP_LISTEN = 10 };
enum { ETH_P_IP = 0x0800, ETH_P_IPV6 = 0x86DD };
enum { IPPROTO_ICMP = 1, IPPROTO_TCP = 6, IPPROTO_UDP = 17, IPPROTO_ICMPV6 = 58 };
enum { IFF_LOOPBACK = 0x8 };
enum { RCV_SHUTDOWN = 1 };   /* include/net/sock.h */
enum { TCQ_F_MQROOT = 0x8 }; /* include/net/sch_generic.h */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	__u8 s6_bytes[16];
};

struct cookie_counter {
	__s64 counter;
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	struct cookie_counter skc_cookie;
};

struct sk_buff;

struct sk_buff_head {
	struct sk_buff *next;
};

struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue;
	__u8 sk_shutdown;
	__u16 sk_type;
	__u16 sk_protocol;
	int sk_sndbuf;
	__u32 sk_pacing_status;
	unsigned long sk_pacing_rate; /* bytes a second */
	struct pid *sk_peer_pid;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1]; /* the first is that of the initial namespace */
};

struct sockaddr_un {
	unsigned short sun_family;
	char sun_path[108];
};

struct unix_address {
	int len;
	struct sockaddr_un name[1];
};

struct unix_sock {
	struct unix_address *addr;
};

struct udp_sock {
	struct sk_buff_head reader_queue;
};

/* include/linux/win_minmax.h */
struct minmax_sample {
	__u32 t;
	__u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	struct minmax rtt_min;
	__u32 write_seq;
	__u32 copied_seq;
	__u32 rcv_nxt;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 snd_wnd;
	__u32 snd_cwnd;
	__u32 mss_cache;
	__u32 packets_out;
	__u8 nonagle : 4;
	bool is_mptcp;
};

struct inet_connection_sock {
	__u8 icsk_ca_state : 5;
};

struct socket {
	struct sock *sk;
};

enum iter_type {
	ITER_UBUF,
	ITER_IOVEC,
};

struct iov_iter {
	__u8 iter_type;
	unsigned long iov_offset;
	void *ubuf; /* or the array of parts */
	unsigned long count;
	unsigned long nr_segs;
};

struct msghdr {
	struct iov_iter msg_iter;
	unsigned int msg_flags;
};

struct Qdisc {
	void *enqueue;
	unsigned int flags;
};

struct net_device {
	unsigned int flags;
	unsigned int mtu;
	int ifindex;
	possible_net_t nd_net;
	struct Qdisc *qdisc;
};

struct dst_entry {
	struct net_device *dev;
};

struct sk_buff {
	struct net_device *dev;
	unsigned long _skb_refdst;
	struct sock *sk;
	char cb[48];
	unsigned int len;
	unsigned int data_len;
	__u16 queue_mapping;
	__be16 protocol;
	__u16 transport_header;
	__u16 network_header;
	__u16 mac_header;
	unsigned int end;
	unsigned char *head;
	unsigned char *data;
};

struct skb_shared_info {
	unsigned short gso_size;
	unsigned short gso_segs;
};

struct tcp_skb_cb {
	__u32 seq;
	__u32 end_seq;
};

struct kernfs_node {
	__u64 id;
	const char *name;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct rq {
	__u64 clock;
};

struct cfs_bandwidth {
	__s64 period;
	__u64 quota;
	int nr_periods;
	int nr_throttled;
	__u64 throttled_time;
};

struct task_group {
	struct cgroup_subsys_state css;
	struct cfs_bandwidth cfs_bandwidth;
};

struct cfs_rq {
	struct rq *rq;
	struct task_group *tg;
	int throttle_count;
};

struct sched_entity {
	struct sched_entity *parent;
	struct cfs_rq *cfs_rq;
};

struct signal_live {
	int counter;
};

struct mm_struct;

struct signal_struct {
	struct signal_live live;
	struct mm_struct *oom_mm;
};

struct nsproxy {
	struct net *net_ns;
};

struct task_struct {
	unsigned int flags;
	int pid;
	int tgid;
	char comm[16];
	struct sched_entity se;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct css_set *cgroups;
	struct signal_struct *signal;
	struct nsproxy *nsproxy;
	unsigned long nvcsw;
	int exit_code;
};

struct file;

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

enum skb_drop_reason {
	SKB_CONSUMED = 1,
	SKB_DROP_REASON_NOT_SPECIFIED = 2,
	SKB_DROP_REASON_UDP_CSUM,
	SKB_DROP_REASON_NO_SOCKET,
	SKB_DROP_REASON_SOCKET_RCVBUFF,
	SKB_DROP_REASON_SOCKET_BACKLOG,
	SKB_DROP_REASON_PROTO_MEM,
	SKB_DROP_REASON_OTHERHOST,
	SKB_DROP_REASON_QDISC_DROP,
	SKB_DROP_REASON_QDISC_OVERLIMIT,
	SKB_DROP_REASON_QDISC_CONGESTED,
	SKB_DROP_REASON_CPU_BACKLOG,
	SKB_DROP_REASON_FULL_RING,
	SKB_DROP_REASON_NETFILTER_DROP,
	SKB_DROP_REASON_PKT_TOO_BIG,
	SKB_DROP_REASON_TC_INGRESS,
	SKB_DROP_REASON_TC_EGRESS,
	SKB_DROP_REASON_BPF_CGROUP_EGRESS,
	SKB_DROP_REASON_FQ_FLOW_LIMIT,
	SKB_DROP_REASON_FQ_BAND_LIMIT,
	SKB_DROP_REASON_TCP_ZEROWINDOW,
	SKB_DROP_REASON_TCP_OLD_DATA,
	SKB_DROP_REASON_TCP_OFOMERGE,
	SKB_DROP_REASON_TCP_OFO_DROP,
	SKB_DROP_REASON_TCP_OLD_SEQUENCE,
	SKB_DROP_REASON_TCP_RFC7323_PAWS,
	SKB_DROP_REASON_TCP_RFC7323_PAWS_ACK,
};

#pragma clang attribute pop

#endif
