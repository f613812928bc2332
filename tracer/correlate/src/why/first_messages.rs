//! Which of the first messages of a connection are slow because of its start.

use super::blame::{BlameSink, BlamedPart, blame};
use super::explanation::Cause;
use super::kind::VerdictKind;
use wirelap_events::{Delivery, Nanos};

/// No start-up keeps a thread asleep for so long.
const LONG: Nanos = Nanos::from_millis(1_000);

/// The time of a message that a start-up does not explain.
struct Unlike(Nanos);

impl BlameSink for Unlike {
    fn part(&mut self, part: BlamedPart<'_>) {
        let Cause::Of(kind) = part.cause else { return };
        let is_unlike = match kind {
            // The reader, the link or a quota is too slow.
            VerdictKind::ReceiveWindow
            | VerdictKind::SendBuffer
            | VerdictKind::QdiscQueueing
            | VerdictKind::Retransmission
            | VerdictKind::CpuThrottled => true,
            VerdictKind::ClientStalled | VerdictKind::BrokerStalled => part.time >= LONG,
            _ => false,
        };
        if is_unlike {
            self.0 += part.time;
        }
    }
}

/// Whether a start-up may be why one of the first messages took so long: most of its time is not what no start-up takes.
pub fn is_of_start_up(delivery: &Delivery, one_way: Nanos) -> bool {
    let mut unlike = Unlike(Nanos(0));
    blame(delivery, &mut unlike);
    unlike.0 <= Nanos(one_way.0 / 2)
}
