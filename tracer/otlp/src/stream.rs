//! The time that cumulative values are of.

use wirelap_events::Nanos;

/// The time that the latencies are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamExtent {
    /// Nanoseconds since 1970.
    pub start: u64,
    /// Nanoseconds since 1970.
    pub end: u64,
    /// The end by the clock of events, which is never set.
    end_at: Nanos,
}

impl StreamExtent {
    /// The time that goes on until a snapshot, and whether another one begins because the clock of the day was set back: no time is sent that
    /// is before one that was sent.
    pub fn until(
        before: Option<StreamExtent>,
        [since, at]: [Nanos; 2],
        wall_offset: i64,
    ) -> (StreamExtent, bool) {
        let wall = |at: Nanos| at.0.saturating_add_signed(wall_offset);
        let (end, end_at) = (wall(at), at);
        match before {
            None => (StreamExtent { start: wall(since), end, end_at }, false),
            Some(before) if end < before.end => {
                (StreamExtent { start: wall(before.end_at), end, end_at }, true)
            }
            Some(before) => (StreamExtent { end, end_at, ..before }, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_begins_another_stream() {
        let mut extent = None;
        let mut until = |at, wall_offset| {
            let (now, is_new) = StreamExtent::until(extent, [Nanos(5), Nanos(at)], wall_offset);
            extent = Some(now);
            (now.start, now.end, is_new)
        };
        assert_eq!(until(10, 1_000), (1_005, 1_010, false));
        assert_eq!(until(20, 1_000), (1_005, 1_020, false));
        assert_eq!(until(30, 5_000), (1_005, 5_030, false), "it was set forward");
        assert_eq!(until(40, 100), (130, 140, true), "from the end of the one before on");
        assert_eq!(until(50, 100), (130, 150, false));
        assert_eq!(until(50, 100), (130, 150, false), "nothing has happened since");
    }
}
