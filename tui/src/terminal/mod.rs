//! The loop that owns the terminal and restores it in every case.

mod guard;

use crate::app::{Action, App, ScreenRequest, ScreenState, UpdateSource};
use crate::{Theme, picture, render};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use crossterm::event::{self, Event};
use guard::{Screen, enter};
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::layout::{Rect, Size};
use ratatui::{Terminal, TerminalOptions, Viewport};
use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};
use wirelap_process::stdio::{BackgroundWriter, Terminals, wait_for_input};

/// The options of [`run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenOptions {
    /// Time between two snapshots; 250 ms by default.
    pub refresh: Duration,
    /// Colours; [`Theme::from_env`] by default.
    pub theme: Theme,
    /// True if the screen takes clicks and the wheel, which most terminals then use for nothing else; true by default.
    pub mouse: bool,
}

impl Default for ScreenOptions {
    fn default() -> ScreenOptions {
        ScreenOptions { refresh: Duration::from_millis(250), theme: Theme::from_env(), mouse: true }
    }
}

/// Why [`run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenEnd {
    /// The user pressed q, Esc or Ctrl-C (in raw mode Ctrl-C is a key, not a signal).
    Quit,
    /// `should_stop` returned true.
    Stopped,
    /// The terminal is gone: its window was closed or its connection ended.
    Gone,
}

/// Why the screen could not be shown, or could no longer be shown.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// Standard input or output is not a terminal; print [`plain`](crate::plain) instead.
    #[error("standard input and output must be a terminal to show the screen")]
    NotATerminal,
    /// A thread of this process panicked. The terminal was restored before the panic's message was printed.
    #[error("the program failed while the screen was shown")]
    Panicked,
    /// The terminal could not be read or written.
    #[error("cannot use the terminal: {0}")]
    Io(#[from] io::Error),
}

/// The longest wait for a key before `should_stop` is called again.
const KEY_WAIT: Duration = Duration::from_millis(50);

/// The largest screen that is drawn, in characters. What a terminal says of its size can be anything, and each character takes memory.
const LARGEST: Size = Size::new(1_000, 400);

/// The longest time for reading input that is there. It may be the beginning of a key's sequence.
const INPUT_LOOK: Duration = Duration::from_millis(1);

/// The time for a look whether the size of the terminal has changed: long enough for one call of `poll(2)`.
const RESIZE_LOOK: Duration = Duration::from_micros(50);

/// Shows the screen until the user leaves or `should_stop` returns true. Blocks.
///
/// `source` hands out updates. It is asked every [`ScreenOptions::refresh`] from the calling thread, also while the user has paused the screen.
/// `should_stop` is called at least every 50 ms; a signal handler may set the flag that it reads.
///
/// # Errors
/// [`TuiError::NotATerminal`] is returned before anything was changed, the other errors after the terminal was
/// restored. The terminal is also restored when `source` panics.
pub fn run(
    options: ScreenOptions,
    source: &mut dyn UpdateSource,
    should_stop: &dyn Fn() -> bool,
) -> Result<ScreenEnd, TuiError> {
    let terminals = Terminals::of_screen();
    if !(io::stdout().is_terminal() && io::stdin().is_terminal()) {
        // One that has hung up since the caller looked is none any more.
        return if terminals.have_hung_up() {
            Ok(ScreenEnd::Gone)
        } else {
            Err(TuiError::NotATerminal)
        };
    }
    let shown = show(options, source, should_stop, terminals);
    match shown {
        Err(TuiError::Io(_)) if terminals.have_hung_up() => Ok(ScreenEnd::Gone),
        // The terminal no longer reads, and the last frame was abandoned because the program has to stop.
        Err(TuiError::Io(_)) if should_stop() => Ok(ScreenEnd::Stopped),
        shown => shown,
    }
}

fn show(
    options: ScreenOptions,
    source: &mut dyn UpdateSource,
    should_stop: &dyn Fn() -> bool,
    terminals: Terminals,
) -> Result<ScreenEnd, TuiError> {
    let give_up = || should_stop() || terminals.have_hung_up();
    let screen = Screen::begin();
    let (outlet, over) = (BackgroundWriter::new(io::stdout())?, Cell::new(false));
    let mut buffer = FrameBuffer { outlet, bytes: Vec::new(), give_up: &give_up, over: &over };
    enter(&mut buffer, options.mouse)?;
    let backend = CrosstermBackend::new(buffer);
    let viewport = Viewport::Fixed(drawn(backend.size()?));
    let mut terminal = Terminal::with_options(backend, TerminalOptions { viewport })?;
    let outcome = drive(&mut terminal, &screen, options, source, should_stop, terminals);
    over.set(true);
    outcome
}

fn drive(
    terminal: &mut Terminal<CrosstermBackend<FrameBuffer<'_>>>,
    screen: &Screen,
    options: ScreenOptions,
    source: &mut dyn UpdateSource,
    should_stop: &dyn Fn() -> bool,
    terminals: Terminals,
) -> Result<ScreenEnd, TuiError> {
    let mut app = App::new();
    app.set_theme(options.theme);
    app.set_probe_setup(source.probe_setup());
    app.set_mouse(options.mouse);
    restore_state(&mut app, source.remembered().as_deref());
    let end = react(&mut app, terminal, screen, options, source, should_stop, terminals)?;
    source.remember(&app.state().to_text());
    Ok(end)
}

/// Makes the screen as it was when it was left.
fn restore_state(app: &mut App, remembered: Option<&str>) {
    match remembered.map(ScreenState::from_text) {
        Some(Ok(state)) => app.restore(&state),
        Some(Err(error)) => {
            app.say(format!("what the screen remembered cannot be read and is ignored: {error}"));
        }
        None => {}
    }
}

/// Draws updates and reacts to the user until the screen is left.
fn react(
    app: &mut App,
    terminal: &mut Terminal<CrosstermBackend<FrameBuffer<'_>>>,
    screen: &Screen,
    options: ScreenOptions,
    source: &mut dyn UpdateSource,
    should_stop: &dyn Fn() -> bool,
    terminals: Terminals,
) -> Result<ScreenEnd, TuiError> {
    let mut due = Instant::now();
    // What there is before the first update.
    draw(terminal, app)?;
    loop {
        if screen.has_panicked() {
            return Err(TuiError::Panicked);
        }
        if should_stop() {
            return Ok(ScreenEnd::Stopped);
        }
        if terminals.have_hung_up() {
            return Ok(ScreenEnd::Gone);
        }
        let mut redraw = false;
        if Instant::now() >= due {
            due = Instant::now() + options.refresh;
            redraw = take_updates(app, source);
        }
        let wait = due.saturating_duration_since(Instant::now()).min(KEY_WAIT);
        if redraw {
            draw(terminal, app)?;
        }
        let area = drawn(terminal.size()?);
        match next_input(app, area, wait)? {
            Action::Quit => return Ok(ScreenEnd::Quit),
            Action::Ignore => continue,
            Action::Redraw => {}
            Action::Copy(text) => copy(terminal.backend_mut(), &text)?,
            Action::Screenshot => {
                let request = screenshot(app, area.as_size());
                app.say(source.request(request));
            }
            Action::Request(request) => {
                app.say(source.request(request));
                due = Instant::now();
            }
        }
        draw(terminal, app)?;
    }
}

/// The part of a terminal of this size that is drawn.
fn drawn(size: Size) -> Rect {
    Rect::new(0, 0, size.width.min(LARGEST.width), size.height.min(LARGEST.height))
}

/// Draws the screen, in the size that the terminal has now.
fn draw(terminal: &mut Terminal<CrosstermBackend<FrameBuffer<'_>>>, app: &App) -> io::Result<()> {
    let area = drawn(terminal.size()?);
    if terminal.get_frame().area() != area {
        terminal.resize(area)?;
    }
    terminal.draw(|frame| render::screen(frame, app, app.theme())).map(drop)
}

/// Takes the updates since the last call. Returns whether the screen has to be drawn again.
fn take_updates(app: &mut App, source: &mut dyn UpdateSource) -> bool {
    let mut has_updates = source.has_restarted();
    if has_updates {
        app.restart();
    }
    let before = app.replay();
    app.set_replay(source.replay());
    app.set_wall(source.wall());
    app.set_notes(source.notes());
    source.updates(&mut |update| {
        app.take(update);
        has_updates = true;
    });
    let mut redraw = app.shows_experiments() || app.replay() != before;
    if app.shows_experiments() {
        app.set_experiments(source.experiments());
    }
    while let Some(news) = source.news() {
        app.note(news);
        redraw = true;
    }
    if has_updates && !app.is_paused() {
        app.refresh();
        redraw = true;
    }
    app.select_slowest() || redraw
}

/// Puts a text into the terminal's clipboard (OSC 52), where the terminal has that.
fn copy(to: &mut impl Write, text: &str) -> io::Result<()> {
    write!(to, "\x1b]52;c;{}\x07", BASE64.encode(text))
}

/// The request to write the screen to files.
fn screenshot(app: &App, size: Size) -> ScreenRequest {
    ScreenRequest::Screenshot { text: picture::text(app, size), svg: picture::svg(app, size) }
}

/// Waits for one input event and lets the app react to it.
fn next_input(app: &mut App, area: Rect, wait: Duration) -> Result<Action, TuiError> {
    // With a limit, `event::poll` calls `poll(2)` with 0 ms again and again during the limit's last millisecond: 2 % of a core. With a
    // limit of zero, it only looks at what it has read before.
    if !event::poll(Duration::ZERO)? {
        let limit = if wait_for_input(wait) { INPUT_LOOK } else { RESIZE_LOOK };
        if !event::poll(limit)? {
            return Ok(Action::Ignore);
        }
    }
    Ok(match event::read()? {
        Event::Key(key) => app.on_key(key),
        Event::Mouse(event) => app.on_mouse(event, area),
        Event::Resize(..) => Action::Redraw,
        _ => Action::Ignore,
    })
}

/// Collects the bytes of one frame and writes them at once, unless `give_up` returns true meanwhile.
struct FrameBuffer<'a> {
    outlet: BackgroundWriter,
    bytes: Vec<u8>,
    give_up: &'a dyn Fn() -> bool,
    /// True once drawing has ended. When ratatui's terminal is dropped, it writes once more; on a terminal that is gone that would
    /// fail with an error message or a panic.
    over: &'a Cell<bool>,
}

impl Write for FrameBuffer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.bytes.is_empty() || self.over.get() || std::thread::panicking() {
            return Ok(());
        }
        self.outlet.write(std::mem::take(&mut self.bytes), &mut || (self.give_up)())
    }
}
