//! Keys and updates, and what they make of the state.

use super::*;
use crate::columns::Sort;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::sync::Arc;
use wirelap_correlate::snapshot::{Group, Snapshot};
use wirelap_events::GroupId;

fn app(rates: &[f64]) -> App {
    let mut app = App::new();
    app.update(snapshot(rates));
    app
}

fn snapshot(rates: &[f64]) -> Arc<Snapshot> {
    let groups = rates.iter().zip(0..).map(|(&rate, id)| {
        let mut group = Group { id: GroupId(id), ..Group::default() };
        group.rate_now.msg_per_s = rate;
        group
    });
    Arc::new(Snapshot { groups: groups.collect(), ..Snapshot::default() })
}

fn press(app: &mut App, keys: &str) -> Vec<Action> {
    keys.chars().map(|c| app.on_key(KeyCode::Char(c).into())).collect()
}

fn shown(app: &App) -> Vec<u32> {
    app.rows().map(|group| group.id.0).collect()
}

#[test]
fn arrows_and_letters_select_and_stop_at_the_ends() {
    let mut app = app(&[1.0, 2.0, 3.0]);
    assert_eq!(app.position(), 0);
    press(&mut app, "kjjjj");
    assert_eq!(app.position(), 2);
    app.on_key(KeyCode::Up.into());
    assert_eq!(app.position(), 1);
    press(&mut app, "G");
    assert_eq!(app.position(), 2);
    app.on_key(KeyCode::Home.into());
    assert_eq!(app.position(), 0);
}

#[test]
fn the_selection_follows_its_group() {
    let mut app = app(&[1.0, 2.0, 3.0]);
    press(&mut app, "j");
    press(&mut app, "oo");
    assert_eq!(app.sort().by, Some(Column::Rate));
    assert_eq!(shown(&app), [2, 1, 0]);
    app.update(snapshot(&[1.0, 9.0, 3.0]));
    assert_eq!(shown(&app), [1, 2, 0]);
    assert_eq!(app.selected().map(|group| group.id), Some(GroupId(1)));
    press(&mut app, "r");
    assert_eq!(shown(&app), [0, 2, 1]);
    assert_eq!(app.position(), 2);
    press(&mut app, "<<");
    assert_eq!(app.sort(), Sort::default());
}

#[test]
fn a_selected_group_that_went_away_leaves_its_neighbour_selected() {
    let mut app = app(&[1.0, 2.0, 3.0]);
    press(&mut app, "G");
    app.update(snapshot(&[1.0, 2.0]));
    assert_eq!(app.position(), 1);
    app.update(snapshot(&[]));
    assert!(app.selected().is_none());
    press(&mut app, "jGk");
    app.update(snapshot(&[1.0]));
    assert!(app.selected().is_some());
}

#[test]
fn esc_closes_from_the_inside_out() {
    let mut app = app(&[1.0]);
    app.on_key(KeyCode::Enter.into());
    press(&mut app, "?");
    assert!(app.is_help());
    assert_eq!(app.on_key(KeyCode::Esc.into()), Action::Redraw);
    assert_eq!((app.is_help(), app.view()), (false, View::Details));
    assert_eq!(app.on_key(KeyCode::Esc.into()), Action::Redraw);
    assert_eq!(app.view(), View::Overview);
    assert_eq!(app.on_key(KeyCode::Esc.into()), Action::Quit);
}

#[test]
fn details_and_why_are_a_key_away_from_each_other() {
    let mut app = app(&[1.0]);
    press(&mut app, "w");
    assert_eq!(app.view(), View::Why);
    app.on_key(KeyCode::Enter.into());
    assert_eq!(app.view(), View::Details);
    press(&mut app, "ww");
    assert_eq!(app.view(), View::Overview);
    press(&mut app, "w");
    assert_eq!(app.on_key(KeyCode::Esc.into()), Action::Redraw);
    assert_eq!(app.view(), View::Overview);
}

#[test]
fn q_and_ctrl_c_quit_from_everywhere() {
    for before in ["", "?", "p", "2"] {
        let mut app = app(&[1.0]);
        press(&mut app, before);
        assert_eq!(press(&mut app, "q"), [Action::Quit]);
        let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(app.on_key(ctrl_c), Action::Quit);
    }
}

#[test]
fn pause_toggles_and_unknown_keys_do_nothing() {
    let mut app = app(&[]);
    assert_eq!(press(&mut app, "p"), [Action::Redraw]);
    assert!(app.is_paused());
    press(&mut app, "p");
    assert!(!app.is_paused());
    assert_eq!(press(&mut app, "%"), [Action::Ignore]);
    let released =
        KeyEvent::new_with_kind(KeyCode::Char('q'), KeyModifiers::NONE, KeyEventKind::Release);
    assert_eq!(app.on_key(released), Action::Ignore);
}

#[test]
fn scrolling_starts_over_with_each_panel() {
    let mut app = app(&[1.0]);
    app.on_key(KeyCode::Tab.into());
    for _ in 0..100 {
        app.on_key(KeyCode::PageDown.into());
    }
    assert_eq!(app.scroll(), MAX_SCROLL);
    app.on_key(KeyCode::PageUp.into());
    assert_eq!(app.scroll(), MAX_SCROLL - 5);
    press(&mut app, "h");
    assert_eq!(app.scroll(), 0);
}
