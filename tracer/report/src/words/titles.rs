//! Headings of verdicts, and where messages are.

use wirelap_correlate::{VerdictKind, Whereabouts};
use wirelap_events::Segment;

/// In words, as a heading: of time in a segment whose name says more.
pub const fn title_in(kind: VerdictKind, segment: Option<Segment>) -> &'static str {
    match (kind, segment) {
        (VerdictKind::Unexplained, Some(Segment::RunQueue)) => {
            "waiting for a CPU, and who had it was not seen"
        }
        (VerdictKind::Unexplained, Some(Segment::Wakeup)) => {
            "woken late, and what for was not seen"
        }
        _ => title(kind),
    }
}

/// In words, as a heading.
pub const fn title(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::NagleDelayedAck => "Nagle against delayed ACK",
        VerdictKind::Corked => "held back by TCP_CORK",
        VerdictKind::SenderBatching => "batching in the sender",
        VerdictKind::FetchWait => "fetch or poll wait at the broker",
        VerdictKind::SubscriberAway => "subscriber not connected or not subscribed",
        VerdictKind::BrokerAway => "broker gone",
        VerdictKind::GroupRebalance => "partition without a reader (consumer group rebalance)",
        VerdictKind::ClientThrottled => "client throttled by the broker",
        VerdictKind::Backpressure => "connection left unread by the broker (backpressure)",
        VerdictKind::ReleaseWait => "waiting for the publisher's PUBREL or commit",
        VerdictKind::ReceiveWindow => "receive window full",
        VerdictKind::CongestionWindow => "congestion window full",
        VerdictKind::BottleneckLink => "slow link on the path",
        VerdictKind::Pacing => "paced by congestion control",
        VerdictKind::SendBuffer => "send buffer full",
        VerdictKind::LateWrite => "sender late with the rest of the message",
        VerdictKind::Retransmission => "retransmission",
        VerdictKind::QueueOverflow => "loss by queue overflow",
        VerdictKind::QdiscQueueing => "queueing in the qdisc",
        VerdictKind::RunQueueContention => "contention for the CPU",
        VerdictKind::IdleWakeup => "idle CPUs being woken",
        VerdictKind::SoftirqDeferral => "packets deferred to ksoftirqd",
        VerdictKind::BrokerCpuBound => "broker short of CPU",
        VerdictKind::BrokerStalled => "broker stalled off the CPU",
        VerdictKind::ClientStalled => "client stalled off the CPU",
        VerdictKind::SerialFanOut => "subscribers served one after the other",
        VerdictKind::ReaderBusy => "reader busy in its own code",
        VerdictKind::CpuThrottled => "CPU quota used up",
        VerdictKind::LockWait => "waiting for another thread to let go",
        VerdictKind::TracerInfluence => "wirelap's own influence",
        VerdictKind::NeverDelivered => "messages sent and never delivered",
        VerdictKind::Duplicates => "duplicates",
        VerdictKind::Upkeep => "keep-alive or discovery in the way",
        VerdictKind::SharedMemory => "payload in shared memory",
        VerdictKind::StartUp => "start-up",
        VerdictKind::Unexplained => "unexplained",
    }
}

/// In words, after the number of messages: `in the broker's receive queue`.
pub const fn place(place: Whereabouts) -> &'static str {
    match place {
        Whereabouts::Network => "on the way to the receiver's socket",
        Whereabouts::BrokerQueue => "unread in the broker's receive queue",
        Whereabouts::Throttled => {
            "unread in the broker's receive queue, and the broker said that it does not read it for a time"
        }
        Whereabouts::LeftUnread => {
            "unread in the broker's receive queue, while the broker reads other connections"
        }
        Whereabouts::Broker => "read by the broker and not passed on",
        Whereabouts::Unasked => "in the broker, and no reader has asked since they came",
        Whereabouts::ReaderQueue => "unread in the reader's receive queue",
    }
}
