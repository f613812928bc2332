//! Verdicts held against what the processes are known to have done.

use super::snapshot::Group;

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
        self.why.note_page_faults(|pid| {
            processes.iter().find(|process| process.pid == pid)?.major_faults
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::Process;
    use super::*;
    use wirelap_events::{Comm, Nanos, Pid, TaskId, Tid};
    use wirelap_figures::HistoryPoint;
    use wirelap_why::{Severity, Verdict, VerdictKind, Why};

    #[test]
    fn who_works_for_a_burst_now_and_then_is_busy_when_its_messages_come() {
        let kind = |active: u64| {
            let verdict = Verdict {
                process: Some((TaskId { pid: Pid(7), tid: Tid(7) }, Comm::default())),
                median: Nanos::from_millis(20),
                median_share: 0.9,
                ..Verdict::new(VerdictKind::ReaderBusy, Severity::Problem)
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
        assert_eq!(kind(6), VerdictKind::ReaderBusy);
        assert_eq!(kind(60), VerdictKind::Unexplained);
    }
}
