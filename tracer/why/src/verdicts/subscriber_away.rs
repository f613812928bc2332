//! The subscriber was not connected, or had not subscribed, when the broker had the message.
//!
//! The cause is found by when the connection or the subscription that the message went to began. Where the broker itself had been gone, it is
//! `broker_away`; where another member of the group read before, `group_rebalance`. Clients that use one name at the same time are found by
//! the connections that their server closes.

use crate::absences;
use crate::clause::Clause;
use crate::definition::{Bearer, Definition};
use wirelap_limits::kinds::SUBSCRIBER_AWAY;

pub const DEFINITION: Definition = Definition {
    limits: Some(SUBSCRIBER_AWAY),
    bearer: Bearer::Reader,
    facts: |case| case.often_and([Clause::SubscribedLate]),
    add_of_row: |row, found| absences::of_names(row.evidence, found),
    ..Definition::USUAL
};
