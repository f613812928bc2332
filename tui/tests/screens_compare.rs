//! The view "compare" as text at three sizes, in every state, and its figures against the bins they come from.

#![allow(missing_docs, reason = "a test")]

use crossterm::event::KeyCode;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use wirelap_events::{GroupId, Nanos, Segment};
use wirelap_history::Update;
use wirelap_test_pipeline::histories::{self, Slower};
use wirelap_tui::{App, Theme, render};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

/// The run queue of mosquitto's second leg takes 20 µs longer.
const PLANTED: Slower =
    Slower { group: GroupId(2), leg: 2, segment: Segment::RunQueue, by: 20_000 };

fn take(app: &mut App, updates: Vec<Update>) {
    for update in updates {
        app.take(update);
        app.refresh();
    }
}

fn press(app: &mut App, keys: &str) {
    keys.chars().for_each(|key| drop(app.on_key(KeyCode::Char(key).into())));
}

fn terminal(app: &App, (width, height): (u16, u16), color: bool) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| render::screen(frame, app, if color { Theme::DARK } else { Theme::NONE }))
        .unwrap();
    terminal
}

fn text(app: &App, size: (u16, u16)) -> String {
    terminal(app, size, true).backend().to_string()
}

fn check(name: &str, app: &App) {
    for (width, height) in SIZES {
        insta::assert_snapshot!(format!("{name}-{width}x{height}"), text(app, (width, height)));
    }
}

/// The lines with an answer to this question.
fn lines<'a>(shown: &'a str, answer: &str) -> Vec<&'a str> {
    shown.lines().filter(|line| line.contains(answer)).collect()
}

/// Mosquitto's row, with a baseline of a minute, then so many seconds.
fn after_mark(seconds: u64, slower: Option<Slower>) -> App {
    let mut app = App::new();
    take(&mut app, histories::five(0..60, None));
    press(&mut app, "jj4m");
    take(&mut app, histories::five(60..60 + seconds, slower));
    press(&mut app, "t");
    app.say(String::new());
    app
}

#[test]
fn nothing_is_compared_yet() {
    let mut app = App::new();
    take(&mut app, histories::five(0..3, None));
    press(&mut app, "4");
    check("compare-nothing", &app);
    press(&mut app, " ");
    assert!(text(&app, (80, 24)).contains("One row is marked."));
}

#[test]
fn a_planted_change_is_told_where_it_was_planted() {
    let app = after_mark(40, Some(PLANTED));
    check("compare-planted", &app);
    let shown = text(&app, (200, 60));
    let slower = lines(&shown, "slower,");
    assert!(slower.iter().any(|line| line.contains("one-way p50")), "{shown}");
    let stages: Vec<_> = slower
        .iter()
        .filter(|line| line.starts_with("\" 1 ") || line.starts_with("\" 2 "))
        .collect();
    assert_eq!(stages.len(), 1, "{shown}");
    assert!(stages[0].contains("2 r runqueue") && stages[0].contains("▲ +20.0 µs"), "{shown}");
    assert!(shown.contains("Most of it is in leg 2 runqueue: +20"), "{shown}");
    assert!(!shown.contains("faster"), "{shown}");
}

#[test]
fn nothing_planted_is_no_difference_at_any_time() {
    let mut app = after_mark(0, None);
    for second in 60..240 {
        take(&mut app, histories::five(second..second + 1, None));
        let shown = text(&app, (120, 40));
        let claims = lines(&shown, "slower,").len() + lines(&shown, "faster,").len();
        assert_eq!(claims, 0, "second {second}: {shown}");
    }
    let shown = text(&app, (120, 40));
    assert!(lines(&shown, "the same within").len() > 12, "{shown}");
    check("compare-same", &app);
}

#[test]
fn too_little_says_how_much_more() {
    let app = after_mark(3, Some(PLANTED));
    check("compare-few", &app);
    assert!(text(&app, (80, 24)).contains("cannot tell yet: 3 more s"));
    let mut short = App::new();
    take(&mut short, histories::five(0..4, None));
    press(&mut short, "jj4m");
    take(&mut short, histories::five(4..30, Some(PLANTED)));
    assert!(text(&short, (80, 24)).contains("baseline too short"), "{}", text(&short, (80, 24)));
}

#[test]
fn marked_rows_are_compared_with_the_first() {
    let mut app = App::new();
    take(&mut app, histories::five(0..40, None));
    press(&mut app, " j j ");
    press(&mut app, "4");
    check("compare-rows", &app);
    app.on_key(KeyCode::Right.into());
    assert!(text(&app, (80, 24)).contains("marked rows, 2 to 2 of 2"));
    // A second is too short, and waiting does not make it longer.
    press(&mut app, "tt");
    assert!(
        text(&app, (80, 24)).contains("cannot tell in this window"),
        "{}",
        text(&app, (80, 24))
    );
}

#[test]
fn a_row_that_is_gone_or_new_is_no_failure() {
    let mut app = after_mark(10, None);
    let mut snapshot = (**app.history().latest()).clone();
    let from = snapshot.at;
    snapshot.at = from + Nanos(1_000_000_000);
    snapshot.groups.truncate(1);
    snapshot.groups[0].id = GroupId(77);
    snapshot.groups[0].middleware = "日本語\x1b[2J".repeat(30);
    app.take(histories::one(snapshot, from, &[(GroupId(77), &[u64::MAX, 0, 1])]));
    app.refresh();
    check("compare-extreme", &app);
}

/// The values are those of the bins of the same time.
#[test]
fn what_is_shown_is_what_the_bins_have() {
    let app = after_mark(40, Some(PLANTED));
    let group = GroupId(2);
    let since = app.snapshot().since;
    let second = |n: u64| since + Nanos(n * 1_000_000_000);
    let shown = text(&app, (80, 24));
    let line = lines(&shown, "one-way p50")[0];
    for (from, to) in [(second(0), second(60)), (second(60), second(100))] {
        let mut all = app.history().over_time(group, (from, to), 1);
        let p50 = all.pop().unwrap().one_way.quantile(0.5);
        let p50 = wirelap_events::human::column::time(p50);
        assert!(line.contains(&p50), "{p50} {line}");
    }
}

#[test]
fn answers_are_in_words_and_signs_without_colours() {
    let app = after_mark(40, Some(PLANTED));
    let plain = terminal(&app, (80, 24), false);
    let buffer = plain.backend().buffer();
    assert!(buffer.content().iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    let shown = plain.backend().to_string();
    assert!(shown.contains('▲') && shown.contains("slower,") && shown.contains('='), "{shown}");
}
