//! The flight recorder: the newest events are kept in memory, and written to a file when it matters.

use crate::live::time;
use crate::metrics::MeasuredSink;
use crate::otlp::ExportedSink;
use crate::parquet::TabledSink;
use crate::quantity;
use clap::Args;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant, SystemTime};
use wirelap_correlate::Snapshot;
use wirelap_events::{Nanos, human};
use wirelap_history::watch::{Condition, ConditionEvidence, FlightSchedule, MetCondition, Watcher};
use wirelap_history::{DeliveryCollector, LogEvent, Update};
use wirelap_process::outputs::unwritable;
use wirelap_process::{Failure, Outputs, Signals, output};
use wirelap_recording::{KeepLimits, Written, numbered};
use wirelap_report::from_snapshot::run_report;
use wirelap_report::{Environment, Hook, RunReport, words};
use wirelap_session::{Commands, KeepSettings, Tracer, machine, notes};

/// The sink of a session whose conditions are watched, of `--parquet-dir`, `--otlp` and `--metrics`.
pub type FlightSink = MeasuredSink<ExportedSink<TabledSink<DeliveryCollector>>>;

/// Time between two checks for the end of a recording.
pub const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The most updates that wait. While more would wait, the collector puts them together.
const UPDATES: usize = 8;

/// The options of the flight recorder.
#[derive(Clone, Debug, Args)]
pub struct FlightArgs {
    /// Keep the newest events of this time in memory, and write them to a file only when it matters: --dump-when, or SIGUSR1. The
    /// files are named after FILE, with the time of the start and a number
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, conflicts_with_all = ["force", "rotate_size", "rotate_time", "files"])]
    pub keep: Option<Duration>,

    /// The most bytes that are kept; as much again while a file is written
    #[arg(long, value_name = "BYTES", value_parser = quantity::bytes, default_value = "256M", requires = "keep")]
    pub keep_size: u64,

    /// Write when this holds: p50, p99, p99.9, max or throughput of the last second, as in 'p99>10ms for 5s' or
    /// 'mqtt:throughput<100'; or verdict, loss (of events), overdue, silent, ended. May be given several times
    #[arg(long, value_name = "[NAME:]CONDITION", requires = "keep")]
    pub dump_when: Vec<Condition>,

    /// How long to wait then, so that the file has what follows, too
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "5s", requires = "keep")]
    pub after: Duration,

    /// Write at most so many files because of --dump-when
    #[arg(long, value_name = "N", default_value_t = 20, requires = "keep")]
    pub dump_at_most: u32,
}

impl FlightArgs {
    /// Checks what cannot be checked option by option.
    pub fn check(&self, keep: Duration, output: &Path) -> Result<(), Failure> {
        let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
        if output == Path::new("-") {
            return usage("--keep writes several files, which stdout cannot take: name a file");
        }
        if keep < Duration::from_secs(1) {
            return usage("--keep must be at least 1s");
        }
        if self.keep_size < 1 << 20 {
            return usage("--keep-size must be at least 1M");
        }
        if self.after >= keep {
            return usage(
                "--after must be shorter than --keep: otherwise, what is waited for pushes out what happened before",
            );
        }
        Ok(())
    }

    /// Returns the settings for the events that the session keeps; `None` without `--keep`.
    pub fn keep_settings(
        &self,
        written: wirelap_recording::EncoderSettings,
    ) -> Option<KeepSettings> {
        let limits = KeepLimits {
            time: nanos(self.keep?),
            bytes: usize::try_from(self.keep_size).unwrap_or(usize::MAX),
            rate: u64::MAX,
        };
        Some(KeepSettings { limits, written })
    }
}

/// Says what the flight recorder does, for whoever looks at the state of a service.
pub fn state(flight: &FlightArgs) -> String {
    format!(
        "keeping the last {} in memory, {} at most",
        humantime::format_duration(flight.keep.unwrap_or_default()),
        human::bytes(flight.keep_size as f64)
    )
}

/// The path of the files without their number: `trace.pcapng` → `trace-20261125-015500.pcapng`.
pub fn stem(path: &Path) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{}", time(SystemTime::now())));
    name.push(".");
    name.push(path.extension().unwrap_or("pcapng".as_ref()));
    path.with_file_name(name)
}

/// Writes what is kept when it matters.
pub struct FlightRecorder {
    outputs: Outputs,
    stem: PathBuf,
    environment: Environment,
    hooks: Vec<Hook>,
    commands: Commands,
    updates: Receiver<Update>,
    asked: Arc<AtomicBool>,
    watcher: Watcher,
    schedule: FlightSchedule,
    keep: Nanos,
    number: u64,
    written: Written,
}

impl FlightRecorder {
    /// Returns the collector of figures for the tracing thread, and the channel on which they come out.
    pub fn collector() -> (DeliveryCollector, Receiver<Update>) {
        let (collector, updates) = DeliveryCollector::new(UPDATES);
        (collector.of_figures(), updates)
    }

    /// A flight recorder of a session.
    pub fn new(
        args: &FlightArgs,
        (outputs, stem): (Outputs, PathBuf),
        environment: Environment,
        tracer: &Tracer<FlightSink>,
        (updates, asked): (Receiver<Update>, Arc<AtomicBool>),
    ) -> FlightRecorder {
        let keep = nanos(args.keep.unwrap_or_default());
        FlightRecorder {
            outputs,
            stem,
            environment,
            hooks: tracer.hooks(),
            commands: tracer.commands(),
            updates,
            asked,
            watcher: Watcher::new(args.dump_when.clone()),
            schedule: FlightSchedule::new(keep, nanos(args.after), args.dump_at_most),
            keep,
            number: 0,
            written: Written::default(),
        }
    }

    /// Watches until a signal arrives or the time is over, and writes what is due then.
    pub fn watch(
        &mut self,
        args: &FlightArgs,
        duration: Option<Duration>,
        tracer: &Tracer<FlightSink>,
        signals: &Signals,
    ) {
        output::say(&self.beginning(args));
        let end = duration.and_then(|time| Instant::now().checked_add(time));
        while !tracer.has_ended()
            && signals.caught().is_none()
            && end.is_none_or(|end| Instant::now() < end)
        {
            std::thread::sleep(POLL_INTERVAL);
            self.step();
        }
        if let Some(reasons) = self.schedule.end() {
            self.write(&reasons);
        }
    }

    /// Ends the flight recorder, and returns what was written.
    pub fn end(self) -> Written {
        if self.schedule.ignored() > 0 {
            output::say(&format!(
                "--dump-when held {} more after the last file that --dump-at-most allows\n",
                human::counted(self.schedule.ignored(), "time")
            ));
        }
        self.written
    }

    fn beginning(&self, flight: &FlightArgs) -> String {
        let conditions: Vec<String> =
            flight.dump_when.iter().map(|one| format!("when {one}, ")).collect();
        format!(
            "keeping the last {} in memory ({} at most); written to {} {}and on SIGUSR1 (kill -USR1 {}); Ctrl-C ends it\n",
            humantime::format_duration(flight.keep.unwrap_or_default()),
            human::bytes(flight.keep_size as f64),
            numbered(&self.stem, 1).display(),
            conditions.concat(),
            std::process::id()
        )
    }

    fn step(&mut self) {
        while let Ok(update) = self.updates.try_recv() {
            for finding in self.watcher.update(update) {
                let ignored = self.schedule.ignored();
                self.schedule.found(finding.at, sentence(&finding));
                if ignored == 0 && self.schedule.ignored() > 0 {
                    output::say(&format!(
                        "{}: not written, because --dump-at-most is reached; SIGUSR1 still writes a file\n",
                        sentence(&finding)
                    ));
                }
            }
        }
        let now = machine::now();
        let reasons = if self.asked.swap(false, Ordering::Relaxed) {
            Some(self.schedule.asked(now, "SIGUSR1".into()))
        } else {
            self.schedule.due(now)
        };
        if let Some(reasons) = reasons {
            self.write(&reasons);
        }
    }

    /// Writes what is kept, and says so. Tracing goes on whatever becomes of it.
    fn write(&mut self, reasons: &[String]) {
        let kept = self.commands.kept();
        let Some(since) = kept.since else {
            return output::say(&format!("{}: nothing is kept yet\n", reasons.join("; ")));
        };
        let now = machine::now();
        let why = reasons.join("; ");
        let snapshot = Arc::clone(self.watcher.latest());
        let end = notes::end_of_dump(&why, now, &self.report(&snapshot));
        let path = numbered(&self.stem, self.number.saturating_add(1));
        let written = write_one(&self.outputs, &path, kept.joined().chain([&end[..]]));
        let bytes = match written {
            Ok(bytes) => bytes,
            Err(error) => {
                let unwritten = unwritable(&path, &error);
                return output::say(&format!("{why}: {unwritten}; recording goes on\n"));
            }
        };
        self.number = self.number.saturating_add(1);
        self.written.bytes = self.written.bytes.saturating_add(bytes);
        let covered = now - since;
        let is_short = covered + Nanos::from_millis(1_000) < self.keep && self.number > 1;
        output::say(&format!(
            "{}: {}, the last {covered}: {why}{}\n",
            path.display(),
            human::bytes(bytes as f64),
            if is_short { " (--keep-size is too small for more)" } else { "" }
        ));
        self.written.files.push(path);
    }

    fn report(&self, snapshot: &Snapshot) -> RunReport {
        let (environment, hooks) = (self.environment.clone(), self.hooks.clone());
        RunReport { environment, hooks, ..run_report(snapshot) }
    }
}

/// Writes a file that has its name only when it is complete. A file that was not completed takes no room.
fn write_one<'a>(
    outputs: &Outputs,
    path: &Path,
    parts: impl Iterator<Item = &'a [u8]>,
) -> io::Result<u64> {
    let mut file = outputs.begin(path)?;
    let mut bytes = 0u64;
    let write = || -> io::Result<()> {
        for part in parts {
            file.write_all(part)?;
            bytes = bytes.saturating_add(part.len() as u64);
        }
        outputs.keep(path, &file)
    };
    if let Err(error) = write() {
        // Where that fails, too, the next attempt replaces the file.
        let _ = file.set_len(0);
        return Err(error);
    }
    Ok(bytes)
}

/// Says in words what was found.
fn sentence(finding: &MetCondition) -> String {
    let condition = &finding.condition;
    let row = finding.row.as_ref().map(|row| format!(" of {row}")).unwrap_or_default();
    match &finding.evidence {
        ConditionEvidence::Value(value) => format!("{condition}{row}: {}", condition.show(*value)),
        ConditionEvidence::Event(event) => format!("{condition}{row}: {}", what(event)),
    }
}

fn what(event: &LogEvent) -> String {
    match event {
        LogEvent::VerdictBegan(kind, _) => words::title(*kind).to_owned(),
        LogEvent::EventsLost(lost) => {
            let events = human::counted_as(lost.events, "event was", "events were");
            format!("{events} lost because {}", words::lost_because(*lost))
        }
        LogEvent::Overdue(count) => {
            format!("{} have not arrived", human::counted(*count, "message"))
        }
        LogEvent::RowSilent => "delivers nothing any more".into(),
        LogEvent::ProcessGone { role, comm, pid } => {
            format!("{role} {comm} {} has ended", pid.0)
        }
        _ => String::new(),
    }
}

fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
