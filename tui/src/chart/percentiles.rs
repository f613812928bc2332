//! An axis of percentiles by 1/(1−p).

use super::cell_at;

/// At least so many messages are slower than a percentile that is shown, as `wirelap compare` has it: with fewer, one outlier decides.
const BEYOND: f64 = 10.0;

/// The percentiles with labels.
const LABELLED: [(f64, &str); 8] = [
    (0.5, "50"),
    (0.9, "90"),
    (0.99, "99"),
    (0.999, "99.9"),
    (0.999_9, "99.99"),
    (0.999_99, "99.999"),
    (0.999_999, "99.9999"),
    (0.999_999_9, "99.99999"),
];

/// The highest percentile, as a share, that so many messages say something about; `None` if that is below the median.
pub fn highest(messages: u64) -> Option<f64> {
    let share = 1.0 - BEYOND / messages.max(1) as f64;
    (share >= 0.5).then_some(share)
}

/// An axis of percentiles from 0 on, on which 90 to 99 has the room of 99 to 99.9.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentiles {
    /// The logarithm of 1/(1−p) at its end.
    end: f64,
    cells: usize,
}

impl Percentiles {
    /// An axis up to a share.
    pub fn up_to(share: f64, cells: usize) -> Percentiles {
        Percentiles { end: log(share).max(log(0.5)), cells: cells.max(1) }
    }

    /// The share in the middle of a cell.
    pub fn share(&self, cell: usize) -> f64 {
        let part = (cell as f64 + 0.5) / self.cells as f64;
        1.0 - (-part * self.end).exp()
    }

    /// The labels with their cells, at least so far apart that they do not touch.
    pub fn ticks(&self) -> Vec<(usize, &'static str)> {
        let mut ticks: Vec<(usize, &'static str)> = Vec::new();
        for (share, label) in LABELLED {
            let part = log(share) / self.end;
            // 0.9 is a little less than nine tenths.
            let cell = cell_at(part + 1e-9, self.cells);
            let free = |(last, text): &(usize, &str)| cell > last + text.len();
            if part <= 1.0 + 1e-9 && ticks.last().is_none_or(free) {
                ticks.push((cell, label));
            }
        }
        ticks
    }
}

fn log(share: f64) -> f64 {
    -(1.0 - share.clamp(0.0, 1.0 - 1e-12)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ten_messages_are_beyond_the_highest() {
        assert_eq!(highest(19), None);
        assert_eq!(highest(20), Some(0.5));
        assert!((highest(10_000).unwrap() - 0.999).abs() < 1e-12);
        assert_eq!(highest(0), None);
    }

    #[test]
    fn each_nine_has_the_same_room() {
        let ticks = Percentiles::up_to(0.9999, 80).ticks();
        let cells: Vec<usize> = ticks.iter().skip(1).map(|(cell, _)| *cell).collect();
        assert_eq!(
            ticks.iter().map(|(_, label)| *label).collect::<Vec<_>>(),
            ["50", "90", "99", "99.9", "99.99"]
        );
        assert_eq!(cells, [20, 40, 60, 79]);
    }

    proptest! {
        #[test]
        fn shares_grow_and_stay_below_the_end(end in 0.5f64..0.999_999_9, cells in 1usize..400) {
            let axis = Percentiles::up_to(end, cells);
            let shares: Vec<f64> = (0..cells).map(|cell| axis.share(cell)).collect();
            prop_assert!(shares.windows(2).all(|two| two[0] < two[1]));
            prop_assert!(shares[0] > 0.0 && shares[cells - 1] < end + 1e-9);
            prop_assert!(axis.ticks().iter().all(|(cell, _)| *cell < cells));
        }
    }
}
