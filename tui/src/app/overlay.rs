//! The overlays that cover the body of the screen: the help, and lines in which text is entered.

use crossterm::event::KeyCode;
use wirelap_correlate::Dimension;

/// The most characters of an entered text.
const MAX_INPUT: usize = 200;

/// An overlay that covers the body of the screen, or its last line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overlay {
    /// The help.
    Help,
    /// The command palette.
    Palette(TextInput),
    /// The text that rows or messages are filtered by, while it is entered; and the one before.
    Filter(TextInput, String),
    /// The list of what rows by name can be told apart by: the position of the selected line, and what is chosen, the outermost first.
    Grouping(usize, Vec<Dimension>),
    /// The list of columns, with the position of the selected one.
    Columns(usize),
    /// The workloads that can be started, below the figures.
    Experiments,
}

/// A text that is entered, and the selected one of the lines that match it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextInput {
    /// The text.
    pub text: String,
    /// Index of the selected matching line; 0 is the first.
    pub selected: usize,
}

impl TextInput {
    /// Edits the text. Returns false if the key does not.
    pub fn edit(&mut self, key: KeyCode) -> bool {
        match key {
            KeyCode::Char(c) if !c.is_control() && self.text.chars().count() < MAX_INPUT => {
                self.text.push(c);
            }
            KeyCode::Backspace => drop(self.text.pop()),
            _ => return false,
        }
        self.selected = 0;
        true
    }
}
