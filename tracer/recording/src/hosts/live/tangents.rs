//! Limits of one clock's difference from another one's that hold however their rates change within limits.
//!
//! ```text
//!            ╲      ╱        a packet from the first host: the difference is not above it, and before and
//!             ╲    ╱         after it only by as much as the rates can make it
//!   ▁▁▁▁▁▁▁▁▁▁▁╲__╱
//!               ╱╲           a packet from the second host: not below it
//!              ╱  ╲
//! ```

use super::band::whole;
use crate::hosts::clocks::{FASTEST, STAMPED, Sample};
use wirelap_events::Nanos;

/// By how much a rate may change at once, in nanoseconds a second: 500 ppm, as `adjtime` slews (`MAXFREQ` in `kernel/time/ntp.c`),
/// and one in a hundred for the other clock's own rate.
pub const STEERED: f64 = 505_000.0;

/// The least and the largest drift if the rates may have changed by so much since they were known.
pub fn steered([slow, fast]: [f64; 2], by: f64) -> [f64; 2] {
    let is_beyond = slow < -FASTEST || fast > FASTEST;
    let limit = if is_beyond { f64::INFINITY } else { FASTEST };
    [(slow - by).max(-limit), (fast + by).min(limit)]
}

/// The packet of each direction that limits the difference most.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tangents {
    there: Option<Sample>,
    back: Option<Sample>,
}

impl Tangents {
    /// Takes in a packet, if it limits the difference at a time more than those before. Drifts lie between `rates`.
    pub fn add(&mut self, sample: Sample, at: Nanos, rates: [f64; 2]) {
        let way = if sample.from_first { &mut self.there } else { &mut self.back };
        let limit = |sample: &Sample| limit(sample, at, rates);
        let is_better = way.is_none_or(|best| {
            if sample.from_first {
                limit(&sample) <= limit(&best)
            } else {
                limit(&sample) >= limit(&best)
            }
        });
        if is_better {
            *way = Some(sample);
        }
    }

    /// The latest time of both packets.
    pub fn newest(&self) -> Nanos {
        let times = [self.there, self.back].map(|sample| sample.map_or(Nanos(0), |s| s.at));
        times[0].max(times[1])
    }

    /// True if packets of both directions are there.
    pub fn are_two(&self) -> bool {
        self.there.is_some() && self.back.is_some()
    }

    /// The least difference and the largest at a time; the least and the largest number where there is no limit.
    pub fn limits(&self, at: Nanos, rates: [f64; 2]) -> [i64; 2] {
        let limit = |sample: &Sample| limit(sample, at, rates);
        [self.back.as_ref().map_or(i64::MIN, limit), self.there.as_ref().map_or(i64::MAX, limit)]
    }

    /// True if some clock whose drift lies between `rates` can have shown a packet and those before.
    pub fn agree_with(&self, sample: &Sample, rates: [f64; 2]) -> bool {
        let Some(other) = (if sample.from_first { self.back } else { self.there }) else {
            return true;
        };
        let at = sample.at.max(other.at);
        let [new, known] = [limit(sample, at, rates), limit(&other, at, rates)];
        if sample.from_first { new >= known } else { new <= known }
    }
}

/// The limit at a time that a packet sets.
fn limit(sample: &Sample, at: Nanos, [slow, fast]: [f64; 2]) -> i64 {
    let seconds = (at - sample.at).as_secs_f64() - (sample.at - at).as_secs_f64();
    let [slow, fast] = [slow * seconds, fast * seconds];
    let by = if sample.from_first {
        (slow.max(fast) + STAMPED).ceil()
    } else {
        (slow.min(fast) - STAMPED).floor()
    };
    sample.later.saturating_add(whole(by))
}
