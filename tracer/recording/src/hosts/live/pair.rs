//! Two hosts' clocks against each other, from what passed between them in the last minutes.

use super::against::Contradictions;
use super::band::PairBand;
use super::buckets::{Bucket, Buckets};
use super::state::ClockSource;
use crate::hosts::clocks::{Band, STAMPED, Sample, Uneven, excess};
use crate::hosts::hull::HullPoint;
use wirelap_events::{Nanos, Saturate};

/// Parts of a second each that are looked at: five minutes.
const PARTS: usize = 300;

/// Parts of an eighth of a second each that are looked at, so that what was just seen counts for now.
const SMALL_PARTS: usize = 24;

/// Seconds from which the usual shortest delays are taken.
const RECENT: f64 = 64.0;

/// By how much a drift changes each second at most, in nanoseconds a second: 0.1 ppm, as from a machine that warms up or a clock
/// that is being steered. A clock that is steered harder is noticed as one that no line fits.
const WANDER: f64 = 100.0;

/// Number of samples of each kind since the pair's clocks are known.
#[derive(Clone, Copy, Debug, Default)]
struct SampleCounts {
    /// Packets from the first host, and from the second.
    packets: [usize; 2],
    /// Questions that were answered.
    pings: usize,
}

/// A sample that agrees with the clocks as they are known.
#[derive(Clone, Copy, Debug)]
pub struct Agreed {
    /// Times by the clocks of the first host and of the second.
    pub times: [Nanos; 2],
    /// Number of the sample among those of all pairs.
    pub serial: u64,
}

/// The second host's clock against the first one's.
#[derive(Debug)]
pub struct PairClocks {
    parts: Buckets,
    small_parts: Buckets,
    /// The sample that is the latest by the first clock.
    pub newest: Option<Sample>,
    counts: SampleCounts,
    /// The last sample of each direction that agrees with the others.
    pub agreed: [Option<Agreed>; 2],
    /// Samples that do not.
    pub against: Contradictions,
    band: Option<PairBand>,
    /// The refresh in which the band was estimated.
    estimated: u64,
}

impl Default for PairClocks {
    fn default() -> Self {
        PairClocks {
            parts: Buckets::new(PARTS, Nanos::from_millis(1_000)),
            small_parts: Buckets::new(SMALL_PARTS, Nanos::from_millis(125)),
            newest: None,
            counts: SampleCounts::default(),
            agreed: [None; 2],
            against: Contradictions::default(),
            band: None,
            estimated: 0,
        }
    }
}

impl PairClocks {
    /// Takes in a packet, or one way of a question. `serial` counts the samples of all pairs.
    pub fn add(&mut self, sample: Sample, is_ping: bool, serial: u64) {
        let way = usize::from(!sample.from_first);
        let by = self.band.and_then(|band| band.contradiction(&sample));
        self.against.add(&sample, by, is_ping, serial);
        if by.is_some() {
            return;
        }
        let times = [sample.at, Nanos(sample.at.0.saturating_add_signed(sample.later))];
        self.agreed[way] = Some(Agreed { times, serial });
        if is_ping {
            self.counts.pings.grow(way);
        } else {
            self.counts.packets[way].grow(1);
        }
        let small = self.small_parts.add(sample);
        let round_trip = small.zip(self.band).and_then(|(part, band)| part.measure(band.drift));
        if let (Some(part), Some(round_trip)) = (self.parts.add(sample), round_trip) {
            part.shorten(round_trip);
        }
        if self.newest.is_none_or(|newest| sample.at >= newest.at) {
            self.newest = Some(sample);
        }
    }

    /// Kind and number of the samples.
    pub fn source(&self) -> ClockSource {
        match self.counts {
            SampleCounts { packets: [0, _] | [_, 0], pings } => ClockSource::Ping(pings),
            SampleCounts { packets: [there, back], pings: _ } => {
                ClockSource::Packets(there.saturating_add(back))
            }
        }
    }

    /// Forgets everything.
    pub fn forget(&mut self) {
        self.forget_samples();
        self.band = None;
        self.counts = SampleCounts::default();
    }

    fn forget_samples(&mut self) {
        self.parts.clear();
        self.small_parts.clear();
        self.newest = None;
        self.agreed = [None; 2];
        self.against = Contradictions::default();
    }

    /// The band at a time of the first clock, estimated anew if this is another refresh.
    pub fn band_at(&mut self, at: Nanos, refresh: u64) -> Option<PairBand> {
        if self.estimated != refresh {
            self.estimated = refresh;
            self.band = match self.estimate(at) {
                Some(Ok(band)) => Some(band),
                // A clock is being steered: the present band widens until it is known how fast.
                Some(Err(Uneven)) => {
                    self.forget_samples();
                    self.band.map(|band| band.loosened().moved_to(at))
                }
                None => self.band.map(|band| band.moved_to(at)),
            };
            self.band = self.band.filter(PairBand::is_useful);
        }
        self.band.map(|band| band.moved_to(at))
    }

    /// The best samples of one direction in the order of time.
    fn samples(&self, way: fn(&Bucket) -> Option<Sample>) -> impl Iterator<Item = Sample> {
        let small = self.small_parts.start();
        let before = self.parts.iter().filter_map(way).filter(move |sample| sample.at < small);
        before.chain(self.small_parts.iter().filter_map(way))
    }

    /// All lines that lie below the samples there and above those back, at a time of the first clock. The lines are tangents
    /// to what the clocks do, so a sample holds back by as much less as the drift may have changed since.
    fn estimate(&self, at: Nanos) -> Option<Result<PairBand, Uneven>> {
        let newest = self.newest?;
        let at = at.max(newest.at);
        let base = newest.later;
        let point = |sample: Sample| -> HullPoint {
            let later = i128::from(sample.later).saturating_sub(i128::from(base));
            (-(at - sample.at).as_secs_f64(), later as f64)
        };
        let there: Vec<HullPoint> = self.samples(|part| part.there).map(point).collect();
        let back: Vec<HullPoint> = self.samples(|part| part.back).map(point).collect();
        if there.is_empty() || back.is_empty() {
            return None;
        }
        let loose =
            |&(x, y): &HullPoint, sign: f64| (x, y + sign * (STAMPED + WANDER / 2.0 * x * x));
        let band = Band::between(
            there.iter().map(|point| loose(point, 1.0)).collect(),
            back.iter().map(|point| loose(point, -1.0)).collect(),
        );
        let line = band.steepest();
        if line.width < 0.0 {
            return Some(Err(Uneven));
        }
        let drift = band.drifts(line.drift);
        let [low, high] = drift.map(|drift| band.line(drift));
        let (mut low, mut high) = (low.middle - low.width / 2.0, high.middle + high.width / 2.0);
        // Packets cannot show a clock that was set by less than a round trip, but they make the band narrower than that, and it is
        // wrong then.
        let round_trips = self.parts.iter().filter_map(|part| part.round_trip);
        let round_trip = round_trips.fold(f64::INFINITY, f64::min);
        if round_trip.is_finite() && high - low < round_trip / 2.0 {
            return Some(Err(Uneven));
        }
        if round_trip.is_finite() && round_trip > high - low {
            let middle = f64::midpoint(low, high);
            (low, high) = (middle - round_trip / 2.0, middle + round_trip / 2.0);
        }
        let recent = |points: &[HullPoint], sign: f64| {
            let first = points.partition_point(|point| point.0 < -RECENT);
            excess(points.get(first..)?, |point| sign * (point.1 - line.drift * point.0))
        };
        let within = match (recent(&there, 1.0), recent(&back, -1.0)) {
            (Some(there), Some(back)) => f64::midpoint(there, back) + STAMPED,
            _ => f64::INFINITY,
        };
        Some(Ok(PairBand::new(at, base, [low, high], drift, within)))
    }
}
