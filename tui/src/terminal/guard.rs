//! Takes the terminal, and gives it back in every case.

use crossterm::cursor::{Hide, Show};
use crossterm::queue;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use std::io::{self, Write};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wirelap_process::stdio::BackgroundWriter;

/// Makes the terminal report clicks, drags and the wheel, with positions of any size (xterm's modes 1000, 1002 and 1006). Crossterm's own
/// command also asks for every movement of the pointer, which a slow connection would carry for nothing.
const MOUSE_ON: &[u8] = b"\x1b[?1000h\x1b[?1002h\x1b[?1006h";
/// Undoes [`MOUSE_ON`].
const MOUSE_OFF: &[u8] = b"\x1b[?1006l\x1b[?1002l\x1b[?1000l";

/// Longest wait for a terminal that does not read the bytes that restore it.
const RESTORE_WAIT: Duration = Duration::from_millis(500);

type PanicHook = Box<dyn Fn(&panic::PanicHookInfo<'_>) + Sync + Send + 'static>;

/// The terminal in raw mode on its alternate screen. Dropping this restores it; a panic hook restores it before the
/// panic's message is printed.
pub struct Screen {
    panicked: Arc<AtomicBool>,
    previous: Arc<PanicHook>,
}

impl Screen {
    /// Installs the panic hook.
    pub fn begin() -> Screen {
        let panicked = Arc::new(AtomicBool::new(false));
        let previous: Arc<PanicHook> = Arc::new(panic::take_hook());
        let (flag, next) = (Arc::clone(&panicked), Arc::clone(&previous));
        panic::set_hook(Box::new(move |info| {
            restore();
            flag.store(true, Ordering::Release);
            next(info);
        }));
        Screen { panicked, previous }
    }

    /// True if a thread of this process has panicked.
    pub fn has_panicked(&self) -> bool {
        self.panicked.load(Ordering::Acquire)
    }
}

/// Enters raw mode and the alternate screen, and asks for the mouse if it is wanted.
///
/// # Errors
/// The terminal cannot be written.
pub fn enter(buffer: &mut impl Write, mouse: bool) -> io::Result<()> {
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
