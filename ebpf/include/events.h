/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The one description of what the probes put into the ring buffer.
 *
 * build.rs reads the structs below, generates their field offsets for Rust, and has clang check each
 * offset. So: only __u8, __u16, __u32, __u64, arrays of these, and structs declared above; one field a
 * line; no bit-fields; no implicit padding.
 */
#ifndef WL_EVENTS_H
#define WL_EVENTS_H

/* The order is that of wirelap_events::Probe. */
enum wl_probe {
	WL_PROBE_SOCKET,
	WL_PROBE_SEND,
	WL_PROBE_READ,
	WL_PROBE_READY,
	WL_PROBE_XMIT,
	WL_PROBE_RX,
	WL_PROBE_SCHED,
	WL_PROBE_RETRANSMIT,
	WL_PROBE_DROP,
	WL_PROBES,
};

enum wl_kind {
	WL_SOCKET = 1,
	WL_CLOSED = 2,
	WL_SEND_STREAM = 3,
	WL_SEND_DATAGRAM = 4,
	WL_READ_STREAM = 5,
	WL_READ_DATAGRAM = 6,
	WL_READY_STREAM = 7,
	WL_READY_DATAGRAM = 8,
	WL_XMIT = 9,
	WL_RX = 10,
	WL_WAKE = 11,
	WL_RETRANSMIT = 12,
	WL_DROP = 13,
	WL_PAYLOAD = 14, /* wl_packet, of which only flow, seq and payload_len count */
	WL_WAKE_SHARED = 15,
	WL_QUOTA = 16,
};

enum wl_origin {
	WL_ORIGIN_EXISTING = 0,
	WL_ORIGIN_CONNECTED = 1,
	WL_ORIGIN_ACCEPTED = 2,
	WL_ORIGIN_FIRST_SEEN = 3,
};

/* Bits of wl_head.flags. */
enum wl_flag {
	WL_HAS_SEQ = 1,   /* wl_socket: tx_next and rx_next are known */
	WL_FROM_IRQ = 2,  /* wl_wake: the wakeup came from an interrupt */
	WL_MIGRATED = 4,  /* wl_wake: the thread had run on another CPU */
	WL_DEFERRED = 8,  /* wl_packet: it was left to ksoftirqd */
	WL_FRAGMENT = 16, /* wl_packet: an IP fragment of a datagram */
	WL_REFUSED = 32, /* wl_packet: an ICMP error in answer to a packet of the other direction */
	WL_OUTWARD = 64, /* wl_drop: it had not left its socket's host yet */
};

/* wl_wake.rest. */
enum wl_rest {
	WL_REST_ASLEEP = 0,
	WL_REST_BLOCKED = 1,
	WL_REST_STOPPED = 2,
	WL_REST_PREEMPTED = 3,
};

/* wl_tx.nagle. */
enum wl_nagle {
	WL_NAGLE_ON = 0,
	WL_NAGLE_OFF = 1,
	WL_NAGLE_CORKED = 2,
};

/* wl_drop.cause. */
enum wl_cause {
	WL_CAUSE_OTHER = 0,
	WL_CAUSE_SOCKET_BUFFER = 1,
	WL_CAUSE_QUEUE = 2,
	WL_CAUSE_NO_SOCKET = 3,
	WL_CAUSE_FILTER = 4,
	WL_CAUSE_DUPLICATE = 5,
};

/* wl_retransmit.state: include/uapi/linux/tcp.h enum tcp_ca_state. */
enum wl_ca_state {
	WL_CA_OPEN = 0,
	WL_CA_DISORDER = 1,
	WL_CA_CWR = 2,
	WL_CA_RECOVERY = 3,
	WL_CA_LOSS = 4,
};

/* Times are CLOCK_MONOTONIC nanoseconds, 0 where unknown; lengths are bytes. */
struct wl_head {
	__u64 at;
	__u16 cpu;
	__u8 kind;
	__u8 flags;
	__u32 captured; /* wl_packet: payload bytes that follow the record; otherwise 0 */
};

struct wl_task {
	__u32 pid;
	__u32 tid;
};

/* IPv4 addresses take the first four bytes. Ports are in host order. */
struct wl_flow {
	__u8 src[16];
	__u8 dst[16];
	__u16 sport;
	__u16 dport;
	__u8 family;    /* 4 or 6 */
	__u8 transport; /* 6 or 17, the IP protocol number */
	__u16 unused;
	__u32 netns;
	__u32 unused2;
};

struct wl_socket {
	struct wl_head head;
	__u64 cookie;
	struct wl_task task;
	__u8 comm[16];
	struct wl_flow flow; /* src is the socket's own side */
	__u32 tx_next;
	__u32 rx_next;
	__u32 origin;
	__u32 unused;
};

struct wl_closed {
	struct wl_head head;
	__u64 cookie;
};

/* What TCP knew at a send: include/linux/tcp.h struct tcp_sock. */
struct wl_tx {
	__u32 in_flight; /* snd_nxt - snd_una */
	__u32 unsent;    /* write_seq - snd_nxt */
	__u32 window;
	__u32 mss;
	__u32 cwnd; /* segments */
	__u32 segments_out;
	__u32 nagle;
	__u32 send_buffer;
	__u64 pacing; /* bytes a second; 0: none */
};

struct wl_send {
	struct wl_head head;
	__u64 cookie;
	struct wl_task task;
	__u64 entered; /* datagrams */
	__u32 start;   /* streams */
	__u32 len;
	struct wl_tx tx; /* streams */
};

struct wl_read {
	struct wl_head head;
	__u64 cookie;
	struct wl_task task;
	__u64 packet; /* datagrams: skb->head, 0 if it is not known … */
	__u64 seen;   /* … and a time at which that was this packet's, or no other was left */
	__u32 end;    /* streams */
	__u32 len;
};

struct wl_ready {
	struct wl_head head;
	__u64 cookie;
	__u64 packet; /* datagrams, as in wl_read */
	__u64 seen;
	__u32 rcv_nxt; /* streams */
	__u32 unused;
};

struct wl_packet {
	struct wl_head head;
	__u64 id;
	__u64 cookie;
	struct wl_task task;
	__u64 queued;        /* 0: it passed a qdisc unseen */
	struct wl_flow flow; /* netns is that of the device */
	__u32 device;
	__u32 wire_bytes;
	__u32 payload_len;
	__u32 seq;    /* TCP; otherwise it tells packets apart */
	__u32 ack;    /* TCP; of a fragment: payload bytes of the whole datagram */
	__u16 window; /* TCP; of a fragment: where its payload begins in the datagram's */
	__u16 queue;
	__u16 segments;
	__u16 link_header;
	__u16 ip_header;
	__u8 transport_header;
	__u8 tcp_flags;
};

struct wl_wake {
	struct wl_head head;
	struct wl_task task;
	struct wl_task waker;
	__u64 woken;
	__u64 left; /* 0: not seen */
	__u64 held;
	struct wl_task holder;
	__u8 holder_comm[16];
	__u64 throttled; /* of the wait, from its beginning on: no CPU quota was left */
	__u64 cgroup;    /* whose quota it was; 0: throttled is 0 */
	__u8 waker_comm[16];
	__u32 rest;
	__u32 call; /* the number of the system call that it slept in; ~0: not known */
};

struct wl_share {
	struct wl_task task;
	__u64 held;
	__u8 comm[16];
};

/* A wait in which several had the CPU: the others beside the holder, the longest first. */
struct wl_wake_shared {
	struct wl_wake wake;
	struct wl_share others[3];
};

/* kernel/sched/sched.h struct cfs_bandwidth. */
struct wl_quota {
	struct wl_head head;
	struct wl_task task;
	__u64 cgroup;
	__u64 quota;  /* ns in each period */
	__u64 period; /* ns */
	__u64 throttled;
	__u32 periods;
	__u32 throttled_periods;
	__u32 hierarchy; /* 0: cgroup v2 */
	__u32 level;     /* how many cgroups are above it */
	__u8 name[96];   /* with a NUL at its end */
	__u8 parent[96];
};

struct wl_retransmit {
	struct wl_head head;
	__u64 cookie;
	__u32 start;
	__u32 len;
	__u32 state;
	__u32 unused;
};

struct wl_drop {
	struct wl_head head;
	__u64 queued; /* 0: it was in no qdisc */
	__u32 reason;
	__u32 len;
	__u32 cause;
	__u32 seq; /* TCP, as the three below */
	__u32 ack;
	__u16 window;
	__u8 tcp_flags;
	__u8 unused;
	struct wl_flow flow;
};

/* A connection over a Unix socket, at the end with a name: the server's. Read from the iterator, not from the ring. */
struct wl_unix {
	__u64 socket; /* tells connections apart */
	__u32 pid;
	__u32 peer; /* the process that connected, or that listened */
	__u32 name_len;
	__u32 unused;
	__u8 name[112]; /* a path, or an abstract name behind a NUL */
};

/* The value of the map `counters`, one a probe and CPU. */
struct wl_counter {
	__u64 filtered;
	__u64 lost;
};

/* The only value of the map `settings`. */
struct wl_settings {
	__u32 open;       /* 0: all probes pause; otherwise it counts how often they resumed */
	__u32 generation; /* counts changes of the filter */
	__u32 attached;   /* counts how often the probes were attached */
	__u32 unused;
};

#endif
