//! Limits of one clock's difference from another one's.

use wirelap_events::Nanos;

/// A difference that is not known better than to a second is not known.
const WIDEST: i64 = 1_000_000_000;

/// Limits of the second clock's time less that of the first, at a time of the first clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairBand {
    /// That time.
    pub at: Nanos,
    /// The least difference and the largest, in nanoseconds.
    pub limits: [i64; 2],
    /// By how much it grows each second at least and at most, in nanoseconds.
    pub drift: [f64; 2],
    /// Largest error of the middle if the fastest packets take equally long in both directions, in nanoseconds.
    pub within: i64,
}

impl PairBand {
    /// Limits in nanoseconds more than `base`.
    pub fn new(at: Nanos, base: i64, limits: [f64; 2], drift: [f64; 2], within: f64) -> PairBand {
        let [low, high] = limits;
        let limits = [low.floor(), high.ceil()].map(|limit| base.saturating_add(whole(limit)));
        PairBand { at, limits, drift, within: whole(within) }
    }

    /// The middle.
    pub fn middle(&self) -> i64 {
        let [low, high] = self.limits;
        low.midpoint(high)
    }

    /// The largest error of the middle.
    pub fn half(&self) -> i64 {
        let [low, high] = self.limits;
        high.saturating_sub(low).saturating_add(1) / 2
    }

    /// The same within other limits of the same time, if it can be.
    pub fn within_limits(self, [least, most]: [i64; 2]) -> Option<PairBand> {
        let [low, high] = self.limits;
        let limits = [low.max(least), high.min(most)];
        (limits[0] <= limits[1]).then_some(PairBand { limits, ..self })
    }

    /// The same with limits that are at least so far from each other.
    #[must_use]
    pub fn no_narrower(self, width: i64) -> PairBand {
        let [low, high] = self.limits;
        let more = width.saturating_sub(high.saturating_sub(low)).max(0);
        let below = more / 2;
        let above = more.saturating_sub(below);
        PairBand { limits: [low.saturating_sub(below), high.saturating_add(above)], ..self }
    }

    /// False if it says next to nothing.
    pub fn is_useful(&self) -> bool {
        self.half() < WIDEST
    }

    /// The limits at another time.
    #[must_use]
    pub fn moved_to(self, at: Nanos) -> PairBand {
        let seconds = seconds(self.at, at);
        let [slow, fast] = self.drift.map(|drift| drift * seconds);
        let [low, high] = self.limits;
        let limits = [
            low.saturating_add(whole(slow.min(fast).floor())),
            high.saturating_add(whole(slow.max(fast).ceil())),
        ];
        PairBand { at, limits, ..self }
    }

    /// The limits of the first clock's difference from the second one, at the same time by the second clock.
    #[must_use]
    pub fn reversed(self, at: Nanos) -> PairBand {
        let [low, high] = self.limits;
        let [slow, fast] = self.drift.map(|drift| -drift / (1.0 + drift / 1e9));
        PairBand {
            at,
            limits: [high.saturating_neg(), low.saturating_neg()],
            drift: [fast, slow],
            ..self
        }
    }

    /// The middle of the drift's limits.
    pub fn mean_drift(&self) -> f64 {
        let [slow, fast] = self.drift;
        f64::midpoint(slow, fast)
    }
}

fn seconds(from: Nanos, to: Nanos) -> f64 {
    (to - from).as_secs_f64() - (from - to).as_secs_f64()
}

/// Whole nanoseconds.
#[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
pub fn whole(ns: f64) -> i64 {
    ns.round() as i64
}
