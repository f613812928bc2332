//! The option `--on-event`: a command of the user is run for what happens, with lines of JSON on its stdin.

use super::json_lines::JsonLines;
use crate::metrics::MeasuredSink;
use clap::Args;
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use wirelap_correlate::{Severity, SinkPair};
use wirelap_events::human::counted;
use wirelap_history::{DeliveryCollector, LogEvent, Update};
use wirelap_process::steward::{HandlerRun, Steward};
use wirelap_process::{Failure, output};
use wirelap_session::machine;

/// The most updates that wait for the thread.
const UPDATES: usize = 8;
/// The most bytes of lines that wait for the command. A pipe takes as many at once, so that a command which reads nothing holds nobody up.
const WAITING_BYTES: usize = 32 << 10;
/// The interval between two looks at a command that runs.
const LOOK: Duration = Duration::from_millis(50);
/// The longest wait for news where nothing is to be done.
const IDLE: Duration = Duration::from_secs(1);
/// The time that a command has to end after the session.
const LAST_RUN: Duration = Duration::from_secs(2);
/// The options.
#[derive(Clone, Debug, Args)]
pub struct OnEventArgs {
    /// Have a shell run this command when a verdict about a problem begins, events are lost, messages are overdue, a process ends or a host
    /// is no longer observed. On its stdin are the events since its last run, as lines of JSON like those of --json-lines. It runs as the
    /// user who called sudo, or as nobody, never as root
    #[arg(long, value_name = "COMMAND", conflicts_with = "replay")]
    pub on_event: Option<OsString>,

    /// Run it at most once in this time; what happens meanwhile is gathered
    #[arg(
        long,
        value_name = "TIME",
        value_parser = humantime::parse_duration,
        default_value = "1m",
        requires = "on_event"
    )]
    pub on_event_every: Duration,
}

impl OnEventArgs {
    /// Tells the steward, which starts it, what the command is.
    ///
    /// # Errors
    /// The steward has ended.
    pub fn declare(&self, steward: Option<&Steward>) -> Result<(), Failure> {
        let Some((steward, line)) = steward.zip(self.on_event.as_ref()) else { return Ok(()) };
        let declared = steward.declare_handler(line.clone());
        declared.map_err(|error| Failure::Machine(format!("--on-event: {error}")))
    }
}

/// True for an event that somebody who is not looking wants to know.
fn is_urgent(event: &LogEvent) -> bool {
    matches!(
        event,
        LogEvent::VerdictBegan(_, Severity::Problem)
            | LogEvent::EventsLost(_)
            | LogEvent::Overdue(_)
            | LogEvent::ProcessGone { .. }
            | LogEvent::Host { is_well: false, .. }
    )
}

/// The thread that runs the command; none without the option.
#[derive(Debug)]
pub struct OnEvent(Option<JoinHandle<Runs>>);

impl OnEvent {
    /// Begins to listen, and returns the sink that tells what happens.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn beside<S>(
        args: &OnEventArgs,
        steward: Option<&Arc<Steward>>,
        first: S,
    ) -> Result<(OnEvent, MeasuredSink<S>), Failure> {
        let Some(steward) = steward.filter(|_| args.on_event.is_some()) else {
            return Ok((OnEvent(None), SinkPair { first, second: None }));
        };
        let (collector, updates) = DeliveryCollector::new(UPDATES);
        let mut command = Command {
            steward: Arc::clone(steward),
            every: args.on_event_every,
            waiting: String::new(),
            running: None,
            last: None,
            runs: Runs::default(),
        };
        let thread = Builder::new()
            .name("on-event".into())
            .spawn(move || {
                command.serve(&updates);
                command.end()
            })
            .map_err(|error| Failure::Machine(format!("--on-event: {error}")))?;
        Ok((OnEvent(Some(thread)), SinkPair { first, second: Some(collector.of_figures()) }))
    }

    /// Waits for the last run, and tells of runs that failed. The session must have ended.
    pub fn end(self) {
        let runs = self.0.and_then(|thread| thread.join().ok());
        if let Some(sentence) = runs.and_then(|runs| runs.words()) {
            output::say(&sentence);
        }
    }
}

/// Counts of the command's runs, and of events that it was not told.
#[derive(Clone, Debug, Default)]
struct Runs {
    all: u64,
    failed: u64,
    /// Events for which there was no room.
    untold: u64,
    /// The end of the last failed run.
    complaint: String,
}

impl Runs {
    /// A sentence about what went wrong, with its line feed; `None` if nothing did.
    fn words(&self) -> Option<String> {
        let untold = match self.untold {
            0 => String::new(),
            untold => {
                format!(
                    "{} not handed to it: they were too many, or came too late",
                    counted(untold, "event")
                )
            }
        };
        let failed = match self.failed {
            0 => String::new(),
            failed => {
                let runs = counted(self.all, "run");
                format!("{failed} of {runs} failed, the last with {}", self.complaint.trim_end())
            }
        };
        let both: Vec<String> =
            [failed, untold].into_iter().filter(|text| !text.is_empty()).collect();
        (!both.is_empty()).then(|| format!("--on-event: {}\n", both.join("; ")))
    }
}

/// The command, and the events that it has not been told.
struct Command {
    steward: Arc<Steward>,
    every: Duration,
    waiting: String,
    running: Option<HandlerRun>,
    /// The beginning of its last run.
    last: Option<Instant>,
    runs: Runs,
}

impl Command {
    /// Gathers events and runs the command until the session has ended.
    fn serve(&mut self, updates: &Receiver<Update>) {
        let mut lines = JsonLines::new(machine::wall_offset());
        loop {
            let pause = match &self.running {
                Some(_) => LOOK,
                None if self.waiting.is_empty() => IDLE,
                None => self.pause(),
            };
            match updates.recv_timeout(pause) {
                Ok(update) => {
                    let events: Vec<String> = lines.events(&update, is_urgent).collect();
                    for line in &events {
                        self.gather(line);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.look();
            if self.running.is_none() && !self.waiting.is_empty() && self.pause() == Duration::ZERO
            {
                self.run();
            }
        }
    }

    /// The time until the command may run again.
    fn pause(&self) -> Duration {
        let since = self.last.map(|last| last.elapsed());
        since.map_or(Duration::ZERO, |since| self.every.saturating_sub(since))
    }

    fn gather(&mut self, line: &str) {
        if self.waiting.len().saturating_add(line.len()) <= WAITING_BYTES {
            self.waiting.push_str(line);
        } else {
            self.runs.untold = self.runs.untold.saturating_add(1);
        }
    }

    /// Starts the command and gives it what waits.
    fn run(&mut self) {
        self.last = Some(Instant::now());
        self.runs.all = self.runs.all.saturating_add(1);
        let text = std::mem::take(&mut self.waiting);
        match HandlerRun::start(&self.steward, text.as_bytes()) {
            Ok(running) => self.running = Some(running),
            Err(error) => self.failed(error.to_string()),
        }
    }

    fn failed(&mut self, complaint: String) {
        self.runs.failed = self.runs.failed.saturating_add(1);
        self.runs.complaint = complaint;
    }

    /// Takes what the command has written, and its exit status if it has ended.
    fn look(&mut self) {
        let Some(running) = &mut self.running else { return };
        if !running.wait(Duration::ZERO) {
            return;
        }
        let (status, complaint) = running.reap(&self.steward);
        self.running = None;
        if let Some(status) = status.filter(|status| !status.success()) {
            let complaint = complaint.lines().next().unwrap_or_default();
            let colon = if complaint.is_empty() { "" } else { ": " };
            self.failed(format!("{status}{colon}{complaint}"));
        }
    }

    /// Runs the command for what waits, gives it a little time, and ends it.
    fn end(mut self) -> Runs {
        let until = Instant::now() + LAST_RUN;
        loop {
            self.look();
            if self.running.is_none() && !self.waiting.is_empty() {
                self.run();
            }
            let Some(running) = &mut self.running else { break };
            if Instant::now() >= until {
                running.reap(&self.steward);
                self.failed("no end within two seconds after the session".into());
                let untold = u64::try_from(self.waiting.lines().count()).unwrap_or(u64::MAX);
                self.runs.untold = self.runs.untold.saturating_add(untold);
                break;
            }
            running.wait(LOOK);
        }
        self.runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_correlate::VerdictKind;

    #[test]
    fn problems_are_urgent_and_notes_are_not() {
        let began = |gravity| LogEvent::VerdictBegan(VerdictKind::NagleDelayedAck, gravity);
        assert!(is_urgent(&began(Severity::Problem)) && is_urgent(&LogEvent::Overdue(3)));
        assert!(!is_urgent(&began(Severity::Note)) && !is_urgent(&LogEvent::RowAppeared));
        let host = |is_well| LogEvent::Host { name: "hub".into(), what: "lost".into(), is_well };
        assert!(is_urgent(&host(false)) && !is_urgent(&host(true)));
    }

    #[test]
    fn runs_that_failed_are_told_with_what_they_said() {
        assert_eq!(Runs { all: 9, ..Runs::default() }.words(), None);
        let failed =
            Runs { all: 3, failed: 1, untold: 2, complaint: "exit status: 127: sh: x\n".into() };
        let words = failed.words().unwrap();
        assert!(
            words.contains("1 of 3 runs failed, the last with exit status: 127: sh: x; 2 events"),
            "{words}"
        );
    }
}
