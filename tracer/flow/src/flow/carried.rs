//! Bytes of a direction that were on the counting device.

use wirelap_events::{ByteRange, Offset, Saturate};

/// Holes that are remembered: bytes that later ones overtook, because a queue before the device lost
/// them or two CPUs reported them in another order.
const HOLES: usize = 4;

/// Bytes that were carried: everything before `to`, except the holes.
#[derive(Clone, Debug, Default)]
pub struct CarriedBytes {
    to: Offset,
    /// Most flows never have one.
    holes: Vec<ByteRange>,
}

impl CarriedBytes {
    /// True if no byte was carried.
    pub fn is_empty(&self) -> bool {
        self.to == Offset(0)
    }

    /// True if a part of `range` lies beyond all bytes that were carried.
    pub fn is_beyond(&self, range: ByteRange) -> bool {
        range.end > self.to && !range.is_empty()
    }

    /// Adds `range`. Returns how many of its bytes had been carried before. A hole that was forgotten
    /// counts as carried.
    pub fn add(&mut self, range: ByteRange) -> u64 {
        if range.is_empty() {
            return 0;
        }
        let mut before = self.to.0.saturating_sub(range.start.0).min(range.len());
        if before > 0 && !self.holes.is_empty() {
            before = before.saturating_sub(self.fill(range));
        }
        if range.start > self.to && !self.is_empty() {
            if self.holes.len() >= HOLES {
                self.holes.remove(0);
            }
            self.holes.push(ByteRange { start: self.to, end: range.start });
        }
        self.to = self.to.max(range.end);
        before
    }

    /// Takes `range` out of the holes. Returns how many bytes of it were in one.
    fn fill(&mut self, range: ByteRange) -> u64 {
        let mut filled = 0;
        let mut left = Vec::new();
        for hole in self.holes.drain(..) {
            let start = hole.start.max(range.start);
            let end = hole.end.min(range.end);
            if start >= end {
                left.push(hole);
                continue;
            }
            filled.grow(end.0.saturating_sub(start.0));
            for rest in [
                ByteRange { start: hole.start, end: start },
                ByteRange { start: end, end: hole.end },
            ] {
                if !rest.is_empty() {
                    left.push(rest);
                }
            }
        }
        // The last parts of holes that were split are forgotten, if there are too many.
        left.truncate(HOLES);
        self.holes = left;
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, end: u64) -> ByteRange {
        ByteRange { start: Offset(start), end: Offset(end) }
    }

    fn adds(ranges: &[(u64, u64)]) -> Vec<u64> {
        let mut carried = CarriedBytes::default();
        ranges.iter().map(|&(start, end)| carried.add(range(start, end))).collect()
    }

    #[test]
    fn what_comes_again_was_there() {
        assert_eq!(adds(&[(100, 200), (200, 300), (100, 200), (250, 350)]), [0, 0, 100, 50]);
    }

    #[test]
    fn what_was_overtaken_was_not() {
        assert_eq!(adds(&[(100, 200), (300, 400), (200, 300), (200, 300)]), [0, 0, 0, 100]);
        assert_eq!(adds(&[(1, 2), (100, 200), (40, 50), (0, 200)]), [0, 0, 0, 1 + 10 + 100 + 1]);
    }

    #[test]
    fn the_first_bytes_leave_no_hole() {
        assert_eq!(adds(&[(100, 200), (50, 100)]), [0, 50]);
    }

    #[test]
    fn forgotten_holes_count_as_carried() {
        let holes: Vec<_> = (1..=6).map(|n| (n * 20, n * 20 + 10)).collect();
        let mut carried = CarriedBytes::default();
        for &(start, end) in &holes {
            assert_eq!(carried.add(range(start, end)), 0);
        }
        assert_eq!(carried.add(range(30, 40)), 10, "the oldest of five");
        assert_eq!(carried.add(range(50, 60)), 0);
    }
}
