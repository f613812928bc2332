//! The moments that a time axis names.

use wirelap_events::Nanos;

/// Columns between two named moments, at least.
const APART: u64 = 11;

/// The scale that places the moments of a message on a line of some columns.
#[derive(Clone, Copy, Debug)]
pub struct MessageAxis {
    from: Nanos,
    length: u64,
    columns: u16,
}

impl MessageAxis {
    /// An axis over an interval. An interval without duration is shown as one nanosecond.
    pub fn new((from, to): (Nanos, Nanos), columns: u16) -> MessageAxis {
        MessageAxis { from, length: (to - from).0.max(1), columns }
    }

    /// The cells of an interval: at least one, so that nothing vanishes. Two intervals that follow each other share no cell unless one
    /// of them is shorter than a cell.
    pub fn cells(self, from: Nanos, to: Nanos) -> (u16, u16) {
        let last = self.columns.saturating_sub(1);
        let first = self.cell(from).min(last);
        let end = self.cell(to).clamp(first + 1, self.columns.max(1));
        (first, end)
    }

    /// The cell that a moment begins in.
    fn cell(self, at: Nanos) -> u16 {
        let after = u128::from((at - self.from).0);
        let cell = after * u128::from(self.columns) / u128::from(self.length);
        u16::try_from(cell).unwrap_or(u16::MAX).min(self.columns)
    }

    /// The named moments, as times after the beginning, and their cells.
    pub fn moments(self) -> Vec<(u16, Nanos)> {
        let step = self.step();
        let mut moments = Vec::new();
        let mut at = 0_u64;
        while at < self.length {
            let cell = self.cell(self.from + Nanos(at));
            if cell >= self.columns {
                break;
            }
            moments.push((cell, Nanos(at)));
            let Some(next) = at.checked_add(step) else { break };
            at = next;
        }
        moments
    }

    /// The least of 1, 2, 5, 10 … nanoseconds whose multiples are far enough apart.
    fn step(self) -> u64 {
        let least = u128::from(self.length) * u128::from(APART);
        let enough = |step: u64| u128::from(step) * u128::from(self.columns.max(1)) >= least;
        let mut unit = 1_u64;
        loop {
            let steps = [1, 2, 5].map(|times| unit.saturating_mul(times));
            if let Some(step) = steps.into_iter().find(|step| enough(*step)) {
                return step;
            }
            let Some(next) = unit.checked_mul(10) else { return u64::MAX };
            unit = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moments_are_round_and_apart() {
        let axis = MessageAxis::new((Nanos(1_000), Nanos(50_000)), 44);
        let moments: Vec<_> = axis.moments().into_iter().map(|(_, at)| at.0).collect();
        assert_eq!(moments, [0, 20_000, 40_000]);
        assert_eq!(axis.cells(Nanos(1_000), Nanos(50_000)), (0, 44));
        assert_eq!(axis.cells(Nanos(50_000), Nanos(50_000)), (43, 44), "nothing vanishes");
    }

    proptest! {
        #[test]
        fn cells_are_on_the_axis(
            from: u64, length: u64, columns in 0u16..400, at: u64, time: u64,
        ) {
            let axis = MessageAxis::new((Nanos(from), Nanos(from.saturating_add(length))), columns);
            let (first, end) = axis.cells(Nanos(at), Nanos(at.saturating_add(time)));
            prop_assert!(first < end && end <= columns.max(1));
            let moments = axis.moments();
            prop_assert!(moments.len() <= 40);
            prop_assert!(moments.windows(2).all(|pair| pair[0].0 + 10 <= pair[1].0));
        }
    }
}
