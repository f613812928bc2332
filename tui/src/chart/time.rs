//! Equal columns of the past.

use crate::text;
use wirelap_events::Nanos;

const SECOND: u64 = 1_000_000_000;

/// The times that a column can stand for, in seconds.
const STEPS: [u64; 15] =
    [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 21_600];

/// Ages in seconds, each with the length of the parts in which only older figures are kept ([`wirelap_history`]).
const KEPT: [(u64, u64); 2] = [(600, 10), (7_200, 60)];

/// The times between two labels, in seconds.
const SPACINGS: [u64; 13] =
    [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400];

/// Equal columns of the past, each a round time. The last one has not ended yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeAxis {
    /// The beginning of the first column.
    pub from: Nanos,
    /// The end of the last column.
    pub to: Nanos,
    /// Length of the time that a column stands for.
    pub step: Nanos,
    /// The number of columns; fewer than there is room for if the clock has not run for that long.
    pub columns: usize,
}

impl TimeAxis {
    /// The columns up to now, so that `begin` is among them. They begin at multiples of their length, so that they stay the same while time
    /// goes on.
    pub fn back_to(begin: Nanos, now: Nanos, columns: usize) -> TimeAxis {
        let columns = columns.max(1);
        let span = (now - begin).0;
        let kept = KEPT.iter().filter(|(ago, _)| span > ago * SECOND).map(|(_, step)| *step).max();
        // The first and the last column may be begun only.
        let fits = |step: &u64| step * (columns.max(2) - 1) as u64 * SECOND >= span;
        let steps = STEPS.into_iter().filter(|step| *step >= kept.unwrap_or(1));
        let step = steps.clone().find(fits).or(steps.clone().next_back()).unwrap_or(1) * SECOND;
        let to = Nanos(step) * (now.0 / step + 1);
        let columns = columns.min(usize::try_from(to.0 / step).unwrap_or(usize::MAX));
        let from = to - Nanos(step) * columns as u64;
        TimeAxis { from, to, step: Nanos(step), columns }
    }

    /// The column that a time is in; the first one if it was before.
    pub fn column(&self, at: Nanos) -> usize {
        let since = (at - self.from).0 / self.step.0.max(1);
        usize::try_from(since).unwrap_or(usize::MAX).min(self.columns - 1)
    }

    /// From when to when a column is.
    pub fn period(&self, column: usize) -> (Nanos, Nanos) {
        let from = self.from + self.step * column as u64;
        (from, from + self.step)
    }

    /// Positions of the labels, counted from the right end, each with its text: how long ago that was.
    pub fn ticks(&self, now: Nanos, apart: usize) -> Vec<(usize, String)> {
        let last = self.column(now);
        let mut ticks = vec![(last, "now".to_owned())];
        let spacing = SPACINGS.into_iter().map(|seconds| seconds * SECOND);
        let wide = |ago: &u64| {
            ago / self.step.0.max(1) >= apart as u64 && ago.is_multiple_of(self.step.0.max(1))
        };
        let Some(spacing) = { spacing }.find(wide) else { return ticks };
        let each = usize::try_from(spacing / self.step.0.max(1)).unwrap_or(usize::MAX).max(1);
        let mut back = each;
        while back <= last {
            let ago = self.step * back as u64;
            ticks.push((last - back, format!("−{}", length(ago))));
            back += each;
        }
        ticks.reverse();
        ticks
    }
}

/// A round time in few characters: `30 s`, `1.5 min`, `2 h`.
pub fn length(time: Nanos) -> String {
    let half = |s: u64, unit: u64| s as f64 / unit as f64;
    match time.0 / SECOND {
        s if s >= 3_600 && s % 3_600 == 0 => format!("{} h", s / 3_600),
        s if s >= 3_600 && s % 1_800 == 0 => format!("{} h", half(s, 3_600)),
        s if s >= 60 && s % 60 == 0 => format!("{} min", s / 60),
        s if s >= 60 && s % 30 == 0 => format!("{} min", half(s, 60)),
        s if time.0.is_multiple_of(SECOND) && s < 100_000 => format!("{s} s"),
        _ => text::time(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_minute_has_columns_of_a_second() {
        let now = Nanos(100 * SECOND + 5);
        let axis = TimeAxis::back_to(Nanos(40 * SECOND), now, 70);
        assert_eq!(
            (axis.step, axis.to, axis.column(now)),
            (Nanos(SECOND), Nanos(101 * SECOND), 69)
        );
        let labels: Vec<String> = axis.ticks(now, 10).into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["−1 min", "−50 s", "−40 s", "−30 s", "−20 s", "−10 s", "now"]);
        let far: Vec<String> = axis.ticks(now, 12).into_iter().map(|(_, label)| label).collect();
        assert_eq!(far, ["−1 min", "−30 s", "now"]);
        assert_eq!(length(Nanos(90 * SECOND)), "1.5 min");
    }

    #[test]
    fn before_the_clock_began_there_are_no_columns() {
        let axis = TimeAxis::back_to(Nanos(0), Nanos(7 * SECOND), 70);
        assert_eq!((axis.columns, axis.from, axis.to), (8, Nanos(0), Nanos(8 * SECOND)));
    }

    #[test]
    fn what_is_kept_in_long_parts_has_long_columns() {
        let step =
            |span: u64| TimeAxis::back_to(Nanos(0), Nanos(span * SECOND), 200).step.0 / SECOND;
        assert_eq!([60, 590, 900, 7_000, 9_000, 86_400].map(step), [1, 5, 10, 60, 60, 600]);
    }

    proptest! {
        #[test]
        fn the_window_is_on_the_axis(begin: u32, length in 0u64..200_000, columns in 2usize..300) {
            let begin = Nanos(u64::from(begin) * SECOND / 7 + (1 << 40));
            let now = begin + Nanos(length * SECOND / 3);
            let axis = TimeAxis::back_to(begin, now, columns);
            prop_assert!(axis.to > now && axis.to - axis.step <= now);
            if length < 3 * 21_600 {
                prop_assert!(axis.from <= begin, "{:?}", axis);
            }
            let ticks = axis.ticks(now, 8);
            prop_assert!(ticks.iter().all(|(column, _)| *column < columns));
            prop_assert!(ticks.windows(2).all(|two| two[1].0 - two[0].0 >= 8));
        }
    }
}
