//! A row that the user has muted: marked as such, with its figures of before, and never silent.

#![allow(missing_docs, reason = "a test")]

use crossterm::event::KeyCode;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::sync::Arc;
use wirelap_correlate::snapshot::{GroupNote, Muted, Snapshot};
use wirelap_events::Nanos;
use wirelap_test_pipeline::snapshots;
use wirelap_tui::{Action, App, ScreenRequest, Theme, plain, render};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

fn text(app: &App, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| render::screen(frame, app, Theme::DARK)).unwrap();
    terminal.backend().to_string()
}

/// Five rows; the third has been muted since second 83.
fn muted(second: u64, now: bool) -> Snapshot {
    let before = snapshots::five(83);
    let mut after = snapshots::five(second);
    let muted = Muted { now, time: Nanos::from_millis(1_000 * (second - 83)) };
    after.groups[2] = before.groups[2].clone();
    after.groups[2].muted = Some(muted);
    after.groups[2].notes.push(GroupNote::Muted(muted));
    after
}

fn app() -> App {
    let mut app = App::new();
    app.update(Arc::new(snapshots::five(83)));
    for second in [84, 90, 103] {
        app.update(Arc::new(muted(second, true)));
    }
    app
}

/// Selects the third row of the snapshot, wherever the table has it.
fn select(app: &mut App) {
    let wanted = app.snapshot().groups[2].id;
    while app.selected().unwrap().id != wanted {
        app.on_key(KeyCode::Char('j').into());
    }
}

#[test]
fn a_muted_row_is_marked_and_not_silent() {
    let mut app = app();
    select(&mut app);
    for size in SIZES {
        let text = text(&app, size);
        assert!(!text.contains("silent"), "{text}");
        insta::assert_snapshot!(format!("muted-{}x{}", size.0, size.1), text);
    }
    app.on_key(KeyCode::Char('2').into());
    insta::assert_snapshot!("muted-details-80x24", text(&app, (80, 24)));
    app.on_key(KeyCode::Char('0').into());
    assert!(text(&app, (200, 60)).contains("muted: nothing more is observed of it"));
}

#[test]
fn figures_of_windows_stay_as_they_were() {
    let mut app = app();
    let row = |app: &App| app.snapshot().groups[2].clone();
    let whole = row(&app);
    assert!(whole.is_muted());
    for _ in 0..5 {
        app.on_key(KeyCode::Char('t').into());
        assert_eq!(row(&app).muted, whole.muted);
        assert!(row(&app).messages.delivered > 0, "{:?}", app.window());
    }
}

#[test]
fn the_key_asks_for_the_selected_row_and_for_the_end_of_it() {
    let mut app = app();
    let asked = |app: &mut App| match app.on_key(KeyCode::Char('M').into()) {
        Action::Request(ScreenRequest::Mute { group, name, mute }) => (group, name, mute),
        other => panic!("{other:?}"),
    };
    let first = app.selected().unwrap().id;
    let (group, name, mute) = asked(&mut app);
    assert_eq!((group, mute), (first, !app.selected().unwrap().is_muted()));
    assert!(!name.is_empty());
    select(&mut app);
    assert!(!asked(&mut app).2, "it is muted already");
    // A screen without rows has nothing to mute.
    assert_eq!(App::new().on_key(KeyCode::Char('M').into()), Action::Ignore);
}

#[test]
fn lines_say_that_a_row_is_muted_or_was() {
    insta::assert_snapshot!("muted-plain", plain(&muted(103, true), 100));
    let after = plain(&muted(103, false), 100);
    assert!(!after.contains("1 row muted"), "{after}");
    assert!(
        after.contains("Muted by the user for 20.00 s so far: nothing of that time"),
        "{after}"
    );
}
