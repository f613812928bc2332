use super::*;
use crate::app::Motion;
use crate::columns::Column;
use crossterm::event::KeyModifiers;
use std::sync::Arc;
use wirelap_correlate::snapshot::{Group, Snapshot};
use wirelap_events::GroupId;

const SCREEN: Rect = Rect { x: 0, y: 0, width: 80, height: 24 };

fn app(rows: u32) -> App {
    let mut app = App::new();
    let groups = (0..rows).map(|id| Group { id: GroupId(id), ..Group::default() }).collect();
    app.update(Arc::new(Snapshot { groups, ..Snapshot::default() }));
    app
}

fn event(kind: MouseEventKind, (column, row): (u16, u16)) -> MouseEvent {
    MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }
}

fn click(app: &mut App, at: (u16, u16)) -> Action {
    app.on_mouse(event(MouseEventKind::Down(MouseButton::Left), at), SCREEN)
}

/// The screen as lines of text.
fn lines(app: &App) -> Vec<String> {
    let size = ratatui::layout::Size { width: SCREEN.width, height: SCREEN.height };
    crate::picture::text(app, size).lines().map(str::to_owned).collect()
}

/// The column and line at which the screen has a text.
fn find(app: &App, text: &str) -> (u16, u16) {
    let lines = lines(app);
    let (y, x) = lines
        .iter()
        .enumerate()
        .find_map(|(y, line)| {
            let at = line.find(text)?;
            Some((y, line[..at].chars().count()))
        })
        .unwrap_or_else(|| panic!("no {text:?} in {lines:#?}"));
    (layout::count(x), layout::count(y))
}

#[test]
fn a_click_on_a_heading_sorts_and_a_second_one_reverses() {
    let mut app = app(3);
    let p99 = find(&app, "P99");
    assert_eq!(click(&mut app, p99), Action::Redraw);
    assert_eq!((app.sort().by, app.sort().reverse), (Some(Column::P99), false));
    click(&mut app, p99);
    assert!(app.sort().reverse);
    let name = find(&app, "MIDDLEWARE");
    click(&mut app, name);
    assert_eq!(app.sort().by, Some(Column::Name));
}

#[test]
fn a_click_selects_a_row_in_the_table_and_among_the_bars() {
    let mut app = app(5);
    let (_, top) = find(&app, "MIDDLEWARE");
    click(&mut app, (9, top + 3));
    assert_eq!(app.position(), 2);
    let (_, bars) = find(&app, "where the time goes");
    click(&mut app, (9, bars + 5));
    assert_eq!(app.position(), 4);
    assert_eq!(click(&mut app, (9, bars)), Action::Ignore);
}

#[test]
fn a_click_shows_a_view_and_a_key_of_the_last_line_is_given() {
    let mut app = app(3);
    let tab = find(&app, "3 why");
    assert_eq!(click(&mut app, tab), Action::Redraw);
    assert_eq!(app.view(), View::Why);
    assert_eq!(click(&mut app, tab), Action::Ignore);
    let help = find(&app, "? help");
    click(&mut app, help);
    assert!(app.is_help());
    let quit = find(&app, "q quit");
    assert_eq!(click(&mut app, quit), Action::Quit);
}

#[test]
fn clicks_reach_lines_of_the_palette_and_of_the_columns() {
    let mut app = app(3);
    app.perform(ScreenCommand::Palette);
    for c in "pause".chars() {
        app.on_key(KeyCode::Char(c).into());
    }
    let pause = find(&app, "pause: the screen");
    click(&mut app, pause);
    assert!(app.is_paused() && app.overlay().is_none());
    app.perform(ScreenCommand::Columns);
    let p90 = find(&app, "90th percentile");
    click(&mut app, p90);
    assert!(!app.columns().shown().contains(&Column::P90));
    assert_eq!(click(&mut app, (0, 0)), Action::Ignore);
}

#[test]
fn the_wheel_moves_through_rows_and_scrolls_text() {
    let mut app = app(5);
    let wheel = |app: &mut App, kind, at| app.on_mouse(event(kind, at), SCREEN);
    let (_, top) = find(&app, "MIDDLEWARE");
    wheel(&mut app, MouseEventKind::ScrollDown, (9, top + 1));
    wheel(&mut app, MouseEventKind::ScrollDown, (9, top + 1));
    wheel(&mut app, MouseEventKind::ScrollUp, (9, top + 1));
    assert_eq!(app.position(), 1);
    app.perform(ScreenCommand::Help);
    wheel(&mut app, MouseEventKind::ScrollDown, (9, 9));
    assert_eq!((app.position(), app.scroll()), (1, 3));
    app.perform(ScreenCommand::Columns);
    wheel(&mut app, MouseEventKind::ScrollDown, (9, 9));
    assert_eq!(app.overlay(), Some(&Overlay::Columns(1)));
    app.perform(ScreenCommand::Back);
    app.perform(ScreenCommand::Move(Motion::First));
    assert_eq!(wheel(&mut app, MouseEventKind::Moved, (9, 9)), Action::Ignore);
}

#[test]
fn the_sentence_of_the_last_line_goes_with_the_next_click_and_not_with_its_own() {
    let mut app = app(3);
    app.say("written: a.svg".into());
    let (_, top) = find(&app, "MIDDLEWARE");
    click(&mut app, (9, top + 2));
    assert_eq!(app.status(), None);
    app.perform(ScreenCommand::Palette);
    for c in "theme".chars() {
        app.on_key(KeyCode::Char(c).into());
    }
    let theme = find(&app, "the next theme");
    click(&mut app, theme);
    assert_eq!(app.status(), Some("theme: light"));
}

#[test]
fn a_screen_that_is_too_small_has_nothing_to_click() {
    let small = Rect::new(0, 0, 30, 6);
    let click = event(MouseEventKind::Down(MouseButton::Left), (3, 3));
    assert_eq!(app(3).on_mouse(click, small), Action::Ignore);
}
