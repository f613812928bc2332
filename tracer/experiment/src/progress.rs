//! The progress of a run: one line on stderr, if stderr is a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use wirelap_events::Nanos;
use wirelap_events::human::column::clock;
use wirelap_process::rights;

/// The interval between two frames of the spinner.
const TICK: Duration = Duration::from_millis(120);

/// Longest time that the terminal takes to read the end of the line.
const LEAVE: Duration = Duration::from_millis(500);

/// The line. A thread of its own draws it, because a terminal that does not read must not block the run.
pub struct ProgressLine {
    changes: Option<Sender<Change>>,
    thread: Option<JoinHandle<()>>,
    began: Instant,
}

enum Change {
    Trial(String),
    Messages(u64),
}

impl ProgressLine {
    /// Shows nothing if stderr is not a terminal.
    pub fn new() -> ProgressLine {
        let began = Instant::now();
        if !std::io::stderr().is_terminal() {
            return ProgressLine { changes: None, thread: None, began };
        }
        let (sender, changes) = channel();
        let thread = rights::spawn("progress", move || draw(&changes));
        ProgressLine { changes: Some(sender), thread: thread.ok(), began }
    }

    /// Shows that a trial begins; `number` counts from 1 to `trials`, and `finished` of those before it were run now.
    pub fn begin(&self, (number, trials): (usize, usize), finished: usize, title: &str) {
        let left = trials.saturating_add(1).saturating_sub(number);
        let left = time_left(self.began.elapsed(), finished, left)
            .map(|left| format!(" · {} left", clock(Nanos::from_f64(left.as_nanos() as f64))));
        let left = left.unwrap_or_default();
        self.change(Change::Trial(format!("[{number}/{trials}{left}] {title}")));
    }

    /// Shows how many messages of the trial have been delivered so far.
    pub fn messages(&self, count: u64) {
        self.change(Change::Messages(count));
    }

    fn change(&self, change: Change) {
        if let Some(changes) = &self.changes {
            // An error means that the thread has ended: then nothing is shown.
            let _ = changes.send(change);
        }
    }
}

/// The time that the trials take that are left, if they take as long as the finished ones on average; `None` if none is finished.
fn time_left(elapsed: Duration, finished: usize, left: usize) -> Option<Duration> {
    let finished = u32::try_from(finished).ok()?;
    elapsed.checked_div(finished)?.checked_mul(u32::try_from(left).ok()?)
}

fn draw(changes: &Receiver<Change>) {
    let bar = ProgressBar::new_spinner();
    // The template is a constant, so it is always valid.
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

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.changes = None;
        let until = Instant::now() + LEAVE;
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
            && Instant::now() < until
        {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_finished_trials() {
        let left = |seconds, finished, left| {
            time_left(Duration::from_secs(seconds), finished, left).map(|left| left.as_secs())
        };
        assert_eq!(left(0, 0, 10), None, "nothing is known before the first trial");
        assert_eq!(left(30, 3, 7), Some(70));
        assert_eq!(left(90, 9, 1), Some(10));
        // Nine of ten trials were taken over from another run.
        assert_eq!(left(30, 1, 8), Some(240));
    }
}
