//! Verdicts held against what the processes are known to have done.

use super::explanation::{Verdict, VerdictKind as Kind, Why};
use crate::snapshot::Group;
use wirelap_events::{Nanos, Pid};

/// A process that is on a CPU for less than this share of the time is not at work whenever a message comes.
const AT_REST: f64 = 0.015;

/// A cause of this part of the typical message's time was there most of the time.
const MOST_OF_THE_TIME: f64 = 0.2;

/// In nanoseconds.
const SECOND: f64 = 1e9;

impl Why {
    /// Takes back what the CPU time of a process contradicts: one that was hardly ever on a CPU was not at work when the
    /// typical message came. `cpu_share` is CPU time over the time in which there were messages, where it is known.
    pub fn hold_against(&mut self, cpu_share: impl Fn(Pid) -> Option<f64>) {
        for verdict in &mut self.verdicts {
            let share = verdict.process.and_then(|(task, _)| cpu_share(task.pid));
            if let Some(share) = share.filter(|&share| share < AT_REST)
                && claims_work(verdict, share)
            {
                take_back(verdict, share);
            }
        }
    }
}

impl Group {
    /// Holds the verdicts against the processes, once their CPU time is filled in. It is that of the seconds with messages:
    /// who works for a burst now and then is busy when its messages come.
    pub fn check_verdicts(&mut self) {
        let seconds = self.history.iter();
        let active = seconds.filter(|second| second.delivered > 0).count().max(1);
        let times = (self.history.len() as f64 / active as f64).max(1.0);
        let processes = &self.processes;
        self.why.hold_against(|pid| {
            let share = processes.iter().find(|process| process.pid == pid)?.cpu_share?;
            Some(share * times)
        });
    }
}

/// Whether it says that the typical message waited for more of somebody's work than there was in a second.
fn claims_work(verdict: &Verdict, share: f64) -> bool {
    matches!(verdict.kind, Kind::ReaderBusy | Kind::BrokerCpuBound)
        && verdict.median_share >= MOST_OF_THE_TIME
        && verdict.median > Nanos::from_f64(share * SECOND)
}

fn take_back(verdict: &mut Verdict, share: f64) {
    verdict.kind = Kind::Unexplained;
    verdict.evidence.truncate(1);
    verdict.evidence.push(format!(
        "its reader was not waiting in a receive call, and its process was on a CPU {:.1} % of the time: it was not at \
         work, and what it waited for was not seen",
        share * 100.0
    ));
    verdict.remedy =
        "look at what the process waits for outside its receive call: a lock, a disk, a sleep, \
                      another service"
            .into();
}

#[cfg(test)]
mod tests {
    use super::super::explanation::Severity;
    use super::*;
    use crate::snapshot::{HistoryPoint, Process};
    use wirelap_events::{Comm, Segment, TaskId, Tid};

    fn held(kind: Kind, median_share: f64, cpu: Option<f64>) -> Verdict {
        let verdict = Verdict {
            leg: Some(1),
            segment: Some(Segment::Busy),
            process: Some((TaskId { pid: Pid(7), tid: Tid(7) }, Comm::default())),
            median: Nanos::from_millis(20),
            median_share,
            evidence: vec!["90 % of the messages".into(), "thread 7 was on a CPU".into()],
            remedy: "give it less to do".into(),
            ..Verdict::new(kind, Severity::Problem)
        };
        let mut why = Why { verdicts: vec![verdict], ..Why::default() };
        why.hold_against(|pid| cpu.filter(|_| pid == Pid(7)));
        why.verdicts.remove(0)
    }

    #[test]
    fn a_process_at_rest_is_not_busy() {
        let verdict = held(Kind::ReaderBusy, 0.97, Some(0.004));
        assert_eq!((verdict.kind, verdict.severity), (Kind::Unexplained, Severity::Problem));
        assert!(verdict.evidence[1].contains("on a CPU 0.4 % of the time"), "{verdict:?}");
        assert_eq!(verdict.evidence[0], "90 % of the messages");
    }

    #[test]
    fn what_is_not_contradicted_stands() {
        assert_eq!(held(Kind::ReaderBusy, 0.97, Some(0.5)).kind, Kind::ReaderBusy);
        assert_eq!(held(Kind::ReaderBusy, 0.97, None).kind, Kind::ReaderBusy);
        // Work that holds up few messages takes little of the time.
        assert_eq!(held(Kind::ReaderBusy, 0.0, Some(0.004)).kind, Kind::ReaderBusy);
        assert_eq!(held(Kind::ClientStalled, 0.97, Some(0.0)).kind, Kind::ClientStalled);
    }

    #[test]
    fn who_works_for_a_burst_now_and_then_is_busy_when_its_messages_come() {
        let kind = |active: u64| {
            let verdict = Verdict {
                process: Some((TaskId { pid: Pid(7), tid: Tid(7) }, Comm::default())),
                median: Nanos::from_millis(20),
                median_share: 0.9,
                ..Verdict::new(Kind::ReaderBusy, Severity::Problem)
            };
            let second =
                |n| HistoryPoint { delivered: u64::from(n < active), ..HistoryPoint::default() };
            let mut group = Group {
                processes: vec![Process {
                    pid: Pid(7),
                    cpu_share: Some(0.01),
                    ..Process::default()
                }],
                history: (0..60).map(second).collect(),
                why: Why { verdicts: vec![verdict], ..Why::default() },
                ..Group::default()
            };
            group.check_verdicts();
            group.why.verdicts[0].kind
        };
        assert_eq!(kind(6), Kind::ReaderBusy);
        assert_eq!(kind(60), Kind::Unexplained);
    }

    #[test]
    fn a_wait_that_is_shorter_than_the_work_of_a_second_may_be_for_it() {
        let share = |share| {
            let verdict = Verdict {
                process: Some((TaskId { pid: Pid(7), tid: Tid(7) }, Comm::default())),
                median: Nanos::from_millis(1),
                median_share: 0.9,
                ..Verdict::new(Kind::ReaderBusy, Severity::Problem)
            };
            let mut why = Why { verdicts: vec![verdict], ..Why::default() };
            why.hold_against(|_| Some(share));
            why.verdicts[0].kind
        };
        assert_eq!([0.002, 0.000_5].map(share), [Kind::ReaderBusy, Kind::Unexplained]);
    }
}
