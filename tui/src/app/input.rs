//! The screen's reactions to keys.

use super::{Action, App, keys};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

impl App {
    /// Reacts to a key.
    pub fn on_key(&mut self, key: KeyEvent) -> Action {
        if key.kind == KeyEventKind::Release {
            return Action::Ignore;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if key.code == KeyCode::Char('c') { Action::Quit } else { Action::Ignore };
        }
        let said = self.status.take();
        let action = self.on_overlay_key(key.code).unwrap_or_else(|| {
            let command = keys::command(self, key.code);
            command.map_or(Action::Ignore, |command| self.perform(command))
        });
        match action {
            Action::Ignore if said.is_some() => Action::Redraw,
            Action::Screenshot => {
                // The picture has what was in the last line.
                self.status = said;
                action
            }
            action => action,
        }
    }
}
