//! The reader was at work on something else when the data came, or before it asked for it.
//!
//! It is found where its thread was awake and on a CPU. A process that had a CPU for less time than that did not work.

use super::fetch_wait;
use crate::limits::kinds::READER_BUSY;
use crate::why::definition::{Bearer, Definition, InStartUp, Nature};

pub const DEFINITION: Definition = Definition {
    limits: Some(READER_BUSY),
    nature: Nature::Work,
    in_start_up: InStartUp::Usually,
    bearer: Bearer::Reader,
    is_of_load: true,
    facts: |case| {
        let late = fetch_wait::asked_late(case.finding);
        case.often_and(late.into_iter().chain(case.busy()))
    },
    ..Definition::USUAL
};
