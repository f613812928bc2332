//! Packets waited in the qdisc, or bytes in the socket behind them.
//!
//! The cause is found by the time between the qdisc and the device.

use crate::clause::Clause;
use crate::definition::{Definition, InStartUp};
use wirelap_events::LinkQueue;
use wirelap_limits::kinds::QDISC_QUEUEING;

pub const DEFINITION: Definition = Definition {
    limits: Some(QDISC_QUEUEING),
    in_start_up: InStartUp::Never,
    is_of_load: true,
    facts: |case| {
        let queue = case.finding.longest.circumstances.path.qdisc_queue;
        case.often_and(
            queue.map(|LinkQueue { longest, rate, .. }| Clause::QueueInQdisc { longest, rate }),
        )
    },
    ..Definition::USUAL
};
