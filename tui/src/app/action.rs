//! The tasks of the terminal loop after a key.

use super::request::ScreenRequest;

/// A task of the terminal loop after a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Nothing: the key has no meaning here.
    Ignore,
    /// Draw the screen again.
    Redraw,
    /// Leave the screen.
    Quit,
    /// Put a text into the terminal's clipboard.
    Copy(String),
    /// Draw the screen into files.
    Screenshot,
    /// Ask the program around the screen.
    Request(ScreenRequest),
}
