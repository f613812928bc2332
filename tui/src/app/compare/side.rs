//! One side of a comparison: what a row delivered, second by second.

use wirelap_correlate::snapshot::Group;
use wirelap_events::{Nanos, Segment};
use wirelap_history::{Bins, Second};

/// One side of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SidePeriod {
    /// The name of the row; empty if it is that of A.
    pub name: String,
    /// The kind of side: `baseline`, `since mark`; empty if the name of the row says all.
    pub what: String,
    /// From when to when.
    pub period: (Nanos, Nanos),
    /// Deliveries, second by second.
    pub seconds: Vec<Second>,
    /// Bytes and deliveries.
    pub bytes: ByteSum,
}

/// The bytes of a row and the deliveries that they belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteSum {
    /// Bytes on the wire.
    pub bytes: u64,
    /// Deliveries.
    pub deliveries: u64,
}

impl ByteSum {
    /// Those of a row since the beginning.
    pub fn of(group: &Group) -> ByteSum {
        let overhead = &group.overhead;
        ByteSum { bytes: overhead.total(), deliveries: overhead.deliveries }
    }

    /// The bytes and deliveries that were added since an earlier time.
    pub fn since(self, earlier: ByteSum) -> ByteSum {
        ByteSum {
            bytes: self.bytes.saturating_sub(earlier.bytes),
            deliveries: self.deliveries.saturating_sub(earlier.deliveries),
        }
    }

    /// Bytes a delivery; `None` without deliveries.
    pub fn each(self) -> Option<f64> {
        (self.deliveries > 0).then(|| self.bytes as f64 / self.deliveries as f64)
    }
}

impl SidePeriod {
    /// The messages of each second.
    pub fn counts(&self) -> Vec<u64> {
        self.seconds.iter().map(|second| second.one_way.count()).collect()
    }

    /// All messages.
    pub fn messages(&self) -> u64 {
        self.counts().into_iter().fold(0, u64::saturating_add)
    }

    /// The legs and segments that any message had, in the order of a message's life.
    pub fn segments(&self) -> Vec<(usize, Segment)> {
        let all = self.seconds.iter().flat_map(|second| &second.segments);
        let mut keys: Vec<(usize, Segment)> =
            all.map(|(leg, segment, _)| (*leg, *segment)).collect();
        sort(&mut keys);
        keys
    }
}

/// Puts legs and segments into the order of a message's life, each once. The dwell lies before the leg that it counts to.
pub fn sort(keys: &mut Vec<(usize, Segment)>) {
    keys.sort_by_key(|(leg, segment)| (*leg, *segment != Segment::BrokerDwell, *segment));
    keys.dedup();
}

/// The sum of one distribution of some seconds.
pub fn merged(seconds: &[Second], of: impl Fn(&Second) -> &Bins) -> Bins {
    seconds.iter().fold(Bins::default(), |mut all, second| {
        all.merge(of(second));
        all
    })
}
