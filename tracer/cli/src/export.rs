//! `wirelap export`: converts recordings and captures for other programs.

mod target;

use crate::quantity;
use clap::Args;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use target::ExportTarget;
use wirelap_events::{Delivery, Event};
use wirelap_process::Failure;
use wirelap_process::Outputs;
use wirelap_process::Signals;
use wirelap_process::catch_signals;
use wirelap_process::output;
use wirelap_process::rights;
use wirelap_replay::{Follower, Replay, Replayed, shown};
use wirelap_report::human;
use wirelap_report::trace::{TraceMetadata, TraceTotals, TraceWriter};

const EXAMPLES: &str = "\
Examples:
  wirelap export --perfetto trace.pcapng -o trace.json          open it at https://ui.perfetto.dev or chrome://tracing
  wirelap export --perfetto tcpdump.pcap -o trace.json.gz       both open compressed files, too
  wirelap export --perfetto trace.pcapng -o - | jq '.traceEvents[] | select(.name == \"runqueue\")'

Each message is a row of slices, one for each segment of its time, on the threads, sockets and brokers that it went through, with arrows
from one to the next. Times are microseconds with three decimals, so that they are exact to the nanosecond.";

/// `wirelap export`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ExportArgs {
    /// Recordings and captures (pcapng, pcap; gzip, zstd), in the order of time; - for stdin
    #[arg(value_name = "FILE|-", required = true)]
    pub files: Vec<PathBuf>,

    /// Write a trace for Perfetto and for Chrome's own viewer, in Chrome's JSON format
    #[arg(long, required = true)]
    pub perfetto: bool,

    /// The file to write, compressed if it ends in .gz; - for stdout
    #[arg(short, long, value_name = "OUT|-")]
    pub output: PathBuf,

    /// Replace an existing file
    #[arg(long)]
    pub force: bool,

    /// Read messages inside TLS 1.2 and 1.3 with the keys in this file (SSLKEYLOGFILE), beside those in the captures themselves; may
    /// be given several times
    #[arg(long, value_name = "FILE")]
    pub tls_keys: Vec<PathBuf>,

    /// Decode the traffic of a port as this protocol, e.g. 11883=mqtt
    #[arg(long, value_name = "PORT=PROTO", value_delimiter = ',', value_parser = quantity::decode)]
    pub decode: Vec<(u16, String)>,
}

/// Reads all files and writes the trace.
///
/// # Errors
/// A file cannot be read, no message is found, or the trace cannot be written.
pub fn run(args: &ExportArgs) -> Result<ExitCode, Failure> {
    let outputs = Outputs::of(std::iter::once(&args.output), args.force)?;
    let target = ExportTarget::open(&args.output, outputs.clone())?;
    outputs.seal()?;
    rights::confine_reader();
    let signals = catch_signals()?;
    let about = TraceMetadata {
        wirelap_version: env!("CARGO_PKG_VERSION").into(),
        source: args.files.iter().map(|path| shown(path)).collect(),
        ..TraceMetadata::default()
    };
    let before = Some((target, about));
    let export =
        TraceExport { path: &args.output, signals, before, writer: None, reader_has_gone: false };
    let mut replay = Replay::new(&args.decode, export);
    replay.tls_keys(&args.tls_keys)?;
    if let Err(failure) = replay.files(&args.files) {
        // A reader of stdout that has gone is not an error.
        let reader_has_gone = replay.follower().reader_has_gone;
        return if reader_has_gone { Ok(ExitCode::SUCCESS) } else { Err(failure) };
    }
    let Replayed { follower, snapshot, report, cut } = replay.end()?;
    let Some(writer) = follower.writer else { return Err(no_messages(args, cut)) };
    let failed = |error| unwritten(&args.output, &error);
    let (target, totals) = writer.end(&snapshot).map_err(failed)?;
    if totals.messages == 0 {
        return Err(no_messages(args, cut));
    }
    let bytes = target.keep().map_err(failed)?;
    for note in &report.notes {
        output::say(&format!("note: {note}\n"));
    }
    let summary = summary(&args.output, totals, bytes);
    if args.output == Path::new("-") {
        output::say(&summary);
        Ok(ExitCode::SUCCESS)
    } else {
        output::print(&summary).map(|()| ExitCode::SUCCESS)
    }
}

/// Writes the trace while the files are read.
struct TraceExport<'a> {
    path: &'a Path,
    signals: Signals,
    /// Target and metadata from which the writer is made once the clock of the events is known.
    before: Option<(ExportTarget, TraceMetadata)>,
    writer: Option<TraceWriter<ExportTarget>>,
    /// The reader of stdout has gone.
    reader_has_gone: bool,
}

impl Follower for TraceExport<'_> {
    const DELIVERIES: bool = true;

    fn begin(&mut self, wall: Option<i64>) {
        self.writer =
            self.before.take().map(|(target, about)| TraceWriter::new(target, about, wall));
    }

    fn event(&mut self, event: &Event<'_>) -> Result<(), Failure> {
        if let Some(signal) = self.signals.signalled() {
            return Err(Failure::Measured(format!("{signal}: nothing was exported")));
        }
        if let Some(writer) = &mut self.writer {
            writer.learn(event);
        }
        Ok(())
    }

    fn delivery(&mut self, delivery: &Delivery, topic: Option<&[u8]>) -> Result<(), Failure> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let topic = topic.map(String::from_utf8_lossy);
        writer.delivery(delivery, topic.as_deref()).map_err(|error| {
            self.reader_has_gone = error.kind() == io::ErrorKind::BrokenPipe;
            unwritten(self.path, &error)
        })
    }
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    let shown = if path == Path::new("-") { "stdout".into() } else { path.display().to_string() };
    let remedy = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room, or name a file that ends in .gz, which needs a tenth of the room"
        }
        _ => &wirelap_process::remedy::of_file(error),
    };
    Failure::Measured(format!("cannot write {shown}: {error}: {remedy}"))
}

/// The failure that no message was found.
fn no_messages(args: &ExportArgs, cut: bool) -> Failure {
    let files: Vec<String> = args.files.iter().map(|path| shown(path)).collect();
    let files = files.join(", ");
    Failure::Measured(if cut {
        format!(
            "{files}: no payload was recorded, so no message can be found: use `wirelap record --payload`"
        )
    } else {
        format!(
            "{files}: no message was found, so there is nothing to export: see `wirelap analyze`"
        )
    })
}

/// The line that tells what was exported, with a note if something was left out.
fn summary(path: &Path, totals: TraceTotals, bytes: u64) -> String {
    let TraceTotals { messages, slices, left_out } = totals;
    let shown = if path == Path::new("-") { "stdout".into() } else { path.display().to_string() };
    let bytes = human::bytes(bytes as f64);
    let left_out = match left_out {
        0 => String::new(),
        parts => format!(
            "note: {parts} parts of messages are not shown: there were more than 1024 at once on a track\n"
        ),
    };
    format!("{shown}: {messages} messages, {slices} slices, {bytes}\n{left_out}")
}
