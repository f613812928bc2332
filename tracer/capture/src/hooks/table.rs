//! Every observation, with its hooks, best first.

use super::observation::{
    AttachPoint, AttachTime, BelowDetail, KernelObservation, ObservationHook, ProbeProgram,
};
use wirelap_events::{Probe, TraceDetail};

const fn tracepoint(name: &'static str, tracepoint: &'static str) -> ProbeProgram {
    ProbeProgram { name, attach: AttachPoint::Tracepoint(tracepoint) }
}

const fn entry(name: &'static str, function: &'static str) -> ProbeProgram {
    ProbeProgram { name, attach: AttachPoint::Entry(function) }
}

const fn exit(name: &'static str, function: &'static str) -> ProbeProgram {
    ProbeProgram { name, attach: AttachPoint::Exit(function) }
}

const NEWER: &str = "boot a newer kernel, or one that can trace functions (CONFIG_FUNCTION_TRACER)";

/// The sockets that were open before the probes were attached.
pub(crate) const EXISTING_SOCKETS: &str = "existing sockets";

/// Connections over Unix sockets.
pub(crate) const UNIX_CONNECTIONS: &str = "Unix connections";

/// Every observation, in the order in which they are attached.
pub const OBSERVATIONS: &[KernelObservation] = &[
    KernelObservation {
        name: "connections",
        hooks: &[ObservationHook {
            name: "tracepoint inet_sock_set_state",
            programs: &[tracepoint("socket_state", "inet_sock_set_state")],
        }],
        without: "connections are found at their first message, and their handshake is not counted",
        remedy: "boot a kernel from 4.16 on",
        required: false,
        when: AttachTime::Always,
        detail: TraceDetail::Ends,
        below: BelowDetail::Never,
        per_message: false,
        probe: Some(Probe::Socket),
    },
    KernelObservation {
        name: "sockets",
        hooks: &[ObservationHook {
            name: "cgroup sock_create",
            programs: &[ProbeProgram { name: "socket_created", attach: AttachPoint::Cgroup }],
        }],
        without: "the first packet of a UDP socket is not assigned to it, and a socket's process is not known before it sends or reads",
        remedy: "mount cgroup v2 (mount -t cgroup2 none /sys/fs/cgroup)",
        required: false,
        when: AttachTime::Always,
        detail: TraceDetail::Ends,
        below: BelowDetail::Never,
        per_message: false,
        probe: Some(Probe::Socket),
    },
    KernelObservation {
        name: "close (TCP)",
        hooks: &[ObservationHook {
            name: "tracepoint tcp_destroy_sock",
            programs: &[tracepoint("tcp_closed", "tcp_destroy_sock")],
        }],
        without: "closed TCP sockets are forgotten only when they have been silent for long",
        remedy: "boot a kernel from 4.15 on",
        required: false,
        when: AttachTime::Always,
        detail: TraceDetail::Ends,
        below: BelowDetail::Never,
        per_message: false,
        probe: Some(Probe::Socket),
    },
    KernelObservation {
        name: "close (UDP)",
        hooks: &[ObservationHook {
            name: "cgroup sock_release",
            programs: &[ProbeProgram { name: "udp_closed", attach: AttachPoint::Cgroup }],
        }],
        without: "closed UDP sockets are forgotten only when they have been silent for long",
        remedy: "mount cgroup v2 (mount -t cgroup2 none /sys/fs/cgroup)",
        required: false,
        when: AttachTime::Udp,
        detail: TraceDetail::Path,
        below: BelowDetail::Datagrams,
        per_message: false,
        probe: Some(Probe::Socket),
    },
    KernelObservation {
        name: "send (TCP)",
        hooks: &[
            ObservationHook {
                name: "tracepoint tcp_sendmsg_locked",
                programs: &[tracepoint("send_tcp", "tcp_sendmsg_locked")],
            },
            ObservationHook {
                name: "fentry tcp_sendmsg_locked, do_tcp_sendpages",
                programs: &[
                    entry("send_tcp_fentry", "tcp_sendmsg_locked"),
                    entry("send_page_fentry", "do_tcp_sendpages"),
                ],
            },
            ObservationHook {
                name: "fentry tcp_sendmsg_locked",
                programs: &[entry("send_tcp_fentry", "tcp_sendmsg_locked")],
            },
        ],
        without: "TCP latencies begin at the packet instead of the send call",
        remedy: NEWER,
        required: false,
        when: AttachTime::Always,
        detail: TraceDetail::Ends,
        below: BelowDetail::Never,
        per_message: true,
        probe: Some(Probe::Send),
    },
    KernelObservation {
        name: "send (UDP)",
        hooks: &[
            ObservationHook {
                name: "tracepoint sock_send_length",
                programs: &[tracepoint("send_exit", "sock_send_length")],
            },
            ObservationHook {
                name: "fexit udp_sendmsg, udpv6_sendmsg",
                programs: &[
                    exit("send_exit_udp", "udp_sendmsg"),
                    exit("send_exit_udpv6", "udpv6_sendmsg"),
                ],
            },
        ],
        without: "UDP messages have no send: their latencies begin at the packet",
        remedy: NEWER,
        required: false,
        when: AttachTime::Udp,
        detail: TraceDetail::Path,
        below: BelowDetail::Datagrams,
        per_message: true,
        probe: Some(Probe::Send),
    },
    KernelObservation {
        name: "send (UDP), entry",
        hooks: &[
            ObservationHook {
                name: "fentry udp_sendmsg, udpv6_sendmsg",
                programs: &[
                    entry("send_udp_fentry", "udp_sendmsg"),
                    entry("send_udpv6_fentry", "udpv6_sendmsg"),
                ],
            },
            ObservationHook {
                name: "tracepoint sys_enter",
                programs: &[tracepoint("send_syscall", "sys_enter")],
            },
        ],
        without: "UDP latencies begin at the packet instead of the send call",
        remedy: NEWER,
        required: false,
        when: AttachTime::DatagramSent,
        detail: TraceDetail::Path,
        below: BelowDetail::Datagrams,
        per_message: true,
        // Without it a send is there, and its latency counts as one that begins later.
        probe: None,
    },
    KernelObservation {
        name: "read",
        hooks: &[
            ObservationHook {
                name: "tracepoint sock_recv_length",
                programs: &[tracepoint("read_exit", "sock_recv_length")],
            },
            ObservationHook {
                name: "fexit tcp_recvmsg, udp_recvmsg, udpv6_recvmsg",
                programs: &[
                    exit("read_exit_tcp", "tcp_recvmsg"),
                    exit("read_exit_udp", "udp_recvmsg"),
                    exit("read_exit_udpv6", "udpv6_recvmsg"),
                ],
            },
        ],
        // A delivery is a read: without it, packets alone show more.
        without: "nothing can be traced",
        remedy: "boot a kernel from 6.3 on, or one that can trace functions (CONFIG_FUNCTION_TRACER)",
        required: true,
        when: AttachTime::Always,
        detail: TraceDetail::Ends,
        below: BelowDetail::Never,
        per_message: true,
        probe: Some(Probe::Read),
    },
    KernelObservation {
        name: "read (UDP), which",
        hooks: &[
            ObservationHook {
                name: "fexit __skb_recv_udp",
                programs: &[exit("datagram_taken", "__skb_recv_udp")],
            },
            // The programs of "read" and "data ready" look at the queue, so there is nothing to attach.
            ObservationHook { name: "the socket's queue", programs: &[] },
        ],
        without: "if several threads read a UDP socket, it is not known which datagram each read took",
        remedy: NEWER,
        required: false,
        when: AttachTime::Udp,
        detail: TraceDetail::Path,
        below: BelowDetail::Datagrams,
        per_message: true,
        probe: Some(Probe::Read),
    },
    KernelObservation {
        name: "data ready",
        hooks: &[
            ObservationHook {
                name: "tracepoint sk_data_ready",
                programs: &[tracepoint("ready", "sk_data_ready")],
            },
            ObservationHook {
                name: "fentry sock_def_readable",
                programs: &[entry("ready_fentry", "sock_def_readable")],
            },
        ],
        without: "the receiver's network stack, its wakeup and its reading are one segment",
        remedy: NEWER,
        required: false,
        when: AttachTime::Always,
        detail: TraceDetail::Full,
        below: BelowDetail::Datagrams,
        per_message: true,
        probe: Some(Probe::Ready),
    },
    KernelObservation {
        name: "packets out",
        hooks: &[ObservationHook {
            name: "tracepoint net_dev_start_xmit",
            programs: &[tracepoint("packet_xmit", "net_dev_start_xmit")],
        }],
        without: "nothing can be traced",
        remedy: "boot a kernel with CONFIG_NET and BTF",
        required: true,
        when: AttachTime::Always,
        detail: TraceDetail::Path,
        below: BelowDetail::Unsent,
        per_message: true,
        probe: Some(Probe::Xmit),
    },
    KernelObservation {
        name: "qdisc",
        hooks: &[ObservationHook {
            name: "tracepoint net_dev_queue",
            programs: &[tracepoint("packet_queued", "net_dev_queue")],
        }],
        without: "the wait in the qdisc is counted in the segment socket_tx",
        remedy: NEWER,
        required: false,
        when: AttachTime::QdiscSeen,
        detail: TraceDetail::Path,
        below: BelowDetail::Never,
        per_message: true,
        probe: Some(Probe::Xmit),
    },
    KernelObservation {
        name: "packets in",
        hooks: &[ObservationHook {
            name: "tracepoint netif_receive_skb",
            programs: &[tracepoint("packet_rx", "netif_receive_skb")],
        }],
        without: "nothing can be traced",
        remedy: "boot a kernel with CONFIG_NET and BTF",
        required: true,
        when: AttachTime::Always,
        detail: TraceDetail::Path,
        below: BelowDetail::Unsent,
        per_message: true,
        probe: Some(Probe::Rx),
    },
    KernelObservation {
        name: "scheduling",
        hooks: &[ObservationHook {
            name: "tracepoints sched_waking, sched_switch",
            programs: &[
                tracepoint("task_woken", "sched_waking"),
                tracepoint("task_switch", "sched_switch"),
            ],
        }],
        without: "scheduling gaps are counted as the reader's own time",
        remedy: NEWER,
        required: false,
        when: AttachTime::Always,
        detail: TraceDetail::Full,
        below: BelowDetail::Never,
        per_message: true,
        probe: Some(Probe::Sched),
    },
    KernelObservation {
        name: "process trees",
        hooks: &[ObservationHook {
            name: "tracepoints sched_process_fork, sched_process_exit",
            programs: &[
                tracepoint("task_forked", "sched_process_fork"),
                tracepoint("task_exited", "sched_process_exit"),
            ],
        }],
        without: "children that a traced process starts later are not traced, and how a broker's process ended is not known",
        remedy: NEWER,
        required: false,
        when: AttachTime::Always,
        detail: TraceDetail::Ends,
        below: BelowDetail::Never,
        per_message: false,
        probe: Some(Probe::Sched),
    },
    KernelObservation {
        name: "retransmissions",
        hooks: &[
            ObservationHook {
                name: "tracepoint tcp_retransmit_skb",
                programs: &[tracepoint("retransmit", "tcp_retransmit_skb")],
            },
            ObservationHook {
                name: "tracepoint tcp_retransmit_skb, without failed attempts",
                programs: &[tracepoint("retransmit_sent", "tcp_retransmit_skb")],
            },
        ],
        without: "retransmissions are recognised only by their sequence numbers",
        remedy: NEWER,
        required: false,
        when: AttachTime::Always,
        detail: TraceDetail::Path,
        below: BelowDetail::Never,
        per_message: true,
        probe: Some(Probe::Retransmit),
    },
    KernelObservation {
        name: "drops",
        hooks: &[ObservationHook {
            name: "tracepoint kfree_skb",
            programs: &[tracepoint("packet_dropped", "kfree_skb")],
        }],
        without: "dropped packets have no reason",
        remedy: "boot a kernel from 5.17 on",
        required: false,
        when: AttachTime::Always,
        detail: TraceDetail::Path,
        below: BelowDetail::Never,
        per_message: true,
        probe: Some(Probe::Drop),
    },
    KernelObservation {
        name: EXISTING_SOCKETS,
        hooks: &[ObservationHook {
            name: "iterator task_file",
            programs: &[ProbeProgram {
                name: "existing_sockets",
                attach: AttachPoint::FileIterator,
            }],
        }],
        without: "sockets that were open before are found at their first message",
        remedy: "boot a kernel from 5.11 on",
        required: false,
        when: AttachTime::Always,
        detail: TraceDetail::Ends,
        below: BelowDetail::Never,
        per_message: false,
        probe: Some(Probe::Socket),
    },
    KernelObservation {
        name: UNIX_CONNECTIONS,
        hooks: &[ObservationHook {
            name: "iterator task_file",
            programs: &[ProbeProgram {
                name: "unix_connections",
                attach: AttachPoint::FileIterator,
            }],
        }],
        without: "a process that also serves clients over a Unix socket is not marked",
        remedy: "boot a kernel from 5.11 on",
        required: false,
        when: AttachTime::Always,
        detail: TraceDetail::Ends,
        below: BelowDetail::Never,
        per_message: false,
        probe: Some(Probe::Socket),
    },
];

/// The hook that copies payload on kernels where tracing programs cannot read it.
pub(crate) const PAYLOAD_FROM_CGROUP: ObservationHook = ObservationHook {
    name: "cgroup egress",
    programs: &[ProbeProgram { name: "packet_payload", attach: AttachPoint::Egress }],
};
