mod minor;

use super::super::explanation::Why;
use super::super::sums::Upkeep;
use super::*;
use wirelap_events::{
    Circumstances, Delivery, FanOut, Holder, Hop, Leg, LegOffCpu, LinkQueue, MessageId, OffCpu,
    Stage, Tid, TxState,
};
use wirelap_test_support::delivered;

const MS: u64 = 1_000_000;

/// A message that one reader was busy for before it read it.
#[derive(Clone, Copy, Default)]
struct Made {
    at_ms: u64,
    /// Microseconds at work before the read.
    busy_us: u64,
    /// Microseconds asleep before the read.
    asleep_us: u64,
    /// Microseconds without a CPU before the read, which this process had.
    waited_us: u64,
    holder: u32,
    reader: u32,
    /// The call that the thread slept in, where it is known.
    slept_on: Option<SleepCall>,
    circumstances: Circumstances,
    upkeep: Upkeep,
}

fn task(pid: u32) -> TaskId {
    TaskId { pid: Pid(pid), tid: Tid(pid) }
}

fn take(evidence: &mut Evidence, made: &Made) {
    let delivery = made.delivery();
    evidence.delivery(&delivery, delivery.one_way().unwrap(), made.upkeep);
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
    fn delivery(&self) -> Delivery {
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

fn explained(all: impl Iterator<Item = Made>) -> Why {
    let mut evidence = Evidence::default();
    evidence.setting.since = Some(Nanos(0));
    all.for_each(|made| take(&mut evidence, &made));
    evidence.explain()
}

fn found(why: &Why) -> Vec<(VerdictKind, u32, u64)> {
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
            (verdict.kind, verdict.severity) == (VerdictKind::RunQueueContention, Severity::Problem)
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

#[test]
fn the_start_is_told_apart_and_is_never_the_headline() {
    let start_up = Circumstances { start_up: true, ..Circumstances::default() };
    let of = |steady: u64| {
        explained((0..10 + steady).map(|n| Made {
            at_ms: n * 100,
            busy_us: u64::from(n < 10) * 40_000,
            circumstances: if n < 10 { start_up } else { Circumstances::default() },
            ..Made::default()
        }))
    };
    let why = of(100);
    assert!(why.is_healthy(), "{:?}", why.verdicts);
    assert_eq!((why.verdicts.len(), why.verdicts[0].kind), (1, VerdictKind::StartUp));
    assert_eq!(why.messages, 110);
}

/// Ten first messages that waited 400 ms in their socket, and a hundred later ones.
fn begun(tx: TxState) -> Why {
    let mut evidence = Evidence::default();
    evidence.setting.since = Some(Nanos(0));
    for n in 0..110 {
        let is_first = n < 10;
        let sent = n * 500 * MS;
        let queued = sent + u64::from(is_first) * 400 * MS;
        let acked = Some(Nanos(queued));
        let leg = Leg {
            sender: Some(task(1)),
            reader: Some(task(2)),
            circumstances: Circumstances {
                start_up: is_first,
                tx: Some(tx),
                send_len: 64,
                acked,
                ..Circumstances::default()
            },
            ..delivered::leg(&[
                (Stage::Send, sent),
                (Stage::Sent, sent),
                (Stage::Queue, queued),
                (Stage::Read, queued + 65_000),
            ])
        };
        let delivery = Delivery { message: MessageId(n), ..delivered::delivery([leg]) };
        evidence.delivery(&delivery, delivery.one_way().unwrap(), Upkeep::default());
    }
    evidence.explain()
}

#[test]
fn first_messages_that_waited_for_a_full_window_are_not_the_start() {
    let tx = TxState {
        in_flight: 64,
        window: 65_536,
        mss: 1_448,
        cwnd: 10,
        segments_out: 1,
        ..TxState::default()
    };
    let why = begun(TxState { window: 64, ..tx });
    assert_eq!(found(&why), [(VerdictKind::ReceiveWindow, 2, 10)]);
    // TCP begins with a small congestion window.
    let why = begun(TxState { segments_out: 10, ..tx });
    assert!(why.is_healthy(), "{:?}", why.verdicts);
    assert_eq!(why.verdicts[0].kind, VerdictKind::StartUp);
}

/// Messages of which every tenth is under way for so many more milliseconds: in a queue, and behind what TCP sent again in vain.
fn behind_a_queue(queued: u64, resent: u64) -> Evidence {
    let mut evidence = Evidence::default();
    for n in 0..500 {
        let [queued, resent] = [queued, resent].map(|ms| if n % 10 == 3 { ms * MS } else { 0 });
        let (sent, xmit) = (n * 1_000 * MS, n * 1_000 * MS + resent + 1_000);
        let came = xmit + queued + 1_000;
        let (from, to) = (Nanos(xmit), Nanos(came));
        let (longest, least) = (to - from, Nanos(1_000));
        let leg = Leg {
            sender: Some(task(1)),
            reader: Some(task(2)),
            circumstances: Circumstances {
                loss_in_socket: Nanos(resent),
                path_queue: Some(LinkQueue { from, to, longest, least, rate: 1 }),
                distance: Nanos(1_000),
                ..Circumstances::default()
            },
            ..delivered::leg(&[
                (Stage::Send, sent),
                (Stage::Sent, sent),
                (Stage::Queue, xmit),
                (Stage::Xmit, xmit),
                (Stage::Rx, came),
                (Stage::Read, came + 65_000),
            ])
        };
        let delivery = Delivery { message: MessageId(n), ..delivered::delivery([leg]) };
        evidence.delivery(&delivery, delivery.one_way().unwrap(), Upkeep::default());
    }
    (evidence.losses.resent, evidence.losses.twice) = (10, 10);
    evidence
}

#[test]
fn what_was_sent_again_in_vain_from_a_long_queue_is_not_lost() {
    let kinds = |evidence: Evidence| {
        found(&evidence.explain()).into_iter().map(|(kind, _, _)| kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(behind_a_queue(300, 200)), [VerdictKind::BottleneckLink]);
    // There is hardly a queue, and packets overtook each other.
    assert_eq!(kinds(behind_a_queue(0, 200)), [VerdictKind::Retransmission]);
    let mut lost = behind_a_queue(300, 200);
    lost.losses.twice = 0;
    assert_eq!(kinds(lost), [VerdictKind::BottleneckLink, VerdictKind::Retransmission]);
}

/// A message of which its thread sends one copy after the other.
fn fanned(position: u32, readers: u32, each_us: u64) -> Delivery {
    let first = Leg {
        sender: Some(task(1)),
        reader: Some(task(2)),
        ..delivered::leg(&[(Stage::Send, 0), (Stage::Read, 100_000)])
    };
    let begins = Nanos(110_000);
    let sent = begins + Nanos(u64::from(position - 1) * each_us * 1_000);
    let fan_out = (position > 1).then_some(FanOut { position, readers, first_sent: begins });
    let second = Leg {
        sender: Some(task(2)),
        reader: Some(task(2 + position)),
        circumstances: Circumstances { fan_out, ..Circumstances::default() },
        ..delivered::leg(&[(Stage::Send, sent.0), (Stage::Read, sent.0 + 20_000)])
    };
    Delivery {
        off_cpu: [LegOffCpu::NONE, LegOffCpu::NONE].into_iter().collect(),
        ..delivered::delivery([first, second])
    }
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
        evidence.delivery(&delivery, delivery.one_way().unwrap(), Upkeep::default());
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
fn late_subscribers_wait_for_the_sends_to_the_earlier_ones() {
    let of = |readers: u32| {
        let mut evidence = Evidence::default();
        for position in (0..20).flat_map(|_| 1..=readers) {
            let delivery = fanned(position, readers, 20);
            evidence.delivery(&delivery, delivery.one_way().unwrap(), Upkeep::default());
        }
        evidence.explain()
    };
    let why = of(50);
    assert_eq!(why.verdicts.len(), 1, "{:?}", why.verdicts);
    let verdict = &why.verdicts[0];
    assert_eq!((verdict.kind, verdict.severity), (VerdictKind::SerialFanOut, Severity::Problem));
    assert_eq!((verdict.leg, verdict.process.unwrap().0), (Some(2), task(2)));
    let in_turn = verdict.evidence.iter().find_map(|clause| match *clause {
        Clause::InTurn { readers, position, waited } => Some((readers, position, waited.0)),
        _ => None,
    });
    let (readers, position, waited) = in_turn.unwrap();
    assert_eq!((readers, waited / u64::from(position - 1)), (50, 20_000));
    assert!(of(3).is_healthy());
}

/// 1000 messages, every tenth of which the reader is busy for longer, with keep-alives beside some.
fn with_upkeep(at_ms: impl Fn(u64) -> u64, upkeep: impl Fn(u64) -> Upkeep) -> bool {
    let why = explained((0..1_000).map(|n| Made {
        at_ms: at_ms(n),
        busy_us: u64::from(n % 50 == 7) * 20_000,
        upkeep: upkeep(n),
        ..Made::default()
    }));
    why.verdicts.iter().any(|verdict| verdict.kind == VerdictKind::Upkeep)
}

#[test]
fn a_keep_alive_that_is_beside_slow_messages_only_once_is_there_by_chance() {
    let beside = |n: u64| Upkeep { beside: n % 50 == 7, before: false };
    assert!(with_upkeep(|n| n * 100, beside));
    // All that are slow wait at the same time.
    assert!(!with_upkeep(|n| n / 50, beside));
    // Slow messages take so long that there is one in any such time.
    let always = |n: u64| Upkeep { beside: n % 50 == 7, before: n % 50 == 7 };
    assert!(!with_upkeep(|n| n * 100, always));
}

/// Threads of the row's own processes that have the CPU by turns are how it works; strangers, or most of the time, are not.
#[test]
fn who_hands_a_message_over_is_no_contention() {
    let severity = |waited_us: u64, holder: u32| {
        let mut evidence = Evidence::default();
        evidence.setting.members = [Pid(1), Pid(2)].into_iter().collect();
        for n in 0..100 {
            let made = Made { at_ms: n * 10, busy_us: 250, waited_us, holder, ..Made::default() };
            take(&mut evidence, &made);
        }
        let why = evidence.explain();
        why.verdicts.iter().find(|v| v.kind == VerdictKind::RunQueueContention).map(|v| v.severity)
    };
    assert_eq!(severity(200, 1), Some(Severity::Note));
    assert_eq!(severity(200, 50), Some(Severity::Problem));
    assert_eq!(severity(900, 1), Some(Severity::Note));
    assert_eq!(severity(1_500, 1), Some(Severity::Problem));
}
