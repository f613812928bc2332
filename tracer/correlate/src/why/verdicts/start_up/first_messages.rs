//! First messages of a connection: those that are slow because of its start.

use super::blame::{BlameSink, BlamedPart, blame};
use super::explanation::Cause;
use super::kind::VerdictKind;
use wirelap_events::{Delivery, Nanos};

/// No start-up keeps a thread asleep, or anything else waiting, for so long.
const ASLEEP: Nanos = Nanos::from_millis(1_000);

/// Windows and buffers begin small, and have their size after so long.
const TUNED: Nanos = Nanos::from_millis(200);

/// The time of a message by what a start-up may take, or takes only so long.
#[derive(Debug, Default)]
struct Times {
    /// Lost packets, a queue before the device or on the path, no quota.
    never: Nanos,
    /// A full window or buffer.
    full: Nanos,
    /// A thread that slept, a lock, a broker that was not asked, and whatever else.
    other: Nanos,
}

impl BlameSink for Times {
    fn part(&mut self, part: BlamedPart<'_>) {
        let Cause::Of(kind) = part.cause else { return };
        match kind {
            VerdictKind::QdiscQueueing
            | VerdictKind::BottleneckLink
            | VerdictKind::Retransmission
            | VerdictKind::CpuThrottled => self.never += part.time,
            VerdictKind::ReceiveWindow | VerdictKind::SendBuffer => self.full += part.time,
            // Code is loaded and compiled, and windows grow.
            VerdictKind::BrokerCpuBound
            | VerdictKind::ReaderBusy
            | VerdictKind::RunQueueContention
            | VerdictKind::IdleWakeup
            | VerdictKind::CongestionWindow => {}
            _ => self.other += part.time,
        }
    }
}

/// True if a start-up may be why one of the first messages took so long: at least half of its time may be that of one.
pub fn is_of_start_up(delivery: &Delivery, one_way: Nanos) -> bool {
    let mut times = Times::default();
    blame(delivery, &mut times);
    let longer = |time: Nanos, than: Nanos| if time >= than { time } else { Nanos(0) };
    let others = times.never + longer(times.full, TUNED) + longer(times.other, ASLEEP);
    others <= Nanos(one_way.0 / 2)
}
