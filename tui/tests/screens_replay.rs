//! The state of a replay on the screen, at three sizes.

#![allow(missing_docs, reason = "a test")]

use crossterm::event::KeyCode;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::sync::Arc;
use wirelap_correlate::snapshot::Snapshot;
use wirelap_events::Nanos;
use wirelap_test_pipeline::snapshots;
use wirelap_tui::{
    Action, App, ReadShare, ReplayControl, ReplayState, ScreenRequest, View, render,
};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

const fn secs(count: u64) -> Nanos {
    Nanos::from_millis(count * 1_000)
}

fn app(snapshot: Snapshot, state: ReplayState) -> App {
    let mut app = App::new();
    app.set_replay(Some(state));
    app.update(Arc::new(snapshot));
    app
}

fn text(app: &App, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| render::screen(frame, app, app.theme())).unwrap();
    terminal.backend().to_string()
}

fn check(name: &str, app: &App) {
    for (width, height) in SIZES {
        insta::assert_snapshot!(format!("{name}-{width}x{height}"), text(app, (width, height)));
    }
}

#[test]
fn it_plays_while_the_files_are_read() {
    let state = ReplayState {
        playing: true,
        speed: 2.0,
        at: secs(12),
        length: secs(90),
        reading: Some(ReadShare::Of(0.43)),
    };
    check("playing", &app(snapshots::five(83), state));
}

#[test]
fn at_the_end_notes_stand_below_it() {
    let state =
        ReplayState { speed: 1.0, at: secs(90), length: secs(90), ..ReplayState::default() };
    let mut app = app(snapshots::five(83), state);
    app.set_notes(vec!["trace.pcap, byte 1234: the rest is missing.\x1b[2J".into()]);
    check("ended", &app);
}

#[test]
fn where_no_message_is_it_says_what_to_do() {
    let state = ReplayState { speed: 1.0, length: secs(90), ..ReplayState::default() };
    check("nothing", &app(snapshots::empty(12), state));
    let ended = ReplayState { at: secs(90), ..state };
    let shown = text(&app(snapshots::empty(12), ended), (80, 24));
    assert!(shown.contains("No message was found in the files"), "{shown}");
}

#[test]
fn keys_move_the_replay() {
    let mut app = app(snapshots::five(83), ReplayState::default());
    for (key, control) in [
        (KeyCode::Char(' '), ReplayControl::PlayPause),
        (KeyCode::Char('p'), ReplayControl::PlayPause),
        (KeyCode::Right, ReplayControl::Forward),
        (KeyCode::Left, ReplayControl::Back),
        (KeyCode::Char('+'), ReplayControl::Faster),
        (KeyCode::Char('{'), ReplayControl::Start),
        (KeyCode::Char('!'), ReplayControl::Worst),
    ] {
        assert_eq!(app.on_key(key.into()), Action::Request(ScreenRequest::Replay(control)));
    }
    assert_eq!(app.view(), View::Messages);
}
