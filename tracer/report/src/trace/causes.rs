//! The causes of the time in each span of a message.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use wirelap_correlate::{BlameSink, BlamedPart, Cause, VerdictKind, blame};
use wirelap_events::{Delivery, Holder, Nanos, Segment};

#[derive(Clone, Copy, Debug)]
struct BlamedTime {
    leg: usize,
    segment: Segment,
    cause: Cause,
    left: Nanos,
    holder: Option<Holder>,
}

/// The time of one message by leg, segment and cause, in order of time, without what [`BlamedTimes::take`] has taken.
#[derive(Debug, Default)]
pub struct BlamedTimes(Vec<BlamedTime>);

impl BlameSink for BlamedTimes {
    fn part(&mut self, part: BlamedPart<'_>) {
        let BlamedPart { leg, segment, cause, time, holder, .. } = part;
        // The thread that holds a lock need not have the CPU.
        let holder = holder.filter(|_| cause != Cause::Of(VerdictKind::LockWait)).copied();
        self.0.push(BlamedTime { leg, segment, cause, left: time, holder });
    }
}

impl BlamedTimes {
    pub fn of(&mut self, delivery: &Delivery) {
        self.0.clear();
        blame(delivery, self);
    }

    /// Takes the next `time` that a leg spends in a segment, and returns its causes.
    pub fn take(&mut self, leg: usize, segment: Segment, time: Nanos) -> Causes {
        let mut causes = Causes::default();
        let mut remaining = time;
        let parts = self.0.iter_mut().filter(|part| (part.leg, part.segment) == (leg, segment));
        for part in parts {
            let taken = part.left.min(remaining);
            if taken > Nanos(0) {
                causes.add(part, taken);
                part.left -= taken;
                remaining -= taken;
            }
        }
        causes
    }
}

/// The causes of a span's time. Ordinary time has none.
#[derive(Debug, Default)]
pub struct Causes {
    kinds: Vec<(VerdictKind, Nanos)>,
    /// The thread that had the CPU for longest while a thread of this message waited for it.
    pub holder: Option<Holder>,
}

impl Causes {
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    fn add(&mut self, part: &BlamedTime, time: Nanos) {
        if let Cause::Of(kind) = part.cause {
            match self.kinds.iter_mut().find(|(of, _)| *of == kind) {
                Some((_, sum)) => *sum += time,
                None => self.kinds.push((kind, time)),
            }
        }
        let longer = |holder: &Holder| self.holder.is_none_or(|known| known.held < holder.held);
        if let Some(holder) = part.holder.filter(longer) {
            self.holder = Some(holder);
        }
    }
}

/// Serialises as a map from kind to nanoseconds.
impl Serialize for Causes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.kinds.len()))?;
        for (kind, time) in &self.kinds {
            map.serialize_entry(kind.name(), &time.0)?;
        }
        map.end()
    }
}
