//! Packets' times on the clock that all other events have. The kernel stamps packets by the wall clock.

use crate::clock;
use wirelap_events::Nanos;

/// A difference that is larger than what readings of two clocks differ by: the wall clock was set.
const SET: u64 = 1_000_000;

/// The difference between the two clocks. It changes only when the wall clock is set (`kernel/time/timekeeping.c`,
/// `tk_set_wall_to_mono()`), so one value is used for as long as it holds, and packets keep their distances.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wall {
    offset: i64,
}

impl Wall {
    pub fn now() -> Wall {
        Wall { offset: clock::wall_offset() }
    }

    /// Looks whether the wall clock was set.
    pub fn check(&mut self) {
        self.change(clock::wall_offset());
    }

    fn change(&mut self, offset: i64) {
        if offset.abs_diff(self.offset) > SET {
            self.offset = offset;
        }
    }

    /// A time of the wall clock, in nanoseconds, on the monotonic clock.
    pub fn monotonic(self, wall: u64) -> Nanos {
        Nanos(wall.saturating_add_signed(self.offset.saturating_neg()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_keep_their_distances_until_the_clock_is_set() {
        let mut wall = Wall { offset: 1_000_000_000 };
        wall.change(1_000_000_300);
        assert_eq!(wall.monotonic(1_000_000_007), Nanos(7));
        wall.change(3_000_000_000);
        assert_eq!(wall.monotonic(3_000_000_007), Nanos(7));
        assert_eq!(wall.monotonic(5), Nanos(0));
    }
}
