//! A thread slept until another thread let go of a lock, or another process woke it.
//!
//! The cause is found by who woke the thread, and from which call. A holder that hardly had a CPU meanwhile, in a process whose threads wait
//! for one, is not what has to be mended: that is a note.

use super::run_queue_contention;
use crate::clause::Clause;
use crate::definition::{Definition, Nature};
use crate::finding::Finding;
use wirelap_limits::kinds::LOCK_WAIT;
use wirelap_limits::rules::AT_WORK_DIVISOR;

pub const DEFINITION: Definition = Definition {
    limits: Some(LOCK_WAIT),
    nature: Nature::ThreadWait,
    has_culprits: true,
    is_note: |case| {
        let longest = case.finding.longest.time.0;
        let holder = case.finding.longest.holder;
        let is_idle = holder.is_some_and(|holder| holder.held.0 <= longest / AT_WORK_DIVISOR);
        is_idle && run_queue_contention::is_behind(case)
    },
    facts: |case| case.often_and(let_go(case.finding)),
    ..Definition::USUAL
};

/// The longest wait for another thread. Where a thread before it waited for the one that is named, that one did not wait for itself.
pub fn let_go(finding: &Finding) -> Option<Clause> {
    let (holder, task) = (finding.longest.holder?, finding.longest.task?);
    if holder.task == task {
        return None;
    }
    let is_own = holder.task.pid == task.pid;
    Some(Clause::LetGo { waited: finding.longest.time, holder, is_own })
}
