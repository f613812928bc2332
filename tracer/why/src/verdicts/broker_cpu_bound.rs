//! The broker's threads are busy all the time, or work long on many messages.
//!
//! The cause is found where a thread of the broker was awake, and on a CPU, while it had the message or while data was there for it. Long work on
//! a batch is one time, however many messages are in it. What cannot have been work, of a process whose threads wait for a CPU, is a note.

use super::run_queue_contention;
use crate::case::VerdictCase;
use crate::definition::{Definition, InStartUp, Nature};
use wirelap_limits::kinds::BROKER_CPU_BOUND;
use wirelap_limits::rules::{IDLE_CPU, LONG_WORK, RECURRING_WORK, SATURATED_CPU, VERY_LONG_WORK};

pub const DEFINITION: Definition = Definition {
    limits: Some(BROKER_CPU_BOUND),
    nature: Nature::Work,
    in_start_up: InStartUp::Usually,
    is_of_load: true,
    is_grave: is_short_of_cpu,
    is_note: |case| case.cannot_have_worked() && run_queue_contention::is_behind(case),
    facts: |case| case.often_and(case.busy()),
    ..Definition::USUAL
};

/// True if the broker works all the time, or long and often, or very long.
fn is_short_of_cpu(case: &VerdictCase<'_>) -> bool {
    let (cost, messages) = (case.cost, case.row.measured.messages());
    let busy = case.cpu_time().unwrap_or_default().share;
    let recurs = case.finding.hit_times as f64 >= messages as f64 * RECURRING_WORK;
    busy >= SATURATED_CPU
        || busy >= IDLE_CPU && cost.median >= LONG_WORK.0 as f64
        || cost.median >= VERY_LONG_WORK.0 as f64
        || cost.each() >= VERY_LONG_WORK.0 as f64 && recurs
}
