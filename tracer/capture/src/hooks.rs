//! The observations that wirelap makes, and the ways to make each, best first.
//!
//! To add a way: write its program in `ebpf/probes/`, and name it in the table below.

/// Where a program attaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attach {
    /// A raw tracepoint with typed arguments (`tp_btf`).
    Tracepoint(&'static str),
    /// The entry of a kernel function.
    Entry(&'static str),
    /// The exit of a kernel function.
    Exit(&'static str),
    /// The opening or the close of a socket, in the root cgroup.
    Cgroup,
    /// Packets that leave sockets, in the root cgroup.
    Egress,
    /// A walk over the open files of all tasks.
    FileIterator,
}

/// A program of the object and where it attaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name in the object.
    pub name: &'static str,
    /// Where it attaches.
    pub attach: Attach,
}

/// One way to make an observation: programs that must all attach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// What `wirelap doctor` calls it.
    pub hook: &'static str,
    /// Its programs.
    pub programs: &'static [Program],
}

/// When an observation's programs are attached. Each attached hook costs something at every event of the
/// host, whether it is traced or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// From the start.
    Always,
    /// Unless [`crate::Datagrams::Never`].
    Udp,
    /// As [`crate::Config::datagrams`] says.
    DatagramSent,
    /// Once a traced packet has passed a device with a qdisc.
    QdiscSeen,
}

/// Something that wirelap observes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Its name.
    pub name: &'static str,
    /// The ways to make it, best first.
    pub ways: &'static [Way],
    /// What is missing in the results without it.
    pub without: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
    /// Whether nothing can be traced without it.
    pub required: bool,
    /// When it is attached.
    pub when: When,
    /// Whether its hooks run for messages, and not only when sockets or processes come and go.
    pub per_message: bool,
}

const fn tracepoint(name: &'static str, tracepoint: &'static str) -> Program {
    Program { name, attach: Attach::Tracepoint(tracepoint) }
}

const fn entry(name: &'static str, function: &'static str) -> Program {
    Program { name, attach: Attach::Entry(function) }
}

const fn exit(name: &'static str, function: &'static str) -> Program {
    Program { name, attach: Attach::Exit(function) }
}

const NEWER: &str = "boot a newer kernel, or one that can trace functions (CONFIG_FUNCTION_TRACER)";

/// The sockets that were open before the probes were attached.
pub(crate) const EXISTING_SOCKETS: &str = "existing sockets";

/// Connections over Unix sockets.
pub(crate) const UNIX_CONNECTIONS: &str = "Unix connections";

/// Every observation, in the order in which they are attached.
pub const OBSERVATIONS: &[Observation] = &[
    Observation {
        name: "connections",
        ways: &[Way {
            hook: "tracepoint inet_sock_set_state",
            programs: &[tracepoint("socket_state", "inet_sock_set_state")],
        }],
        without: "connections are found at their first message, and their handshake is not theirs",
        remedy: "boot a kernel from 4.16 on",
        required: false,
        when: When::Always,
        per_message: false,
    },
    Observation {
        name: "sockets",
        ways: &[Way {
            hook: "cgroup sock_create",
            programs: &[Program { name: "socket_created", attach: Attach::Cgroup }],
        }],
        without: "a UDP socket's first packet does not know its socket, nor a socket its process before it sends or reads",
        remedy: "mount cgroup v2 (mount -t cgroup2 none /sys/fs/cgroup)",
        required: false,
        when: When::Always,
        per_message: false,
    },
    Observation {
        name: "close (TCP)",
        ways: &[Way {
            hook: "tracepoint tcp_destroy_sock",
            programs: &[tracepoint("tcp_closed", "tcp_destroy_sock")],
        }],
        without: "closed TCP sockets are forgotten only when they have been silent for long",
        remedy: "boot a kernel from 4.15 on",
        required: false,
        when: When::Always,
        per_message: false,
    },
    Observation {
        name: "close (UDP)",
        ways: &[Way {
            hook: "cgroup sock_release",
            programs: &[Program { name: "udp_closed", attach: Attach::Cgroup }],
        }],
        without: "closed UDP sockets are forgotten only when they have been silent for long",
        remedy: "mount cgroup v2 (mount -t cgroup2 none /sys/fs/cgroup)",
        required: false,
        when: When::Udp,
        per_message: false,
    },
    Observation {
        name: "send (TCP)",
        ways: &[
            Way {
                hook: "tracepoint tcp_sendmsg_locked",
                programs: &[tracepoint("send_tcp", "tcp_sendmsg_locked")],
            },
            Way {
                hook: "fentry tcp_sendmsg_locked, do_tcp_sendpages",
                programs: &[
                    entry("send_tcp_fentry", "tcp_sendmsg_locked"),
                    entry("send_page_fentry", "do_tcp_sendpages"),
                ],
            },
            Way {
                hook: "fentry tcp_sendmsg_locked",
                programs: &[entry("send_tcp_fentry", "tcp_sendmsg_locked")],
            },
        ],
        without: "TCP latencies begin at the packet instead of the send call",
        remedy: NEWER,
        required: false,
        when: When::Always,
        per_message: true,
    },
    Observation {
        name: "send (UDP)",
        ways: &[
            Way {
                hook: "tracepoint sock_send_length",
                programs: &[tracepoint("send_exit", "sock_send_length")],
            },
            Way {
                hook: "fexit udp_sendmsg, udpv6_sendmsg",
                programs: &[
                    exit("send_exit_udp", "udp_sendmsg"),
                    exit("send_exit_udpv6", "udpv6_sendmsg"),
                ],
            },
        ],
        without: "UDP messages have no send: their latencies begin at the packet",
        remedy: NEWER,
        required: false,
        when: When::Udp,
        per_message: true,
    },
    Observation {
        name: "send (UDP), entry",
        ways: &[
            Way {
                hook: "fentry udp_sendmsg, udpv6_sendmsg",
                programs: &[
                    entry("send_udp_fentry", "udp_sendmsg"),
                    entry("send_udpv6_fentry", "udpv6_sendmsg"),
                ],
            },
            Way {
                hook: "tracepoint sys_enter",
                programs: &[tracepoint("send_syscall", "sys_enter")],
            },
        ],
        without: "UDP latencies begin at the packet instead of the send call",
        remedy: NEWER,
        required: false,
        when: When::DatagramSent,
        per_message: true,
    },
    Observation {
        name: "read",
        ways: &[
            Way {
                hook: "tracepoint sock_recv_length",
                programs: &[tracepoint("read_exit", "sock_recv_length")],
            },
            Way {
                hook: "fexit tcp_recvmsg, udp_recvmsg, udpv6_recvmsg",
                programs: &[
                    exit("read_exit_tcp", "tcp_recvmsg"),
                    exit("read_exit_udp", "udp_recvmsg"),
                    exit("read_exit_udpv6", "udpv6_recvmsg"),
                ],
            },
        ],
        without: "latencies end at data ready instead of the read",
        remedy: NEWER,
        required: false,
        when: When::Always,
        per_message: true,
    },
    Observation {
        name: "read (UDP), which",
        ways: &[
            Way {
                hook: "fexit __skb_recv_udp",
                programs: &[exit("datagram_taken", "__skb_recv_udp")],
            },
            // The hooks of "read" and "data ready" look at it.
            Way { hook: "the socket's queue", programs: &[] },
        ],
        without: "of a UDP socket that several threads read, it is not known which datagram a read took",
        remedy: NEWER,
        required: false,
        when: When::Udp,
        per_message: true,
    },
    Observation {
        name: "data ready",
        ways: &[
            Way {
                hook: "tracepoint sk_data_ready",
                programs: &[tracepoint("ready", "sk_data_ready")],
            },
            Way {
                hook: "fentry sock_def_readable",
                programs: &[entry("ready_fentry", "sock_def_readable")],
            },
        ],
        without: "the receiver's network stack, its wakeup and its reading are one segment",
        remedy: NEWER,
        required: false,
        when: When::Always,
        per_message: true,
    },
    Observation {
        name: "packets out",
        ways: &[Way {
            hook: "tracepoint net_dev_start_xmit",
            programs: &[tracepoint("packet_xmit", "net_dev_start_xmit")],
        }],
        without: "nothing can be traced",
        remedy: "boot a kernel with CONFIG_NET and BTF",
        required: true,
        when: When::Always,
        per_message: true,
    },
    Observation {
        name: "qdisc",
        ways: &[Way {
            hook: "tracepoint net_dev_queue",
            programs: &[tracepoint("packet_queued", "net_dev_queue")],
        }],
        without: "the wait in the qdisc is part of the socket's segment",
        remedy: NEWER,
        required: false,
        when: When::QdiscSeen,
        per_message: true,
    },
    Observation {
        name: "packets in",
        ways: &[Way {
            hook: "tracepoint netif_receive_skb",
            programs: &[tracepoint("packet_rx", "netif_receive_skb")],
        }],
        without: "nothing can be traced",
        remedy: "boot a kernel with CONFIG_NET and BTF",
        required: true,
        when: When::Always,
        per_message: true,
    },
    Observation {
        name: "scheduling",
        ways: &[Way {
            hook: "tracepoints sched_waking, sched_switch",
            programs: &[
                tracepoint("task_woken", "sched_waking"),
                tracepoint("task_switch", "sched_switch"),
            ],
        }],
        without: "scheduling gaps are part of the reader's own time",
        remedy: NEWER,
        required: false,
        when: When::Always,
        per_message: true,
    },
    Observation {
        name: "process trees",
        ways: &[Way {
            hook: "tracepoints sched_process_fork, sched_process_exit",
            programs: &[
                tracepoint("task_forked", "sched_process_fork"),
                tracepoint("task_exited", "sched_process_exit"),
            ],
        }],
        without: "children that a traced process starts later are not followed",
        remedy: NEWER,
        required: false,
        when: When::Always,
        per_message: false,
    },
    Observation {
        name: "retransmissions",
        ways: &[Way {
            hook: "tracepoint tcp_retransmit_skb",
            programs: &[tracepoint("retransmit", "tcp_retransmit_skb")],
        }],
        without: "retransmissions are told only by their sequence numbers",
        remedy: NEWER,
        required: false,
        when: When::Always,
        per_message: true,
    },
    Observation {
        name: "drops",
        ways: &[Way {
            hook: "tracepoint kfree_skb",
            programs: &[tracepoint("packet_dropped", "kfree_skb")],
        }],
        without: "dropped packets have no reason",
        remedy: "boot a kernel from 5.17 on",
        required: false,
        when: When::Always,
        per_message: true,
    },
    Observation {
        name: EXISTING_SOCKETS,
        ways: &[Way {
            hook: "iterator task_file",
            programs: &[Program { name: "existing_sockets", attach: Attach::FileIterator }],
        }],
        without: "sockets from before are found at their first message",
        remedy: "boot a kernel from 5.11 on",
        required: false,
        when: When::Always,
        per_message: false,
    },
    Observation {
        name: UNIX_CONNECTIONS,
        ways: &[Way {
            hook: "iterator task_file",
            programs: &[Program { name: "unix_connections", attach: Attach::FileIterator }],
        }],
        without: "a process that also serves clients over a Unix socket is not marked",
        remedy: "boot a kernel from 5.11 on",
        required: false,
        when: When::Always,
        per_message: false,
    },
];

/// Whether a program of the object runs for messages, and not only when sockets or processes come and go.
pub(crate) fn is_per_message(program: &str) -> bool {
    let is_its = |way: &Way| way.programs.iter().any(|its| its.name == program);
    is_its(&PAYLOAD_FROM_CGROUP)
        || OBSERVATIONS.iter().any(|o| o.per_message && o.ways.iter().any(is_its))
}

/// How payload is read where tracing programs cannot.
pub(crate) const PAYLOAD_FROM_CGROUP: Way = Way {
    hook: "cgroup egress",
    programs: &[Program { name: "packet_payload", attach: Attach::Egress }],
};

/// An observation and how it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenHook {
    /// The observation.
    pub observation: &'static str,
    /// The hook; `None` if there is none.
    pub hook: Option<&'static str>,
    /// What is missing without a hook.
    pub without: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
    /// Why the ways before the chosen one (or all of them) were not taken.
    pub refused: Vec<Refusal>,
}

/// A way that this kernel does not offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The way.
    pub hook: &'static str,
    /// What the kernel said, in one line.
    pub reason: String,
}

impl ChosenHook {
    /// An observation that has not been tried yet.
    pub(crate) fn untried(observation: &Observation) -> ChosenHook {
        ChosenHook {
            observation: observation.name,
            hook: None,
            without: observation.without,
            remedy: observation.remedy,
            refused: Vec::new(),
        }
    }
}
