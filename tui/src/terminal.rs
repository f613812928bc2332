//! The loop that owns the terminal and restores it in every case.

use crate::app::{Action, App, Request, Source};
use crate::{Theme, picture, render};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use crossterm::cursor::{Hide, Show};
use crossterm::event::{self, Event};
use crossterm::queue;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Position, Rect, Size};
use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wirelap_process::stdio::{BackgroundWriter, Terminals};

/// How [`run`] behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Time between two snapshots; 250 ms by default.
    pub refresh: Duration,
    /// Colours; [`Theme::from_env`] by default.
    pub theme: Theme,
    /// Whether the screen takes clicks and the wheel, which most terminals then use for nothing else; true by default.
    pub mouse: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { refresh: Duration::from_millis(250), theme: Theme::from_env(), mouse: true }
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

/// The shortest wait for a key: with a wait of zero, crossterm does not read keys.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// Makes the terminal report clicks, drags and the wheel, with positions of any size (xterm's modes 1000, 1002 and 1006). Crossterm's own
/// command also asks for every movement of the pointer, which a slow connection would carry for nothing.
const MOUSE_ON: &[u8] = b"\x1b[?1000h\x1b[?1002h\x1b[?1006h";
/// Undoes [`MOUSE_ON`].
const MOUSE_OFF: &[u8] = b"\x1b[?1006l\x1b[?1002l\x1b[?1000l";

/// How long to wait for a terminal that does not read the bytes that restore it.
const RESTORE_WAIT: Duration = Duration::from_millis(500);

/// Shows the screen until the user leaves or `should_stop` returns true. Blocks.
///
/// `source` hands out updates. It is asked every [`Options::refresh`] from the calling thread, also while the user has paused the screen.
/// `should_stop` is called at least every 50 ms; a signal handler may set the flag that it reads.
///
/// # Errors
/// [`TuiError::NotATerminal`] is returned before anything was changed, the other errors after the terminal was
/// restored. The terminal is also restored when `source` panics.
pub fn run(
    options: Options,
    source: &mut dyn Source,
    should_stop: &dyn Fn() -> bool,
) -> Result<ScreenEnd, TuiError> {
    if !(io::stdout().is_terminal() && io::stdin().is_terminal()) {
        return Err(TuiError::NotATerminal);
    }
    let terminals = Terminals::look();
    let shown = show(options, source, should_stop, terminals);
    match shown {
        Err(TuiError::Io(_)) if terminals.have_hung_up() => Ok(ScreenEnd::Gone),
        // The terminal no longer reads, and the last frame was abandoned because the program has to stop.
        Err(TuiError::Io(_)) if should_stop() => Ok(ScreenEnd::Stopped),
        shown => shown,
    }
}

fn show(
    options: Options,
    source: &mut dyn Source,
    should_stop: &dyn Fn() -> bool,
    terminals: Terminals,
) -> Result<ScreenEnd, TuiError> {
    let give_up = || should_stop() || terminals.have_hung_up();
    let screen = Screen::begin();
    let (outlet, over) = (BackgroundWriter::new(io::stdout())?, Cell::new(false));
    let mut buffer = FrameBuffer { outlet, bytes: Vec::new(), give_up: &give_up, over: &over };
    enter(&mut buffer, options.mouse)?;
    let mut terminal = Terminal::new(CrosstermBackend::new(buffer))?;
    let outcome = drive(&mut terminal, &screen, options, source, should_stop, terminals);
    over.set(true);
    outcome
}

fn drive(
    terminal: &mut Terminal<CrosstermBackend<FrameBuffer<'_>>>,
    screen: &Screen,
    options: Options,
    source: &mut dyn Source,
    should_stop: &dyn Fn() -> bool,
    terminals: Terminals,
) -> Result<ScreenEnd, TuiError> {
    let mut app = App::new();
    app.set_theme(options.theme);
    let mut due = Instant::now();
    // What there is before the first update.
    terminal.draw(|frame| render::screen(frame, &app, app.theme()))?;
    loop {
        if screen.panicked.load(Ordering::Acquire) {
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
            redraw = take_updates(&mut app, source);
        }
        let wait = due.saturating_duration_since(Instant::now()).clamp(SHORTEST_WAIT, KEY_WAIT);
        if redraw {
            terminal.draw(|frame| render::screen(frame, &app, app.theme()))?;
        }
        let screen = Rect::from((Position::ORIGIN, terminal.size()?));
        match next_input(&mut app, screen, wait)? {
            Action::Quit => return Ok(ScreenEnd::Quit),
            Action::Ignore => continue,
            Action::Redraw => {}
            Action::Copy(text) => copy(terminal.backend_mut(), &text)?,
            Action::Screenshot => {
                let request = screenshot(&app, terminal.size()?);
                app.say(source.request(request));
            }
            Action::Request(request) => {
                app.say(source.request(request));
                due = Instant::now();
            }
        }
        terminal.draw(|frame| render::screen(frame, &app, app.theme()))?;
    }
}

/// Takes the updates since the last call. Returns whether the screen has to be drawn again.
fn take_updates(app: &mut App, source: &mut dyn Source) -> bool {
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
    redraw
}

/// Puts a text into the terminal's clipboard (OSC 52), where the terminal has that.
fn copy(to: &mut impl Write, text: &str) -> io::Result<()> {
    write!(to, "\x1b]52;c;{}\x07", BASE64.encode(text))
}

/// The request to write the screen to files.
fn screenshot(app: &App, size: Size) -> Request {
    Request::Screenshot { text: picture::text(app, size), svg: picture::svg(app, size) }
}

/// Waits for one input event and lets the app react to it.
fn next_input(app: &mut App, screen: Rect, wait: Duration) -> Result<Action, TuiError> {
    if !event::poll(wait)? {
        return Ok(Action::Ignore);
    }
    Ok(match event::read()? {
        Event::Key(key) => app.on_key(key),
        Event::Mouse(event) => app.on_mouse(event, screen),
        Event::Resize(..) => Action::Redraw,
        _ => Action::Ignore,
    })
}

/// Collects the bytes of one frame and writes them at once, unless `give_up` returns true meanwhile.
struct FrameBuffer<'a> {
    outlet: BackgroundWriter,
    bytes: Vec<u8>,
    give_up: &'a dyn Fn() -> bool,
    /// Whether drawing has ended. When ratatui's terminal is dropped, it writes once more; on a terminal that is gone
    /// that would fail with an error message or a panic.
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

type Hook = Box<dyn Fn(&panic::PanicHookInfo<'_>) + Sync + Send + 'static>;

/// The terminal in raw mode on its alternate screen. Dropping this restores it; a panic hook restores it before the
/// panic's message is printed.
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

fn enter(buffer: &mut FrameBuffer<'_>, mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    // `Terminal::clear` is not used: it asks the terminal for its cursor's position and fails if no answer comes.
    queue!(buffer, EnterAlternateScreen, Clear(ClearType::All), Hide)?;
    if mouse {
        buffer.write_all(MOUSE_ON)?;
    }
    buffer.flush()
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
        // The hook cannot be changed while panicking. Our hook then stays installed, which does no harm.
        if !std::thread::panicking() {
            let previous = Arc::clone(&self.previous);
            panic::set_hook(Box::new(move |info| previous(info)));
        }
    }
}

/// Restores the terminal. Errors are ignored: when the terminal is gone or no longer reads, nobody can see them.
fn restore() {
    let mut bytes = MOUSE_OFF.to_vec();
    let _ = queue!(bytes, LeaveAlternateScreen, Show);
    let until = Instant::now() + RESTORE_WAIT;
    let _ = BackgroundWriter::new(io::stdout())
        .and_then(|mut outlet| outlet.write(bytes, &mut || Instant::now() >= until));
    let _ = disable_raw_mode();
}
