//! The usual remedies against a verdict: in the middleware's own words where its protocol has some, and in general ones otherwise.

use wirelap_correlate::{Circumstance, Clause, Remedy, Verdict, VerdictKind, Why};
use wirelap_events::{DropCause, OffCpuReason, Quota, Segment};
use wirelap_protocols::{Protocol, Remedies, broker, by_name};

/// The usual remedy, in one sentence without a full stop; empty where none is known. `why` is the list that the verdict is from.
pub fn remedy(verdict: &Verdict, why: &Why) -> String {
    match &verdict.remedy {
        Remedy::None => String::new(),
        Remedy::Usual(_) if asked_late(verdict) => "find what kept the consumer from asking: it had not begun to read, was given what it reads from another, or was at work".into(),
        Remedy::Usual(_) if awaits_answers(verdict) => "see what the broker does until it answers (its CPU, its disk) and how long the way to it is; or let an answer carry more (Kafka: `fetch.max.bytes`, `max.partition.fetch.bytes`; NATS: a larger batch)".into(),
        Remedy::Usual(_) if has_expired(verdict) => "nothing, if the queue is there to delay messages; else let a consumer read it, or lower the time for which it keeps them (`x-message-ttl`, `expiration`)".into(),
        Remedy::Usual(_) if is_unacknowledged(verdict) => unacknowledged(why).into(),
        Remedy::Usual(_) if may_be_slow_link(verdict) => "see whether a link on the path is slow or busy (`ss -ti` shows its round trips and rate); if not, keep connections open and busy (net.ipv4.tcp_slow_start_after_idle=0), and find what loses packets".into(),
        Remedy::Usual(circumstance) if is_of_python(verdict) => {
            let usual = usual(verdict.kind, *circumstance, why);
            format!("{usual} (in Python, threads share one interpreter lock: multiprocessing)")
        }
        Remedy::Usual(circumstance) => swallowed(verdict, why)
            .map_or_else(|| usual(verdict.kind, *circumstance, why), str::to_owned),
        Remedy::CpuLimit(quota) => cpu_limit(quota.as_deref()),
        Remedy::Commit => "commit transactions sooner, with fewer messages each, or let the consumer read what is not committed (`isolation.level`)".into(),
        Remedy::OutsideReceive => "look at what the process waits for outside its receive call: a lock, a disk, a sleep, another service".into(),
    }
}

/// True if messages waited only because nobody had asked for them yet: what a request lets the broker wait for has no part in it.
fn asked_late(verdict: &Verdict) -> bool {
    verdict.kind == VerdictKind::FetchWait && verdict.evidence.contains(&Clause::ConsumerAskedLate)
}

/// True if messages waited until the consumer had the answers to its earlier requests.
fn awaits_answers(verdict: &Verdict) -> bool {
    verdict.kind == VerdictKind::FetchWait && verdict.evidence.contains(&Clause::AnswerAwaited)
}

/// True if messages waited only until their time in a queue was over.
fn has_expired(verdict: &Verdict) -> bool {
    verdict.kind == VerdictKind::FetchWait && verdict.evidence.contains(&Clause::Expired)
}

/// True if the congestion window was full, and perhaps only because a link takes no more.
fn may_be_slow_link(verdict: &Verdict) -> bool {
    let is_known = |clause: &Clause| {
        let Clause::RoundTrip(Some(trip)) = clause else { return false };
        trip.is_short()
    };
    verdict.kind == VerdictKind::CongestionWindow && !verdict.evidence.iter().any(is_known)
}

/// True if messages waited only until others before them were acknowledged.
fn is_unacknowledged(verdict: &Verdict) -> bool {
    let is_it = |clause: &Clause| {
        matches!(
            clause,
            Clause::AcknowledgementUnderWay
                | Clause::AcknowledgementUnseen
                | Clause::SubscriberAcknowledgedLate
        )
    };
    verdict.kind == VerdictKind::FetchWait && verdict.evidence.iter().any(is_it)
}

/// The remedy where a broker sends only so many messages before one is acknowledged.
fn unacknowledged(why: &Why) -> &'static str {
    let own = by_name(why.protocol).and_then(|protocol| protocol.remedies().unacknowledged);
    own.unwrap_or(
        "raise how many messages the broker sends before one is acknowledged, or let the subscriber acknowledge sooner",
    )
}

/// True if a thread of a Python interpreter waits for another one, perhaps for the lock that all of them share.
fn is_of_python(verdict: &Verdict) -> bool {
    verdict.kind == VerdictKind::LockWait
        && verdict.process.is_some_and(|(_, comm)| comm.as_str().starts_with("python"))
}

/// The remedy where messages are missing among others that came.
fn swallowed(verdict: &Verdict, why: &Why) -> Option<&'static str> {
    let is_swallowed =
        |clause: &Clause| matches!(clause, Clause::Swallowed { .. } | Clause::Missed { .. });
    let own = by_name(why.protocol)?.remedies();
    own.swallowed.filter(|_| verdict.evidence.iter().any(is_swallowed))
}

/// The remedy against a kind of cause.
fn usual(kind: VerdictKind, circumstance: Circumstance, why: &Why) -> String {
    let own = by_name(why.protocol).map_or(&Remedies::GENERAL, Protocol::remedies);
    if kind == VerdictKind::NagleDelayedAck {
        return nagle(own, why.broker.as_deref().filter(|_| circumstance.at_broker));
    }
    let of_implementation = of_middleware(own.of(why.implementation), kind, why);
    of_implementation
        .or_else(|| of_middleware(own, kind, why))
        .unwrap_or_else(|| general(kind, circumstance))
        .to_owned()
}

/// The remedy of a middleware, or of an implementation of it, against a kind of cause; `None` if it has none of its own.
fn of_middleware(own: &Remedies, kind: VerdictKind, why: &Why) -> Option<&'static str> {
    let of_broker = why.broker.as_deref().and_then(broker);
    match kind {
        VerdictKind::SenderBatching => own.batching,
        VerdictKind::FetchWait => own.fetch,
        VerdictKind::SendBuffer => own.send_buffer,
        VerdictKind::LateWrite => own.late_write,
        VerdictKind::QueueOverflow => own.overflow,
        VerdictKind::BrokerCpuBound => of_broker.and_then(|known| known.cpu).or(own.broker_cpu),
        VerdictKind::SerialFanOut => own.fan_out,
        VerdictKind::NeverDelivered => own.never_delivered,
        VerdictKind::Duplicates => own.duplicates,
        VerdictKind::Upkeep => own.upkeep,
        _ => None,
    }
}

/// Against Nagle's algorithm, in a broker or in a client.
fn nagle(own: &Remedies, at_broker: Option<&str>) -> String {
    let Some(name) = at_broker.filter(|name| !name.is_empty()) else {
        return own.nagle.unwrap_or("set TCP_NODELAY on the sending socket").to_owned();
    };
    let known = broker(name).and_then(|broker| broker.nagle);
    known.map_or_else(|| format!("set TCP_NODELAY on the sockets of {name}"), str::to_owned)
}

/// The remedy against a kind of cause, whatever the middleware.
const fn general(kind: VerdictKind, circumstance: Circumstance) -> &'static str {
    match kind {
        VerdictKind::NagleDelayedAck => "set TCP_NODELAY on the sending socket",
        VerdictKind::Corked
        | VerdictKind::ReceiveWindow
        | VerdictKind::CongestionWindow
        | VerdictKind::BottleneckLink
        | VerdictKind::Pacing
        | VerdictKind::SendBuffer
        | VerdictKind::LateWrite
        | VerdictKind::QdiscQueueing => in_socket(kind),
        VerdictKind::Retransmission => lost(circumstance.dropped),
        VerdictKind::BrokerStalled => broker_stalled(circumstance.rest),
        VerdictKind::ClientStalled => client_stalled(circumstance.rest),
        VerdictKind::RunQueueContention
        | VerdictKind::IdleWakeup
        | VerdictKind::SoftirqDeferral
        | VerdictKind::CpuThrottled
        | VerdictKind::TracerInfluence
        | VerdictKind::LockWait
        | VerdictKind::BrokerCpuBound
        | VerdictKind::ReaderBusy => on_cpu(kind),
        VerdictKind::Unexplained => unexplained(circumstance.segment),
        _ => in_middleware(kind),
    }
}

/// Bytes wait in their sender's socket, or in the device's queue.
const fn in_socket(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::Corked => "take TCP_CORK (or MSG_MORE) away, or end it with the message",
        VerdictKind::ReceiveWindow => {
            "let the receiver read faster, or give it room: SO_RCVBUF, net.ipv4.tcp_rmem"
        }
        VerdictKind::CongestionWindow => {
            "keep connections open and busy (net.ipv4.tcp_slow_start_after_idle=0), and find what loses packets"
        }
        VerdictKind::BottleneckLink => {
            "send less than the link takes, or give it more: find the device or limit on the path whose queue is long (`tc -s qdisc` on each host and router, a slow uplink), shorten the queue (fq_codel), or give this traffic a class of its own"
        }
        VerdictKind::Pacing => {
            "keep the connection busy, so that BBR knows how fast the path is, or use another congestion control (net.ipv4.tcp_congestion_control)"
        }
        VerdictKind::SendBuffer => {
            "send slower, let the receiver read faster, or give the socket room: SO_SNDBUF, net.ipv4.tcp_wmem"
        }
        VerdictKind::LateWrite => {
            "let the sender wait until the socket takes more (POLLOUT) rather than look now and then, send slower, or raise net.ipv4.tcp_wmem"
        }
        _ => {
            "send slower than the device's rate limit, shorten the queue (fq_codel), or give this traffic a class of its own"
        }
    }
}

/// A thread has no CPU, or works on something else.
const fn on_cpu(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::IdleWakeup => {
            "keep CPUs from sleeping deeply (cpupower idle-set, /dev/cpu_dma_latency), or let sender and reader share a core; it falls as the rate rises"
        }
        VerdictKind::SoftirqDeferral => {
            "give receiving a CPU that is less loaded (RPS, IRQ affinity), or raise net.core.netdev_budget"
        }
        VerdictKind::CpuThrottled => "raise the CPU limit of its cgroup, or take it away",
        VerdictKind::TracerInfluence => {
            "let wirelap watch less (--ports, --pid), sample windows of time, or give it a CPU of its own (taskset)"
        }
        VerdictKind::LockWait => {
            "let the thread that is waited for hold the lock for a shorter time, or run it in a process of its own"
        }
        VerdictKind::BrokerCpuBound => {
            "give the broker more CPU, share its load among several, or send fewer, larger messages"
        }
        VerdictKind::ReaderBusy => {
            "do less in the receiving callback, hand messages to other threads, or share them among more subscribers"
        }
        _ => {
            "give the threads CPUs of their own (taskset, cpuset, isolcpus), or let what holds the CPU run at a lower priority (nice, cpu.weight)"
        }
    }
}

/// Something that the middleware does, which has no words of its own for it.
const fn in_middleware(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::SenderBatching => {
            "lower the sender's batching or linger time, or flush after publishing"
        }
        VerdictKind::FetchWait => {
            "let the consumer ask before there is something to fetch (long polling), and more often"
        }
        VerdictKind::SubscriberAway => {
            "the broker keeps messages for a subscriber that is away: find why it was, or let messages expire that are of no use later"
        }
        VerdictKind::BrokerAway => {
            "find why the broker ended: its log, its supervisor, the kernel's log (out of memory); clients come back sooner with shorter pauses between their attempts to connect"
        }
        VerdictKind::GroupRebalance => {
            "let the group find out and share out sooner: a shorter `session.timeout.ms`, close() at the end of a consumer, the cooperative assignor (`partition.assignment.strategy`) or KIP-848 (`group.protocol=consumer`); for restarts, static membership (`group.instance.id`)"
        }
        VerdictKind::ClientThrottled => {
            "raise the client's quota or send less (Kafka: `producer_byte_rate`, `consumer_byte_rate`, `request_percentage`), or see which alarm the broker raised (RabbitMQ: memory or disk)"
        }
        VerdictKind::Backpressure => {
            "find what the broker waits for before it reads on: a slower receiver behind it, an earlier request of the same connection, its flow control or rate limit for this client"
        }
        VerdictKind::ReleaseWait => {
            "QoS 2 and transactions take a second step before the broker may deliver: use QoS 1, or confirms in place of AMQP's tx, where a repetition does no harm, or find what keeps the publisher's PUBREL or commit: a busy publisher, or one without TCP_NODELAY"
        }
        VerdictKind::QueueOverflow => {
            "raise the receiving socket's buffer (SO_RCVBUF, net.core.rmem_max), or send slower"
        }
        VerdictKind::SerialFanOut => {
            "spread the subscribers over several brokers or threads, or use multicast"
        }
        VerdictKind::StartUp => {
            "nothing is wrong with it; where the first messages matter, keep connections open and send some before they do"
        }
        VerdictKind::NeverDelivered => {
            "compare what is sent and what is subscribed, and see the broker's own counters and log"
        }
        VerdictKind::Duplicates => "acknowledge in time, and tell duplicates by an id of your own",
        VerdictKind::Upkeep => {
            "raise the keep-alive interval, and set TCP_NODELAY so that messages do not wait behind it"
        }
        _ => {
            "nothing is wrong; to see the payload on the network, switch shared memory off for the measurement"
        }
    }
}

/// Against packets that are lost, by what this host threw them away for.
const fn lost(cause: Option<DropCause>) -> &'static str {
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
        Some(DropCause::Duplicate) => {
            "find what lets packets overtake each other on the way, or delays acknowledgements: load that is balanced packet by packet, bonded links, several queues"
        }
        Some(DropCause::TooBig) => {
            "let the sender hear of the smaller MTU on the way (let ICMP's \"fragmentation needed\" and IPv6's \"packet too big\" pass), or keep its segments smaller: the same MTU everywhere, `advmss` of a route, MSS clamping (`tcp option maxseg size set rt mtu`), net.ipv4.tcp_mtu_probing=1"
        }
        Some(DropCause::NoSocket | DropCause::Other) | None => {
            "find where packets are lost (`ethtool -S`, `nstat`, the counters of switches on the way), and mend that part of the path or send slower"
        }
    }
}

const fn broker_stalled(rest: Option<OffCpuReason>) -> &'static str {
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

const fn client_stalled(rest: Option<OffCpuReason>) -> &'static str {
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

const fn unexplained(segment: Segment) -> &'static str {
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

/// Against a CPU quota that is used up: that one, where it is known.
fn cpu_limit(quota: Option<&Quota>) -> String {
    let (of, file) = match quota {
        Some(quota) if quota.is_v2 => (format!(" of the cgroup {}", quota.name), "`cpu.max`"),
        Some(quota) => (format!(" of the cgroup {}", quota.name), "`cpu.cfs_quota_us`"),
        None => (String::new(), "`cpu.max`, `cpu.cfs_quota_us`"),
    };
    format!(
        "raise the CPU limit{of} or take it away: {file}, in Docker `--cpus`, in Kubernetes `resources.limits.cpu`, in systemd `CPUQuota=`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_correlate::Severity;

    fn of(kind: VerdictKind, at_broker: bool, protocol: &'static str, broker: &str) -> String {
        let circumstance = Circumstance { at_broker, ..Circumstance::in_segment(Segment::Wire) };
        let why = Why { protocol, broker: Some(broker.to_owned()), ..Why::default() };
        let remedy_of = Remedy::Usual(circumstance);
        let verdict = Verdict { remedy: remedy_of, ..Verdict::new(kind, Severity::Problem) };
        remedy(&verdict, &why)
    }

    #[test]
    fn a_broker_has_its_own_words_and_its_clients_theirs() {
        let nagle = |at_broker, broker| of(VerdictKind::NagleDelayedAck, at_broker, "mqtt", broker);
        assert_eq!(nagle(true, "mosquitto"), "`set_tcp_nodelay true` in mosquitto.conf");
        assert_eq!(nagle(true, "emqx"), "set TCP_NODELAY on the sockets of emqx");
        assert!(nagle(false, "mosquitto").contains("rumqttc"));
        let cpu = |protocol, broker| of(VerdictKind::BrokerCpuBound, true, protocol, broker);
        assert!(cpu("mqtt", "mosquitto").starts_with("mosquitto has one thread"));
        assert!(cpu("mqtt", "emqx").starts_with("give the broker more CPU"));
        assert!(cpu("kafka", "java").contains("num.io.threads"));
    }

    #[test]
    fn an_implementation_has_its_own_words_and_several_have_what_holds_for_all() {
        let of = |kind, implementation| {
            let why = Why { protocol: "dds", implementation, ..Why::default() };
            let remedy_of = Remedy::Usual(Circumstance::in_segment(Segment::Wire));
            remedy(&Verdict { remedy: remedy_of, ..Verdict::new(kind, Severity::Problem) }, &why)
        };
        let overflow = |implementation| of(VerdictKind::QueueOverflow, implementation);
        assert!(overflow("Cyclone DDS").contains("SocketReceiveBufferSize"));
        assert!(overflow("Fast DDS").contains("listenSocketBufferSize"));
        assert!(overflow("RTI Connext DDS").contains("recv_socket_buffer_size"));
        for unknown in ["", "another implementation"] {
            let text = overflow(unknown);
            assert!(!text.contains('`') && text.contains("net.core.rmem_max"), "{text}");
        }
        assert!(!of(VerdictKind::SenderBatching, "Fast DDS").contains("dds_write"));
        assert!(of(VerdictKind::NeverDelivered, "Fast DDS").contains("transient-local"));
    }

    #[test]
    fn who_waits_for_acknowledgements_is_told_how_to_need_fewer() {
        let of = |protocol| {
            let why = Why { protocol, ..Why::default() };
            let remedy_of = Remedy::Usual(Circumstance::in_segment(Segment::BrokerDwell));
            let evidence = vec![Clause::AcknowledgementUnderWay];
            let new = Verdict::new(VerdictKind::FetchWait, Severity::Problem);
            remedy(&Verdict { remedy: remedy_of, evidence, ..new }, &why)
        };
        assert!(of("mqtt").contains("max_inflight_messages"));
        assert!(of("amqp").contains("prefetch"));
        assert!(of("nats").contains("max_ack_pending"));
        assert!(of("zenoh").starts_with("raise how many messages"));
    }

    #[test]
    fn a_middleware_without_words_of_its_own_gets_general_ones() {
        let batching = |protocol| of(VerdictKind::SenderBatching, false, protocol, "");
        assert!(batching("kafka").contains("linger.ms"));
        let general = "lower the sender's batching or linger time, or flush after publishing";
        assert_eq!(
            (batching("mqtt").as_str(), batching("unheard of").as_str()),
            (general, general)
        );
        // Every kind has some.
        for kind in VerdictKind::ALL {
            assert!(!of(kind, false, "", "").is_empty(), "{kind:?}");
        }
    }

    #[test]
    fn the_limit_is_called_what_it_is_called_there() {
        let name = "/docker/0123".try_into().unwrap();
        let v1 = cpu_limit(Some(&Quota { name, is_v2: false, ..Quota::default() }));
        let v2 = cpu_limit(Some(&Quota { name, is_v2: true, ..Quota::default() }));
        assert!(v1.contains("/docker/0123 or take it away: `cpu.cfs_quota_us`"), "{v1}");
        assert!(v2.contains("`cpu.max`"), "{v2}");
    }
}
