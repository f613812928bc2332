//! A logarithmic axis of times.

use super::cell_at;
use wirelap_events::Nanos;
use wirelap_history::Bins;

/// The shortest range is from a value to so many times that value.
const LEAST_RATIO: f64 = 2.0;

/// A logarithmic axis of times, divided into cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogAxis {
    low: f64,
    high: f64,
    cells: usize,
}

impl LogAxis {
    /// An axis that these times are on. A short range is widened around its middle.
    pub fn of(low: Nanos, high: Nanos, cells: usize) -> LogAxis {
        let (low, high) = ((low.0.max(1) as f64).ln(), (high.0.max(1) as f64).ln());
        let (low, high) = (low.min(high), low.max(high));
        let missing = (LEAST_RATIO.ln() - (high - low)).max(0.0) / 2.0;
        // A time below 1 ns has no logarithm that matters.
        let low = (low - missing).max(0.0);
        LogAxis { low, high: (high + missing).max(low + LEAST_RATIO.ln()), cells: cells.max(1) }
    }

    /// An axis for all values of some bins; `None` without values.
    pub fn for_all<'a>(bins: impl IntoIterator<Item = &'a Bins>, cells: usize) -> Option<LogAxis> {
        let ends = bins.into_iter().filter_map(|bins| {
            let mut all = bins.iter();
            let (low, high, _) = all.next()?;
            Some((low, all.last().map_or(high, |(_, high, _)| high)))
        });
        let (low, high) = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        Some(LogAxis::of(low, high, cells))
    }

    /// The cell that a time is in, 0 for the shortest. Times beyond an end are in the cell at that end.
    pub fn cell(&self, time: Nanos) -> usize {
        cell_at(self.part((time.0.max(1) as f64).ln()), self.cells)
    }

    fn part(&self, log: f64) -> f64 {
        (log - self.low) / (self.high - self.low)
    }

    /// The counts of some bins by cell. A bin that is in several cells is divided among them by the room that it has in each.
    pub fn counts(&self, bins: &Bins) -> Vec<f64> {
        let mut counts = vec![0.0; self.cells];
        for (low, high, count) in bins.iter() {
            // The bin ends where the next one begins.
            let from = self.part((low.0.max(1) as f64).ln()).clamp(0.0, 1.0) * self.cells as f64;
            let to = (high.0 as f64 + 1.0).max(2.0).ln();
            let to = self.part(to).clamp(0.0, 1.0) * self.cells as f64;
            let [first, last] = [from, to].map(|end| cell_at(end / self.cells as f64, self.cells));
            let width = to - from;
            for (cell, sum) in counts.iter_mut().enumerate().take(last + 1).skip(first) {
                let part = (to.min((cell + 1) as f64) - from.max(cell as f64)) / width;
                let whole = first == last || !part.is_finite();
                *sum += count as f64 * if whole { 1.0 } else { part.max(0.0) };
            }
        }
        counts
    }

    /// Round times with their cells, at least `apart` cells from each other, the shortest first: 1, 2 and 5 of each decade, or 1 alone.
    pub fn ticks(&self, apart: usize) -> Vec<(usize, Nanos)> {
        let room = apart.max(1) as f64 / self.cells as f64 * (self.high - self.low);
        let steps: &[u64] = if room <= 2_f64.ln() {
            &[1, 2, 5]
        } else if room <= 3_f64.ln() {
            &[1, 3]
        } else {
            &[1]
        };
        let decades = (0..19).map(|power| 10_u64.pow(power));
        let all = decades.flat_map(|decade| steps.iter().map(move |step| step * decade));
        let inside = all.filter(|time| (self.low..=self.high).contains(&(*time as f64).ln()));
        let mut ticks: Vec<(usize, Nanos)> = Vec::new();
        for time in inside {
            let cell = self.cell(Nanos(time));
            if ticks.last().is_none_or(|(last, _)| cell >= last + apart.max(1)) {
                ticks.push((cell, Nanos(time)));
            }
        }
        ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn three_decades_have_their_ticks() {
        let axis = LogAxis::of(Nanos(1_000), Nanos(1_000_000), 30);
        let ticks = axis.ticks(2);
        let times: Vec<u64> = ticks.iter().map(|(_, time)| time.0 / 1000).collect();
        assert_eq!(times, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]);
        assert_eq!(ticks[3].0, 10);
        assert_eq!(axis.ticks(9).len(), 4, "decades alone");
    }

    #[test]
    fn equal_times_have_an_axis() {
        let axis = LogAxis::of(Nanos(500), Nanos(500), 10);
        assert!((3..=6).contains(&axis.cell(Nanos(500))));
        assert_eq!(LogAxis::for_all([&Bins::default()], 9), None);
    }

    fn times() -> impl Strategy<Value = u64> {
        prop_oneof![0u64..100, 1_000u64..1_000_000_000, any::<u64>()]
    }

    proptest! {
        #[test]
        fn longer_times_are_never_in_a_lower_cell(
            ends in (times(), times()), a in times(), b in times(), cells in 1usize..300,
        ) {
            let axis = LogAxis::of(Nanos(ends.0), Nanos(ends.1), cells);
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(axis.cell(Nanos(low)) <= axis.cell(Nanos(high)));
            prop_assert!(axis.cell(Nanos(high)) < cells);
        }

        #[test]
        fn every_value_is_counted_once(
            values in prop::collection::vec(times(), 1..100), cells in 1usize..300,
        ) {
            let bins: Bins = values.iter().copied().collect();
            let axis = LogAxis::for_all([&bins], cells).unwrap();
            let sum: f64 = axis.counts(&bins).iter().sum();
            prop_assert!((sum - values.len() as f64).abs() < 1e-6 * values.len() as f64, "{}", sum);
        }

        #[test]
        fn ticks_are_apart_and_on_the_axis(
            ends in (times(), times()), cells in 1usize..300, apart in 1usize..12,
        ) {
            let axis = LogAxis::of(Nanos(ends.0), Nanos(ends.1), cells);
            let ticks = axis.ticks(apart);
            prop_assert!(ticks.iter().all(|(cell, time)| *cell < cells && axis.cell(*time) == *cell));
            prop_assert!(ticks.windows(2).all(|two| two[1].0 - two[0].0 >= apart && two[0].1 < two[1].1));
        }
    }
}
