//! The screen as text at three sizes, in every state.

#![allow(missing_docs, reason = "a test")]

use crossterm::event::KeyCode;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use std::sync::Arc;
use wirelap_correlate::snapshot::{Snapshot, Summary};
use wirelap_events::Nanos;
use wirelap_test_pipeline::snapshots;
use wirelap_tui::{App, Theme, render};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];
const COLOR: Theme = Theme::DARK;

fn app(snapshot: Snapshot, keys: &[KeyCode]) -> App {
    let mut app = App::new();
    app.update(Arc::new(snapshot));
    for key in keys {
        app.on_key((*key).into());
    }
    app
}

fn terminal(app: &App, (width, height): (u16, u16), theme: Theme) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| render::screen(frame, app, theme)).unwrap();
    terminal
}

fn text(app: &App, size: (u16, u16)) -> String {
    terminal(app, size, COLOR).backend().to_string()
}

/// Compares the screen at all three sizes with the stored ones.
fn check(name: &str, app: &App) {
    for (width, height) in SIZES {
        insta::assert_snapshot!(format!("{name}-{width}x{height}"), text(app, (width, height)));
    }
}

#[test]
fn comparison() {
    check("comparison", &app(snapshots::five(83), &[KeyCode::Down, KeyCode::Down]));
}

#[test]
fn times_between_hosts_have_their_errors() {
    let mut snapshot = snapshots::five(83);
    let group = &mut snapshot.groups[0];
    (group.one_way.p50, group.one_way.p99) = (Nanos(1_800_000), Nanos(2_500_000));
    let (p50, p99) = (Nanos(50_000), Nanos(3_000_000));
    group.one_way_error = Summary { count: 9, p50, p99, ..Summary::default() };
    group.segments[0].error = Nanos(50_000);
    let plain = wirelap_tui::plain(&snapshot, 80);
    assert!(plain.contains("1.80 ms ± 0.05") && plain.contains("≤ 5.50 ms"), "{plain}");
    for size in SIZES {
        let table = text(&app(snapshot.clone(), &[]), size);
        assert!(table.contains("1.80 ms ± 0.05") && table.contains("≤ 5.50 ms"), "{table}");
        let is_marked = table.contains("socket_tx ⇄") && !table.contains("wire ⇄");
        assert!(is_marked || !table.contains("where the time goes"), "{table}");
        let details = text(&app(snapshot.clone(), &[KeyCode::Enter]), size);
        assert!(details.contains("± 50.0 µs, by two hosts' clocks"), "{details}");
    }
}

#[test]
fn nothing_seen_yet() {
    check("empty", &app(snapshots::empty(0), &[]));
    let unknown = app(snapshots::empty(12_345), &[]);
    assert!(text(&unknown, (80, 24)).contains("12,345 events"));
}

#[test]
fn events_lost_and_messages_not_followed() {
    check("degraded", &app(snapshots::degraded(), &[KeyCode::Down, KeyCode::Down]));
}

#[test]
fn more_rows_than_lines() {
    check("many", &app(snapshots::many(40), &[KeyCode::End, KeyCode::Up]));
}

#[test]
fn details_of_a_brokered_row() {
    let keys = [KeyCode::Down, KeyCode::Down, KeyCode::Enter];
    check("details", &app(snapshots::five(83), &keys));
}

#[test]
fn why_of_a_brokered_row() {
    let keys = [KeyCode::Down, KeyCode::Down, KeyCode::Char('w')];
    check("why", &app(snapshots::five(83), &keys));
    // Nothing wrong, and nothing examined.
    let healthy = app(snapshots::five(83), &[KeyCode::Char('w')]);
    assert!(text(&healthy, (80, 24)).contains("nothing wrong: 164,7"));
    let unknown = app(snapshots::degraded(), &[KeyCode::End, KeyCode::Char('w')]);
    assert!(text(&unknown, (80, 24)).contains("no message followed end to end yet"));
}

#[test]
fn help() {
    check("help", &app(snapshots::five(83), &[KeyCode::Char('?')]));
}

#[test]
fn paused_and_sorted_with_time_bars() {
    let keys = ['p', 'o', 'o', 'o', 'r', 'b'].map(KeyCode::Char);
    check("paused", &app(snapshots::five(83), &keys));
}

#[test]
fn small_terminals() {
    let app = app(snapshots::degraded(), &[]);
    insta::assert_snapshot!("small-40x10", text(&app, (40, 10)));
    insta::assert_snapshot!("too-small-30x6", text(&app, (30, 6)));
}

#[test]
fn without_colour_letters_carry_the_bars() {
    let app = app(snapshots::five(83), &[]);
    let plain = terminal(&app, (80, 24), Theme::NONE);
    let buffer = plain.backend().buffer();
    let colored = buffer.content().iter().filter(|c| c.fg != Color::Reset || c.bg != Color::Reset);
    assert_eq!(colored.count(), 0);
    insta::assert_snapshot!("no-color-80x24", plain.backend().to_string());
}

#[test]
fn losses_are_in_the_warning_colour() {
    let app = app(snapshots::degraded(), &[]);
    let drawn = terminal(&app, (80, 24), COLOR);
    let buffer = drawn.backend().buffer();
    let line = (0..80).map(|x| buffer[(x, 1)].symbol()).collect::<String>();
    let at = line.chars().position(|c| c == 'l').expect("lost … events is in the second line");
    assert_eq!(buffer[(u16::try_from(at).unwrap(), 1)].fg, COLOR.warning().fg.unwrap());
}

#[test]
fn plain_lines() {
    insta::assert_snapshot!("plain-100", wirelap_tui::plain(&snapshots::five(83), 100));
    insta::assert_snapshot!("plain-degraded-80", wirelap_tui::plain(&snapshots::degraded(), 80));
    insta::assert_snapshot!("plain-empty-60", wirelap_tui::plain(&snapshots::empty(0), 60));
}
