//! `wirelap analyze`: recordings and captures through the same pipeline as what happens now.

use crate::environment;
use crate::failure::Failure;
use crate::live::seen;
use crate::output::Json;
use crate::quantity;
use crate::recording::Told;
use clap::Args;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use wirelap_correlate::{Config, Correlator, Snapshot};
use wirelap_events::{Body, Delivery, Event, Nanos, Packet, PacketHook, Segment};
use wirelap_recording::{Counts, Entry, Recording};
use wirelap_report::explain::{Options, pages};
use wirelap_report::{Process, RunReport, table};

const EXAMPLES: &str = "\
Examples:
  wirelap analyze trace.pcapng
  wirelap analyze ring-*.pcapng --json out.json      the files of a ring, in order
  zcat capture.pcap.gz | wirelap analyze -           gzip and zstd are also read as they are
  wirelap analyze tcpdump.pcap --decode 11883=mqtt

Recordings of `wirelap record` give the same result as while they were recorded. Captures of others have packets alone: no calls, no
threads; a message's time is then that between its first and its last packet.";

/// `wirelap analyze`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct AnalyzeArgs {
    /// Recordings and captures (pcapng, pcap; gzip, zstd), in the order of time; - for stdin
    #[arg(value_name = "FILE|-", required = true)]
    pub files: Vec<PathBuf>,

    /// Write JSON (schema wirelap/run/1) to this file; - for stdout
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,

    /// Explain each result on a page, in place of the lines below the table
    #[arg(long)]
    pub explain: bool,

    /// Take a port's traffic for this protocol, whatever it looks like, e.g. 11883=mqtt
    #[arg(long, value_name = "PORT=PROTO", value_delimiter = ',', value_parser = quantity::decode)]
    pub decode: Vec<(u16, String)>,
}

/// Reads all files and reports.
///
/// # Errors
/// A file cannot be read, or the results could not be written.
pub fn run(args: &AnalyzeArgs) -> Result<ExitCode, Failure> {
    let json = Json::open(args.json.as_deref())?;
    let mut replay = Replay::new(&args.decode);
    for path in &args.files {
        replay.file(path)?;
    }
    let report = replay.end();
    let text =
        if args.explain { pages(&report, Options::default()) } else { table::render(&report) };
    json.write(&report, &text)?;
    Ok(ExitCode::SUCCESS)
}

/// Deliveries are in the snapshot already.
fn discard(_: &Delivery) {}

/// Everything read so far.
struct Replay {
    decode: Vec<(u16, String)>,
    correlator: Option<Correlator>,
    told: Told,
    seen: Seen,
    files: usize,
    packets_only: bool,
    notes: Vec<String>,
    is_damaged: bool,
}

impl Replay {
    fn new(decode: &[(u16, String)]) -> Replay {
        Replay {
            decode: decode.to_vec(),
            correlator: None,
            told: Told::default(),
            seen: Seen::default(),
            files: 0,
            packets_only: false,
            notes: Vec::new(),
            is_damaged: false,
        }
    }

    fn file(&mut self, path: &Path) -> Result<(), Failure> {
        let shown =
            if path == Path::new("-") { "stdin".into() } else { path.display().to_string() };
        let unread = |why: &dyn std::fmt::Display| Failure::Usage(format!("{shown} {why}"));
        let bytes = wirelap_recording::open(path)
            .map_err(|error| unread(&format!("cannot be read: {error}")))?;
        let mut recording = Recording::new(bytes).map_err(|error| unread(&error))?;
        let first = self.files == 0;
        self.files += 1;
        if first {
            self.packets_only = !recording.is_own();
        }
        while let Some(entry) = recording.next() {
            self.take(&entry, first);
        }
        let problems = recording.problems();
        self.is_damaged |= !problems.is_empty();
        self.notes.extend(problems.first.iter().map(|problem| format!("{shown}, {problem}.")));
        if problems.more > 0 {
            self.notes.push(format!("{shown}: {} more places cannot be read.", problems.more));
        }
        self.notes.extend(left_out(&shown, recording.counts()));
        Ok(())
    }

    fn take(&mut self, entry: &Entry<'_>, first: bool) {
        match entry {
            Entry::Event(event) => {
                self.seen.add(event);
                self.correlator().take(event, &mut discard);
            }
            Entry::Known(event) if first => self.correlator().event(event),
            Entry::Known(_) => {}
            Entry::Tick(at) => self.correlator().tick(*at, &mut discard),
            Entry::Note(note) => {
                if let Some(label) = self.told.take(*note)
                    && first
                {
                    self.correlator().add_label(label);
                }
            }
        }
    }

    /// Made when its settings are known: the notes at the front of a file come before its events.
    fn correlator(&mut self) -> &mut Correlator {
        self.correlator.get_or_insert_with(|| {
            let mut decode = self.decode.clone();
            decode.extend(self.told.decode.iter().cloned());
            let packets_only = self.packets_only;
            Correlator::new(Config { decode, packets_only, ..Config::default() })
        })
    }

    fn end(mut self) -> RunReport {
        let end = self.told.end.unwrap_or_default();
        let correlator = self.correlator();
        correlator.finish(&mut discard);
        let snapshot = correlator.snapshot(end);
        let told = std::mem::take(&mut self.told);
        let mut report = report(&snapshot, told);
        report.partial |= self.is_damaged;
        report.notes.append(&mut self.notes);
        report.notes.extend(self.seen.missing());
        if self.packets_only {
            packets_only(&mut report);
        }
        report
    }
}

/// What the events say, with what only the recorder knew.
fn report(snapshot: &Snapshot, told: Told) -> RunReport {
    let mut report = seen(snapshot);
    report.environment = told.environment.unwrap_or_else(|| environment::describe(0));
    let Some(recorded) = told.report else {
        if told.cut {
            report.notes.push(NO_PAYLOAD.into());
        }
        return report;
    };
    report.environment = recorded.environment;
    report.hooks = recorded.hooks;
    report.scenario = recorded.scenario;
    report.skipped = recorded.skipped;
    report.partial = recorded.partial;
    if told.cut {
        report.results = recorded.results;
        report.notes = recorded.notes;
        report.notes.push(
            "The file has no payload: these are the results that were made while it was recorded."
                .into(),
        );
    } else {
        let used = recorded.results.iter().flat_map(|result| &result.processes);
        let used: BTreeMap<u32, &Process> = used.map(|process| (process.pid, process)).collect();
        for process in report.results.iter_mut().flat_map(|result| &mut result.processes) {
            let Some(used) = used.get(&process.pid) else { continue };
            process.cpu_share = used.cpu_share;
            process.rss_bytes = used.rss_bytes;
        }
    }
    report
}

const NO_PAYLOAD: &str = "The file has no payload and does not reach its end, where the results that were made \
                          while it was recorded would be: messages cannot be found in it.";

/// What a report on packets alone does not have.
fn packets_only(report: &mut RunReport) {
    for result in &mut report.results {
        // From the last packet to the read that it stands for.
        result.segments.retain(|row| row.segment != Segment::Busy.name());
    }
    report.notes.push(
        "Packets alone: a message's time is from its first packet to its last, over all legs; one that was seen \
         once takes none."
            .into(),
    );
}

/// Packets that are in no result, and why.
fn left_out(file: &str, counts: Counts) -> Vec<String> {
    let kinds = [
        (counts.other, "neither TCP nor UDP"),
        (counts.fragments, "later IP fragments, which have no ports"),
        (counts.cut, "cut off in their headers (a longer snap length helps)"),
        (counts.unknown_link, "behind link headers that wirelap does not read"),
        (counts.unknown_records, "records of a later version of wirelap"),
    ];
    let kinds = kinds.into_iter().filter(|(count, _)| *count > 0);
    kinds.map(|(count, what)| format!("{file}: {count} left out: {what}.")).collect()
}

/// Which observations are in the files at all.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // Kinds of events that do not depend on each other.
struct Seen {
    send: bool,
    xmit: bool,
    rx: bool,
    ready: bool,
    wake: bool,
    read: bool,
    first: Option<Nanos>,
}

impl Seen {
    fn add(&mut self, event: &Event<'_>) {
        self.first.get_or_insert(event.at);
        match event.body {
            Body::Send(_) => self.send = true,
            Body::Packet(Packet { hook: PacketHook::Xmit, .. }) => self.xmit = true,
            Body::Packet(_) => self.rx = true,
            Body::Ready(_) => self.ready = true,
            Body::Wake(_) => self.wake = true,
            Body::Read(_) => self.read = true,
            _ => {}
        }
    }

    /// A sentence on the stages that no event tells of.
    fn missing(&self) -> Option<String> {
        let stages = [
            (self.send, "send"),
            (self.xmit, "xmit"),
            (self.rx, "rx"),
            (self.ready, "ready"),
            (self.wake, "wakeup, running"),
            (self.read, "read"),
        ];
        let missing: Vec<&str> =
            stages.into_iter().filter(|(seen, _)| !seen).map(|(_, name)| name).collect();
        (self.first.is_some() && !missing.is_empty())
            .then(|| format!("Not in the files, and so in no figure: {}.", missing.join(", ")))
    }
}
