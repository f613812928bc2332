//! What the parts of a message's time were spent on, span by span.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use wirelap_correlate::{BlameSink, Cause, VerdictKind, blame};
use wirelap_events::{Delivery, Holder, Nanos, Segment};

#[derive(Clone, Copy, Debug)]
struct Part {
    leg: usize,
    segment: Segment,
    cause: Cause,
    left: Nanos,
    holder: Option<Holder>,
}

/// The parts of one message that no span has taken yet, in order of time.
#[derive(Debug, Default)]
pub struct Parts(Vec<Part>);

impl BlameSink for Parts {
    fn part(
        &mut self,
        leg: usize,
        segment: Segment,
        cause: Cause,
        time: Nanos,
        holder: Option<&Holder>,
    ) {
        // Whoever has to let go of a lock need not have the CPU.
        let holder = holder.filter(|_| cause != Cause::Of(VerdictKind::LockWait)).copied();
        self.0.push(Part { leg, segment, cause, left: time, holder });
    }
}

impl Parts {
    pub fn of(&mut self, delivery: &Delivery) {
        self.0.clear();
        blame(delivery, self);
    }

    /// The causes of the next `time` that a leg spends in a segment.
    pub fn take(&mut self, leg: usize, segment: Segment, time: Nanos) -> Causes {
        let mut causes = Causes::default();
        let mut rest = time;
        let parts = self.0.iter_mut().filter(|part| (part.leg, part.segment) == (leg, segment));
        for part in parts {
            let taken = part.left.min(rest);
            if taken > Nanos(0) {
                causes.add(part, taken);
                part.left -= taken;
                rest -= taken;
            }
        }
        causes
    }
}

/// What a span was spent on, beside what it takes anyway.
#[derive(Debug, Default)]
pub struct Causes {
    kinds: Vec<(VerdictKind, Nanos)>,
    /// Who had the CPU the longest while it was waited for.
    pub holder: Option<Holder>,
}

impl Causes {
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    fn add(&mut self, part: &Part, time: Nanos) {
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

/// Nanoseconds by kind.
impl Serialize for Causes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.kinds.len()))?;
        for (kind, time) in &self.kinds {
            map.serialize_entry(kind.name(), &time.0)?;
        }
        map.end()
    }
}
