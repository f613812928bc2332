//! What the user sees while a run goes on: one line on stderr, if that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use wirelap_process::rights;

/// Between two pictures of the spinner.
const TICK: Duration = Duration::from_millis(120);

/// How long a terminal may take to read that the line is gone.
const LEAVE: Duration = Duration::from_millis(500);

/// The line. It is drawn by a thread of its own: a terminal that reads nothing must not hold up the run.
pub struct Progress {
    say: Option<Sender<Change>>,
    thread: Option<JoinHandle<()>>,
    trials: usize,
}

enum Change {
    Trial(String),
    Messages(u64),
}

impl Progress {
    /// For this many trials; nothing is shown when stderr is no terminal.
    pub fn new(trials: usize) -> Progress {
        if !std::io::stderr().is_terminal() {
            return Progress { say: None, thread: None, trials };
        }
        let (say, changes) = channel();
        let thread = rights::spawn("progress", move || draw(&changes));
        Progress { say: Some(say), thread: thread.ok(), trials }
    }

    /// A trial begins; `number` counts from 1.
    pub fn begin(&self, number: usize, title: &str) {
        self.change(Change::Trial(format!("[{number}/{}] {title}", self.trials)));
    }

    /// So many messages have been followed.
    pub fn messages(&self, count: u64) {
        self.change(Change::Messages(count));
    }

    fn change(&self, change: Change) {
        if let Some(say) = &self.say {
            // Without the thread nothing is shown.
            let _ = say.send(change);
        }
    }
}

fn draw(changes: &Receiver<Change>) {
    let bar = ProgressBar::new_spinner();
    // The template is a constant without placeholders that could be wrong.
    if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} {msg}") {
        bar.set_style(style);
    }
    loop {
        match changes.recv_timeout(TICK) {
            Ok(Change::Trial(title)) => {
                bar.set_prefix(title);
                bar.set_message("starting");
            }
            Ok(Change::Messages(count)) => bar.set_message(format!("{count} messages")),
            Err(RecvTimeoutError::Timeout) => bar.tick(),
            Err(RecvTimeoutError::Disconnected) => return bar.finish_and_clear(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.say = None;
        let until = Instant::now() + LEAVE;
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
            && Instant::now() < until
        {
            thread::sleep(Duration::from_millis(5));
        }
    }
}
