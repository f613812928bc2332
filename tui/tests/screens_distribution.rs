//! The view "spread" as text at three sizes, in every state, and its figures against the bins they are drawn from.

#![allow(missing_docs, reason = "a test")]

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Rect;
use ratatui::style::Color;
use wirelap_correlate::snapshot::Snapshot;
use wirelap_events::{GroupId, Nanos};
use wirelap_history::Update;
use wirelap_test_pipeline::{histories, snapshots};
use wirelap_tui::{Action, App, Theme, render};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

fn app(updates: Vec<Update>, keys: &[KeyCode]) -> App {
    let mut app = App::new();
    for update in updates {
        app.take(update);
    }
    app.refresh();
    for key in keys {
        app.on_key((*key).into());
    }
    app
}

fn keys(keys: &str) -> Vec<KeyCode> {
    keys.chars()
        .map(|key| match key {
            '>' => KeyCode::Right,
            key => KeyCode::Char(key),
        })
        .collect()
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

#[test]
fn a_minute_of_a_brokered_row() {
    let updates = histories::five(0..45, None);
    check("spread", &app(updates.clone(), &keys("jj5")));
    let small = (80, 24);
    // Two marked rows beside the selected one.
    let percentiles = app(updates.clone(), &keys(" j j5>"));
    insta::assert_snapshot!("percentiles-80x24", text(&percentiles, small));
    insta::assert_snapshot!("percentiles-200x60", text(&percentiles, (200, 60)));
    insta::assert_snapshot!("histogram-80x24", text(&app(updates, &keys("jj5>>")), small));
}

#[test]
fn ten_seconds_of_half_an_hour() {
    let mut updates = histories::five(0..10, None);
    updates.extend(histories::five(300..320, None));
    check("spread-window", &app(updates, &keys("5TTT")));
}

#[test]
fn nothing_to_draw() {
    let mut only_sums = App::new();
    only_sums.update(std::sync::Arc::new(snapshots::five(83)));
    only_sums.on_key(KeyCode::Char('5').into());
    check("spread-sums", &only_sums);
    let shown = text(&app(vec![], &keys("5")), (80, 24));
    assert!(shown.contains("wirelap"), "{shown}");
    // The row is silent in the last second.
    let mut updates = histories::five(0..9, None);
    let last = updates.last().unwrap().clone();
    let later = Snapshot { at: last.slice.to + Nanos(3_000_000_000), ..(*last.snapshot).clone() };
    updates.push(histories::one(later, last.slice.to, &[]));
    let shown = text(&app(updates, &keys("5tt")), (80, 24));
    assert!(shown.contains("t shows a"), "{shown}");
}

#[test]
fn few_messages_have_no_high_percentiles() {
    let snapshot = snapshots::five(1);
    let since = snapshot.since;
    let times = [1_000_000; 19];
    let update = histories::one(snapshot.clone(), since, &[(GroupId(0), &times)]);
    let shown = text(&app(vec![update], &keys("5>")), (80, 24));
    assert!(shown.contains("Percentiles begin with 20 messages"), "{shown}");
    assert!(shown.contains("p50 –, p90 –, p99 –, p99.9 –"), "{shown}");
    let update = histories::one(snapshot, since, &[(GroupId(0), &[1_000_000; 100])]);
    let shown = text(&app(vec![update], &keys("5>")), (80, 24));
    assert!(shown.contains("p90 1") && shown.contains("p99 –"), "{shown}");
    assert!(shown.contains("90 %") && !shown.contains("99 %"), "{shown}");
}

#[test]
fn extreme_times_and_names() {
    let mut snapshot = snapshots::many(3);
    snapshot.groups[0].middleware = "\x1b[2J with a very long name ".repeat(9);
    let since = snapshot.since;
    let times: Vec<u64> = (0..64).map(|bit| 1 << bit).chain([0, u64::MAX]).collect();
    let update = histories::one(snapshot, since, &[(GroupId(0), &times), (GroupId(1), &[5; 30])]);
    check("spread-extreme", &app(vec![update], &keys("5")));
}

/// The figures of the line are those of the bins, and the heat map has a mark in each column that has messages.
#[test]
fn what_is_drawn_is_what_the_bins_have() {
    let app = app(histories::five(0..30, None), &keys("5"));
    let bins = app.history().one_way(GroupId(0), app.window());
    let shown = text(&app, (80, 24));
    let time = |share| wirelap_events::human::column::time(bins.quantile(share));
    assert_eq!(bins.count(), 30 * 400);
    assert!(shown.contains("12,000 messages"), "{shown}");
    let line =
        format!("p50 {}, p90 {}, p99 {}, p99.9 {}", time(0.5), time(0.9), time(0.99), time(0.999));
    assert!(shown.contains(&line), "{line} {shown}");
    let drawn = terminal(&app, (80, 24), true);
    let buffer = drawn.backend().buffer();
    let is_mark = |x, y| "░▒▓█•●".contains(buffer[(x, y)].symbol());
    let filled = (8..80).filter(|x| (6..14).any(|y| is_mark(*x, y))).count();
    assert_eq!(filled, 30, "{shown}");
}

#[test]
fn the_tail_has_a_sign_and_a_colour() {
    let app = app(histories::five(0..30, None), &keys("5"));
    let colored = terminal(&app, (80, 24), true);
    let buffer = colored.backend().buffer();
    let dots: Vec<_> = buffer.content().iter().filter(|cell| cell.symbol() == "•").collect();
    assert!(dots.len() > 5);
    assert!(
        dots.iter().filter(|cell| Some(cell.fg) == Theme::DARK.warning().fg).count() + 1
            >= dots.len(),
        "all but the legend's"
    );
    let plain = terminal(&app, (80, 24), false);
    let buffer = plain.backend().buffer();
    assert!(buffer.content().iter().all(|cell| cell.fg == Color::Reset));
    assert_eq!(buffer.content().iter().filter(|cell| cell.symbol() == "•").count(), dots.len());
}

/// A time that is drawn with the mouse over the heat map has its own figures, at both arrangements of the plots.
#[test]
fn a_time_is_selected_with_the_mouse() {
    for (size, line) in [((80, 24), 8), ((200, 60), 12)] {
        let mut app = app(histories::five(0..30, None), &keys("5"));
        let screen = Rect::new(0, 0, size.0, size.1);
        let mut mouse = |kind, column| {
            let modifiers = KeyModifiers::NONE;
            app.on_mouse(MouseEvent { kind, column, row: line, modifiers }, screen)
        };
        // The last column is the present second, which has only begun.
        let last = size.0 - 1;
        assert_eq!(mouse(MouseEventKind::Down(MouseButton::Left), last - 4), Action::Redraw);
        assert_eq!(mouse(MouseEventKind::Drag(MouseButton::Left), last - 4), Action::Redraw);
        assert_eq!(mouse(MouseEventKind::Drag(MouseButton::Left), last - 6), Action::Redraw);
        assert_eq!(mouse(MouseEventKind::Drag(MouseButton::Left), last - 6), Action::Ignore);
        assert_eq!(mouse(MouseEventKind::Drag(MouseButton::Left), 1), Action::Ignore);
        let shown = text(&app, size);
        let (from, to) = app.distribution().span().unwrap();
        assert_eq!(to - from, Nanos(3_000_000_000));
        let selected = &app.history().over_time(GroupId(0), (from, to), 1)[0].one_way;
        let facts = format!("{} messages", selected.count());
        assert!(selected.count() > 0 && shown.contains("selected (Esc"), "{shown}");
        assert!(shown.replace(',', "").contains(&facts), "{facts} {shown}");
        app.on_key(KeyCode::Esc.into());
        assert!(text(&app, size).contains("since start"));
        assert_eq!(app.view(), wirelap_tui::View::Distribution);
    }
}
