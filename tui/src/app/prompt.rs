//! The effects of keys while something covers the body: the palette, the filter.

use super::command::step_to;
use super::keys::{self, Binding};
use super::{Action, App, Overlay, ScreenCommand, TextInput, View};
use crossterm::event::KeyCode;

impl App {
    /// Reacts to a key while something that takes keys is open; `None` if nothing is.
    pub(super) fn on_overlay_key(&mut self, key: KeyCode) -> Option<Action> {
        match self.overlay.take()? {
            Overlay::Help => {
                self.overlay = Some(Overlay::Help);
                None
            }
            Overlay::Experiments => {
                self.overlay = Some(Overlay::Experiments);
                Some(self.on_experiments_key(key))
            }
            Overlay::Palette(input) => Some(self.on_palette_key(input, key)),
            Overlay::Grouping(at, chosen) => Some(self.on_grouping_key(at, chosen, key)),
            Overlay::Columns(at) => Some(self.on_columns_key(at, key)),
            Overlay::Filter(input, before) => Some(self.on_filter_key(input, before, key)),
        }
    }

    fn on_palette_key(&mut self, mut input: TextInput, key: KeyCode) -> Action {
        let step = |by| step_to(input.selected, by, palette(self, &input.text).len());
        match key {
            KeyCode::Esc => return Action::Redraw,
            KeyCode::Enter => {
                let chosen = palette(self, &input.text).get(input.selected).copied();
                return chosen.map_or(Action::Redraw, |binding| self.perform(binding.command));
            }
            KeyCode::Down | KeyCode::Tab => input.selected = step(1),
            KeyCode::Up | KeyCode::BackTab => input.selected = step(-1),
            KeyCode::Backspace if input.text.is_empty() => return Action::Redraw,
            _ => drop(input.edit(key)),
        }
        self.overlay = Some(Overlay::Palette(input));
        Action::Redraw
    }

    /// The rows are filtered while the text is entered; Esc restores the filter from before.
    fn on_filter_key(&mut self, mut input: TextInput, before: String, key: KeyCode) -> Action {
        match key {
            KeyCode::Esc => *self.filter_mut() = before,
            KeyCode::Enter if self.view() == View::ByName => return self.ask_by_name(),
            KeyCode::Enter => {}
            _ => {
                input.edit(key);
                self.filter_mut().clone_from(&input.text);
                self.overlay = Some(Overlay::Filter(input, before));
            }
        }
        self.refresh();
        Action::Redraw
    }
}

/// The commands that the palette offers for a text: those whose words have all of its words.
pub fn palette(app: &App, text: &str) -> Vec<&'static Binding> {
    let wanted: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let offered = keys::bindings(app).into_iter();
    offered
        .filter(|binding| {
            !matches!(binding.command, ScreenCommand::Move(_) | ScreenCommand::Palette)
        })
        .filter(|binding| {
            let words = binding.words.to_lowercase();
            wanted.iter().all(|wanted| words.contains(wanted))
        })
        .collect()
}
