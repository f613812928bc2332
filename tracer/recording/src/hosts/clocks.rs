//! Difference between two clocks, from the times at which each saw the same packets.

use super::hull::{HullPoint, LowerHull};
use wirelap_events::Nanos;

/// Rates differ by less: 1000 ppm. Quartz is within 100, and `adjtimex` slews by 500 at most.
pub(super) const FASTEST: f64 = 1e6;

/// The most samples that may contradict the others before all are taken to do so.
const MAX_OUTLIERS: usize = 32;

/// The most parts of the captures that are looked at separately.
const MAX_PARTS: usize = 16;

/// Fewer samples of a direction say nothing about a part.
const MIN_SAMPLES: usize = 8;

/// A packet that both captures have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time at which the first capture has the packet, by the first clock.
    pub at: Nanos,
    /// The second capture's time less that one, each by its own clock, in nanoseconds.
    pub later: i64,
    /// The first capture's host sent it.
    pub from_first: bool,
}

/// Time of the second clock less that of the first: a line over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clocks {
    /// The time of the first sample, by the first clock.
    pub start: Nanos,
    /// The difference then, in nanoseconds; above zero if the second clock is ahead.
    pub offset: i64,
    /// By how much it grows each second, in nanoseconds (1000 is 1 ppm); 0 if that is not certain to be more than nothing.
    pub drift: f64,
    /// Largest error of `drift`, in nanoseconds a second.
    pub drift_within: f64,
    /// Largest error of the difference if the fastest packets take equally long in both directions.
    pub within: Nanos,
    /// Largest error of the difference however long each direction takes: half the shortest round trip.
    pub at_most: Nanos,
    /// Number of packets that the result is from.
    pub samples: usize,
    /// The time from the first sample to the last.
    pub span: Nanos,
}

/// No two clocks that run evenly can have shown these times: one was set meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uneven;

impl Clocks {
    /// Two clocks that differ by exactly so many nanoseconds.
    pub fn exact(offset: i64) -> Clocks {
        Clocks {
            start: Nanos(0),
            offset,
            drift: 0.0,
            drift_within: 0.0,
            within: Nanos(0),
            at_most: Nanos(0),
            samples: 0,
            span: Nanos(0),
        }
    }

    /// A time of the second clock, by the first one.
    pub fn to_first(&self, at: Nanos) -> Nanos {
        let even = i128::from(at.0).saturating_sub(i128::from(self.offset));
        let rate = self.drift / 1e9;
        let since = even.saturating_sub(i128::from(self.start.0)) as f64;
        #[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
        let drifted = (since * rate / (1.0 + rate)).round() as i128;
        Nanos(u64::try_from(even.saturating_sub(drifted)).unwrap_or(0))
    }

    /// The first clock against the second one.
    #[must_use]
    pub fn reversed(self) -> Clocks {
        let rate = self.drift / 1e9;
        Clocks {
            start: Nanos(self.start.0.saturating_add_signed(self.offset)),
            offset: self.offset.saturating_neg(),
            drift: if rate > -1.0 { -self.drift / (1.0 + rate) } else { 0.0 },
            ..self
        }
    }

    /// Estimates the clocks from samples of both directions, in the order of the first clock.
    ///
    /// # Errors
    /// The samples contradict each other.
    pub fn of(samples: &[Sample]) -> Result<Option<Clocks>, Uneven> {
        let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return Ok(None) };
        let mut band = Band::of(samples, *first);
        if band.there.is_empty() || band.back.is_empty() {
            return Ok(None);
        }
        let mut line = band.steepest();
        for _ in 0..MAX_OUTLIERS.min(samples.len() / 50) {
            if line.width >= 0.0 {
                break;
            }
            band.drop_touching(line);
            line = band.steepest();
        }
        if line.width < 0.0 {
            return Err(Uneven);
        }
        let span = last.at - first.at;
        let seconds = span.as_secs_f64();
        let tick = tick(samples);
        let mut within = band.within(line) + tick;
        let mut drift_within = if seconds > 0.0 { 2.0 * within / seconds } else { f64::INFINITY };
        let level = band.line(0.0);
        if line.drift.abs() <= drift_within && level.width >= 0.0 {
            line = level;
            within = band.within(line) + tick;
        }
        drift_within = drift_within.min(FASTEST);
        #[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
        let middle = line.middle.round() as i64;
        Ok(Some(Clocks {
            start: first.at,
            offset: first.later.saturating_add(middle),
            drift: line.drift,
            drift_within,
            within: Nanos::from_f64(within.min(line.width / 2.0 + tick)),
            at_most: Nanos::from_f64(line.width / 2.0 + tick),
            samples: samples.len(),
            span,
        }))
    }
}

/// No kernel stamps a packet nearer to when it is on the line, in nanoseconds.
pub(super) const STAMPED: f64 = 1e3;

/// Error of the difference in any case, in nanoseconds: from where kernels stamp packets, and twice that if both times may be cut
/// to microseconds.
fn tick(samples: &[Sample]) -> f64 {
    let is_coarse = |s: &Sample| s.at.0.is_multiple_of(1000) && s.later % 1000 == 0;
    if samples.iter().all(is_coarse) { 2.0 * STAMPED } else { STAMPED }
}

/// A line through the middle of the band, and how wide the band is there.
#[derive(Clone, Copy, Debug)]
pub(super) struct BandLine {
    /// Slope, in nanoseconds a second.
    pub drift: f64,
    /// Height at second 0, in nanoseconds.
    pub middle: f64,
    /// Width of the band around the line, in nanoseconds.
    pub width: f64,
}

/// The points above the line, which are from the first host, and those below it.
pub(super) struct Band {
    /// Points from the first host.
    there: Vec<HullPoint>,
    /// Points from the second host.
    back: Vec<HullPoint>,
    /// The points from the first host that a line below them can touch.
    above: LowerHull,
    /// The points from the second host that a line above them can touch, upside down.
    below: LowerHull,
}

impl Band {
    /// The samples in seconds after the first sample, and nanoseconds more than that.
    fn of(samples: &[Sample], first: Sample) -> Band {
        let point = |sample: &Sample| {
            let later = i128::from(sample.later).saturating_sub(i128::from(first.later));
            ((sample.at - first.at).as_secs_f64(), later as f64)
        };
        let side = |way| samples.iter().filter(move |s| s.from_first == way).map(point).collect();
        Band::between(side(true), side(false))
    }

    /// The band below the points from the first host and above those from the second one, each in order of time.
    pub(super) fn between(there: Vec<HullPoint>, back: Vec<HullPoint>) -> Band {
        let (above, below) = (LowerHull::default(), LowerHull::default());
        let mut band = Band { there, back, above, below };
        band.touch();
        band
    }

    fn touch(&mut self) {
        self.above = LowerHull::of(self.there.iter().copied());
        self.below = LowerHull::of(self.back.iter().map(|(x, y)| (*x, -y)));
    }

    /// The line of a drift.
    pub(super) fn line(&self, drift: f64) -> BandLine {
        let (above, below) = (self.above.height(drift), -self.below.height(-drift));
        BandLine { drift, middle: f64::midpoint(above, below), width: above - below }
    }

    /// The line around which the band is the widest. A wrong drift runs into one of its sides: the width is
    /// concave in the drift.
    pub(super) fn steepest(&self) -> BandLine {
        let (mut from, mut to) = (-FASTEST, FASTEST);
        for _ in 0..200 {
            let third = (to - from) / 3.0;
            if self.line(from + third).width < self.line(to - third).width {
                from += third;
            } else {
                to -= third;
            }
        }
        self.line(f64::midpoint(from, to))
    }

    /// The least and the largest drift of all lines in the band, by the drift of one of them.
    pub(super) fn drifts(&self, inside: f64) -> [f64; 2] {
        [-FASTEST, FASTEST].map(|limit| {
            let (mut inside, mut outside) = (inside, limit);
            if self.line(limit).width >= 0.0 {
                return limit;
            }
            for _ in 0..60 {
                let middle = f64::midpoint(inside, outside);
                *(if self.line(middle).width >= 0.0 { &mut inside } else { &mut outside }) = middle;
            }
            outside
        })
    }

    /// Leaves out the points that the line touches.
    fn drop_touching(&mut self, line: BandLine) {
        let half = line.width / 2.0;
        let level = |point: &HullPoint| point.1 - line.drift * point.0 - line.middle;
        let near = |value: f64, of: f64| (value - of).abs() < 0.5;
        self.there.retain(|point| !near(level(point), half));
        self.back.retain(|point| !near(level(point), -half));
        self.touch();
    }

    /// Error of the line's middle by chance: by what the shortest delays of most parts are above the shortest of all.
    fn within(&self, line: BandLine) -> f64 {
        let above = |point: &HullPoint| point.1 - line.drift * point.0;
        let excess = [excess(&self.there, above), excess(&self.back, |point| -above(point))];
        match excess {
            [Some(there), Some(back)] => f64::midpoint(there, back),
            _ => line.width / 2.0,
        }
    }
}

/// By how much the least of three quarters of the parts are above the least of all; `None` if there are too few.
pub(super) fn excess(points: &[HullPoint], level: impl Fn(&HullPoint) -> f64) -> Option<f64> {
    let count = (points.len() / (2 * MIN_SAMPLES)).clamp(1, MAX_PARTS);
    let parts = points.chunks(points.len().div_ceil(count).max(1));
    let least = |part: &[HullPoint]| part.iter().map(&level).fold(f64::INFINITY, f64::min);
    let enough = parts.filter(|part| part.len() >= MIN_SAMPLES);
    let mut least: Vec<f64> = enough.map(least).collect();
    least.sort_unstable_by(f64::total_cmp);
    if least.len() < 2 {
        return None;
    }
    Some(least[least.len().saturating_mul(3).div_ceil(4).saturating_sub(1)] - least[0])
}

#[cfg(test)]
mod tests;
