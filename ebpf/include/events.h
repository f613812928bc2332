/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The only description of the records in the ring buffer.
 *
 * build.rs reads the structs below, generates their field offsets for Rust, and has clang check each
 * offset. So only __u8, __u16, __u32, __u64, arrays of these, and structs declared above are allowed, with one field on
 * each line, without bit-fields and implicit padding.
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

/* Where things are in the memory of the ring of our own (ring.h), and how long a record may be; in bytes. */
enum wl_ring {
	WL_RING_CONSUMED = 128,
	WL_RING_RECORDS = 256,
	WL_RING_LONGEST = 66048,
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
	WL_PAYLOAD = 14, /* wl_packet: only head, flow, seq, ack, payload_len */
	WL_WAKE_SHARED = 15,
	WL_QUOTA = 16,
	WL_PLAIN = 17,
	WL_PLAIN_READ = 18,
	WL_ENDED = 19,
	WL_LOOPED = 20,
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
	WL_SUBFLOW = 2,   /* wl_socket: an MPTCP connection, used by another socket */
	WL_FROM_IRQ = 2,  /* wl_wake: the wakeup came from an interrupt, or with a packet */
	WL_UNCOPIED = 1,  /* wl_packet: no WL_PAYLOAD has its payload, which is copied apart here */
	WL_MISSED = 1,    /* wl_wake: a switch to the thread was not traced since the last record */
	WL_MIGRATED = 4,  /* wl_wake: the thread had run on another CPU */
	WL_DEFERRED = 8,  /* wl_packet: the packet may have waited for ksoftirqd */
	WL_HARD_IRQ = 8,  /* wl_wake: the interrupt was that of a timer or a device */
	WL_FRAGMENT = 16, /* wl_packet: an IP fragment of a datagram */
	WL_REFUSED = 32,  /* wl_packet: an ICMP error about a packet of the other direction */
	WL_OUTWARD = 64,  /* wl_drop: the packet had not left its socket's host yet */
	WL_AHEAD = 128,   /* wl_plain: what was read from the socket may go beyond the record */
};

/* wl_wake.off_cpu. */
enum wl_off_cpu {
	WL_OFF_CPU_ASLEEP = 0,
	WL_OFF_CPU_BLOCKED = 1,
	WL_OFF_CPU_STOPPED = 2,
	WL_OFF_CPU_PREEMPTED = 3,
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
	WL_CAUSE_TOO_BIG = 6,
};

/* wl_retransmit.state: include/uapi/linux/tcp.h enum tcp_ca_state. */
enum wl_ca_state {
	WL_CA_OPEN = 0,
	WL_CA_DISORDER = 1,
	WL_CA_CWR = 2,
	WL_CA_RECOVERY = 3,
	WL_CA_LOSS = 4,
};

/* What precedes a record in the ring of our own. */
struct wl_ring_head {
	__u32 bytes;     /* of the record */
	__u32 committed; /* 1 once the record is written; then it stays as it is until it is read */
};

/* Times are CLOCK_MONOTONIC nanoseconds, 0 if unknown; lengths are in bytes. */
struct wl_head {
	__u64 at;
	__u16 cpu;
	__u8 kind;
	__u8 flags;
	__u32 captured; /* wl_packet, wl_plain, wl_send: bytes after the record; otherwise 0 */
};

struct wl_task {
	__u32 pid;
	__u32 tid;
};

/* IPv4 addresses are in the first four bytes. Ports are in host order. */
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

/* The state of TCP at a send: include/linux/tcp.h struct tcp_sock. */
struct wl_tx {
	__u32 in_flight; /* snd_nxt - snd_una */
	__u32 unsent;    /* write_seq - snd_nxt */
	__u32 window;
	__u32 mss;
	__u32 cwnd; /* in segments */
	__u32 segments_out;
	__u32 nagle;
	__u32 send_buffer;
	__u64 pacing;  /* in bytes per second; 0: none */
	__u32 min_rtt; /* in us; ~0: not measured yet */
	__u32 unused;
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

/* The text of a TLS record that a thread is about to send, or has read (WL_PLAIN_READ); the text itself follows. */
struct wl_plain {
	struct wl_head head; /* captured: bytes of the text after the record */
	__u64 cookie;
	struct wl_task task;
	__u32 start; /* of the TLS record in the stream; read: one past what was read from the socket */
	__u32 bytes; /* of the TLS record; read: bytes read from the socket for this text */
	__u32 text_len;
	__u32 text_start; /* bytes of the socket's text before this one, modulo 2^32 */
};

struct wl_read {
	struct wl_head head;
	__u64 cookie;
	struct wl_task task;
	__u64 packet; /* datagrams: skb->head; 0 if it is not known */
	__u64 seen; /* datagrams: a time at which the datagram had that memory, or at which the queue was empty */
	__u32 end; /* streams */
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
	__u64 queued; /* 0: passing the qdisc was not traced; received: since when WL_DEFERRED */
	struct wl_flow flow; /* netns is that of the device */
	__u32 device;
	__u32 wire_bytes;
	__u32 payload_len;
	__u32 seq;    /* TCP: sequence number; otherwise a value that distinguishes packets */
	__u32 ack;    /* TCP; of a fragment: payload bytes of its datagram; else name_of() or 0 */
	__u16 window; /* TCP; of a fragment: position of its payload in that of the datagram */
	__u16 queue;
	__u16 segments;
	__u16 link_header;
	__u16 ip_header;
	__u8 transport_header;
	__u8 tcp_flags;
};

/*
 * A packet that its CPU has just sent through loopback is received: what is not here is as in the last WL_XMIT of this CPU, which has
 * the same id.
 */
struct wl_looped {
	struct wl_head head;
	__u64 id;
	struct wl_task task;
};

struct wl_wake {
	struct wl_head head;
	struct wl_task task;
	struct wl_task waker;
	__u64 woken;
	__u64 left; /* 0: not traced */
	__u64 held;
	struct wl_task holder;
	__u8 holder_comm[16];
	__u64 throttled; /* how much of the wait, from its beginning, no CPU quota was left */
	__u64 cgroup;    /* the cgroup with that quota; 0: throttled is 0 */
	__u8 waker_comm[16];
	__u32 off_cpu;
	__u32 call; /* the number of the system call in which the thread slept; ~0: not known */
};

struct wl_share {
	struct wl_task task;
	__u64 held;
	__u8 comm[16];
};

/*
 * A wait in which several threads had the CPU: the holder, and up to three others, the longest first. The threads of a process that is
 * not the waiting thread's are taken together, under the name and number of one of them.
 */
struct wl_wake_shared {
	struct wl_wake wake;
	struct wl_share others[3];
	__u64 rest; /* how long still others had it, together */
};

/* kernel/sched/sched.h struct cfs_bandwidth. */
struct wl_quota {
	struct wl_head head;
	struct wl_task task;
	__u64 cgroup;
	__u64 quota;  /* in ns per period */
	__u64 period; /* in ns */
	__u64 throttled;
	__u32 periods;
	__u32 throttled_periods;
	__u32 hierarchy; /* 0: cgroup v2 */
	__u32 level;     /* the number of cgroups above it */
	__u8 name[96];   /* NUL-terminated */
	__u8 parent[96];
};

/* The last thread of a process ends (kernel/exit.c do_exit()). */
struct wl_ended {
	struct wl_head head;
	struct wl_task task;
	__u32 status;        /* as wait(2) tells it */
	__u32 out_of_memory; /* 1: the kernel chose the process to be killed */
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
	__u64 queued; /* 0: the packet was in no qdisc */
	__u32 reason;
	__u32 len;
	__u32 cause;
	__u32 seq; /* seq, ack, window and tcp_flags are of TCP only */
	__u32 ack;
	__u16 window;
	__u8 tcp_flags;
	__u8 unused;
	__u32 mtu; /* of the device that the packet was to leave by, where it was too big for it; otherwise 0 */
	__u32 unused2;
	struct wl_flow flow; /* netns is that in which it was dropped; 0 if that is not known */
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

/* The value of the map `counters`, one for each probe and CPU. */
struct wl_counter {
	__u64 filtered;
	__u64 lost;
	__u64 muted; /* not reported, or reported without payload, because their socket is muted */
};

/* The variable `settings`. */
struct wl_settings {
	__u32 open;       /* 0: all probes pause; otherwise the number of the current window */
	__u32 generation; /* the number of changes of the filter */
	__u32 attached;   /* the number of times that the probes were attached */
	__u32 zero;       /* always 0, which the verifier does not know */
	__u32 mutes;      /* the number of changes of the map `muted` */
	__u32 unused;
};

#endif
