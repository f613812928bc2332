//! Verdicts of rows of made messages, and what all kinds have in common.

use super::*;
use crate::explanation::Why;
use wirelap_events::{
    Circumstances, Delivery, Holder, Hop, Leg, LegOffCpu, MessageId, Nanos, OffCpu, OffCpuReason,
    Pid, SleepCall, Stage, TaskId, Tid,
};
use wirelap_test_support::delivered;

pub(crate) const MS: u64 = 1_000_000;

/// A message that one reader was busy for before it read it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Made {
    pub(crate) at_ms: u64,
    /// Microseconds at work before the read.
    pub(crate) busy_us: u64,
    /// Microseconds asleep before the read.
    pub(crate) asleep_us: u64,
    /// Microseconds without a CPU before the read, which this process had.
    pub(crate) waited_us: u64,
    pub(crate) holder: u32,
    pub(crate) reader: u32,
    /// The call that the thread slept in, where it is known.
    pub(crate) slept_on: Option<SleepCall>,
    pub(crate) circumstances: Circumstances,
}

pub(crate) fn task(pid: u32) -> TaskId {
    TaskId { pid: Pid(pid), tid: Tid(pid) }
}

pub(crate) fn take(evidence: &mut Evidence, made: &Made) {
    let delivery = made.delivery();
    evidence.delivery(&delivery, delivery.one_way().unwrap());
}

/// A thread that sleeps when a message is sent, and has a CPU at once when it is woken.
fn slept(reader: u32, sent: u64, sleep: SleepCall) -> Hop {
    let woken = Nanos(sent + 60_000);
    Hop {
        task: task(reader),
        woken,
        running: woken,
        left: Some(Nanos(sent)),
        reason: OffCpuReason::Asleep,
        from_irq: sleep != SleepCall::Lock,
        cpu: None,
        migrated: false,
        holder: Holder::NOBODY,
        sleep,
    }
}

impl Made {
    pub(crate) fn delivery(&self) -> Delivery {
        let sent = self.at_ms * MS;
        let ready = sent + 60_000;
        let waits = self.busy_us + self.asleep_us + self.waited_us;
        let read = ready + 5_000 + waits * 1_000;
        let slept_on = self.slept_on.map(|sleep| slept(self.reader.max(2), sent, sleep));
        let leg = Leg {
            sender: Some(task(1)),
            reader: Some(task(self.reader.max(2))),
            chain: slept_on.into_iter().collect(),
            circumstances: self.circumstances,
            ..delivered::leg(&[(Stage::Send, sent), (Stage::Ready, ready), (Stage::Read, read)])
        };
        let waited = Nanos(self.waited_us * 1_000);
        let mut reader = OffCpu { asleep: Nanos(self.asleep_us * 1_000), waited, ..OffCpu::NONE };
        reader.add_holder(&Holder { task: task(self.holder), held: waited, ..Holder::default() });
        Delivery {
            message: MessageId(self.at_ms),
            off_cpu: [LegOffCpu { reader: Some(reader), ..LegOffCpu::NONE }].into_iter().collect(),
            ..delivered::delivery([leg])
        }
    }
}

pub(crate) fn explained(all: impl Iterator<Item = Made>) -> Why {
    let mut evidence = Evidence::default();
    evidence.setting.since = Some(Nanos(0));
    all.for_each(|made| take(&mut evidence, &made));
    evidence.explain()
}

pub(crate) fn found(why: &Why) -> Vec<(VerdictKind, u32, u64)> {
    let problems = why.verdicts.iter().filter(|verdict| verdict.severity == Severity::Problem);
    problems
        .map(|v| (v.kind, v.process.map_or(0, |(task, _)| task.pid.0), v.slow_messages))
        .collect()
}

#[test]
fn three_long_stops_hide_nothing_of_what_every_tenth_message_loses() {
    let why = explained((0..1_000).map(|n| Made {
        at_ms: n * 100,
        busy_us: u64::from(n % 10 == 5) * 20_000,
        asleep_us: u64::from(n % 400 == 99) * 3_000_000,
        ..Made::default()
    }));
    assert_eq!(
        found(&why),
        [(VerdictKind::ClientStalled, 2, 3), (VerdictKind::ReaderBusy, 2, 100)]
    );
    let busy = &why.verdicts[1];
    assert!(busy.slow.0.abs_diff(20 * MS) < MS / 10, "{busy:?}");
    assert!((busy.slow_share - 2_000.0 / 11_000.0).abs() < 0.01, "{busy:?}");
    assert!((why.verdicts[0].slow_share - 9_000.0 / 11_000.0).abs() < 0.01);
}

/// Two times in a hundred seconds, a reader was at work while two messages came. Beside others that take hundreds of times as long, that is
/// a note.
#[test]
fn little_of_what_slow_messages_lose_is_a_note() {
    let of = |stops: u64| {
        let why = explained((0..1_000).map(|n| Made {
            at_ms: n * 100,
            busy_us: u64::from([350, 351, 750, 751].contains(&n)) * 12_000,
            asleep_us: u64::from(n % 100 < stops) * 200_000,
            ..Made::default()
        }));
        let busy = why.verdicts.iter().find(|verdict| verdict.kind == VerdictKind::ReaderBusy);
        busy.map(|verdict| verdict.severity)
    };
    assert_eq!(of(0), Some(Severity::Problem));
    assert_eq!(of(2), Some(Severity::Note));
}

/// One message of a reader waited for a CPU for 12 ms, and so many of another one for 6 ms.
#[test]
fn what_is_chance_at_each_process_is_chance_together() {
    let of = |second: u64| {
        let why = explained((0..1_000).map(|n| {
            let (reader, waited_us) = match n {
                100 => (2, 12_000),
                n if (500..500 + second).contains(&n) => (3, 6_000),
                n => (2 + u32::from(n % 2 == 0), 0),
            };
            Made { at_ms: n * 100, waited_us, holder: 9, reader, ..Made::default() }
        }));
        found(&why)
    };
    assert_eq!(of(2), []);
    assert_eq!(of(4), [(VerdictKind::RunQueueContention, 3, 4)]);
}

#[test]
fn ten_causes_are_ten_lines_in_order() {
    let why = explained((0..5_000).map(|n| {
        let reader = 2 + u32::try_from(n % 5).unwrap();
        let slow = u64::from(reader) * 10_000;
        let (busy_us, asleep_us) = match n / 5 % 20 {
            3 => (slow, 0),
            7 => (0, slow + 5_000),
            _ => (0, 0),
        };
        Made { at_ms: n * 10, busy_us, asleep_us, reader, ..Made::default() }
    }));
    let found = found(&why);
    assert_eq!(found.len(), 10, "{found:?}");
    assert!(found.iter().all(|(_, _, messages)| *messages == 50), "{found:?}");
    assert_eq!((found[0].0, found[0].1), (VerdictKind::ClientStalled, 6));
    assert_eq!((found[9].0, found[9].1), (VerdictKind::ReaderBusy, 2));
    assert!(why.verdicts.windows(2).all(|pair| pair[0].slow_share >= pair[1].slow_share));
}

#[test]
fn a_verdict_has_a_begin_and_an_end() {
    let busy = |from: u64, to: u64| {
        let why = explained((0..600).map(|n| Made {
            at_ms: n * 100,
            busy_us: u64::from((from..to).contains(&n)) * 20_000,
            ..Made::default()
        }));
        let period = why.verdicts[0].period.unwrap();
        assert_eq!(why.verdicts[0].kind, VerdictKind::ReaderBusy);
        (period.began.0 / MS / 100, period.ended.map(|at| at.0 / MS / 100), period.times)
    };
    assert_eq!(busy(140, 170), (140, Some(169), 1));
    assert_eq!(busy(140, 600), (140, None, 1));
}

#[test]
fn of_few_messages_nothing_is_claimed() {
    let few = |messages: u64| {
        explained((0..messages).map(|n| Made { at_ms: n * 10, busy_us: 20_000, ..Made::default() }))
    };
    let why = few(19);
    assert!(why.verdicts.is_empty() && why.is_too_little() && !why.is_healthy());
    assert_eq!(found(&few(20)), [(VerdictKind::ReaderBusy, 2, 0)]);
    let why = explained((0..20).map(|n| Made { at_ms: n * 10, ..Made::default() }));
    assert!(why.is_healthy() && !why.is_too_little());
}

/// One event may hold up many messages.
#[test]
fn what_passed_in_a_moment_is_a_note() {
    let severity = |times: u64| {
        let why = explained((0..400).map(|n| {
            let slow = (n % 100 >= 94) && n / 100 < times;
            let at_ms = if slow { n / 100 * 10_000 + 9_400 + n % 100 } else { n * 100 };
            Made { at_ms, asleep_us: u64::from(slow) * 20_000, ..Made::default() }
        }));
        why.verdicts.iter().find(|v| v.kind == VerdictKind::ClientStalled).map(|v| v.severity)
    };
    assert_eq!(severity(1), Some(Severity::Note));
    assert_eq!(severity(2), Some(Severity::Problem));
}

/// A message may wait for the same thing twice: on the way to its reader's thread, and in the read.
#[test]
fn the_mean_of_what_messages_lose_is_not_above_the_most() {
    let mut evidence = Evidence::default();
    for n in 0..400_u64 {
        let slow = u64::from(n % 10 == 3);
        let made = Made {
            at_ms: n * 100,
            asleep_us: slow * 6_000,
            reader: 2 + u32::from(n % 20 == 3),
            ..Made::default()
        };
        let mut delivery = made.delivery();
        let rested = OffCpu { asleep: Nanos(slow * 5 * MS), ..OffCpu::NONE };
        let read = delivery.legs[0].times.get(Stage::Read).unwrap() + Nanos(slow * 5 * MS);
        delivery.legs[0].times.set(Stage::Read, read);
        let woken = read - Nanos(1_000 + made.asleep_us * 1_000);
        delivery.legs[0].times.set(Stage::Wakeup, woken);
        delivery.legs[0].chain.push(Hop { woken, running: woken, ..Hop::default() });
        delivery.off_cpu[0].before_wakeup = Some(rested);
        evidence.delivery(&delivery, delivery.one_way().unwrap());
    }
    let why = evidence.explain();
    let stalled: Vec<_> =
        why.verdicts.iter().filter(|verdict| verdict.kind == VerdictKind::ClientStalled).collect();
    assert_eq!(stalled.len(), 2, "{:?}", why.verdicts);
    for verdict in stalled {
        let Clause::Hits { each, most, .. } = verdict.evidence[0] else { panic!("{verdict:?}") };
        let rounded = [each, most].map(|time| (time.0 + MS / 2) / MS);
        assert_eq!(rounded, [11, 11]);
    }
}

#[test]
fn who_had_the_cpu_is_to_be_known() {
    let first = |unknown| {
        let said = |kind, slow| Verdict {
            slow_messages: 10,
            slow: Nanos(slow),
            ..Verdict::new(kind, Severity::Problem)
        };
        let contention = Verdict {
            evidence: vec![Clause::CpuHolderUnknown(unknown)],
            ..said(VerdictKind::RunQueueContention, 300)
        };
        let mut all = [said(VerdictKind::ClientStalled, 200), contention];
        sort(&mut all, 100);
        all[0].kind
    };
    assert_eq!(first(0.2), VerdictKind::RunQueueContention);
    assert_eq!(first(0.9), VerdictKind::ClientStalled);
}
