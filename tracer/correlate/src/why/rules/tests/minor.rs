//! Causes that are told less, because others have to be mended before.

use super::*;

/// Returns whether time without a cause is told, if each tenth message waits 20 ms for its reader, and each so-many-th loses 20 ms on the
/// wire.
fn is_unexplained(every: u64) -> bool {
    let mut evidence = Evidence::default();
    for n in 0..1_000 {
        let busy_us = u64::from(n % 10 == 5) * 20_000;
        let mut delivery = Made { at_ms: n * 100, busy_us, ..Made::default() }.delivery();
        let late = Nanos(u64::from(n % every == 7) * 20 * MS);
        let times = &mut delivery.legs[0].times;
        let ready = times.get(Stage::Ready).unwrap();
        times.set(Stage::Xmit, ready - Nanos(50_000));
        times.set(Stage::Rx, ready - Nanos(10_000) + late);
        for stage in [Stage::Ready, Stage::Read] {
            let at = times.get(stage).unwrap();
            times.set(stage, at + late);
        }
        evidence.delivery(&delivery, delivery.one_way().unwrap(), Upkeep::default());
    }
    let why = evidence.explain();
    why.verdicts.iter().any(|verdict| verdict.kind == VerdictKind::Unexplained)
}

#[test]
fn a_small_part_without_a_cause_is_not_told_beside_a_large_one_with() {
    assert!(is_unexplained(100));
    assert!(!is_unexplained(250));
}

/// Returns how grave it is that 100 of 1,000 messages wait 20 ms for an earlier answer, if so many wait as long for a CPU at the broker.
fn awaiting_answers(contended: u64) -> Option<Severity> {
    let mut evidence = Evidence::default();
    for n in 0..1_000 {
        let (sent, long) = (n * 100 * MS, 20 * MS);
        let waited = u64::from(n % 10 == 3 && n / 10 < contended) * long;
        let asked = u64::from(n % 10 == 7) * long;
        let read = sent + 100_000 + waited;
        let first = delivered::leg(&[
            (Stage::Send, sent),
            (Stage::Ready, sent + 50_000),
            (Stage::Read, read),
        ]);
        let again = read + asked + 50_000;
        let mut second = delivered::leg(&[(Stage::Send, again), (Stage::Read, again + 50_000)]);
        second.circumstances.requested = (asked > 0).then_some(Nanos(read + asked));
        let waited = Nanos(waited);
        let mut reader = OffCpu { waited, ..OffCpu::NONE };
        reader.add_holder(&Holder { task: task(9), held: waited, ..Holder::default() });
        let (first, second) = (
            Leg { sender: Some(task(1)), reader: Some(task(2)), ..first },
            Leg { sender: Some(task(2)), reader: Some(task(3)), ..second },
        );
        let mut delivery = delivered::delivery([first, second]);
        delivery.off_cpu = [LegOffCpu { reader: Some(reader), ..LegOffCpu::NONE }, LegOffCpu::NONE]
            .into_iter()
            .collect();
        evidence.delivery(&delivery, delivery.one_way().unwrap(), Upkeep::default());
    }
    let why = evidence.explain();
    why.verdicts.iter().find(|v| v.kind == VerdictKind::FetchWait).map(|v| v.severity)
}

#[test]
fn answers_of_a_broker_without_a_cpu_are_late_for_that() {
    assert_eq!(awaiting_answers(0), Some(Severity::Problem));
    assert_eq!(awaiting_answers(50), Some(Severity::Problem));
    assert_eq!(awaiting_answers(100), Some(Severity::Note));
}

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

#[test]
fn what_was_no_work_of_a_thread_without_a_cpu_is_no_other_problem() {
    assert_eq!(not_at_work(5), Some(Severity::Note));
    assert_eq!(not_at_work(40), Some(Severity::Problem));
}
