//! The reader was at work on something else when the data came, or before it asked for it.
//!
//! The cause is found where its thread was awake and on a CPU. A process that had a CPU for less time than that did not work:
//! where its threads wait for a CPU, that is a note. So is work that is little beside the waits for a CPU, and much without them.

use super::{fetch_wait, run_queue_contention};
use crate::definition::{Bearer, Definition, InStartUp, Nature};
use wirelap_limits::kinds::READER_BUSY;

pub const DEFINITION: Definition = Definition {
    limits: Some(READER_BUSY),
    nature: Nature::Work,
    in_start_up: InStartUp::Usually,
    bearer: Bearer::Reader,
    is_of_load: true,
    is_note: |case| case.cannot_have_worked() && run_queue_contention::is_behind(case),
    facts: |case| {
        let late = fetch_wait::asked_late(case.finding);
        case.often_and(late.into_iter().chain(case.busy()))
    },
    ..Definition::USUAL
};

#[cfg(test)]
mod tests {
    use crate::evidence::Evidence;
    use crate::explanation::Severity;
    use crate::kind::VerdictKind;
    use crate::rules::tests::{MS, Made, take, task};
    use wirelap_events::Nanos;
    use wirelap_flow::CpuTime;

    /// Returns how grave it is that each tenth message waits 20 ms for a reader that had a CPU for 1 ms in all, if each so-many-th waits as
    /// long for a CPU at it.
    fn not_at_work(every: u64) -> Option<Severity> {
        let mut evidence = Evidence::default();
        let time = CpuTime { share: 0.0, at_most: Nanos(MS) };
        evidence.setting.busy.insert(task(2).tid, time);
        for n in 0..1_000 {
            let busy_us = u64::from(n % 10 == 5) * 20_000;
            let waited_us = u64::from(n % every == 3) * 20_000;
            take(
                &mut evidence,
                &Made { at_ms: n * 100, busy_us, waited_us, holder: 9, ..Made::default() },
            );
        }
        let why = evidence.explain();
        why.verdicts.iter().find(|v| v.kind == VerdictKind::Unexplained).map(|v| v.severity)
    }

    /// Returns how grave it is that each tenth message waits for a reader that works so long and waits for a CPU so long.
    fn at_work(busy_ms: u64, waited_ms: u64) -> Option<Severity> {
        let mut evidence = Evidence::default();
        for n in 0..1_000 {
            let slow = u64::from(n % 10 == 5) * 1_000;
            let (busy_us, waited_us) = (slow * busy_ms, slow * waited_ms);
            take(
                &mut evidence,
                &Made { at_ms: n * 200, busy_us, waited_us, holder: 9, ..Made::default() },
            );
        }
        let why = evidence.explain();
        why.verdicts.iter().find(|v| v.kind == VerdictKind::ReaderBusy).map(|v| v.severity)
    }

    #[test]
    fn work_is_not_hidden_by_waits_for_a_cpu() {
        assert_eq!(at_work(40, 20), Some(Severity::Problem));
        assert_eq!(at_work(30, 90), Some(Severity::Note));
        assert_eq!(at_work(1, 90), None);
    }

    #[test]
    fn what_was_no_work_of_a_thread_without_a_cpu_is_no_other_problem() {
        assert_eq!(not_at_work(5), Some(Severity::Note));
        assert_eq!(not_at_work(40), Some(Severity::Problem));
    }
}
