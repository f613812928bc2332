//! First messages of a connection: those that are slow because of its start.

use crate::blame::{BlameSink, BlamedPart, blame};
use crate::definition::InStartUp;
use crate::explanation::Cause;
use wirelap_events::{Delivery, Nanos};
use wirelap_limits::causes::{LONGEST_START_UP_WAIT, LONGEST_TUNING};

/// The time of a message by what a start-up may take, or takes only so long.
#[derive(Debug, Default)]
struct Times {
    /// Time that no start-up takes.
    never: Nanos,
    /// Time that a start-up takes while windows and buffers are small.
    full: Nanos,
    /// Time of which a start-up takes only a little.
    other: Nanos,
}

impl BlameSink for Times {
    fn part(&mut self, part: BlamedPart<'_>) {
        let Cause::Of(kind) = part.cause else { return };
        match kind.definition().in_start_up {
            InStartUp::Never => self.never += part.time,
            InStartUp::WhileTuning => self.full += part.time,
            InStartUp::Briefly => self.other += part.time,
            InStartUp::Usually => {}
        }
    }
}

/// True if a start-up may be why one of the first messages took so long: at least half of its time may be that of one.
pub fn is_of_start_up(delivery: &Delivery, one_way: Nanos) -> bool {
    let mut times = Times::default();
    blame(delivery, &mut times);
    let longer = |time: Nanos, than: Nanos| if time >= than { time } else { Nanos(0) };
    let others = times.never
        + longer(times.full, LONGEST_TUNING)
        + longer(times.other, LONGEST_START_UP_WAIT);
    others <= Nanos(one_way.0 / 2)
}
