//! The view of rows by topic, client and so on: what they are told apart by, their order, and the text that they are filtered by.

mod state;

pub use state::ByName;

use super::{Action, App, Motion, Overlay, ScreenCommand, ScreenRequest, View};
use crossterm::event::KeyCode;
use std::cmp::Reverse;
use wirelap_correlate::snapshot::{Breakdown, BreakdownRow};
use wirelap_correlate::{BreakdownQuery, Dimension, MAX_NESTED, RowFigure};

/// Lines that a page has.
const PAGE: usize = 10;

impl App {
    /// The rows by name that are asked for.
    pub fn breakdown_query(&self) -> &BreakdownQuery {
        &self.by_name.query
    }

    /// The rows by name, if they are those that are asked for.
    pub fn breakdown(&self) -> Option<&Breakdown> {
        let shown = self.figures.snapshot.breakdown.as_ref()?;
        (shown.by == self.by_name.query.by).then_some(shown)
    }

    /// The listed rows by name that have the text of the filter, in the chosen order.
    pub fn breakdown_rows(&self) -> Vec<&BreakdownRow> {
        let query = &self.by_name.query;
        let text = query.text.to_lowercase();
        let all = self.breakdown().into_iter().flat_map(|shown| &shown.rows);
        let mut rows: Vec<&BreakdownRow> = all.filter(|row| row.has_text(&text)).collect();
        rows.sort_by_key(|row| Reverse(row.figure(query.order)));
        rows
    }

    /// The position of the selected one of so many rows by name.
    pub fn breakdown_position(&self, rows: usize) -> usize {
        self.by_name.selected.min(rows.saturating_sub(1))
    }

    /// Carries out a command in the view of rows by name; `None` if it has no meaning of its own there.
    pub(super) fn perform_by_name(&mut self, command: ScreenCommand) -> Option<Action> {
        if self.view != View::ByName {
            return None;
        }
        match command {
            ScreenCommand::NextSort => return Some(self.order_by(1)),
            ScreenCommand::PreviousSort => return Some(self.order_by(RowFigure::ALL.len() - 1)),
            ScreenCommand::Back
                if self.overlay.is_none() && !self.by_name.query.text.is_empty() =>
            {
                self.by_name.query.text.clear();
                return Some(self.ask_by_name());
            }
            ScreenCommand::Move(motion) => self.move_by_name(motion),
            _ => return None,
        }
        Some(Action::Redraw)
    }

    /// Asks for the rows as they are chosen.
    pub(super) fn ask_by_name(&mut self) -> Action {
        Action::Request(ScreenRequest::Breakdown(self.by_name.ask()))
    }

    /// Orders by the figure that is so many places after the present one.
    fn order_by(&mut self, after: usize) -> Action {
        let order = &mut self.by_name.query.order;
        let at = RowFigure::ALL.iter().position(|figure| figure == order).unwrap_or_default();
        *order = RowFigure::ALL[(at + after) % RowFigure::ALL.len()];
        self.ask_by_name()
    }

    fn move_by_name(&mut self, motion: Motion) {
        let last = self.breakdown_rows().len().saturating_sub(1);
        let at = self.by_name.selected.min(last);
        self.by_name.selected = match motion {
            Motion::Down => at.saturating_add(1).min(last),
            Motion::Up => at.saturating_sub(1),
            Motion::PageDown => at.saturating_add(PAGE).min(last),
            Motion::PageUp => at.saturating_sub(PAGE),
            Motion::First => 0,
            Motion::Last => last,
            Motion::Left | Motion::Right => at,
        };
    }

    /// Shows the view, and the list of what its rows can be told apart by if there are none.
    pub(super) fn show_by_name(&mut self) {
        self.show(View::ByName);
        if self.by_name.query.by.is_empty() {
            self.choose_grouping();
        }
    }

    /// Opens the list of what the rows can be told apart by.
    pub(super) fn choose_grouping(&mut self) {
        let chosen = self.by_name.query.by.clone();
        let first = chosen.first();
        let at = Dimension::ALL.iter().position(|one| Some(one) == first).unwrap_or_default();
        self.overlay = Some(Overlay::Grouping(at, chosen));
    }

    /// Reacts to a key while the list is open, with the line at a position selected.
    pub(super) fn on_grouping_key(
        &mut self,
        at: usize,
        mut chosen: Vec<Dimension>,
        key: KeyCode,
    ) -> Action {
        let last = Dimension::ALL.len() - 1;
        let at = match key {
            KeyCode::Esc | KeyCode::Char('q') => return Action::Redraw,
            KeyCode::Enter => return self.group_by(at, chosen),
            KeyCode::Char('g') | KeyCode::Tab => (at + 1) % Dimension::ALL.len(),
            KeyCode::Up | KeyCode::Char('k') => at.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => at.saturating_add(1).min(last),
            KeyCode::Home => 0,
            KeyCode::End | KeyCode::Char('G') => last,
            KeyCode::Char(' ') => {
                toggle(&mut chosen, Dimension::ALL[at.min(last)]);
                at
            }
            KeyCode::Char('d') => {
                chosen.clear();
                at
            }
            _ => at,
        };
        self.overlay = Some(Overlay::Grouping(at, chosen));
        Action::Redraw
    }

    /// Chooses the line at a position of the list, or no longer.
    pub(crate) fn toggle_grouping(&mut self, at: usize, mut chosen: Vec<Dimension>) {
        if let Some(&dimension) = Dimension::ALL.get(at) {
            toggle(&mut chosen, dimension);
        }
        self.overlay = Some(Overlay::Grouping(at, chosen));
    }

    /// Asks for rows by what was chosen, or by the selected line alone if that was not among one at most that was chosen.
    fn group_by(&mut self, at: usize, chosen: Vec<Dimension>) -> Action {
        let selected = Dimension::ALL[at.min(Dimension::ALL.len() - 1)];
        let alone =
            chosen.len() < 2 && !chosen.contains(&selected) && chosen == self.by_name.query.by;
        let by = if alone || chosen.is_empty() { vec![selected] } else { chosen };
        if by == self.by_name.query.by {
            return Action::Redraw;
        }
        self.by_name.query.by = by;
        self.by_name.selected = 0;
        self.ask_by_name()
    }
}

/// Adds what is not chosen, inside all that is, and removes what is.
fn toggle(chosen: &mut Vec<Dimension>, dimension: Dimension) {
    if let Some(at) = chosen.iter().position(|one| *one == dimension) {
        chosen.remove(at);
    } else if chosen.len() < MAX_NESTED {
        chosen.push(dimension);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use wirelap_correlate::Snapshot;

    fn press(app: &mut App, keys: &str) -> Vec<BreakdownQuery> {
        let mut asked = Vec::new();
        for key in keys.chars() {
            let code = if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) };
            if let Action::Request(ScreenRequest::Breakdown(query)) = app.on_key(code.into()) {
                asked.push(query);
            }
        }
        asked
    }

    fn row(name: &str, sent: u64, delivered: u64) -> BreakdownRow {
        BreakdownRow { names: vec![Some(name.into())], sent, delivered, ..BreakdownRow::default() }
    }

    fn with_rows(by: &[Dimension]) -> App {
        let mut app = App::new();
        let rows = vec![row("a/one", 5, 1), row("b/Two", 3, 9), row("a/three", 1, 0)];
        let breakdown = Breakdown { by: by.to_vec(), rows, ..Breakdown::default() };
        app.update(Arc::new(Snapshot { breakdown: Some(breakdown), ..Snapshot::default() }));
        app
    }

    #[test]
    fn the_key_asks_for_what_is_chosen() {
        let mut app = App::new();
        assert!(press(&mut app, "g").is_empty());
        assert_eq!(app.overlay(), Some(&Overlay::Grouping(0, Vec::new())));
        let asked = press(&mut app, "g\n");
        assert_eq!(asked, [BreakdownQuery::by(&[Dimension::Client])]);
        assert!(app.breakdown().is_none(), "it has not come yet");
        let asked = press(&mut app, "gk \n");
        assert_eq!(asked, [BreakdownQuery::by(&[Dimension::Client, Dimension::Topic])]);
        assert!(press(&mut app, "g\n").is_empty(), "nothing has changed");
        let asked = press(&mut app, "gdjj\n");
        assert_eq!(asked, [BreakdownQuery::by(&[Dimension::Connection])]);
    }

    #[test]
    fn another_line_alone_takes_the_place_of_a_single_choice() {
        let mut app = with_rows(&[Dimension::Topic]);
        let asked = press(&mut app, "ggjjj\n");
        assert_eq!(asked, [BreakdownQuery::by(&[Dimension::Connection])]);
    }

    #[test]
    fn rows_are_ordered_and_filtered_here_and_asked_for() {
        let mut app = with_rows(&[Dimension::Topic]);
        let names = |app: &App| -> Vec<String> {
            let rows = app.breakdown_rows().into_iter();
            rows.map(|row| row.names[0].clone().unwrap()).collect()
        };
        press(&mut app, "g");
        assert_eq!(app.overlay(), None);
        assert_eq!(names(&app), ["b/Two", "a/one", "a/three"]);
        let asked = press(&mut app, "o");
        assert_eq!(asked[0].order, RowFigure::Sent);
        assert_eq!(names(&app), ["a/one", "b/Two", "a/three"]);
        let asked = press(&mut app, "/A/T\n");
        assert_eq!(asked.last().map(|query| query.text.as_str()), Some("A/T"));
        assert_eq!(names(&app), ["a/three"]);
        assert!(matches!(app.on_key(KeyCode::Esc.into()), Action::Request(_)));
        assert_eq!((names(&app).len(), app.view()), (3, View::ByName));
        app.on_key(KeyCode::Esc.into());
        assert_eq!(app.view(), View::Overview);
    }

    #[test]
    fn at_most_so_many_are_nested() {
        let mut chosen = Vec::new();
        for one in Dimension::ALL {
            toggle(&mut chosen, one);
        }
        assert_eq!(chosen.len(), MAX_NESTED);
        toggle(&mut chosen, Dimension::Topic);
        assert_eq!(chosen[0], Dimension::Client);
    }
}
