//! Successive snapshots, and what is found to have happened.

use super::*;
use wirelap_correlate::{Group, Reliability, Severity, VerdictKind};
use wirelap_correlate::{Overdue, Period, Verdict, Whereabouts};
use wirelap_events::{ClockStep, EventLosses, Pid};

fn snapshot(ms: u64, delivered: u64) -> Snapshot {
    let mut group = Group { id: GroupId(7), middleware: "mqtt".into(), ..Group::default() };
    group.messages.delivered = delivered;
    Snapshot { at: Nanos::from_millis(ms), groups: vec![group], ..Snapshot::default() }
}

fn events(snapshots: &[Snapshot]) -> Vec<LogEvent> {
    let mut log = EventLog::default();
    let mut before = Snapshot::default();
    for snapshot in snapshots {
        log.compare(&before, snapshot);
        before = snapshot.clone();
    }
    let mut all: Vec<_> = log.iter().map(|entry| entry.event.clone()).collect();
    all.reverse();
    all
}

#[test]
fn a_row_appears_falls_silent_and_speaks_again() {
    let all = [snapshot(1_000, 5), snapshot(2_000, 5), snapshot(4_500, 5), snapshot(9_000, 6)];
    let silence = Nanos::from_millis(8_000);
    assert_eq!(
        events(&all),
        [LogEvent::RowAppeared, LogEvent::RowSilent, LogEvent::RowSpeaks(silence)]
    );
}

fn lost_to_the_ring(events: u64) -> LogEvent {
    LogEvent::EventsLost(EventLosses { events, ..EventLosses::default() })
}

#[test]
fn losses_that_follow_each_other_are_few_entries() {
    let lost = |ms, count| {
        let mut snapshot = snapshot(ms, 0);
        let probe = wirelap_events::Probe::Rx;
        snapshot.trust.events_lost = vec![wirelap_correlate::ProbeLoss { probe, count }];
        snapshot
    };
    let mut all = vec![lost(1_000, 0)];
    all.extend((1..=40).map(|n| lost(1_000 + n * 250, n * 10)));
    assert_eq!(
        events(&all),
        [
            LogEvent::RowAppeared,
            lost_to_the_ring(160),
            LogEvent::Trust(Reliability::Unusable),
            lost_to_the_ring(160),
            lost_to_the_ring(80),
        ]
    );
}

#[test]
fn what_flaps_each_quarter_second_fills_nothing() {
    let all: Vec<_> = (0..2_000u64)
        .map(|n| {
            let mut now = snapshot(1_000 + n * 250, 100 + n);
            now.since = now.at;
            if n % 2 == 0 {
                let severity = Severity::Problem;
                let mut verdict = Verdict::new(VerdictKind::NagleDelayedAck, severity);
                verdict.period = Some(Period { began: Nanos(1), ended: None, times: 1 });
                now.groups[0].why.verdicts = vec![verdict];
                now.groups[0].messages.matched = now.groups[0].messages.delivered;
                now.groups[0].why.open = vec![Overdue {
                    messages: 7,
                    oldest: Nanos(1),
                    place: Whereabouts::Broker,
                    are_seen_there: true,
                    is_for_busy_readers: false,
                    leg: 1,
                    process: None,
                    activity: None,
                }];
            }
            now
        })
        .collect();
    assert_eq!(events(&all), [LogEvent::RowAppeared]);
}

#[test]
fn a_verdict_that_lasts_begins_and_ends() {
    let with = |ms, holds: bool| {
        let mut now = snapshot(ms, ms);
        let mut verdict = Verdict::new(VerdictKind::NagleDelayedAck, Severity::Problem);
        verdict.period = Some(Period { began: Nanos(1), ended: None, times: 1 });
        now.groups[0].why.verdicts = if holds { vec![verdict] } else { Vec::new() };
        now.groups[0].messages.matched = ms;
        now
    };
    let all: Vec<_> = (1..120u64).map(|n| with(n * 250, (20..60).contains(&n))).collect();
    let kind = VerdictKind::NagleDelayedAck;
    assert_eq!(
        events(&all),
        [
            LogEvent::RowAppeared,
            LogEvent::VerdictBegan(kind, Severity::Problem),
            LogEvent::VerdictEnded(kind)
        ]
    );
}

#[test]
fn a_row_with_a_message_each_ten_seconds_is_not_silent_each_time() {
    let all: Vec<_> = (0..4_000u64).map(|n| snapshot(n * 250, 1 + n / 40)).collect();
    let silences = events(&all).into_iter().filter(|event| *event == LogEvent::RowSilent);
    assert!(silences.count() <= 1, "only before it is known");
}

#[test]
fn a_process_ends_once_and_its_row_is_named_after_its_server() {
    let with = |ms, ended| {
        let mut snapshot = snapshot(ms, 0);
        let process = wirelap_correlate::Process { pid: Pid(1), ended, ..Default::default() };
        snapshot.groups[0].processes = vec![process];
        snapshot.groups[0].endpoint = Some(([127, 0, 0, 1], 1883).into());
        snapshot
    };
    let all = [with(1_000, false), with(1_250, true), with(1_500, true)];
    let (role, comm) = (String::new(), String::new());
    let gone = LogEvent::ProcessGone { role, comm, pid: Pid(1) };
    assert_eq!(events(&all), [LogEvent::RowAppeared, gone]);
    let mut log = EventLog::default();
    log.compare(&Snapshot::default(), &all[0]);
    let row = log.iter().next().and_then(|entry| entry.row.clone());
    assert_eq!(row.unwrap().1, "mqtt 127.0.0.1:1883");
}

#[test]
fn the_log_is_bounded() {
    let mut log = EventLog::default();
    for at in 0..25_000u64 {
        log.push(LogEntry { at: Nanos(at), row: None, event: lost_to_the_ring(1) });
    }
    assert_eq!((log.iter().len(), log.forgotten()), (ENTRIES, 15_000));
    assert_eq!(log.iter().next().map(|entry| entry.at), Some(Nanos(24_999)));
}

#[test]
fn each_step_of_a_hosts_clock_is_one_entry_with_its_size() {
    let step =
        |ms, by: i64| ClockStep { at: Nanos::from_millis(ms), by: [by - 100_000, by + 100_000] };
    let host = |ms, steps: &[ClockStep], step_count| {
        let steps = steps.to_vec();
        let host = HostState { name: "robot".into(), steps, step_count, ..HostState::default() };
        Snapshot { hosts: vec![host], ..snapshot(ms, 5) }
    };
    let steps = [step(1_500, 250_000_000), step(3_500, -255_000_000), step(3_700, 59_000_000)];
    let all = [
        host(1_000, &[], 0),
        host(2_000, &steps[..1], 1),
        host(3_000, &steps[..1], 1),
        host(4_000, &steps[1..], 3),
    ];
    let told = events(&all).into_iter().filter_map(|event| match event {
        LogEvent::Host { what, .. } if what.contains("stepped") => Some(what),
        _ => None,
    });
    let expected = ["forward by 250.0 ms", "back by 255.0 ms", "forward by 59.0 ms"];
    let expected = expected.map(|by| format!("its clock has stepped {by} ± 100.0 µs"));
    assert_eq!(told.collect::<Vec<_>>(), expected);
}
