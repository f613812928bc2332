//! The bytes that a slow connection has to carry: only the cells that have changed.

#![allow(missing_docs, reason = "a test")]

use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;
use wirelap_test_pipeline::snapshots;
use wirelap_tui::{App, Theme, render};

/// Bytes that are written to the terminal.
#[derive(Clone, Default)]
struct Written(Rc<RefCell<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written {
    /// The bytes since the last call.
    fn take(&self) -> usize {
        std::mem::take(&mut *self.0.borrow_mut()).len()
    }
}

struct Screen {
    terminal: Terminal<CrosstermBackend<Written>>,
    written: Written,
}

fn screen(width: u16, height: u16) -> Screen {
    let viewport = Viewport::Fixed(Rect::new(0, 0, width, height));
    let written = Written::default();
    let backend = CrosstermBackend::new(written.clone());
    let terminal = Terminal::with_options(backend, TerminalOptions { viewport }).unwrap();
    Screen { terminal, written }
}

/// The bytes that the next frame writes.
fn draw(screen: &mut Screen, app: &App) -> usize {
    screen.terminal.draw(|frame| render::screen(frame, app, Theme::DARK)).unwrap();
    screen.written.take()
}

#[test]
fn a_frame_that_shows_the_same_writes_almost_nothing() {
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let mut screen = screen(width, height);
        let mut app = App::new();
        app.update(Arc::new(snapshots::five(83)));
        let first = draw(&mut screen, &app);
        assert!(first > 1_000, "{first}");
        app.update(Arc::new(snapshots::five(83)));
        let same = draw(&mut screen, &app);
        assert!(same < 64, "{width}x{height}: {same} bytes of {first}");
    }
}

#[test]
fn a_second_of_new_figures_takes_less_than_the_whole_screen() {
    let mut screen = screen(200, 60);
    let mut app = App::new();
    app.update(Arc::new(snapshots::five(83)));
    let first = draw(&mut screen, &app);
    app.update(Arc::new(snapshots::five(84)));
    let next = draw(&mut screen, &app);
    assert!(next * 4 < first, "{next} bytes of {first}");
}

#[test]
fn the_next_line_selected_rewrites_what_it_says_and_no_more() {
    let mut screen = screen(80, 24);
    let mut app = App::new();
    app.update(Arc::new(snapshots::five(83)));
    let first = draw(&mut screen, &app);
    app.on_key(crossterm::event::KeyCode::Down.into());
    let next = draw(&mut screen, &app);
    assert!(next * 2 < first, "{next} bytes of {first}");
}
