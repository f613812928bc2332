//! The view "log" as text at three sizes, in every state.

#![allow(missing_docs, reason = "a test")]

mod views;

use crossterm::event::KeyCode;
use views::{SIZES, app, press, text};
use wirelap_correlate::snapshot::{Period, ProbeLoss, Snapshot};
use wirelap_events::{Nanos, Probe};
use wirelap_test_pipeline::snapshots;
use wirelap_tui::App;

fn check(name: &str, app: &App) {
    for (width, height) in SIZES {
        insta::assert_snapshot!(format!("{name}-{width}x{height}"), text(app, (width, height)));
    }
}

/// Twenty seconds: a verdict begins and ends, a row falls silent and speaks again, a process ends, events are lost.
fn story() -> Vec<Snapshot> {
    let second = |second: u64| {
        let mut snapshot = snapshots::five(second);
        let mqtt = &mut snapshot.groups[2];
        let so = (5..12).contains(&second);
        let ended = (!so).then(|| Nanos::from_millis(12_000));
        let began = Nanos::from_millis(5_000);
        for verdict in &mut mqtt.why.verdicts {
            verdict.period = (second >= 5).then_some(Period { began, ended, times: 1 });
        }
        let tcp = &mut snapshot.groups[0];
        if (8..15).contains(&second) {
            tcp.messages.delivered = 100;
        }
        for process in snapshot.groups.iter_mut().flat_map(|group| &mut group.processes) {
            process.ended = false;
        }
        if second >= 16 {
            let broker = &mut snapshot.groups[2].processes[1];
            broker.ended = true;
        }
        let lost = 100 * second.saturating_sub(17);
        snapshot.trust.events_lost = vec![ProbeLoss { probe: Probe::Rx, count: lost }];
        snapshot
    };
    (1..=20).map(second).collect()
}

#[test]
fn what_has_happened() {
    let mut app = app(story(), &[KeyCode::Char('0')]);
    app.set_wall(Some(1_790_000_000_000_000_000));
    check("normal", &app);
}

#[test]
fn a_filter_and_no_time_of_day() {
    let mut keys = vec![KeyCode::Char('0'), KeyCode::Char('/')];
    keys.extend("MOSQ".chars().map(KeyCode::Char));
    keys.push(KeyCode::Enter);
    let mut app = app(story(), &keys);
    check("filtered", &app);
    press(&mut app, &[KeyCode::Char('/'), KeyCode::Char('%'), KeyCode::Enter]);
    assert!(text(&app, (80, 24)).contains("No line of the log has this text"));
}

#[test]
fn nothing_has_happened() {
    check("empty", &app([snapshots::empty(0)], &[KeyCode::Char('0')]));
}

#[test]
fn many_long_lines_scroll() {
    let rows = (1..200).map(|seconds| {
        let mut snapshot = snapshots::many(40);
        snapshot.at = Nanos::from_millis(1_000 * (seconds + 100));
        snapshot.groups.iter_mut().for_each(|group| group.messages.delivered = seconds / 9);
        let lost = ProbeLoss { probe: Probe::Rx, count: u64::MAX >> (60 - seconds.min(59)) };
        snapshot.trust.events_lost = vec![lost];
        snapshot
    });
    let mut app = app(rows, &[KeyCode::Char('0')]);
    check("extreme", &app);
    press(&mut app, &[KeyCode::End]);
    let end = text(&app, (80, 24));
    assert!(
        end.contains("tcp number 0 with a name that goes on 127.0.0.1:40007: appeared"),
        "{end}"
    );
    press(&mut app, &[KeyCode::Up, KeyCode::PageUp, KeyCode::Home]);
    assert!(text(&app, (80, 24)).contains("log: "));
}
