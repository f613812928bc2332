//! Verdicts held against what the processes are known to have done.

use super::clause::{Clause, Remedy};
use super::definition::Nature;
use super::explanation::{Verdict, Why};
use super::kind::VerdictKind;
use wirelap_events::{Nanos, Pid};
use wirelap_limits::SECOND;
use wirelap_limits::rules::{CPU_AT_REST, MANY_PAGE_FAULTS, THERE_MOSTLY};

impl Why {
    /// Takes back what the CPU time of a process contradicts: one that was hardly ever on a CPU was not at work when the
    /// typical message came. `cpu_share` is CPU time over the time in which there were messages, where it is known.
    pub fn hold_against(&mut self, cpu_share: impl Fn(Pid) -> Option<f64>) {
        for verdict in &mut self.verdicts {
            let share = verdict.process.and_then(|(task, _)| cpu_share(task.pid));
            if let Some(share) = share.filter(|&share| share < CPU_AT_REST)
                && claims_work(verdict, share)
            {
                take_back(verdict, share);
            }
        }
    }

    /// Says of processes that sleep, work or wait for locks that they lack memory, by their major page faults in a second, where these are
    /// known.
    pub fn note_page_faults(&mut self, major_faults: impl Fn(Pid) -> Option<f64>) {
        for verdict in &mut self.verdicts {
            let is_of_thread =
                matches!(verdict.kind.definition().nature, Nature::Work | Nature::Stall)
                    || matches!(verdict.kind, VerdictKind::LockWait | VerdictKind::Unexplained);
            let faults = verdict.process.and_then(|(task, _)| major_faults(task.pid));
            if let Some(per_second) =
                faults.filter(|&faults| is_of_thread && faults >= MANY_PAGE_FAULTS)
            {
                verdict.evidence.push(Clause::PageFaults { per_second });
            }
        }
    }
}

/// True if the verdict says that the typical message waited for more of somebody's work than there was in
/// a second.
fn claims_work(verdict: &Verdict, share: f64) -> bool {
    verdict.kind.definition().nature == Nature::Work
        && verdict.median_share >= THERE_MOSTLY
        && verdict.median > Nanos::from_f64(share * SECOND.0 as f64)
}

/// Whoever was on a CPU for this share of the time did not work on it: what it was is not known.
pub fn take_back(verdict: &mut Verdict, share: f64) {
    verdict.kind = VerdictKind::Unexplained;
    verdict.evidence.truncate(1);
    verdict.evidence.push(Clause::NotAtWork(share));
    verdict.remedy = Remedy::OutsideReceive;
}

#[cfg(test)]
mod tests {
    use super::super::explanation::Severity;
    use super::*;
    use wirelap_events::{Comm, Segment, TaskId, Tid};

    fn held(kind: VerdictKind, median_share: f64, cpu: Option<f64>) -> Verdict {
        let verdict = Verdict {
            leg: Some(1),
            segment: Some(Segment::Busy),
            process: Some((TaskId { pid: Pid(7), tid: Tid(7) }, Comm::default())),
            median: Nanos::from_millis(20),
            median_share,
            evidence: vec![Clause::CpuIdle, Clause::Busy { tid: Tid(7), share: 0.9 }],
            ..Verdict::new(kind, Severity::Problem)
        };
        let mut why = Why { verdicts: vec![verdict], ..Why::default() };
        why.hold_against(|pid| cpu.filter(|_| pid == Pid(7)));
        why.verdicts.remove(0)
    }

    #[test]
    fn a_process_at_rest_is_not_busy() {
        let verdict = held(VerdictKind::ReaderBusy, 0.97, Some(0.004));
        assert_eq!((verdict.kind, verdict.severity), (VerdictKind::Unexplained, Severity::Problem));
        assert_eq!(verdict.evidence, [Clause::CpuIdle, Clause::NotAtWork(0.004)]);
        assert_eq!(verdict.remedy, Remedy::OutsideReceive);
    }

    #[test]
    fn who_waits_for_pages_of_memory_is_told() {
        let told = |kind, faults| {
            let process = Some((TaskId { pid: Pid(7), tid: Tid(7) }, Comm::default()));
            let verdict = Verdict { process, ..Verdict::new(kind, Severity::Problem) };
            let mut why = Why { verdicts: vec![verdict], ..Why::default() };
            why.note_page_faults(|pid| (pid == Pid(7)).then_some(faults));
            why.verdicts.remove(0).evidence
        };
        let faults = Clause::PageFaults { per_second: 40.0 };
        assert_eq!(told(VerdictKind::BrokerStalled, 40.0), [faults]);
        assert_eq!(told(VerdictKind::BrokerStalled, 0.5), [], "it has started");
        assert_eq!(told(VerdictKind::QdiscQueueing, 40.0), []);
    }

    #[test]
    fn what_is_not_contradicted_stands() {
        assert_eq!(held(VerdictKind::ReaderBusy, 0.97, Some(0.5)).kind, VerdictKind::ReaderBusy);
        assert_eq!(held(VerdictKind::ReaderBusy, 0.97, None).kind, VerdictKind::ReaderBusy);
        // Work that holds up few messages takes little of the time.
        assert_eq!(held(VerdictKind::ReaderBusy, 0.0, Some(0.004)).kind, VerdictKind::ReaderBusy);
        assert_eq!(
            held(VerdictKind::ClientStalled, 0.97, Some(0.0)).kind,
            VerdictKind::ClientStalled
        );
    }

    #[test]
    fn a_wait_that_is_shorter_than_the_work_of_a_second_may_be_for_it() {
        let share = |share| {
            let verdict = Verdict {
                process: Some((TaskId { pid: Pid(7), tid: Tid(7) }, Comm::default())),
                median: Nanos::from_millis(1),
                median_share: 0.9,
                ..Verdict::new(VerdictKind::ReaderBusy, Severity::Problem)
            };
            let mut why = Why { verdicts: vec![verdict], ..Why::default() };
            why.hold_against(|_| Some(share));
            why.verdicts[0].kind
        };
        assert_eq!(
            [0.002, 0.000_5].map(share),
            [VerdictKind::ReaderBusy, VerdictKind::Unexplained]
        );
    }
}
