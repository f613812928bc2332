//! Two hosts' clocks against each other, from what passed between them in the last minutes.

use super::against::{Contradictions, PairStep};
use super::band::{PairBand, whole};
use super::buckets::{Bucket, Buckets};
use super::state::ClockSource;
use super::tangents::{STEERED, Tangents, steered};
use crate::hosts::clocks::{Band, FASTEST, STAMPED, Sample, Uneven, excess};
use crate::hosts::hull::HullPoint;
use wirelap_events::{Nanos, Saturate};

/// Parts of a second each that are looked at: five minutes.
const PARTS: usize = 300;

/// Parts of an eighth of a second each that are looked at, so that what was just seen counts for now.
const SMALL_PARTS: usize = 24;

/// Seconds from which the usual shortest delays are taken.
const RECENT: f64 = 64.0;

/// By how much a drift changes each second at most while nobody steers a clock, in nanoseconds a second: 0.1 ppm, as from a machine
/// that warms up.
const WANDER: f64 = 100.0;

/// A drift that is known less exactly, in nanoseconds a second, is rather as it was before and may have been steered.
const DRIFT_KNOWN: f64 = 100_000.0;

/// A pair is quiet after so many refreshes without packets of both directions.
const QUIET: u32 = 2;

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
    /// The samples that limit the difference most.
    tangents: Tangents,
    /// Limits of the drift when it was known last, in nanoseconds a second.
    rates: [f64; 2],
    /// Shortest round trip of samples that are near to each other, in nanoseconds.
    round_trip: Option<f64>,
    /// The line of the last minutes, while one fits.
    line: Option<PairBand>,
    /// The sample that is the latest by the first clock.
    pub newest: Option<Sample>,
    counts: SampleCounts,
    /// The last sample of each direction that agrees with the others.
    pub agreed: [Option<Agreed>; 2],
    /// Samples that do not.
    pub against: Contradictions,
    /// The last step.
    pub step: Option<PairStep>,
    /// Since when nobody has steered the clock of each host, by that clock.
    steady_since: [Option<Nanos>; 2],
    /// The refresh in which the line was estimated.
    estimated: u64,
    /// Numbers of packets at that refresh, and refreshes since both have grown.
    counted: [usize; 2],
    quiet: u32,
}

impl Default for PairClocks {
    fn default() -> Self {
        PairClocks {
            parts: Buckets::new(PARTS, Nanos::from_millis(1_000)),
            small_parts: Buckets::new(SMALL_PARTS, Nanos::from_millis(125)),
            tangents: Tangents::default(),
            rates: [-FASTEST, FASTEST],
            round_trip: None,
            line: None,
            newest: None,
            counts: SampleCounts::default(),
            agreed: [None; 2],
            against: Contradictions::default(),
            step: None,
            steady_since: [None; 2],
            estimated: 0,
            counted: [0; 2],
            quiet: 0,
        }
    }
}

impl PairClocks {
    /// Takes in a packet, or one way of a question. `serial` counts the samples of all pairs.
    pub fn add(&mut self, sample: Sample, is_ping: bool, serial: u64) {
        let way = usize::from(!sample.from_first);
        let rates = steered(self.rates, STEERED);
        let contradicts = !self.tangents.agree_with(&sample, rates);
        self.against.add(&sample, contradicts, is_ping, serial);
        if contradicts {
            return;
        }
        if let Some(step) = &mut self.step {
            step.add(sample);
        }
        let at = self.tangents.newest().max(sample.at);
        self.tangents.add(sample, at, rates);
        let times = [sample.at, Nanos(sample.at.0.saturating_add_signed(sample.later))];
        self.agreed[way] = Some(Agreed { times, serial });
        if is_ping {
            self.counts.pings.grow(way);
        } else {
            self.counts.packets[way].grow(1);
        }
        self.parts.add(sample);
        if let Some(measured) = self.small_parts.add(sample).and_then(|b| b.measure(self.rates)) {
            self.round_trip = Some(self.round_trip.map_or(measured, |known| known.min(measured)));
        }
        if self.newest.is_none_or(|newest| sample.at >= newest.at) {
            self.newest = Some(sample);
        }
    }

    /// True if packets of both directions limit the difference.
    pub fn is_limited(&self) -> bool {
        self.tangents.are_two()
    }

    /// The time by the clock of the host on a side up to which samples of both directions agree.
    pub fn checked(&self, side: usize) -> Option<Nanos> {
        let [there, back] = self.agreed.map(|way| way.map(|agreed| agreed.times[side]));
        let agreed = there?.min(back?);
        Some(self.against.since(side).map_or(agreed, |since| agreed.min(since)))
    }

    /// True if no packets of both directions have come since some refreshes.
    pub fn is_quiet(&self) -> bool {
        self.quiet > QUIET
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
        *self = PairClocks { estimated: self.estimated, ..PairClocks::default() };
    }

    /// Begins anew with what is known since a step, in a refresh. A step does not change the rate.
    pub fn begin_after(&mut self, step: PairStep, rates: [f64; 2]) {
        self.forget();
        (self.tangents, self.step, self.rates) = (step.after(), Some(step), rates);
    }

    /// Limits of the drift when it was known last, in nanoseconds a second.
    pub fn rates(&self) -> [f64; 2] {
        self.rates
    }

    /// Tells since when nobody has steered the clock of each host. Samples from before say nothing of the rates since.
    pub fn are_steady_since(&mut self, since: [Option<Nanos>; 2]) {
        let before = std::mem::replace(&mut self.steady_since, since);
        if self.is_steady() && since != before {
            self.forget_line();
        }
    }

    fn is_steady(&self) -> bool {
        self.steady_since.iter().all(Option::is_some)
    }

    fn forget_line(&mut self) {
        self.parts.clear();
        self.small_parts.clear();
        self.line = None;
    }

    /// The step that samples show which contradict those before. A clock that is only steered harder than expected begins anew
    /// without one. Called at each refresh.
    pub fn take_step(&mut self) -> Option<PairStep> {
        let step = self.against.step(&self.tangents)?;
        if !step.may_be_none() {
            return Some(step);
        }
        self.forget_line();
        self.tangents = step.after();
        (self.rates, self.against) = ([-FASTEST, FASTEST], Contradictions::default());
        None
    }

    /// The band at a time of the first clock. The line is estimated anew if this is another refresh.
    pub fn band_at(&mut self, at: Nanos, refresh: u64) -> Option<PairBand> {
        if self.estimated != refresh {
            self.estimated = refresh;
            let packets = std::mem::replace(&mut self.counted, self.counts.packets);
            let grows = self.counts.packets.iter().zip(packets).all(|(now, before)| *now > before);
            self.quiet = if grows { 0 } else { self.quiet.saturating_add(1) };
            match self.estimate(at) {
                Some(Ok(line)) => {
                    if width(line.drift) < width(self.rates).max(DRIFT_KNOWN) {
                        self.rates = line.drift;
                    }
                    self.line = Some(line);
                }
                // A clock is being steered.
                Some(Err(Uneven)) => self.forget_line(),
                None => {}
            }
        }
        let rates = steered(self.rates, STEERED);
        let limits = self.tangents.limits(at, rates);
        let within = self.line.map_or(i64::MAX, |line| line.within);
        let any = PairBand { at, limits, drift: rates, within };
        // A line of few packets says less of the rates than what was known before.
        let is_known = |line: &PairBand| self.is_steady() && width(line.drift) < width(rates);
        let line = self.line.filter(is_known).map(|line| line.moved_to(at));
        let band = line.and_then(|line| line.within_limits(limits)).unwrap_or(any);
        Some(self.round_trip.map_or(band, |round_trip| band.no_narrower(whole(round_trip))))
            .filter(PairBand::is_useful)
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
        if let Some(round_trip) = self.round_trip {
            if high - low < round_trip / 2.0 {
                return Some(Err(Uneven));
            }
            if round_trip > high - low {
                let middle = f64::midpoint(low, high);
                (low, high) = (middle - round_trip / 2.0, middle + round_trip / 2.0);
            }
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

/// By how much limits of a drift differ.
fn width([slow, fast]: [f64; 2]) -> f64 {
    fast - slow
}
