//! A client's thread slept, or was stopped, while data was there for it, before it asked for more, or before it acknowledged.
//!
//! The cause is found by the times off the CPU of the thread. A thread that waits for others of its process, which wait for a CPU, is not what
//! has to be mended: that is a note.

use super::{broker_stalled, fetch_wait, run_queue_contention};
use crate::definition::{Bearer, Definition, Nature};
use wirelap_limits::kinds::CLIENT_STALLED;

pub const DEFINITION: Definition = Definition {
    limits: Some(CLIENT_STALLED),
    nature: Nature::Stall,
    bearer: Bearer::ReaderOfDwell,
    is_note: |case| case.slept_for_others() && run_queue_contention::is_behind(case),
    facts: |case| {
        let late = fetch_wait::asked_late(case.finding);
        case.often_and(late.into_iter().chain(broker_stalled::off_cpu(case.finding)))
    },
    ..Definition::USUAL
};

#[cfg(test)]
mod tests {
    use crate::explanation::Severity;
    use crate::kind::VerdictKind;
    use crate::rules::tests::{Made, explained};
    use wirelap_events::SleepCall;

    #[test]
    fn who_waits_for_threads_that_have_no_cpu_is_not_stalled() {
        let stalled = |asleep_us: u64, slept_on: SleepCall| {
            let why = explained((0..1_000).map(|n| Made {
                at_ms: n * 100,
                waited_us: u64::from(n % 10 == 3) * 10_000,
                asleep_us: u64::from(n % 20 == 7) * asleep_us,
                holder: 9,
                slept_on: Some(slept_on),
                ..Made::default()
            }));
            let contended = why.verdicts.iter().any(|verdict| {
                (verdict.kind, verdict.severity)
                    == (VerdictKind::RunQueueContention, Severity::Problem)
            });
            assert!(contended, "{why:?}");
            let stalled =
                why.verdicts.iter().find(|verdict| verdict.kind == VerdictKind::ClientStalled);
            stalled.map(|verdict| verdict.severity)
        };
        assert_eq!(stalled(8_000, SleepCall::Lock), Some(Severity::Note));
        assert_eq!(stalled(8_000, SleepCall::Call), Some(Severity::Note));
        assert_eq!(stalled(8_000, SleepCall::Timer), Some(Severity::Problem));
        assert_eq!(
            stalled(30_000, SleepCall::Lock),
            Some(Severity::Problem),
            "it takes more than that"
        );
    }
}
