//! Bytes wait in a queue on the path: a link is slower than their sender.
//!
//! The cause is found by acknowledgements, or packets, that come all the time and late. It is no process's.

use crate::clause::Clause;
use crate::definition::{Bearer, Definition, InStartUp};
use wirelap_events::LinkQueue;
use wirelap_limits::kinds::BOTTLENECK_LINK;

pub const DEFINITION: Definition =
    Definition {
        limits: Some(BOTTLENECK_LINK),
        in_start_up: InStartUp::Never,
        bearer: Bearer::Nobody,
        is_of_load: true,
        facts: |case| {
            let queue = case.finding.longest.circumstances.path.queue;
            case.often_and(queue.map(|LinkQueue { longest, least, rate, .. }| {
                Clause::QueueOnPath { longest, least, rate }
            }))
        },
        ..Definition::USUAL
    };
