//! From when on a cause is worth a verdict.

use super::kind::VerdictKind;
use wirelap_events::Nanos;

/// Time, and part of the whole, from which on a cause matters.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Limits for the typical message: time, and part of the whole.
    pub median: (Nanos, f64),
    /// Limits for a slow message: time beyond that of the typical one, and part of the whole.
    pub slow: (Nanos, f64),
}

const fn us(n: u64) -> Nanos {
    Nanos::from_micros(n)
}

const fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// `None` for kinds that are not about time, or that have limits of their own.
pub const fn rule(kind: VerdictKind) -> Option<Rule> {
    let (median, slow) = match kind {
        VerdictKind::NagleDelayedAck | VerdictKind::Corked => ((us(500), 0.15), (ms(2), 0.15)),
        // A broker that is polled answers within a millisecond or two where it is set to.
        // A release takes a round trip more by design, which is some milliseconds where threads have to be woken for it on a busy machine.
        VerdictKind::FetchWait
        | VerdictKind::ReleaseWait
        | VerdictKind::SubscriberAway
        | VerdictKind::BrokerAway
        | VerdictKind::GroupRebalance
        | VerdictKind::ClientThrottled
        | VerdictKind::SenderBatching => ((ms(3), 0.3), (ms(10), 0.3)),
        VerdictKind::ReceiveWindow
        | VerdictKind::CongestionWindow
        | VerdictKind::BottleneckLink
        | VerdictKind::Pacing
        | VerdictKind::SendBuffer => ((us(200), 0.2), (ms(1), 0.25)),
        VerdictKind::LateWrite => ((us(500), 0.25), (ms(2), 0.25)),
        VerdictKind::Retransmission => ((us(200), 0.1), (ms(1), 0.2)),
        VerdictKind::QdiscQueueing => ((us(100), 0.2), (ms(1), 0.25)),
        VerdictKind::RunQueueContention => ((us(150), 0.25), (ms(1), 0.3)),
        VerdictKind::IdleWakeup => ((us(200), 0.5), (ms(5), 0.5)),
        VerdictKind::SoftirqDeferral => ((us(100), 0.25), (ms(1), 0.3)),
        VerdictKind::BrokerCpuBound => ((us(300), 0.3), (ms(2), 0.4)),
        VerdictKind::BrokerStalled
        | VerdictKind::ClientStalled
        | VerdictKind::Backpressure
        | VerdictKind::LockWait => ((us(300), 0.25), (ms(2), 0.25)),
        VerdictKind::SerialFanOut => ((us(300), 0.3), (ms(1), 0.4)),
        VerdictKind::ReaderBusy => ((us(300), 0.3), (ms(2), 0.3)),
        VerdictKind::CpuThrottled => ((us(500), 0.1), (ms(2), 0.15)),
        VerdictKind::TracerInfluence => ((us(50), 0.1), (ms(1), 0.15)),
        VerdictKind::Unexplained => ((ms(1), 0.4), (ms(3), 0.5)),
        VerdictKind::QueueOverflow
        | VerdictKind::NeverDelivered
        | VerdictKind::Duplicates
        | VerdictKind::Upkeep
        | VerdictKind::SharedMemory
        | VerdictKind::StartUp => return None,
    };
    Some(Rule { median, slow })
}

/// The time that a kind of cause may take of a message before it is much. `None` for kinds that are not
/// about time.
pub fn much(kind: VerdictKind) -> Option<Nanos> {
    rule(kind).map(|rule| rule.slow.0)
}

/// Smaller costs of these kinds are worth a note: time of the typical message, and part of it.
pub const fn note(kind: VerdictKind) -> Option<(Nanos, f64)> {
    match kind {
        VerdictKind::IdleWakeup => Some((us(10), 0.3)),
        // Each subscriber more costs the later ones as much, whatever else they wait for.
        VerdictKind::SerialFanOut => Some((us(50), 0.05)),
        _ => None,
    }
}
