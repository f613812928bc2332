//! The verdicts that there are.

/// The verdicts that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VerdictKind {
    /// Nagle's algorithm at the sender waits for an acknowledgement that the receiver delays.
    NagleDelayedAck,
    /// `TCP_CORK` or `MSG_MORE` holds back what the sender has written.
    Corked,
    /// The client library keeps the message before it sends it: batching, linger.
    SenderBatching,
    /// The broker has the message and nobody has asked for it, or it waits for more.
    FetchWait,
    /// The subscriber was not connected, or had not subscribed, when the broker had the message.
    SubscriberAway,
    /// The broker was gone, and with it the connection of the subscriber, which came back after it.
    BrokerAway,
    /// No member of the subscriber's group read what the message is part of: it went from one member to another.
    GroupRebalance,
    /// The broker did not read a client for a time, as it said itself: a quota, or an alarm for memory or disk.
    ClientThrottled,
    /// The broker left a connection unread while it waited for others: flow control, or a request at a time.
    Backpressure,
    /// The publisher has not released the message yet, and the broker may not pass it on (MQTT `QoS` 2).
    ReleaseWait,
    /// The receiver's window is full.
    ReceiveWindow,
    /// The congestion window is full.
    CongestionWindow,
    /// Bytes wait in a queue on the path: a link is slower than their sender.
    BottleneckLink,
    /// Congestion control spreads the segments over time.
    Pacing,
    /// The sender's socket buffer is full.
    SendBuffer,
    /// The sender wrote a part of the message, and came back for the rest long after there was room for it.
    LateWrite,
    /// Packets were lost, and sent again.
    Retransmission,
    /// Messages were thrown away because a queue was full: socket buffer, high-water mark.
    QueueOverflow,
    /// Packets waited in the qdisc.
    QdiscQueueing,
    /// A thread was woken, and another had the CPU.
    RunQueueContention,
    /// A CPU had to be woken first.
    IdleWakeup,
    /// `ksoftirqd` received the packet, later than the interrupt would have.
    SoftirqDeferral,
    /// The broker's threads are busy all the time.
    BrokerCpuBound,
    /// The broker's thread slept, or was stopped, while it had the message.
    BrokerStalled,
    /// A client's thread slept, or was stopped, while data was there for it.
    ClientStalled,
    /// One thread sends a message to one subscriber after the other.
    SerialFanOut,
    /// The reader was at work on something else when the data came.
    ReaderBusy,
    /// A thread could have run, and its cgroup's CPU quota was used up.
    CpuThrottled,
    /// A thread slept until another thread let go of a lock, or another process woke it.
    LockWait,
    /// A thread was woken, and wirelap itself had the CPU.
    TracerInfluence,
    /// Messages were sent and never delivered.
    NeverDelivered,
    /// Messages were delivered, or sent, more than once.
    Duplicates,
    /// Keep-alives or discovery get in the way.
    Upkeep,
    /// The payload is in shared memory: the network has nothing to show.
    SharedMemory,
    /// The first messages of a connection take longer than the later ones.
    StartUp,
    /// Much time is lost, and no rule says why.
    Unexplained,
}

impl VerdictKind {
    /// Every kind.
    pub const ALL: [VerdictKind; 36] = [
        VerdictKind::NagleDelayedAck,
        VerdictKind::Corked,
        VerdictKind::SenderBatching,
        VerdictKind::FetchWait,
        VerdictKind::SubscriberAway,
        VerdictKind::BrokerAway,
        VerdictKind::GroupRebalance,
        VerdictKind::ClientThrottled,
        VerdictKind::Backpressure,
        VerdictKind::ReleaseWait,
        VerdictKind::ReceiveWindow,
        VerdictKind::CongestionWindow,
        VerdictKind::BottleneckLink,
        VerdictKind::Pacing,
        VerdictKind::SendBuffer,
        VerdictKind::LateWrite,
        VerdictKind::Retransmission,
        VerdictKind::QueueOverflow,
        VerdictKind::QdiscQueueing,
        VerdictKind::RunQueueContention,
        VerdictKind::IdleWakeup,
        VerdictKind::SoftirqDeferral,
        VerdictKind::BrokerCpuBound,
        VerdictKind::BrokerStalled,
        VerdictKind::ClientStalled,
        VerdictKind::SerialFanOut,
        VerdictKind::ReaderBusy,
        VerdictKind::CpuThrottled,
        VerdictKind::LockWait,
        VerdictKind::TracerInfluence,
        VerdictKind::NeverDelivered,
        VerdictKind::Duplicates,
        VerdictKind::Upkeep,
        VerdictKind::SharedMemory,
        VerdictKind::StartUp,
        VerdictKind::Unexplained,
    ];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            VerdictKind::NagleDelayedAck => "nagle_delayed_ack",
            VerdictKind::Corked => "corked",
            VerdictKind::SenderBatching => "sender_batching",
            VerdictKind::FetchWait => "fetch_wait",
            VerdictKind::SubscriberAway => "subscriber_away",
            VerdictKind::BrokerAway => "broker_away",
            VerdictKind::GroupRebalance => "group_rebalance",
            VerdictKind::ClientThrottled => "client_throttled",
            VerdictKind::Backpressure => "backpressure",
            VerdictKind::ReleaseWait => "release_wait",
            VerdictKind::ReceiveWindow => "receive_window",
            VerdictKind::CongestionWindow => "congestion_window",
            VerdictKind::BottleneckLink => "bottleneck_link",
            VerdictKind::Pacing => "pacing",
            VerdictKind::SendBuffer => "send_buffer",
            VerdictKind::LateWrite => "late_write",
            VerdictKind::Retransmission => "retransmission",
            VerdictKind::QueueOverflow => "queue_overflow",
            VerdictKind::QdiscQueueing => "qdisc_queueing",
            VerdictKind::RunQueueContention => "run_queue_contention",
            VerdictKind::IdleWakeup => "idle_wakeup",
            VerdictKind::SoftirqDeferral => "softirq_deferral",
            VerdictKind::BrokerCpuBound => "broker_cpu_bound",
            VerdictKind::BrokerStalled => "broker_stalled",
            VerdictKind::ClientStalled => "client_stalled",
            VerdictKind::SerialFanOut => "serial_fanout",
            VerdictKind::ReaderBusy => "reader_busy",
            VerdictKind::CpuThrottled => "cpu_throttled",
            VerdictKind::LockWait => "lock_wait",
            VerdictKind::TracerInfluence => "tracer_influence",
            VerdictKind::NeverDelivered => "never_delivered",
            VerdictKind::Duplicates => "duplicates",
            VerdictKind::Upkeep => "upkeep",
            VerdictKind::SharedMemory => "shared_memory",
            VerdictKind::StartUp => "start_up",
            VerdictKind::Unexplained => "unexplained",
        }
    }
}
