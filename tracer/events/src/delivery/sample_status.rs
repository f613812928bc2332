//! Status of a delivery: counted, or the reason why not.

use super::Delivery;
use crate::Stage;
use crate::all_variants;
use strum::{IntoStaticStr, VariantArray};

/// Status of a delivery: in the figures of its result, or the reason why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum SampleStatus {
    /// The delivery was followed from its first send to its last read, and is in every figure.
    Counted,
    /// The delivery was followed, and the same message had been delivered before.
    Duplicate,
    /// The delivery belongs to the warm-up.
    #[strum(serialize = "warmup")]
    WarmUp,
    /// The call that read it was not seen.
    ReadNotSeen,
    /// The read was seen, and an end of one of its legs was not, so that its times may be those of another leg.
    LegIncomplete,
    /// The delivery's times contradict each other: it was read before it was sent.
    TimeBackwards,
}

impl SampleStatus {
    /// All of them.
    pub const ALL: [SampleStatus; SampleStatus::VARIANTS.len()] = all_variants();

    /// Why a delivery was not followed from end to end.
    pub fn of_uncovered(delivery: &Delivery) -> SampleStatus {
        let read = delivery.legs.last().and_then(|leg| leg.times.get(Stage::Read));
        match (read, delivery.one_way()) {
            (None, _) => SampleStatus::ReadNotSeen,
            (Some(_), None) => SampleStatus::TimeBackwards,
            (Some(_), Some(_)) => SampleStatus::LegIncomplete,
        }
    }

    /// True if the times of the delivery are complete, so that its segments add up to its latency.
    pub fn is_followed(self) -> bool {
        matches!(self, SampleStatus::Counted | SampleStatus::Duplicate)
    }

    /// The name in files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
