//! Messages that ought to have arrived by now, and who holds them up.

use super::clause::{Circumstance, Clause, Remedy};
use super::explanation::{Severity, Verdict, Why};
use super::kind::VerdictKind;
use super::rules::sort;
use super::setting::{Setting, Throttled};
use super::timeline::Period;
use super::verdicts::cpu_throttled as quotas;
use super::whereabouts::{Overdue, Whereabouts};
use wirelap_events::{Nanos, OffCpuReason, Segment, ThreadActivity};
use wirelap_protocols::{Protocol, by_name};

impl Why {
    /// Takes in what is open at `now`, and names who holds it up.
    pub fn hold_up(&mut self, open: Vec<Overdue>, setting: &Setting, now: Nanos) {
        let told = open.iter().filter(|one| !is_kept_for_reader(one));
        for verdict in told.filter_map(|one| verdict(one, setting, now)) {
            let pid = |verdict: &Verdict| verdict.process.map(|(task, _)| task.pid);
            let is_same =
                |known: &&mut Verdict| known.kind == verdict.kind && pid(known) == pid(&verdict);
            let Some(known) = self.verdicts.iter_mut().find(is_same) else {
                self.verdicts.push(verdict);
                continue;
            };
            known.severity = Severity::Problem;
            known.open = verdict.open;
            let is_new = |clause: &Clause| !known.evidence.contains(clause);
            let new: Vec<_> = verdict.evidence.into_iter().filter(is_new).collect();
            known.evidence.splice(0..0, new);
            if let Some(period) = &mut known.period {
                period.ended = None;
            }
        }
        self.open = open;
        sort(&mut self.verdicts, self.messages);
    }
}

/// True if a broker has messages for a reader that does not read, which is not the broker's doing, unless it is stopped or blocked
/// itself. Who does not read cannot acknowledge.
fn is_kept_for_reader(open: &Overdue) -> bool {
    let is_at_broker = match open.place {
        Whereabouts::Broker => !is_off(open),
        place => place == Whereabouts::Unacknowledged,
    };
    is_at_broker && open.is_for_busy_readers
}

/// True if the process that has the messages is stopped or blocked.
fn is_off(open: &Overdue) -> bool {
    matches!(open.activity, Some(ThreadActivity::Stopped | ThreadActivity::Blocked))
}

fn verdict(open: &Overdue, setting: &Setting, now: Nanos) -> Option<Verdict> {
    let throttled = throttled(open, setting);
    let in_turn = by_name(setting.protocol).is_some_and(Protocol::answers_in_turn);
    // What may still be on its way is held up by its reader only if that cannot run at all.
    let is_proven = open.are_seen_there || is_off(open);
    // Until it has answered an earlier request, it is meant to read nothing: what holds that one up is not known.
    let known = kind(open)
        .filter(|&(kind, _)| is_proven && (!in_turn || kind != VerdictKind::Backpressure));
    let (kind, segment) = match (known, throttled) {
        (known, Some(_)) => {
            (VerdictKind::CpuThrottled, known.map_or(Segment::BrokerDwell, |(_, segment)| segment))
        }
        (known, None) => known?,
    };
    let activity = open.activity.filter(|_| open.place != Whereabouts::Network);
    // A thread without quota looks as one that runs.
    let doing = match throttled {
        Some(one) => quotas::used_up(setting, one.cgroup),
        None => activity.map(Clause::Activity),
    };
    let remedy = match throttled {
        Some(one) => quotas::remedy(setting, one.cgroup),
        None => Remedy::Usual(circumstance(open, segment)),
    };
    let began = setting.since.map(|since| now - open.oldest - since);
    Some(Verdict {
        leg: Some(open.leg),
        segment: Some(segment),
        process: open.process,
        period: began.map(|began| Period { began, ended: None, times: 1 }),
        open: Some(*open),
        evidence: std::iter::once(Clause::Overdue(*open)).chain(doing).collect(),
        remedy,
        ..Verdict::new(kind, Severity::Problem)
    })
}

/// The wait for quota of the process that has overdue messages, if it waits often.
fn throttled<'s>(open: &Overdue, setting: &'s Setting) -> Option<&'s Throttled> {
    // On the network, the process is the one that sent them.
    let is_here = open.place != Whereabouts::Network;
    let could_run =
        matches!(open.activity, Some(ThreadActivity::Runnable | ThreadActivity::Running));
    let (task, _) = open.process.filter(|_| is_here && could_run)?;
    setting.throttled.iter().find(|one| one.task.pid == task.pid && quotas::is_often(one))
}

/// The circumstances on which the remedy depends.
fn circumstance(open: &Overdue, segment: Segment) -> Circumstance {
    let at_broker = matches!(
        open.place,
        Whereabouts::BrokerQueue
            | Whereabouts::Throttled
            | Whereabouts::LeftUnread
            | Whereabouts::Broker
    );
    let rest = open.activity.and_then(|activity| match activity {
        ThreadActivity::Stopped => Some(OffCpuReason::Stopped),
        ThreadActivity::Blocked => Some(OffCpuReason::Blocked),
        ThreadActivity::Asleep => Some(OffCpuReason::Asleep),
        ThreadActivity::Runnable | ThreadActivity::Running => None,
    });
    Circumstance { segment, at_broker, rest, dropped: None }
}

/// The verdict for overdue messages, as far as the activity of the process that has them tells. `None` where it does not:
/// a broker that sleeps may be done with what it read.
fn kind(open: &Overdue) -> Option<(VerdictKind, Segment)> {
    let runs = open.activity == Some(ThreadActivity::Running);
    let has_no_cpu = open.activity == Some(ThreadActivity::Runnable);
    let is_off = is_off(open);
    Some(match open.place {
        // What left one socket of this host and is not in the other was lost, and TCP sends it again.
        Whereabouts::Network => (VerdictKind::Retransmission, Segment::StackRx),
        Whereabouts::Throttled => (VerdictKind::ClientThrottled, Segment::Wakeup),
        Whereabouts::Broker | Whereabouts::Unasked | Whereabouts::Unacknowledged if has_no_cpu => {
            (VerdictKind::RunQueueContention, Segment::BrokerDwell)
        }
        _ if has_no_cpu => (VerdictKind::RunQueueContention, Segment::RunQueue),
        Whereabouts::BrokerQueue | Whereabouts::LeftUnread if runs => {
            (VerdictKind::BrokerCpuBound, Segment::Busy)
        }
        Whereabouts::LeftUnread if !is_off => (VerdictKind::Backpressure, Segment::Wakeup),
        Whereabouts::BrokerQueue | Whereabouts::LeftUnread => {
            (VerdictKind::BrokerStalled, Segment::Wakeup)
        }
        Whereabouts::Broker if is_off => (VerdictKind::BrokerStalled, Segment::BrokerDwell),
        Whereabouts::Broker => return None,
        Whereabouts::Unasked | Whereabouts::Unacknowledged if is_off => {
            (VerdictKind::ClientStalled, Segment::BrokerDwell)
        }
        Whereabouts::Unasked | Whereabouts::Unacknowledged => {
            (VerdictKind::FetchWait, Segment::BrokerDwell)
        }
        Whereabouts::ReaderQueue if runs => (VerdictKind::ReaderBusy, Segment::Busy),
        Whereabouts::ReaderQueue => (VerdictKind::ClientStalled, Segment::Wakeup),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{CgroupId, Comm, Pid, TaskId, Tid};

    /// The verdict about a process that ran a moment ago, and had waited so long for quota in ten
    /// seconds.
    fn said(place: Whereabouts, waited_ms: u64) -> Option<VerdictKind> {
        said_of(place, waited_ms, ThreadActivity::Running)
    }

    fn said_of(
        place: Whereabouts,
        waited_ms: u64,
        activity: ThreadActivity,
    ) -> Option<VerdictKind> {
        let task = TaskId { pid: Pid(7), tid: Tid(7) };
        let open = Overdue {
            messages: 3,
            oldest: Nanos::from_millis(2_000),
            place,
            leg: 2,
            process: Some((task, Comm::default())),
            are_seen_there: true,
            is_for_busy_readers: false,
            activity: Some(activity),
        };
        let (time, watched) = (Nanos::from_millis(waited_ms), Nanos::from_millis(10_000));
        let throttled =
            Throttled { task, cgroup: CgroupId(5), time, watched, leg: 1, only_reads: true };
        let setting = Setting { throttled: vec![throttled], ..Setting::default() };
        verdict(&open, &setting, Nanos::from_millis(20_000)).map(|verdict| verdict.kind)
    }

    #[test]
    fn a_broker_that_answers_in_turn_does_not_read_on_before() {
        let open = Overdue {
            messages: 3,
            oldest: Nanos::from_millis(2_000),
            place: Whereabouts::LeftUnread,
            leg: 1,
            process: Some((TaskId { pid: Pid(7), tid: Tid(7) }, Comm::default())),
            are_seen_there: true,
            is_for_busy_readers: false,
            activity: Some(ThreadActivity::Asleep),
        };
        let said = |protocol, activity| {
            let setting = Setting { protocol, ..Setting::default() };
            let open = Overdue { activity: Some(activity), ..open };
            verdict(&open, &setting, Nanos::from_millis(20_000)).map(|verdict| verdict.kind)
        };
        assert_eq!(said("kafka", ThreadActivity::Asleep), None);
        assert_eq!(said("mqtt", ThreadActivity::Asleep), Some(VerdictKind::Backpressure));
        assert_eq!(said("kafka", ThreadActivity::Blocked), Some(VerdictKind::BrokerStalled));
    }

    #[test]
    fn a_reader_without_quota_looks_as_one_that_runs() {
        assert_eq!(said(Whereabouts::ReaderQueue, 8_000), Some(VerdictKind::CpuThrottled));
        assert_eq!(said(Whereabouts::ReaderQueue, 900), Some(VerdictKind::ReaderBusy));
        assert_eq!(said(Whereabouts::Broker, 8_000), Some(VerdictKind::CpuThrottled));
        assert_eq!(said(Whereabouts::Broker, 900), None);
        assert_eq!(said(Whereabouts::Network, 8_000), Some(VerdictKind::Retransmission));
    }

    #[test]
    fn who_could_run_waits_for_a_cpu() {
        let contention = Some(VerdictKind::RunQueueContention);
        for place in [Whereabouts::BrokerQueue, Whereabouts::Broker, Whereabouts::ReaderQueue] {
            assert_eq!(said_of(place, 900, ThreadActivity::Runnable), contention);
        }
        let throttled = said_of(Whereabouts::BrokerQueue, 8_000, ThreadActivity::Runnable);
        assert_eq!(throttled, Some(VerdictKind::CpuThrottled));
    }

    /// A broker has messages of one topic, and a reader leaves those of some topic unread.
    #[test]
    fn a_broker_is_not_held_to_what_it_has_for_a_reader_that_does_not_read() {
        let named = |is_for_busy_readers, activity| {
            let task = |pid| (TaskId { pid: Pid(pid), tid: Tid(pid) }, Comm::default());
            let at = |place, pid, activity| Overdue {
                messages: 3,
                oldest: Nanos::from_millis(2_000),
                place,
                leg: 2,
                process: Some(task(pid)),
                are_seen_there: true,
                is_for_busy_readers,
                activity: Some(activity),
            };
            let reader = at(Whereabouts::ReaderQueue, 8, ThreadActivity::Asleep);
            let open = vec![reader, at(Whereabouts::Broker, 7, activity)];
            let mut why = Why::default();
            why.hold_up(open, &Setting::default(), Nanos::from_millis(20_000));
            let broker = why.verdicts.iter().find(|one| one.process == Some(task(7)));
            broker.map(|one| one.kind)
        };
        let contention = Some(VerdictKind::RunQueueContention);
        assert_eq!(named(true, ThreadActivity::Runnable), None);
        assert_eq!(named(false, ThreadActivity::Runnable), contention, "others wait for these");
        assert_eq!(named(false, ThreadActivity::Asleep), None);
        for off in [ThreadActivity::Stopped, ThreadActivity::Blocked] {
            assert_eq!(named(true, off), Some(VerdictKind::BrokerStalled), "{off:?}");
        }
    }

    #[test]
    fn what_may_still_be_on_its_way_is_held_up_by_a_reader_that_cannot_run_alone() {
        let named = |place, are_seen_there, activity| {
            let open = Overdue {
                messages: 3,
                oldest: Nanos::from_millis(2_000),
                place,
                leg: 2,
                process: Some((TaskId { pid: Pid(7), tid: Tid(7) }, Comm::default())),
                are_seen_there,
                is_for_busy_readers: false,
                activity: Some(activity),
            };
            let now = Nanos::from_millis(20_000);
            verdict(&open, &Setting::default(), now).map(|verdict| verdict.kind)
        };
        let reader = Whereabouts::ReaderQueue;
        for activity in [ThreadActivity::Asleep, ThreadActivity::Running, ThreadActivity::Runnable]
        {
            assert_eq!(named(reader, false, activity), None, "{activity:?}");
            assert!(named(reader, true, activity).is_some(), "{activity:?}");
        }
        let stopped = named(reader, false, ThreadActivity::Stopped);
        assert_eq!(stopped, Some(VerdictKind::ClientStalled));
        let broker = named(Whereabouts::BrokerQueue, false, ThreadActivity::Blocked);
        assert_eq!(broker, Some(VerdictKind::BrokerStalled));
    }
}
