//! Messages that ought to have arrived by now, and who holds them up.

use super::clause::{Circumstance, Clause, Remedy};
use super::explanation::{Severity, Verdict, Why};
use super::kind::VerdictKind;
use super::quotas;
use super::rules::sort;
use super::setting::Setting;
use super::timeline::Period;
use super::whereabouts::{Overdue, Whereabouts};
use wirelap_events::{Nanos, OffCpuReason, Segment, ThreadActivity};

impl Why {
    /// Takes in what is open at `now`, and names who holds it up.
    pub(crate) fn hold_up(&mut self, open: Vec<Overdue>, setting: &Setting, now: Nanos) {
        // What a broker has for a reader that does not read is not the broker's doing.
        let reader_is_it = open.iter().any(|one| one.place == Whereabouts::ReaderQueue);
        for one in &open {
            if reader_is_it && one.place == Whereabouts::Broker {
                continue;
            }
            let Some(verdict) = verdict(one, setting, now) else { continue };
            let same = self.verdicts.iter_mut().find(|known| {
                known.kind == verdict.kind
                    && known.process.map(|(task, _)| task.pid)
                        == verdict.process.map(|(task, _)| task.pid)
            });
            match same {
                Some(known) => {
                    known.severity = Severity::Problem;
                    known.open = verdict.open;
                    known.evidence.splice(0..0, verdict.evidence);
                    if let Some(period) = &mut known.period {
                        period.ended = None;
                    }
                }
                None => self.verdicts.push(verdict),
            }
        }
        self.open = open;
        sort(&mut self.verdicts);
    }
}

fn verdict(open: &Overdue, setting: &Setting, now: Nanos) -> Option<Verdict> {
    let (kind, segment) = kind(open)?;
    let throttled = setting
        .throttled
        .iter()
        .filter(|_| open.activity == Some(ThreadActivity::Running))
        .find(|one| {
            quotas::is_often(one) && open.process.is_some_and(|(task, _)| task.pid == one.task.pid)
        });
    let kind = throttled.map_or(kind, |_| VerdictKind::CpuThrottled);
    let at_broker = matches!(open.place, Whereabouts::BrokerQueue | Whereabouts::Broker);
    let rest = match open.activity {
        Some(ThreadActivity::Stopped) => Some(OffCpuReason::Stopped),
        Some(ThreadActivity::Blocked) => Some(OffCpuReason::Blocked),
        Some(ThreadActivity::Asleep) => Some(OffCpuReason::Asleep),
        Some(ThreadActivity::Running) | None => None,
    };
    let activity = open.activity.filter(|_| open.place != Whereabouts::Network);
    // A thread without quota looks as one that runs.
    let doing = match throttled {
        Some(one) => quotas::used_up(setting, one.cgroup),
        None => activity.map(Clause::Activity),
    };
    let evidence = std::iter::once(Clause::Overdue(*open)).chain(doing).collect();
    let usual = Remedy::Usual(Circumstance { segment, at_broker, rest, dropped: None });
    let remedy = throttled.map_or(usual, |one| quotas::remedy(setting, one.cgroup));
    let began = setting.since.map(|since| now - open.oldest - since);
    Some(Verdict {
        leg: Some(open.leg),
        segment: Some(segment),
        process: open.process,
        period: began.map(|began| Period { began, ended: None, times: 1 }),
        open: Some(*open),
        evidence,
        remedy,
        ..Verdict::new(kind, Severity::Problem)
    })
}

/// Whose doing it is, as far as what the process does tells. `None` where that is not known: a broker that sleeps may have
/// done with what it read.
fn kind(open: &Overdue) -> Option<(VerdictKind, Segment)> {
    let runs = open.activity == Some(ThreadActivity::Running);
    let is_off = matches!(open.activity, Some(ThreadActivity::Stopped | ThreadActivity::Blocked));
    Some(match open.place {
        // What left one socket of this host and is not in the other was lost, and TCP sends it again.
        Whereabouts::Network => (VerdictKind::Retransmission, Segment::StackRx),
        Whereabouts::BrokerQueue if runs => (VerdictKind::BrokerCpuBound, Segment::Busy),
        Whereabouts::BrokerQueue => (VerdictKind::BrokerStalled, Segment::Wakeup),
        Whereabouts::Broker if is_off => (VerdictKind::BrokerStalled, Segment::BrokerDwell),
        Whereabouts::Broker => return None,
        Whereabouts::Unasked if is_off => (VerdictKind::ClientStalled, Segment::BrokerDwell),
        Whereabouts::Unasked => (VerdictKind::FetchWait, Segment::BrokerDwell),
        Whereabouts::ReaderQueue if runs => (VerdictKind::ReaderBusy, Segment::Busy),
        Whereabouts::ReaderQueue => (VerdictKind::ClientStalled, Segment::Wakeup),
    })
}
