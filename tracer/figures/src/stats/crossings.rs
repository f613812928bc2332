//! The limits of the times of segments in which messages go from one host to another.

use super::distribution::Distribution;
use super::time_range::TimeRange;
use wirelap_events::{MAX_LEGS, Nanos, Segment, Segments};

/// Digits to which the times of segments are exact.
pub const SEGMENT_DIGITS: u8 = 2;

/// Times by leg and segment; made when first used.
pub type SegmentTimes = [[Option<Box<Distribution>>; Segment::ALL.len()]; MAX_LEGS];

/// The limits of the times of some segments; of the others, all times are of one host.
#[derive(Debug, Default)]
pub struct Crossings(Vec<Crossing>);

#[derive(Debug)]
struct Crossing {
    leg: usize,
    segment: Segment,
    range: TimeRange,
}

impl Crossings {
    /// True if all times are of one host.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes the limits of the segments of a leg, of which one may lie between two hosts, and has an error. They are not among the `times` yet.
    pub fn note(
        &mut self,
        leg: usize,
        segments: &Segments,
        crossing: Option<(Segment, [Nanos; 2], Nanos)>,
        times: &SegmentTimes,
    ) {
        if let Some((segment, ..)) = crossing {
            self.find_or_add(leg, segment, times);
        }
        for known in self.0.iter_mut().filter(|known| known.leg == leg) {
            match (crossing, segments.get(known.segment)) {
                (Some((segment, limits, error)), _) if segment == known.segment => {
                    known.range.add_crossing(limits, error);
                }
                (_, Some(time)) => known.range.add(time),
                (_, None) => {}
            }
        }
    }

    fn find_or_add(
        &mut self,
        leg: usize,
        segment: Segment,
        times: &SegmentTimes,
    ) -> &mut TimeRange {
        let is_it = |known: &Crossing| (known.leg, known.segment) == (leg, segment);
        let place = self.0.iter().position(is_it).unwrap_or(self.0.len());
        if place == self.0.len() {
            self.0.push(Crossing { leg, segment, range: range_of(times, leg, segment) });
        }
        &mut self.0[place].range
    }

    /// Adds the limits of other times. Those of neither are added to the others yet.
    pub fn merge(&mut self, mine: &SegmentTimes, other: &Crossings, theirs: &SegmentTimes) {
        for their in &other.0 {
            self.find_or_add(their.leg, their.segment, mine);
        }
        for known in &mut self.0 {
            let is_it =
                |their: &&Crossing| (their.leg, their.segment) == (known.leg, known.segment);
            match other.0.iter().find(is_it) {
                Some(their) => known.range.merge(&their.range),
                None => known.range.merge(&range_of(theirs, known.leg, known.segment)),
            }
        }
    }

    /// The largest error of the figures that are shown of a segment's times.
    pub fn error_of(&self, leg: usize, segment: Segment, times: &Distribution) -> Nanos {
        let known = self.0.iter().find(|known| (known.leg, known.segment) == (leg, segment));
        known.map_or(Nanos(0), |known| {
            let errors = known.range.errors(&times.summary());
            errors.p50.max(errors.p99)
        })
    }
}

/// The limits of a segment's times so far, which are all of one host.
fn range_of(times: &SegmentTimes, leg: usize, segment: Segment) -> TimeRange {
    match times[leg][segment as usize].as_deref() {
        Some(times) => TimeRange::of(times),
        None => TimeRange::of(&Distribution::new(SEGMENT_DIGITS)),
    }
}
