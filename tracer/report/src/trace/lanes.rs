//! The lanes of a track: slices that overlap in time are put on different lanes.

use std::collections::VecDeque;
use wirelap_events::Nanos;

/// The most lanes of one track.
const LANES: usize = 1024;

/// Number of intervals that a lane remembers.
const REMEMBERED: usize = 256;

/// Intervals of time that do not overlap.
#[derive(Debug, Default)]
struct DrawnLane {
    /// The intervals in order of time.
    taken: VecDeque<(Nanos, Nanos)>,
    /// Intervals before this time are forgotten, so that nothing can be added there.
    floor: Nanos,
}

impl DrawnLane {
    /// Takes an interval if it is free; returns whether it was.
    fn take(&mut self, from: Nanos, to: Nanos) -> bool {
        let index = self.taken.partition_point(|&(_, end)| end <= from);
        let is_free = from >= self.floor && self.taken.get(index).is_none_or(|next| next.0 >= to);
        if is_free {
            self.taken.insert(index, (from, to));
            if self.taken.len() > REMEMBERED
                && let Some((_, end)) = self.taken.pop_front()
            {
                self.floor = end;
            }
        }
        is_free
    }
}

/// The lanes of a track.
#[derive(Debug, Default)]
pub struct DrawnLanes(Vec<DrawnLane>);

impl DrawnLanes {
    /// Takes an interval on the first lane where it is free, or on a new one, and returns the lane's index; `None` if the
    /// track has too many lanes.
    pub fn take(&mut self, from: Nanos, to: Nanos) -> Option<usize> {
        if let Some(lane) = self.0.iter_mut().position(|lane| lane.take(from, to)) {
            return Some(lane);
        }
        if self.0.len() >= LANES {
            return None;
        }
        let mut lane = DrawnLane::default();
        lane.take(from, to);
        let place = self.0.len();
        self.0.push(lane);
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(lanes: &mut DrawnLanes, from: u64, to: u64) -> Option<usize> {
        lanes.take(Nanos(from), Nanos(to))
    }

    #[test]
    fn what_overlaps_goes_to_another_lane() {
        let mut lanes = DrawnLanes::default();
        assert_eq!(take(&mut lanes, 10, 20), Some(0));
        assert_eq!(take(&mut lanes, 15, 30), Some(1));
        assert_eq!(take(&mut lanes, 20, 25), Some(0));
        assert_eq!(take(&mut lanes, 0, 10), Some(0));
        assert_eq!(take(&mut lanes, 12, 13), Some(1));
        assert_eq!(take(&mut lanes, 0, 100), Some(2));
    }

    #[test]
    fn what_is_forgotten_is_taken() {
        let mut lanes = DrawnLanes::default();
        for start in 1..=REMEMBERED as u64 + 1 {
            assert_eq!(take(&mut lanes, start * 10, start * 10 + 5), Some(0));
        }
        assert_eq!(take(&mut lanes, 0, 1), Some(1));
        assert_eq!(take(&mut lanes, 26, 30), Some(0));
    }

    #[test]
    fn there_is_an_end_to_lanes() {
        let mut lanes = DrawnLanes::default();
        for lane in 0..LANES {
            assert_eq!(take(&mut lanes, 0, 10), Some(lane));
        }
        assert_eq!(take(&mut lanes, 0, 10), None);
        assert_eq!(take(&mut lanes, 10, 11), Some(0));
    }
}
