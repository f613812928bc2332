//! No member of the subscriber's group read the part of the log that has the message: it went from one member to another.
//!
//! The cause is found where a consumer begins to read what another member of its group read before. It is its group's, and so no process's.

use crate::clause::Clause;
use crate::definition::{Bearer, Definition};
use wirelap_limits::kinds::GROUP_REBALANCE;

pub const DEFINITION: Definition = Definition {
    limits: Some(GROUP_REBALANCE),
    bearer: Bearer::Nobody,
    facts: |case| case.often_and([Clause::HandedOver]),
    ..Definition::USUAL
};
