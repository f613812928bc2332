//! The screen's state. Keys and snapshots go in; nothing here draws or waits.

use crate::bars::Scale;
use crate::columns::Sort;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::sync::Arc;
use wirelap_correlate::snapshot::{Group, Snapshot};
use wirelap_events::GroupId;

/// What the terminal loop has to do after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing: the key has no meaning here.
    Ignore,
    /// Draw the screen again.
    Redraw,
    /// Leave the screen.
    Quit,
}

/// What fills the body of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// All rows side by side.
    #[default]
    Compare,
    /// Everything about the selected row.
    Details,
    /// Why the selected row's messages took so long.
    Why,
}

/// The screen's state.
#[derive(Clone, Debug, Default)]
pub struct App {
    snapshot: Arc<Snapshot>,
    /// Indices of the snapshot's groups in the sorted order.
    order: Vec<usize>,
    selected: Option<GroupId>,
    view: View,
    sort: Sort,
    scale: Scale,
    scroll: u16,
    paused: bool,
    help: bool,
}

impl App {
    /// The state before the first snapshot.
    pub fn new() -> App {
        App::default()
    }

    /// Shows a newer snapshot. The same group stays selected, wherever its row moves.
    pub fn update(&mut self, snapshot: Arc<Snapshot>) {
        let position = self.position();
        self.order = self.sort.order(&snapshot.groups);
        self.snapshot = snapshot;
        let gone = self.selected.is_none_or(|id| self.rows().all(|group| group.id != id));
        if gone {
            self.select(position);
        }
    }

    /// The snapshot that is shown.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The groups in the sorted order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &Group> + '_ {
        self.order.iter().map(|&index| &self.snapshot.groups[index])
    }

    /// The selected row's index in [`App::rows`]; 0 without rows.
    pub fn position(&self) -> usize {
        self.rows().position(|group| Some(group.id) == self.selected).unwrap_or(0)
    }

    /// The selected group.
    pub fn selected(&self) -> Option<&Group> {
        self.rows().nth(self.position())
    }

    /// What fills the body.
    pub fn view(&self) -> View {
        self.view
    }

    /// The order of the rows.
    pub fn sort(&self) -> Sort {
        self.sort
    }

    /// What the lengths of the bars show.
    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }

    /// How many lines of the details or the help are scrolled out at the top.
    pub fn scroll(&self) -> u16 {
        self.scroll
    }

    /// Whether the screen is paused: the loop then takes no snapshots.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Whether the help covers the body.
    pub fn is_help(&self) -> bool {
        self.help
    }

    /// Reacts to a key.
    pub fn on_key(&mut self, key: KeyEvent) -> Action {
        if key.kind == KeyEventKind::Release {
            return Action::Ignore;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if key.code == KeyCode::Char('c') { Action::Quit } else { Action::Ignore };
        }
        self.on_panel_key(key.code).unwrap_or_else(|| self.on_table_key(key.code))
    }

    /// Keys that open, close and move panels.
    fn on_panel_key(&mut self, key: KeyCode) -> Option<Action> {
        match key {
            KeyCode::Char('q') => return Some(Action::Quit),
            KeyCode::Esc => return Some(self.back()),
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => {
                self.help = !self.help;
                self.scroll = 0;
            }
            KeyCode::Enter | KeyCode::Tab => self.toggle(View::Details),
            KeyCode::Char('w') => self.toggle(View::Why),
            KeyCode::PageDown => self.scroll = self.scroll.saturating_add(5).min(MAX_SCROLL),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(5),
            _ => return None,
        }
        Some(Action::Redraw)
    }

    /// Keys that change what the rows show.
    fn on_table_key(&mut self, key: KeyCode) -> Action {
        match key {
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Char('s' | '>') => self.sort_by(self.sort.next()),
            KeyCode::Char('S' | '<') => self.sort_by(self.sort.previous()),
            KeyCode::Char('r') => {
                self.sort_by(Sort { reverse: !self.sort.reverse, ..self.sort });
            }
            KeyCode::Char('b') => {
                self.scale = if self.scale == Scale::Share { Scale::Time } else { Scale::Share };
            }
            KeyCode::Down | KeyCode::Char('j') => self.select(self.position().saturating_add(1)),
            KeyCode::Up | KeyCode::Char('k') => self.select(self.position().saturating_sub(1)),
            KeyCode::Home | KeyCode::Char('g') => self.select(0),
            KeyCode::End | KeyCode::Char('G') => self.select(usize::MAX),
            _ => return Action::Ignore,
        }
        Action::Redraw
    }

    /// Esc closes the help, then the open view, and leaves the screen if neither is open.
    fn back(&mut self) -> Action {
        if self.help {
            self.help = false;
        } else if self.view != View::Compare {
            self.view = View::Compare;
        } else {
            return Action::Quit;
        }
        self.scroll = 0;
        Action::Redraw
    }

    /// Shows a view, or the comparison if that view is already shown.
    fn toggle(&mut self, view: View) {
        self.help = false;
        self.scroll = 0;
        self.view = if self.view == view { View::Compare } else { view };
    }

    fn sort_by(&mut self, sort: Sort) {
        self.sort = sort;
        self.order = sort.order(&self.snapshot.groups);
    }

    /// Selects the row at a position, or the last row if there are fewer.
    fn select(&mut self, position: usize) {
        let last = self.order.len().saturating_sub(1);
        let id = self.rows().nth(position.min(last)).map(|group| group.id);
        self.selected = id;
    }
}

/// The largest scroll position, in lines; no panel has more lines. Drawing stops at the panel's end in any case, but
/// without this limit the key for scrolling up would first have to undo each press past the end.
const MAX_SCROLL: u16 = 120;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Column;

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
        press(&mut app, "ss");
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
        assert_eq!(app.view(), View::Compare);
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
        assert_eq!(app.view(), View::Compare);
        press(&mut app, "w");
        assert_eq!(app.on_key(KeyCode::Esc.into()), Action::Redraw);
        assert_eq!(app.view(), View::Compare);
    }

    #[test]
    fn q_and_ctrl_c_quit_from_everywhere() {
        for before in ["", "?", "p", "\t"] {
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
        press(&mut app, " ");
        assert!(!app.is_paused());
        assert_eq!(press(&mut app, "z"), [Action::Ignore]);
        let released =
            KeyEvent::new_with_kind(KeyCode::Char('q'), KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(app.on_key(released), Action::Ignore);
    }

    #[test]
    fn scrolling_starts_over_with_each_panel() {
        let mut app = app(&[1.0]);
        app.on_key(KeyCode::Tab.into());
        for _ in 0..50 {
            app.on_key(KeyCode::PageDown.into());
        }
        assert_eq!(app.scroll(), MAX_SCROLL);
        app.on_key(KeyCode::PageUp.into());
        assert_eq!(app.scroll(), MAX_SCROLL - 5);
        press(&mut app, "h");
        assert_eq!(app.scroll(), 0);
    }
}
