//! The number of cells of a bar that each segment gets.

use wirelap_correlate::snapshot::{Group, SegmentStat};
use wirelap_events::{Nanos, Segment};

/// The quantity that a bar's length shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BarScale {
    /// Every bar is full: its parts are shares of the row's own time.
    #[default]
    Share,
    /// Bars are as long as their rows' median latencies, compared with each other.
    Time,
}

impl BarScale {
    /// The name in the file of what the screen remembers.
    pub const fn name(self) -> &'static str {
        match self {
            BarScale::Share => "share",
            BarScale::Time => "time",
        }
    }
}

/// Length of a group's bar in a column `width` wide; `slowest` is the largest median on the screen.
pub fn length(scale: BarScale, group: &Group, slowest: Nanos, width: u16) -> u16 {
    if group.segments.is_empty() || group.one_way.count == 0 {
        return 0;
    }
    match scale {
        BarScale::Share => width,
        BarScale::Time if slowest.0 == 0 => 0,
        BarScale::Time => {
            let ratio = group.one_way.p50.0 as f64 / slowest.0 as f64;
            cells(ratio * f64::from(width)).clamp(1, width.max(1)).min(width)
        }
    }
}

/// The cells of each segment, in the order in which a message passes the segments. They add up to `width`, unless all
/// shares are zero. The largest-remainder method keeps each segment within one cell of its share.
pub fn apportion(segments: &[SegmentStat], width: u16) -> Vec<(Segment, u16)> {
    let share = |stat: &SegmentStat| if stat.share.is_finite() { stat.share.max(0.0) } else { 0.0 };
    let total: f64 = segments.iter().map(share).sum();
    if total <= 0.0 || !total.is_finite() {
        return Vec::new();
    }
    let exact: Vec<f64> =
        segments.iter().map(|stat| share(stat) / total * f64::from(width)).collect();
    let mut out: Vec<(Segment, u16)> = segments
        .iter()
        .zip(&exact)
        .map(|(stat, exact)| (stat.segment, cells(exact.floor())))
        .collect();
    let used: u16 = out.iter().map(|(_, cells)| cells).sum();
    let mut by_remainder: Vec<usize> = (0..out.len()).collect();
    by_remainder.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()));
    for &index in by_remainder.iter().take(usize::from(width.saturating_sub(used))) {
        out[index].1 += 1;
    }
    out
}

/// A number of cells, rounded and limited to what a `u16` holds.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
pub fn cells(value: f64) -> u16 {
    value.round().clamp(0.0, f64::from(u16::MAX)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stats(shares: &[f64]) -> Vec<SegmentStat> {
        let segments = Segment::ALL.into_iter().cycle();
        shares
            .iter()
            .zip(segments)
            .map(|(&share, segment)| SegmentStat {
                leg: 1,
                segment,
                p50: Nanos(1),
                p99: Nanos(1),
                share,
                count: 1,
                error: Nanos(0),
            })
            .collect()
    }

    #[test]
    fn shares_become_cells() {
        let cells: Vec<u16> =
            apportion(&stats(&[0.5, 0.25, 0.125, 0.125]), 10).iter().map(|s| s.1).collect();
        assert_eq!(cells, [5, 3, 1, 1]);
        assert!(apportion(&stats(&[0.0, f64::NAN]), 10).is_empty());
    }

    #[test]
    fn a_time_scaled_bar_is_as_long_as_its_median() {
        let mut group = Group { segments: stats(&[1.0]), ..Group::default() };
        group.one_way.count = 1;
        group.one_way.p50 = Nanos(250);
        assert_eq!(length(BarScale::Time, &group, Nanos(1000), 40), 10);
        assert_eq!(length(BarScale::Share, &group, Nanos(1000), 40), 40);
        group.one_way.p50 = Nanos(1);
        assert_eq!(length(BarScale::Time, &group, Nanos(1000), 40), 1, "never vanishes");
        group.one_way.count = 0;
        assert_eq!(length(BarScale::Share, &group, Nanos(1000), 40), 0);
    }

    proptest! {
        #[test]
        fn a_bar_is_full_and_fair(shares in prop::collection::vec(0.0f64..1.0, 1..26), width in 0u16..300) {
            let total: f64 = shares.iter().sum();
            prop_assume!(total > 1e-6);
            let bar = apportion(&stats(&shares), width);
            prop_assert_eq!(bar.iter().map(|s| s.1).sum::<u16>(), width);
            for (share, (_, cells)) in shares.iter().zip(bar) {
                prop_assert!((share / total * f64::from(width) - f64::from(cells)).abs() <= 1.0);
            }
        }
    }
}
