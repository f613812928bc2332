//! Recordings and captures, from their first entry to their last, through the same pipeline as what happens now.

mod observed;
mod together;

use crate::copy::Copy;
use crate::hosts;
use observed::Seen;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use wirelap_correlate::{Config, Correlator, DeliverySink, Host, Snapshot};
use wirelap_events::Saturate;
use wirelap_events::{Delivery, Event, Nanos, Segment};
use wirelap_process::Failure;
use wirelap_process::Outputs;
use wirelap_recording::hosts::Twice;
use wirelap_recording::{Counts, Entry, Piece, Recording};
use wirelap_report::from_snapshot::run_report;
use wirelap_report::{HostClock, Process, RunReport, RunResult};
use wirelap_session::environment;
use wirelap_session::notes::{self, Told};

/// How long a packet may be on its way to another host.
const ON_THE_WAY: Nanos = Nanos::from_millis(1_000);

/// Follows what is read.
pub trait Follower {
    /// Whether it takes deliveries. Without that, topics are not kept either.
    const DELIVERIES: bool;

    /// The first file is open. `wall` leads from its events' clock to the wall clock, if they differ.
    fn begin(&mut self, wall: Option<i64>);

    /// An event comes in.
    ///
    /// # Errors
    /// It cannot go on.
    fn event(&mut self, event: &Event<'_>) -> Result<(), Failure>;

    /// A delivery is complete.
    ///
    /// # Errors
    /// It cannot go on.
    fn delivery(&mut self, delivery: &Delivery, topic: Option<&[u8]>) -> Result<(), Failure>;
}

/// Everything that is of interest is in the report.
pub struct Nobody;

impl Follower for Nobody {
    const DELIVERIES: bool = false;

    fn begin(&mut self, _: Option<i64>) {}

    fn event(&mut self, _: &Event<'_>) -> Result<(), Failure> {
        Ok(())
    }

    fn delivery(&mut self, _: &Delivery, _: Option<&[u8]>) -> Result<(), Failure> {
        Ok(())
    }
}

/// Everything read so far.
pub struct Replay<F> {
    follower: F,
    decode: Vec<(u16, String)>,
    correlator: Option<Correlator>,
    /// Deliveries that the follower has not been given yet.
    ready: Vec<Delivery>,
    told: Told,
    /// What is read is written again.
    copy: Option<Copy>,
    keeps_topics: bool,
    seen: Seen,
    files: usize,
    packets_only: bool,
    /// From the events' clock to the wall clock.
    wall: Option<i64>,
    /// Hosts whose addresses are known.
    addresses: Vec<Host>,
    /// How long a packet may be on its way to another host's capture.
    hold: Option<Nanos>,
    /// How the clocks of other hosts differ from the first one's.
    clocks: Vec<HostClock>,
    /// What the recorders of other hosts knew, by the host.
    there: Vec<(u8, RunReport)>,
    notes: Vec<String>,
    is_damaged: bool,
}

/// What was read.
pub struct Read<F> {
    /// Who followed.
    pub follower: F,
    /// The last picture.
    pub snapshot: Snapshot,
    /// What is said about it.
    pub report: RunReport,
    /// Payload was cut off: messages cannot be found.
    pub cut: bool,
}

impl<F: Follower> Replay<F> {
    /// Nothing read yet.
    pub fn new(decode: &[(u16, String)], follower: F) -> Replay<F> {
        Replay {
            follower,
            decode: decode.to_vec(),
            correlator: None,
            ready: Vec::new(),
            told: Told::default(),
            copy: None,
            keeps_topics: F::DELIVERIES,
            seen: Seen::default(),
            files: 0,
            packets_only: false,
            wall: None,
            addresses: Vec::new(),
            hold: None,
            clocks: Vec::new(),
            there: Vec::new(),
            notes: Vec::new(),
            is_damaged: false,
        }
    }

    /// Writes what is read again, with what became of its messages. Whoever follows is given no deliveries then.
    pub fn annotate(&mut self, to: &Path, outputs: &Outputs) {
        self.copy = Some(Copy::to(to, outputs));
        self.keeps_topics = true;
    }

    /// Who follows.
    pub fn follower(&self) -> &F {
        &self.follower
    }

    /// Reads files to their ends: one after the other, or captures of several hosts together.
    ///
    /// # Errors
    /// One is no capture, the hosts' clocks cannot be compared, or the follower cannot go on.
    pub fn files(&mut self, paths: &[PathBuf]) -> Result<(), Failure> {
        if let Some(hosts) = hosts::look(paths)? {
            if self.copy.is_some() {
                return Err(Failure::Usage(SEVERAL_HOSTS.into()));
            }
            return self.several_hosts(paths, &hosts);
        }
        paths.iter().try_for_each(|path| self.file(path))
    }

    fn file(&mut self, path: &Path) -> Result<(), Failure> {
        let mut recording = open(path)?;
        let first = self.files == 0;
        self.files.grow(1);
        if first {
            self.packets_only = !recording.is_own();
            self.addresses = hosts::own_addresses_of(path);
            self.wall = recording.wall();
            self.follower.begin(recording.wall());
        }
        if let Some(copy) = &mut self.copy {
            copy.begin(recording.section())?;
        }
        let mut ends = hosts::has_both_ends(path).then(Twice::default);
        if ends.is_some() {
            self.hold = Some(ON_THE_WAY);
            self.notes.push(format!(
                "{}: each packet is there twice, and taken to be sent and then received.",
                shown(path)
            ));
        }
        let mut take = |replay: &mut Self, entry: Entry<'_>| match (entry, &mut ends) {
            (Entry::Event(event), Some(ends)) => {
                replay.take(&Entry::Event(ends.place(event)), first)
            }
            (entry, _) => replay.take(&entry, first),
        };
        if self.copy.is_none() {
            recording.read_ahead(|entry| take(self, entry))?;
        }
        while let Some(piece) = self.piece(&mut recording) {
            match piece {
                Piece::Block(block) => self.copy.iter_mut().for_each(|copy| copy.block(&block)),
                Piece::Entry(entry) => take(self, entry)?,
            }
            if let Some(copy) = &mut self.copy {
                if self.told.cut {
                    return Err(unread(path, &NO_MESSAGES));
                }
                copy.name(recording.take_named());
            }
        }
        self.closing(&shown(path), &recording);
        Ok(())
    }

    /// The next of a file: its blocks too, if they are copied.
    fn piece<'a>(&self, recording: &'a mut Recording<impl io::Read>) -> Option<Piece<'a>> {
        if self.copy.is_some() && self.packets_only {
            recording.next_piece()
        } else {
            recording.next().map(Piece::Entry)
        }
    }

    /// What a file has beside what was read.
    fn closing(&mut self, shown: &str, recording: &Recording<impl io::Read>) {
        let problems = recording.problems();
        self.is_damaged |= !problems.is_empty();
        self.notes.extend(problems.first.iter().map(|problem| format!("{shown}, {problem}.")));
        if problems.more > 0 {
            self.notes.push(format!("{shown}: {} more places cannot be read.", problems.more));
        }
        self.notes.extend(left_out(shown, recording.counts()));
    }

    /// Reads no more, and says what came of it.
    ///
    /// # Errors
    /// The follower cannot go on.
    pub fn end(mut self) -> Result<Read<F>, Failure> {
        let end = self.told.end.unwrap_or_default();
        match self.copy.take() {
            Some(copy) => {
                let note = copy.end(self.correlator())?;
                self.notes.extend(note);
            }
            None => self.with(|correlator, out| correlator.finish(out))?,
        }
        let snapshot = self.correlator().snapshot(end);
        let told = std::mem::take(&mut self.told);
        let cut = told.cut;
        let mut report = report(&snapshot, told, &self.there);
        report.partial |= self.is_damaged;
        report.notes.append(&mut self.notes);
        report.notes.extend(self.seen.missing());
        if self.packets_only {
            report.notes.extend(self.seen.cut());
            packets_only(&mut report, !self.clocks.is_empty());
        }
        for result in &mut report.results {
            let trust = &mut result.trust;
            trust.packets_only = self.packets_only;
            trust.hosts.clone_from(&self.clocks);
            trust.clocks = match self.clocks.as_slice() {
                [other] => Some(other.clock.clone()),
                _ => None,
            };
            result.judge();
        }
        Ok(Read { follower: self.follower, snapshot, report, cut })
    }

    fn take(&mut self, entry: &Entry<'_>, first: bool) -> Result<(), Failure> {
        match entry {
            Entry::Event(event) => {
                self.seen.add(event);
                self.follower.event(event)?;
                let Some(mut copy) = self.copy.take() else {
                    return self.with(|correlator, out| correlator.take(event, out));
                };
                copy.event(event, self.correlator());
                self.copy = Some(copy);
            }
            Entry::Known(event) if first => {
                self.follower.event(event)?;
                self.correlator().event(event);
                self.copy.iter_mut().for_each(|copy| copy.entry(entry));
            }
            Entry::Known(_) => {}
            Entry::Tick(at) => {
                let Some(mut copy) = self.copy.take() else {
                    return self.with(|correlator, out| correlator.tick(*at, out));
                };
                copy.tick(*at, self.correlator());
                self.copy = Some(copy);
            }
            Entry::Note(note) => {
                if first || notes::is_last(*note) {
                    self.copy.iter_mut().for_each(|copy| copy.entry(entry));
                }
                if let Some(label) = self.told.take(*note)
                    && first
                {
                    self.correlator().add_label(label);
                }
            }
        }
        Ok(())
    }

    /// Does something that may complete deliveries, and hands them on.
    fn with(
        &mut self,
        step: impl FnOnce(&mut Correlator, &mut dyn DeliverySink),
    ) -> Result<(), Failure> {
        let mut ready = std::mem::take(&mut self.ready);
        let correlator = self.correlator();
        step(correlator, &mut |delivery: &Delivery| {
            if F::DELIVERIES {
                ready.push(delivery.clone());
            }
        });
        for delivery in ready.drain(..) {
            let correlator = self.correlator.as_ref();
            let topic = correlator.and_then(|all| all.topic(delivery.topic?));
            self.follower.delivery(&delivery, topic)?;
        }
        self.ready = ready;
        Ok(())
    }

    /// Made when its settings are known: the notes at the front of a file come before its events.
    fn correlator(&mut self) -> &mut Correlator {
        self.correlator.get_or_insert_with(|| {
            let mut decode = self.decode.clone();
            decode.extend(self.told.decode.iter().cloned());
            let (packets_only, wall) = (self.packets_only, self.wall);
            let usual = Config::default();
            let hold = self.hold.unwrap_or_default().max(usual.hold);
            Correlator::new(Config {
                hold,
                decode,
                packets_only,
                wall,
                hosts: std::mem::take(&mut self.addresses),
                topics: self.keeps_topics,
                ..usual
            })
        })
    }
}

/// A capture that begins to be read.
fn open(path: &Path) -> Result<Recording<Box<dyn io::Read + Send>>, Failure> {
    let bytes = wirelap_recording::open(path)
        .map_err(|error| unread(path, &format!("cannot be read: {error}")))?;
    Recording::new(bytes).map_err(|error| unread(path, &error))
}

fn unread(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("{} {why}", shown(path)))
}

/// A file's name for people.
pub fn shown(path: &Path) -> String {
    if path == Path::new("-") { "stdin".into() } else { path.display().to_string() }
}

/// What the events say, with what only the recorder knew.
fn report(snapshot: &Snapshot, told: Told, there: &[(u8, RunReport)]) -> RunReport {
    let mut report = run_report(snapshot);
    for (host, there) in there {
        use_of_machine(&mut report, &there.results, Some(*host));
    }
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
        report.unknown = recorded.unknown;
        report.notes = recorded.notes;
        report.notes.push(
            "The file has no payload: these are the results that were made while it was recorded."
                .into(),
        );
    } else {
        use_of_machine(&mut report, &recorded.results, None);
    }
    report
}

/// What only a host's recorder knew of its processes.
fn use_of_machine(report: &mut RunReport, recorded: &[RunResult], host: Option<u8>) {
    let used = recorded.iter().flat_map(|result| &result.processes);
    let used: BTreeMap<u32, &Process> = used.map(|process| (process.pid, process)).collect();
    let processes = report.results.iter_mut().flat_map(|result| &mut result.processes);
    for process in processes.filter(|process| process.host == host) {
        let Some(used) = used.get(&process.pid) else { continue };
        process.cpu_share = used.cpu_share;
        process.rss_bytes = used.rss_bytes;
    }
}

const NO_MESSAGES: &str = "has no payload, so that messages cannot be found again: its packets tell of them already, \
                           as far as that was known while it was recorded";

const SEVERAL_HOSTS: &str =
    "the files are of several hosts, and --annotate writes one: annotate each alone";

const NO_PAYLOAD: &str = "The file has no payload and does not reach its end, where the results that were made \
                          while it was recorded would be: messages cannot be found in it.";

/// What a report on packets alone does not have.
fn packets_only(report: &mut RunReport, is_of_several: bool) {
    for result in &mut report.results {
        // From the last packet to the read that it stands for.
        result.segments.retain(|row| row.segment != Segment::Busy.name());
    }
    report.notes.push(if is_of_several {
        "Packets alone: a message's time is from its first packet to its last, over all legs; one that was seen \
         once takes none."
            .into()
    } else {
        "Packets alone: a message's time is from its first packet to its last, over all legs; one that was seen \
         once takes none. What is between its packet to the broker and the one from it is the dwell, with both ways \
         if the broker is on another host."
            .into()
    });
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
