//! What the user sees while a run goes on: one line on stderr, if that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// The line.
pub struct Progress {
    bar: ProgressBar,
    trials: usize,
}

impl Progress {
    /// For this many trials; nothing is shown when stderr is no terminal.
    pub fn new(trials: usize) -> Progress {
        let bar = ProgressBar::new_spinner();
        // The template is a constant without placeholders that could be wrong.
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} {msg}") {
            bar.set_style(style);
        }
        // Drawn whenever something is told: a thread that draws by itself would be one more with rights.
        Progress { bar, trials }
    }

    /// A trial begins; `number` counts from 1.
    pub fn begin(&self, number: usize, title: &str) {
        self.bar.set_prefix(format!("[{number}/{}] {title}", self.trials));
        self.bar.set_message("starting");
    }

    /// So many messages have been followed.
    pub fn messages(&self, count: u64) {
        self.bar.set_message(format!("{count} messages"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
