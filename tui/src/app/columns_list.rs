//! The list in which columns are shown, hidden and moved.

use super::{Action, App, Overlay};
use crate::columns::ColumnChoice;
use crossterm::event::KeyCode;

impl App {
    /// Selects the column at a position of the list, and shows or hides it.
    pub(crate) fn toggle_column(&mut self, at: usize) {
        self.rows.columns.toggle(at);
        self.overlay = Some(Overlay::Columns(at));
    }

    /// Reacts to a key while the list of columns is open, with the column at a position selected.
    pub(super) fn on_columns_key(&mut self, at: usize, key: KeyCode) -> Action {
        let last = self.rows.columns.entries().len().saturating_sub(1);
        let at = match key {
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('c' | 'q') => return Action::Redraw,
            KeyCode::Up | KeyCode::Char('k') => at.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => at.saturating_add(1).min(last),
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => last,
            KeyCode::Char(' ') => {
                self.rows.columns.toggle(at);
                at
            }
            KeyCode::Left | KeyCode::Char('K') => self.rows.columns.move_up(at),
            KeyCode::Right | KeyCode::Char('J') => self.rows.columns.move_down(at),
            KeyCode::Char('d') => {
                self.rows.columns = ColumnChoice::default();
                at
            }
            _ => at,
        };
        self.overlay = Some(Overlay::Columns(at));
        Action::Redraw
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Column;

    #[test]
    fn columns_are_hidden_moved_and_restored() {
        let mut app = App::new();
        let press = |app: &mut App, keys: &str| {
            keys.chars().for_each(|c| drop(app.on_key(KeyCode::Char(c).into())));
        };
        press(&mut app, "cjj K");
        let shown = app.columns().shown();
        assert!(!shown.contains(&Column::P50), "{shown:?}");
        assert_eq!(app.columns().entries()[1], (Column::P50, false));
        assert_eq!(app.overlay(), Some(&Overlay::Columns(1)));
        press(&mut app, " J");
        assert_eq!(app.columns(), &ColumnChoice::default());
        press(&mut app, "G d");
        assert_eq!(app.columns(), &ColumnChoice::default());
        assert_eq!(app.on_key(KeyCode::Esc.into()), Action::Redraw);
        assert_eq!(app.overlay(), None);
    }
}
