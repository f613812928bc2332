//! The broker was gone, and with it the connection of the subscriber, which came back after it; or it died, perhaps for good.
//!
//! Messages that waited meanwhile are found as those of `subscriber_away`. The end of a server is found by its process and its
//! connections (`absences`): it is a note where somebody meant it and nobody misses it.

use crate::absences;
use crate::clause::Clause;
use crate::definition::Definition;
use wirelap_limits::kinds::BROKER_AWAY;

pub const DEFINITION: Definition = Definition {
    limits: Some(BROKER_AWAY),
    facts: |case| case.often_and([Clause::CameBackAfterBroker]),
    add_of_row: |row, found| absences::of_servers(row.evidence, found),
    ..Definition::USUAL
};
