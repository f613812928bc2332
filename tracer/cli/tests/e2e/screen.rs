//! The screen on a pseudo-terminal: keys are typed, and what the screen shows is read from the text that the key `s` writes.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Does not become our own terminal.
const O_NOCTTY: i32 = 0o400;

/// The longest wait for what has to be on the screen.
const LONG: Duration = Duration::from_mins(2);

/// Time between two looks at the screen.
const LOOK: Duration = Duration::from_millis(20);

/// Both ends of a terminal.
pub fn terminal() -> (OwnedFd, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let mut options = OpenOptions::new();
    let slave = options.read(true).write(true).custom_flags(O_NOCTTY).open(name.to_str().unwrap());
    let size = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&master, size).unwrap();
    (master, slave.unwrap())
}

/// A wirelap with a screen.
pub struct Screen {
    process: Child,
    keys: File,
    printed: Arc<Mutex<Vec<u8>>>,
    /// Collects `printed` until no program has the terminal open.
    reader: JoinHandle<()>,
    folder: PathBuf,
    /// Number of times that the screen was written.
    written: usize,
}

impl Screen {
    /// Starts wirelap on a terminal of 120 × 40 characters. It writes its files to `folder`.
    pub fn start(folder: &Path, start: impl FnOnce(&File) -> Child) -> Screen {
        let (master, slave) = terminal();
        let process = start(&slave);
        let keys = File::from(master.try_clone().unwrap());
        let printed: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (mut output, kept) = (File::from(master), Arc::clone(&printed));
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // A terminal without a program on it gives an error.
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                kept.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Screen { process, keys, printed, reader, folder: folder.to_owned(), written: 0 }
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Types keys.
    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Types Esc, as terminals with the protocol of kitty tell it: a bare one with a key right behind it would be Alt and that key.
    pub fn escape(&mut self) {
        self.press("\x1b[27u");
    }

    /// Everything that was printed so far, with control sequences.
    pub fn printed(&self) -> String {
        String::from_utf8_lossy(&self.printed.lock().unwrap()).into_owned()
    }

    /// The files that were written, by their names.
    pub fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).unwrap().flatten();
        let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
        files.sort();
        files
    }

    /// Returns the text that the screen shows now.
    pub fn text(&mut self) -> String {
        self.written += 1;
        let end = format!("-{:05}.txt", self.written);
        let deadline = Instant::now() + LONG;
        self.press("s");
        loop {
            let written =
                self.files().into_iter().find(|path| path.to_string_lossy().ends_with(&end));
            if let Some(path) = written {
                return fs::read_to_string(path).unwrap();
            }
            assert!(self.is_running(), "it ended: {}", self.printed());
            assert!(Instant::now() < deadline, "no {end}: {}", self.printed());
            std::thread::sleep(LOOK);
        }
    }

    /// Waits until the screen shows all of these texts, and returns it.
    pub fn until(&mut self, texts: &[&str]) -> String {
        let deadline = Instant::now() + LONG;
        loop {
            let shown = self.text();
            if texts.iter().all(|text| shown.contains(text)) {
                return shown;
            }
            assert!(Instant::now() < deadline, "not all of {texts:?} in\n{shown}");
            // Each look writes two files.
            std::thread::sleep(LOOK * 10);
        }
    }

    fn is_running(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    /// Waits until it has ended, and returns its exit status and everything that it printed.
    pub fn end(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + LONG;
        while self.is_running() {
            if Instant::now() >= deadline {
                self.process.kill().unwrap();
                self.process.wait().unwrap();
                panic!("it did not end: {}", self.printed());
            }
            std::thread::sleep(LOOK);
        }
        let code = self.process.wait().unwrap().code();
        while !self.reader.is_finished() {
            assert!(Instant::now() < deadline, "its terminal is still open: {}", self.printed());
            std::thread::sleep(LOOK);
        }
        (code, self.printed())
    }
}
