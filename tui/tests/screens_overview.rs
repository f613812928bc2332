//! The overview: its columns, windows, filter and states, as text at three sizes.

#![allow(missing_docs, reason = "a test")]

use crossterm::event::KeyCode;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::sync::Arc;
use wirelap_correlate::snapshot::{Snapshot, Summary};
use wirelap_correlate::{Counts, PartialFigures};
use wirelap_events::Nanos;
use wirelap_test_pipeline::snapshots;
use wirelap_tui::{App, Theme, render};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

fn app(snapshot: Snapshot, keys: &str) -> App {
    let mut app = App::new();
    app.update(Arc::new(snapshot));
    press(&mut app, keys);
    app
}

/// Presses keys; a line break is Enter.
fn press(app: &mut App, keys: &str) {
    for key in keys.chars() {
        let code = if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) };
        app.on_key(code.into());
    }
}

fn text(app: &App, (width, height): (u16, u16), theme: Theme) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| render::screen(frame, app, theme)).unwrap();
    terminal.backend().to_string()
}

/// Compares the screen at all three sizes with the stored ones.
fn check(name: &str, app: &App) {
    for (width, height) in SIZES {
        let text = text(app, (width, height), Theme::DARK);
        insta::assert_snapshot!(format!("{name}-{width}x{height}"), text);
    }
}

/// Five rows, of which one has delivered nothing for 20 s; perhaps because its broker has ended.
fn silent(broker_ended: bool) -> App {
    let mut app = App::new();
    let before = snapshots::five(83);
    app.update(Arc::new(before.clone()));
    let mut after = snapshots::five(103);
    let (now, then) = (&mut after.groups[2], &before.groups[2]);
    now.messages = then.messages;
    now.rate_now = wirelap_correlate::snapshot::Rate::default();
    if broker_ended {
        let broker = now.processes.iter_mut().find(|process| process.role == "broker").unwrap();
        (broker.cpu_share, broker.rss_bytes) = (None, None);
    }
    for subscriber in now.processes.iter_mut().filter(|process| process.role == "subscriber") {
        (subscriber.cpu_share, subscriber.rss_bytes) = (Some(0.0), Some(9 << 20));
    }
    app.update(Arc::new(after));
    press(&mut app, "jj");
    app
}

#[test]
fn a_silent_row_says_since_when() {
    check("silent", &silent(false));
}

#[test]
fn a_broker_that_has_ended_is_a_warning() {
    check("broker-gone", &silent(true));
}

/// Messages of the third row are seen from the broker, those of the others from both ends.
#[test]
fn a_row_without_latency_says_why_in_place_of_its_bar() {
    let mut snapshot = snapshots::five(83);
    let group = &mut snapshot.groups[2];
    group.one_way = Summary::default();
    group.segments.clear();
    group.messages = Counts { sent: 500, ..Counts::default() };
    let seen = PartialFigures { by_broker: 1_000, ..PartialFigures::default() };
    group.partial = Some(Box::new(seen));
    let app = app(snapshot, "");
    let told = "seen from the broker alone: publisher and subscriber are not seen on this host";
    assert_eq!(text(&app, (200, 60), Theme::DARK).matches(told).count(), 1);
    assert!(text(&app, (80, 24), Theme::DARK).contains("seen from the broker alone: publ"));
}

#[test]
fn the_list_of_columns() {
    let mut app = app(snapshots::five(83), "cjjjj J");
    check("columns", &app);
    press(&mut app, "c");
    let table = text(&app, (120, 40), Theme::DARK);
    let headings = table.lines().find(|line| line.contains("MIDDLEWARE")).unwrap();
    assert!(headings.contains(" P99.9 ") && !headings.contains(" P99 "), "{headings}");
}

#[test]
fn columns_in_the_order_of_the_user() {
    // The dwell behind the name.
    let keys = format!("c{}{}c", "j".repeat(9), "K".repeat(20));
    check("own-columns", &app(snapshots::five(83), &keys));
}

#[test]
fn a_filter_says_how_many_rows_it_hides_and_how_to_remove_it() {
    let mut app = app(snapshots::five(83), "/mqtt\n");
    check("filtered", &app);
    app.on_key(KeyCode::Esc.into());
    assert_eq!(app.rows().len(), 5);
}

#[test]
fn a_filter_that_matches_nothing_says_so() {
    check("no-match", &app(snapshots::five(83), "/kafka\n"));
}

#[test]
fn the_title_says_of_which_time_the_figures_are() {
    let title = |app: &App| {
        let text = text(app, (200, 60), Theme::DARK);
        let line = text.lines().find(|line| line.contains("middlewares")).unwrap().to_owned();
        line.split('─').nth(1).unwrap().trim().to_owned()
    };
    let mut app = app(snapshots::five(2), "");
    assert_eq!(title(&app), "middlewares, since start; last second: MSG/S");
    press(&mut app, "t");
    assert_eq!(title(&app), "middlewares, since mark (no mark yet: m); since start: OVERHD WHY");
    app.update(Arc::new(Snapshot { at: Nanos(103_000_000_000), ..snapshots::five(3) }));
    press(&mut app, "ttto");
    assert_eq!(app.window().name(), "last 1 min");
    let title = title(&app);
    assert!(title.starts_with("middlewares, last 1 min ("), "{title}");
    assert!(title.ends_with("so far), by MIDDLEWARE ▲; since start: OVERHD WHY"), "{title}");
}

#[test]
fn the_screen_names_the_theme_that_a_key_has_set() {
    let mut app = app(snapshots::five(83), "");
    for _ in Theme::ALL {
        press(&mut app, "z");
        let shown = text(&app, (80, 24), app.theme());
        assert!(shown.contains(&format!("theme: {}", app.theme().name())), "{shown}");
    }
}
