//! Common parts of the tests of single views: the screen as text at three sizes.

#![allow(dead_code, reason = "each test uses some of it")]

use crossterm::event::KeyCode;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::sync::Arc;
use wirelap_correlate::snapshot::Snapshot;
use wirelap_history::{Slice, Update};
use wirelap_tui::{App, Theme, render};

/// The sizes at which every view is drawn.
pub const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

/// A screen that has these snapshots, after these keys.
pub fn app(snapshots: impl IntoIterator<Item = Snapshot>, keys: &[KeyCode]) -> App {
    let mut app = App::new();
    for snapshot in snapshots {
        app.take(Update { snapshot: Arc::new(snapshot), slice: Slice::default() });
        app.refresh();
    }
    press(&mut app, keys);
    app
}

/// Presses keys.
pub fn press(app: &mut App, keys: &[KeyCode]) {
    for key in keys {
        app.on_key((*key).into());
    }
}

/// The screen as text.
pub fn text(app: &App, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| render::screen(frame, app, Theme::DARK)).unwrap();
    terminal.backend().to_string()
}

/// The screen with the width of 80 columns and so many lines that nothing has to be scrolled.
pub fn long(app: &App) -> String {
    text(app, (80, 200))
}

/// The key that shows a view, after that which selects the third row.
pub fn third_row(view: char) -> [KeyCode; 3] {
    [KeyCode::Down, KeyCode::Down, KeyCode::Char(view)]
}
