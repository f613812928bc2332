//! The loop that owns the terminal, and the promise to give it back.

use crate::app::{Action, App};
use crate::{Theme, render};
use crossterm::cursor::{Hide, Show};
use crossterm::event::{self, Event};
use crossterm::queue;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wirelap_correlate::snapshot::Snapshot;
use wirelap_process::stdio::{BackgroundWriter, Terminals};

/// How [`run`] behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Time between two snapshots. Default 250 ms.
    pub refresh: Duration,
    /// Colours. Default: [`Theme::from_env`].
    pub theme: Theme,
}

impl Default for Options {
    fn default() -> Options {
        Options { refresh: Duration::from_millis(250), theme: Theme::from_env() }
    }
}

/// Why [`run`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The user left by a key: q, Esc or Ctrl-C (a key, not a signal, while the screen is up).
    Quit,
    /// `should_stop` said so.
    Stopped,
    /// The terminal went away: its window was closed, its connection ended.
    Gone,
}

/// Why the screen could not be shown, or not any longer.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// Standard input or output is no terminal: print [`plain`](crate::plain) instead.
    #[error("standard input and output must be a terminal to show the screen")]
    NotATerminal,
    /// A thread of this process panicked; the terminal has been given back before its message.
    #[error("the program failed while the screen was shown")]
    Panicked,
    /// The terminal could not be read or written.
    #[error("cannot use the terminal: {0}")]
    Io(#[from] io::Error),
}

/// Longest wait for a key before `should_stop` is asked again.
const KEY_WAIT: Duration = Duration::from_millis(50);

/// Shortest wait: without any, crossterm does not look for keys.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// How long a terminal may take to read how it is given back.
const LEAVE: Duration = Duration::from_millis(500);

/// Shows the screen until the user leaves or `should_stop` returns true. Blocks.
///
/// `source` is asked for the newest snapshot every [`Options::refresh`], from the calling thread;
/// not while the user has paused the picture, so tracing must not depend on being asked.
/// `should_stop` is asked at least every 50 ms: let signal handlers set what it reads.
///
/// # Errors
/// [`TuiError::NotATerminal`] before anything was changed; the others after the terminal was
/// restored. It is also restored when `source` panics.
pub fn run(
    options: Options,
    source: &mut dyn FnMut() -> Arc<Snapshot>,
    should_stop: &dyn Fn() -> bool,
) -> Result<Outcome, TuiError> {
    if !(io::stdout().is_terminal() && io::stdin().is_terminal()) {
        return Err(TuiError::NotATerminal);
    }
    let terminals = Terminals::look();
    let shown = show(options, source, should_stop, terminals);
    match shown {
        Err(TuiError::Io(_)) if terminals.have_hung_up() => Ok(Outcome::Gone),
        // A terminal that reads nothing any more: its picture was given up for the wish to stop.
        Err(TuiError::Io(_)) if should_stop() => Ok(Outcome::Stopped),
        shown => shown,
    }
}

fn show(
    options: Options,
    source: &mut dyn FnMut() -> Arc<Snapshot>,
    should_stop: &dyn Fn() -> bool,
    terminals: Terminals,
) -> Result<Outcome, TuiError> {
    let give_up = || should_stop() || terminals.have_hung_up();
    let screen = Screen::begin();
    let (outlet, over) = (BackgroundWriter::new(io::stdout())?, Cell::new(false));
    let mut picture = Picture { outlet, bytes: Vec::new(), give_up: &give_up, over: &over };
    enter(&mut picture)?;
    let mut terminal = Terminal::new(CrosstermBackend::new(picture))?;
    let outcome = drive(&mut terminal, &screen, options, source, should_stop, terminals);
    over.set(true);
    outcome
}

fn drive(
    terminal: &mut Terminal<CrosstermBackend<Picture<'_>>>,
    screen: &Screen,
    options: Options,
    source: &mut dyn FnMut() -> Arc<Snapshot>,
    should_stop: &dyn Fn() -> bool,
    terminals: Terminals,
) -> Result<Outcome, TuiError> {
    let mut app = App::new();
    let mut due = Instant::now();
    loop {
        if screen.panicked.load(Ordering::Acquire) {
            return Err(TuiError::Panicked);
        }
        if should_stop() {
            return Ok(Outcome::Stopped);
        }
        if terminals.have_hung_up() {
            return Ok(Outcome::Gone);
        }
        let mut redraw = false;
        if Instant::now() >= due {
            due = Instant::now() + options.refresh;
            if !app.is_paused() {
                app.update(source());
                redraw = true;
            }
        }
        let wait = due.saturating_duration_since(Instant::now()).clamp(SHORTEST_WAIT, KEY_WAIT);
        if redraw {
            terminal.draw(|frame| render::screen(frame, &app, options.theme))?;
        }
        match next_key(&mut app, wait)? {
            Action::Quit => return Ok(Outcome::Quit),
            Action::Redraw => {
                terminal.draw(|frame| render::screen(frame, &app, options.theme))?;
            }
            Action::Ignore => {}
        }
    }
}

/// Waits for one input event and lets the app react to it.
fn next_key(app: &mut App, wait: Duration) -> Result<Action, TuiError> {
    if !event::poll(wait)? {
        return Ok(Action::Ignore);
    }
    Ok(match event::read()? {
        Event::Key(key) => app.on_key(key),
        Event::Resize(..) => Action::Redraw,
        _ => Action::Ignore,
    })
}

/// Collects a picture and writes it at once, unless that is to be given up.
struct Picture<'a> {
    outlet: BackgroundWriter,
    bytes: Vec<u8>,
    give_up: &'a dyn Fn() -> bool,
    /// Nothing more is to be drawn. What ratatui writes when it is dropped would be an error message on a terminal
    /// that is gone, and a panic.
    over: &'a Cell<bool>,
}

impl Write for Picture<'_> {
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

type Hook = Box<dyn Fn(&panic::PanicHookInfo<'_>) + Sync + Send + 'static>;

/// The terminal in our hands: raw, on its alternate screen. Given back on drop, and before the
/// message of any panic.
struct Screen {
    panicked: Arc<AtomicBool>,
    previous: Arc<Hook>,
}

impl Screen {
    fn begin() -> Screen {
        let panicked = Arc::new(AtomicBool::new(false));
        let previous: Arc<Hook> = Arc::new(panic::take_hook());
        let (flag, next) = (Arc::clone(&panicked), Arc::clone(&previous));
        panic::set_hook(Box::new(move |info| {
            restore();
            flag.store(true, Ordering::Release);
            next(info);
        }));
        Screen { panicked, previous }
    }
}

fn enter(picture: &mut Picture<'_>) -> io::Result<()> {
    enable_raw_mode()?;
    // Not `Terminal::clear`: that asks the terminal for its cursor and fails where none answers.
    queue!(picture, EnterAlternateScreen, Clear(ClearType::All), Hide)?;
    picture.flush()
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
        // The hook cannot be changed while panicking; ours then stays, and does no harm.
        if !std::thread::panicking() {
            let previous = Arc::clone(&self.previous);
            panic::set_hook(Box::new(move |info| previous(info)));
        }
    }
}

/// Best effort: there is nobody left to tell when the terminal is gone, or does not read any more.
fn restore() {
    let mut bytes = Vec::new();
    let _ = queue!(bytes, LeaveAlternateScreen, Show);
    let until = Instant::now() + LEAVE;
    let _ = BackgroundWriter::new(io::stdout())
        .and_then(|mut outlet| outlet.write(bytes, &mut || Instant::now() >= until));
    let _ = disable_raw_mode();
}
