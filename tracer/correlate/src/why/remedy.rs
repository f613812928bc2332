//! What usually helps, in the middleware's own words.

use super::explanation::VerdictKind;
use super::setting::Setting;
use wirelap_events::{DropCause, OffCpuReason, Segment};

/// What a remedy depends on beside the kind of cause.
#[derive(Clone, Copy, Debug)]
pub struct Circumstance {
    /// Where most of its time is.
    pub segment: Segment,
    /// It is the broker's doing or loss, not a client's.
    pub at_broker: bool,
    /// How the thread rested, where one did.
    pub rest: Option<OffCpuReason>,
    /// What the host threw packets away for, where it did.
    pub dropped: Option<DropCause>,
}

/// One sentence.
pub fn remedy(kind: VerdictKind, setting: &Setting, circumstance: Circumstance) -> String {
    let Circumstance { segment, at_broker, rest, dropped } = circumstance;
    let middleware = Family::of(&setting.middleware);
    let broker = setting.broker.as_deref().unwrap_or_default();
    let text = match kind {
        VerdictKind::NagleDelayedAck => {
            return nagle(middleware, at_broker.then_some(broker).filter(|name| !name.is_empty()));
        }
        VerdictKind::Corked => "take TCP_CORK (or MSG_MORE) away, or end it with the message",
        VerdictKind::SenderBatching => batching(middleware),
        VerdictKind::FetchWait => fetch(middleware),
        VerdictKind::ReleaseWait => {
            "QoS 2 takes a second round trip before the broker may deliver: use QoS 1 where a repetition does no harm, or find what keeps the publisher from its PUBREL"
        }
        VerdictKind::ReceiveWindow => {
            "let the receiver read faster, or give it room: SO_RCVBUF, net.ipv4.tcp_rmem"
        }
        VerdictKind::CongestionWindow => {
            "keep connections open and busy (net.ipv4.tcp_slow_start_after_idle=0), and find what loses packets"
        }
        VerdictKind::Pacing => {
            "keep the connection busy, so that BBR knows how fast the path is, or use another congestion control (net.ipv4.tcp_congestion_control)"
        }
        VerdictKind::SendBuffer => send_buffer(middleware),
        VerdictKind::LateWrite => late_write(middleware),
        VerdictKind::Retransmission => lost(dropped),
        VerdictKind::QueueOverflow => overflow(middleware),
        VerdictKind::QdiscQueueing => {
            "send slower than the device's rate limit, shorten the queue (fq_codel), or give this traffic a class of its own"
        }
        VerdictKind::RunQueueContention => {
            "give the threads CPUs of their own (taskset, cpuset, isolcpus), or let what holds the CPU run at a lower priority (nice, cpu.weight)"
        }
        VerdictKind::IdleWakeup => {
            "keep CPUs from sleeping deeply (cpupower idle-set, /dev/cpu_dma_latency), or let sender and reader share a core; it falls as the rate rises"
        }
        VerdictKind::SoftirqDeferral => {
            "give receiving a CPU that is less loaded (RPS, IRQ affinity), or raise net.core.netdev_budget"
        }
        VerdictKind::BrokerCpuBound => broker_cpu(middleware, broker),
        VerdictKind::BrokerStalled => broker_stalled(rest),
        VerdictKind::ClientStalled => client_stalled(rest),
        VerdictKind::SerialFanOut => fan_out(middleware),
        VerdictKind::StartUp => {
            "nothing is wrong with it; where the first messages matter, keep connections open and send some before they do"
        }
        VerdictKind::ReaderBusy => {
            "do less in the receiving callback, hand messages to other threads, or share them among more subscribers"
        }
        VerdictKind::CpuThrottled => "raise the CPU limit of its cgroup, or take it away",
        VerdictKind::LockWait => {
            "let the thread that is waited for hold the lock for a shorter time, or run it in a process of its own (in Python, threads share one interpreter lock: multiprocessing)"
        }
        VerdictKind::TracerInfluence => {
            "let wirelap watch less (--ports, --pid), sample windows of time, or give it a CPU of its own (taskset)"
        }
        VerdictKind::NeverDelivered => never(middleware),
        VerdictKind::Duplicates => duplicates(middleware),
        VerdictKind::Upkeep => upkeep(middleware),
        VerdictKind::SharedMemory => {
            "nothing is wrong; to see the payload on the network, switch shared memory off for the measurement"
        }
        VerdictKind::Unexplained => unexplained(segment),
    };
    text.into()
}

fn broker_stalled(rest: Option<OffCpuReason>) -> &'static str {
    match rest {
        Some(OffCpuReason::Stopped) => {
            "find who stops the broker (SIGSTOP, a debugger, the cgroup freezer, a snapshot of the machine); `kill -CONT` lets it go on"
        }
        Some(OffCpuReason::Blocked) => {
            "look at what the broker's thread waits for in the kernel, mostly its disk (persistence, log flush; `iostat`, /proc/PID/stack)"
        }
        Some(OffCpuReason::Asleep) => {
            "find what the broker's thread slept for (`strace -f -T`, `offcputime`): a timer, another thread, a lock"
        }
        Some(OffCpuReason::Preempted) | None => {
            "find what kept the broker's thread (`strace -f -T`, `offcputime`)"
        }
    }
}

/// Against packets that are lost, by what this host threw them away for.
fn lost(cause: Option<DropCause>) -> &'static str {
    match cause {
        Some(DropCause::Filter) => {
            "find the rule that drops them (`nft list ruleset`, `iptables -vnL`, `tc filter show`), and let this traffic pass"
        }
        Some(DropCause::Queue) => {
            "give the queue that was full more room (`tc -s qdisc` shows which; net.core.netdev_max_backlog for a CPU's), or send slower"
        }
        Some(DropCause::SocketBuffer) => {
            "let the receiver read faster, or give its socket room: SO_RCVBUF (net.core.rmem_max), net.ipv4.tcp_rmem, net.ipv4.tcp_mem"
        }
        Some(DropCause::NoSocket | DropCause::Duplicate | DropCause::Other) | None => {
            "find where packets are lost (`ethtool -S`, `nstat`, the counters of switches on the way), and mend that part of the path or send slower"
        }
    }
}

fn client_stalled(rest: Option<OffCpuReason>) -> &'static str {
    match rest {
        Some(OffCpuReason::Stopped) => {
            "find who stops the client (SIGSTOP, a debugger, the cgroup freezer); `kill -CONT` lets it go on"
        }
        Some(OffCpuReason::Blocked) => {
            "look at what the reading thread waits for in the kernel, mostly its disk: write in another thread"
        }
        _ => {
            "do not sleep or block in the receiving thread: hand messages to another, or read more often"
        }
    }
}

fn fan_out(family: Family) -> &'static str {
    match family {
        Family::Mqtt => {
            "spread the subscribers over several brokers or threads (bridges, a broker that sends from several threads); where each message needs one reader only, use a shared subscription (`$share/…`)"
        }
        Family::Nats => {
            "spread the subscribers over several servers of a cluster; where each message needs one reader only, use a queue group"
        }
        Family::Dds | Family::Zenoh => {
            "use multicast, or spread the subscribers over several routers or hosts"
        }
        _ => "spread the subscribers over several brokers or threads, or use multicast",
    }
}

/// Middlewares that share their words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Zenoh,
    Mqtt,
    Kafka,
    Dds,
    Nats,
    ZeroMq,
    OpcUa,
    Other,
}

impl Family {
    /// By the name of the protocol or the workload.
    fn of(middleware: &str) -> Family {
        const STARTS: [(&str, Family); 9] = [
            ("zenoh", Family::Zenoh),
            ("mqtt", Family::Mqtt),
            ("kafka", Family::Kafka),
            ("dds", Family::Dds),
            ("rtps", Family::Dds),
            ("nats", Family::Nats),
            ("zeromq", Family::ZeroMq),
            ("zmtp", Family::ZeroMq),
            ("opcua", Family::OpcUa),
        ];
        let found = STARTS.into_iter().find(|(start, _)| middleware.starts_with(start));
        found.map_or(Family::Other, |(_, family)| family)
    }
}

fn nagle(family: Family, broker: Option<&str>) -> String {
    match (broker, family) {
        (Some("mosquitto"), _) => "`set_tcp_nodelay true` in mosquitto.conf".into(),
        (Some("rumqttd"), _) => "set TCP_NODELAY on rumqttd's listening socket, whose connections inherit it (it has no setting of its own)".into(),
        (Some("nanomq"), _) => "`tcp.nodelay = true` in nanomq.conf".into(),
        (Some(other), _) => format!("set TCP_NODELAY on the sockets of {other}"),
        (None, Family::Mqtt) => "set TCP_NODELAY in the client: `set_tcp_nodelay(true)` in rumqttc's NetworkOptions, a socket option in Paho's on_socket_open".into(),
        (None, Family::Kafka) => "`socket.nagle.disable=true` in librdkafka".into(),
        (None, _) => "set TCP_NODELAY on the sending socket".into(),
    }
}

fn batching(family: Family) -> &'static str {
    match family {
        Family::Kafka => {
            "lower `linger.ms` (`queue.buffering.max.ms`) or `batch.size` in the producer"
        }
        Family::Zenoh => {
            "publish with `express(true)`, or lower `transport/link/tx/queue/batching/time_limit`"
        }
        Family::Nats => {
            "call `flush()` after publishing, or lower the client's write buffer's delay"
        }
        Family::Dds => {
            "switch write batching off (`dds_write_set_batch`, `WriteBatch`), or call `dds_write_flush`"
        }
        Family::ZeroMq => "see what keeps the I/O thread: ZeroMQ batches only what waits already",
        Family::Mqtt | Family::OpcUa | Family::Other => {
            "lower the sender's batching or linger time, or flush after publishing"
        }
    }
}

fn fetch(family: Family) -> &'static str {
    match family {
        Family::Kafka => {
            "lower `fetch.min.bytes` (to 1) or `fetch.max.wait.ms` (`fetch.wait.max.ms`) in the consumer, and `fetch.queue.backoff.ms` in librdkafka"
        }
        Family::OpcUa => {
            "lower the subscription's publishing interval and the item's sampling interval"
        }
        _ => {
            "let the consumer ask before there is something to fetch (long polling), and more often"
        }
    }
}

fn send_buffer(family: Family) -> &'static str {
    match family {
        Family::Zenoh => {
            "send slower, or widen `transport/link/tx/queue/size`; congestion control decides whether it blocks or drops"
        }
        _ => {
            "send slower, let the receiver read faster, or give the socket room: SO_SNDBUF, net.ipv4.tcp_wmem"
        }
    }
}

fn late_write(family: Family) -> &'static str {
    match family {
        Family::Mqtt => {
            "use a client whose event loop waits until the socket takes more (Paho C looks only about once a second), send slower, or raise net.ipv4.tcp_wmem so that the socket fills less often"
        }
        _ => {
            "let the sender wait until the socket takes more (POLLOUT) rather than look now and then, send slower, or raise net.ipv4.tcp_wmem"
        }
    }
}

fn overflow(family: Family) -> &'static str {
    match family {
        Family::ZeroMq => {
            "raise ZMQ_SNDHWM and ZMQ_RCVHWM (0: no limit), or send slower: PUB drops at its high-water mark"
        }
        Family::Dds => {
            "raise `SocketReceiveBufferSize` (Internal/SocketReceiveBufferSize) and net.core.rmem_max, or use reliable QoS"
        }
        Family::Zenoh => {
            "publish with `CongestionControl::Block`, or raise the socket's buffers (net.core.rmem_max)"
        }
        Family::Nats => {
            "raise the client's pending limits, or send slower: a slow consumer is cut off"
        }
        Family::Mqtt => {
            "raise `max_queued_messages` and `max_inflight_messages` at the broker, or send slower"
        }
        Family::Kafka | Family::OpcUa | Family::Other => {
            "raise the receiving socket's buffer (SO_RCVBUF, net.core.rmem_max), or send slower"
        }
    }
}

fn broker_cpu(family: Family, broker: &str) -> &'static str {
    match (family, broker) {
        (_, "mosquitto") => {
            "mosquitto has one thread: share the load among several brokers (bridges), or send fewer, larger messages"
        }
        (Family::Kafka, _) => {
            "raise `num.network.threads` and `num.io.threads`, or add partitions and brokers"
        }
        (Family::Zenoh, _) => "let peers talk to each other directly, or add routers",
        _ => {
            "give the broker more CPU, share its load among several, or send fewer, larger messages"
        }
    }
}

fn never(family: Family) -> &'static str {
    match family {
        Family::Mqtt => {
            "see the broker's log for dropped messages; use QoS 1 and a queue that is long enough (`max_queued_messages`), and compare topic and filter"
        }
        Family::Zenoh => {
            "publish with `Reliability::Reliable` and `CongestionControl::Block`, and compare the key expressions"
        }
        Family::Nats => {
            "core NATS delivers at most once: use JetStream, and see the server's slow consumers"
        }
        Family::ZeroMq => {
            "PUB drops what nobody subscribes to yet, and what exceeds its high-water mark: subscribe first, raise ZMQ_SNDHWM"
        }
        Family::Dds => {
            "use reliable, and for late joiners transient-local, QoS, with a history that is deep enough"
        }
        Family::Kafka | Family::OpcUa | Family::Other => {
            "compare what is sent and what is subscribed, and see the broker's own counters and log"
        }
    }
}

fn duplicates(family: Family) -> &'static str {
    match family {
        Family::Mqtt => {
            "QoS 1 delivers at least once: acknowledge in time (keep alive, retry interval), tell duplicates by an id of your own, or use QoS 2"
        }
        Family::Kafka => {
            "set `enable.idempotence=true` in the producer, and commit offsets after processing"
        }
        _ => "acknowledge in time, and tell duplicates by an id of your own",
    }
}

fn upkeep(family: Family) -> &'static str {
    match family {
        Family::Dds => {
            "lower the rate of discovery (SPDPInterval, LeaseDuration), or give it an interface of its own"
        }
        Family::Zenoh => "raise `transport/link/tx/lease`, or switch multicast scouting off",
        _ => {
            "raise the keep-alive interval, and set TCP_NODELAY so that messages do not wait behind it"
        }
    }
}

fn unexplained(segment: Segment) -> &'static str {
    match segment {
        Segment::Wire => {
            "nothing between the two hosts is visible from here: look at the path (mtr, the switches' counters)"
        }
        Segment::ClientTx | Segment::ClientRx => {
            "it is in the client library or the application: profile it (perf, a flame graph)"
        }
        Segment::BrokerDwell => "it is in the broker: profile it (perf, its own metrics)",
        _ => "look at the worst messages, and at what else ran at that time",
    }
}
