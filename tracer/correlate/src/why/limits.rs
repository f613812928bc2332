//! From when on a cause is worth a verdict.

use super::explanation::VerdictKind as Kind;
use wirelap_events::Nanos;

/// Time, and part of the whole, from which on a cause matters.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Of the typical message.
    pub median: (Nanos, f64),
    /// Of a slow message: what it takes beyond what it takes of the typical one.
    pub slow: (Nanos, f64),
}

const fn us(n: u64) -> Nanos {
    Nanos::from_micros(n)
}

const fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// `None` for kinds that are not about time, or that have limits of their own.
pub const fn rule(kind: Kind) -> Option<Rule> {
    let (median, slow) = match kind {
        Kind::NagleDelayedAck | Kind::Corked => ((us(500), 0.15), (ms(2), 0.15)),
        // A broker that is polled answers within a millisecond or two where it is set to.
        Kind::FetchWait | Kind::SenderBatching => ((ms(3), 0.3), (ms(10), 0.3)),
        Kind::ReceiveWindow | Kind::CongestionWindow | Kind::Pacing | Kind::SendBuffer => {
            ((us(200), 0.2), (ms(1), 0.25))
        }
        Kind::ReleaseWait => ((us(500), 0.3), (ms(2), 0.3)),
        Kind::LateWrite => ((us(500), 0.25), (ms(2), 0.25)),
        Kind::Retransmission => ((us(200), 0.1), (ms(1), 0.2)),
        Kind::QdiscQueueing => ((us(100), 0.2), (ms(1), 0.25)),
        Kind::RunQueueContention => ((us(150), 0.25), (ms(1), 0.3)),
        Kind::IdleWakeup => ((us(200), 0.5), (ms(5), 0.5)),
        Kind::SoftirqDeferral => ((us(100), 0.25), (ms(1), 0.3)),
        Kind::BrokerCpuBound => ((us(300), 0.3), (ms(2), 0.4)),
        Kind::BrokerStalled | Kind::ClientStalled | Kind::LockWait => {
            ((us(300), 0.25), (ms(2), 0.25))
        }
        Kind::SerialFanOut => ((us(300), 0.3), (ms(1), 0.4)),
        Kind::ReaderBusy => ((us(300), 0.3), (ms(2), 0.3)),
        Kind::CpuThrottled => ((us(500), 0.1), (ms(2), 0.15)),
        Kind::TracerInfluence => ((us(50), 0.1), (ms(1), 0.15)),
        Kind::Unexplained => ((ms(1), 0.4), (ms(3), 0.5)),
        Kind::QueueOverflow
        | Kind::NeverDelivered
        | Kind::Duplicates
        | Kind::Upkeep
        | Kind::SharedMemory
        | Kind::StartUp => return None,
    };
    Some(Rule { median, slow })
}

/// What a kind of cause may take of a message before it is much. `None` for kinds that are not about time.
pub fn much(kind: Kind) -> Option<Nanos> {
    rule(kind).map(|rule| rule.slow.0)
}

/// Smaller costs of these kinds are worth a note: time of the typical message, and part of it.
pub const fn note(kind: Kind) -> Option<(Nanos, f64)> {
    match kind {
        Kind::IdleWakeup => Some((us(10), 0.3)),
        // Each subscriber more costs the later ones as much, whatever else they wait for.
        Kind::SerialFanOut => Some((us(50), 0.05)),
        _ => None,
    }
}
