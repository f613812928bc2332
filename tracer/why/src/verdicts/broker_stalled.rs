//! The broker's thread slept, or was stopped, while it had the message.
//!
//! The cause is found by the times off the CPU of its threads between the read of a message and its send, or while data was there for it. A
//! thread that waits for others of its process, which wait for a CPU, is not what has to be mended: that is a note.

use super::run_queue_contention;
use crate::clause::Clause;
use crate::definition::{Definition, Nature};
use crate::finding::Finding;
use wirelap_events::SleepCall;
use wirelap_limits::kinds::BROKER_STALLED;

pub const DEFINITION: Definition = Definition {
    limits: Some(BROKER_STALLED),
    nature: Nature::Stall,
    is_note: |case| case.slept_for_others() && run_queue_contention::is_behind(case),
    facts: |case| case.often_and(off_cpu(case.finding)),
    ..Definition::USUAL
};

/// The clause for how a thread was off the CPU, or which other one it waited for.
pub fn off_cpu(finding: &Finding) -> Option<Clause> {
    let (reason, sleep) = finding.longest.rest?;
    if let (Some(holder), Some(task)) = (finding.longest.holder, finding.longest.task)
        && holder.task != task
    {
        let (waited, is_own) = (finding.longest.time, holder.task.pid == task.pid);
        return Some(if sleep == SleepCall::Timer {
            Clause::HolderSlept { waited, holder, is_own }
        } else {
            Clause::HolderBlocked { waited, holder, is_own }
        });
    }
    Some(Clause::OffCpu(reason, sleep))
}

#[cfg(test)]
mod tests {
    use super::super::lock_wait::let_go;
    use super::*;
    use crate::finding::LongestPart;
    use wirelap_events::{Holder, OffCpuReason, Pid, TaskId, Tid};

    #[test]
    fn nobody_is_said_to_wait_for_himself() {
        let task = |tid| TaskId { pid: Pid(7), tid: Tid(tid) };
        let rest = (OffCpuReason::Blocked, SleepCall::Unknown);
        let behind = |tid| Finding {
            longest: LongestPart {
                task: Some(task(1)),
                holder: Some(Holder { task: task(tid), ..Holder::default() }),
                rest: Some(rest),
                ..LongestPart::default()
            },
            ..Finding::default()
        };
        assert!(matches!(let_go(&behind(2)), Some(Clause::LetGo { is_own: true, .. })));
        assert_eq!(let_go(&behind(1)), None);
        assert!(matches!(off_cpu(&behind(2)), Some(Clause::HolderBlocked { .. })));
        assert_eq!(off_cpu(&behind(1)), Some(Clause::OffCpu(rest.0, rest.1)));
    }
}
