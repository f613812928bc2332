//! Reads files through the correlator, and makes the report.

use crate::copy::AnnotatedCopy;
use crate::figures::FiguresThread;
use crate::follower::{Follower, NoFollower};
use crate::hosts;
use crate::observed::FileObservations;
use crate::open::{open, shown, unread};
use crate::piece::SocketsOfPiece;
use crate::report::{left_out, out_of_order, packets_only, report, without_beginning};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use wirelap_correlate::{BreakdownQuery, Correlator, Snapshot, TlsKeys, UnobservedHost};
use wirelap_events::{Count, Delivery, HostBounds, Nanos, Size};
use wirelap_process::{Failure, Outputs};
use wirelap_recording::hosts::DuplicateCapture;
use wirelap_recording::{BlockOrEntry, Entry, Recording};
use wirelap_report::{HostClock, RunReport};
use wirelap_session::notes::{self, NotedFact, RecordedNotes};

/// Longest time that a packet is on its way to another host.
pub const MAX_TRAVEL_TIME: Nanos = Nanos::from_millis(1_000);

const NO_MESSAGES: &str = "has no payload, so messages cannot be found in it: its packets already have comments on them, \
                           as far as they were known while recording";

const SEVERAL_HOSTS: &str =
    "the files are of several hosts, and --annotate writes a single file: annotate each file alone";

/// The hosts that the files are of.
#[derive(Default)]
pub struct ReplayedHosts {
    /// The hosts whose addresses are known.
    pub addresses: Vec<UnobservedHost>,
    /// Longest time that a packet is on its way to another host's capture; `None` for one host.
    pub hold: Option<Nanos>,
    /// The error of times between any two hosts; `None` for one host.
    pub bounds: Option<HostBounds>,
    /// Names of the hosts, by their numbers.
    pub names: Vec<(u8, String)>,
    /// The differences of the clocks of other hosts from the clock of the first host.
    pub clocks: Vec<HostClock>,
    /// The reports in the recordings of other hosts, with the number of the host.
    pub other_reports: Vec<(u8, RunReport)>,
}

/// Packets that are not in their order.
#[derive(Clone, Copy, Debug, Default)]
struct UnsortedPackets {
    /// Packets that came too late in their file to be sorted.
    too_late: Count,
    /// Directions of Multipath TCP's subflows that could not be put into their connections.
    split_subflows: Count,
}

/// Reads files through the correlator.
pub struct Replay<F> {
    pub(crate) follower: F,
    /// The bytes that were read of all files.
    pub(crate) read: Arc<AtomicU64>,
    pub(crate) decode: Vec<(u16, String)>,
    pub(crate) correlator: Option<Correlator>,
    /// Facts from notes that the correlator must know, until there is one.
    pub(crate) facts: Vec<NotedFact>,
    /// Complete deliveries that the follower has not got yet.
    pub(crate) ready: Vec<Delivery>,
    /// The notes of the recording.
    pub(crate) recorded: RecordedNotes,
    /// The copy of what is read, if one is written.
    pub(crate) copy: Option<AnnotatedCopy>,
    /// The rows of the breakdown.
    pub(crate) breakdown: BreakdownQuery,
    /// Keys that TLS connections are read with.
    pub(crate) tls_keys: TlsKeys,
    pub(crate) observed: FileObservations,
    /// Nobody takes more than the report.
    for_report: bool,
    /// Adds up figures meanwhile.
    figures: Option<FiguresThread>,
    pub(crate) files: Size,
    pub(crate) packets_only: bool,
    /// The difference from the clock of the events to the wall clock in nanoseconds.
    pub(crate) wall: Option<i64>,
    pub(crate) hosts: ReplayedHosts,
    pub(crate) notes: Vec<String>,
    pub(crate) is_damaged: bool,
    unsorted: UnsortedPackets,
}

impl Replay<NoFollower> {
    /// Reads files to their ends, as [`Replay::files`], for the report alone. This is compiled as fast as all else that each packet
    /// goes through, where what is generic is compiled as its caller is.
    ///
    /// # Errors
    /// A file is not a capture, or the clocks of the hosts cannot be compared.
    pub fn read_for_report(&mut self, paths: &[PathBuf]) -> Result<(), Failure> {
        // Later files may be recordings, with threads and pauses.
        self.for_report = paths.len() == 1;
        self.files(paths)
    }
}

/// The result of reading the files.
pub struct Replayed<F> {
    /// The follower.
    pub follower: F,
    /// The last snapshot.
    pub snapshot: Snapshot,
    /// The report.
    pub report: RunReport,
    /// The recording has no payload, so messages cannot be found in it.
    pub cut: bool,
}

impl<F: Follower> Replay<F> {
    /// A replay that has not read anything yet. `decode` are protocols by port.
    pub fn new(decode: &[(u16, String)], follower: F) -> Replay<F> {
        Replay {
            follower,
            read: Arc::default(),
            decode: decode.to_vec(),
            correlator: None,
            facts: Vec::new(),
            ready: Vec::new(),
            recorded: RecordedNotes::default(),
            copy: None,
            breakdown: BreakdownQuery::default(),
            tls_keys: TlsKeys::default(),
            observed: FileObservations::default(),
            for_report: false,
            figures: None,
            files: Size(0),
            packets_only: false,
            wall: None,
            hosts: ReplayedHosts::default(),
            notes: Vec::new(),
            is_damaged: false,
            unsorted: UnsortedPackets::default(),
        }
    }

    /// Also makes the rows of a breakdown. Call it before anything is read.
    pub fn breakdown(&mut self, query: BreakdownQuery) {
        self.breakdown = query;
    }

    /// Writes a copy of what is read, in which the packets tell what became of their messages. The follower gets no deliveries then.
    pub fn annotate(&mut self, to: &Path, outputs: &Outputs) {
        self.copy = Some(AnnotatedCopy::new(to, outputs));
    }

    /// The bytes that were read of all files so far, as they are in the files: compressed.
    pub fn bytes_read(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.read)
    }

    /// The follower.
    pub fn follower(&self) -> &F {
        &self.follower
    }

    /// Reads files to their ends: one after the other, or captures of several hosts together.
    ///
    /// # Errors
    /// A file is not a capture, the clocks of the hosts cannot be compared, or the follower cannot go on.
    pub fn files(&mut self, paths: &[PathBuf]) -> Result<(), Failure> {
        if let Some(hosts) = hosts::compare(paths)? {
            if self.copy.is_some() {
                return Err(Failure::Usage(SEVERAL_HOSTS.into()));
            }
            return self.several_hosts(paths, &hosts);
        }
        paths.iter().try_for_each(|path| self.file(path))
    }

    fn file(&mut self, path: &Path) -> Result<(), Failure> {
        let mut recording = open(path, &self.read)?;
        let first = self.files == 0;
        self.files += 1;
        let first_packets = hosts::first_packets(path);
        let mut ends = first_packets.are_twice.then(DuplicateCapture::default);
        if first {
            self.packets_only = !recording.is_own();
            self.hosts.addresses = hosts::hosts_of(first_packets);
            self.wall = recording.wall();
            self.follower.begin(recording.wall());
        }
        if let Some(copy) = &mut self.copy {
            copy.begin(recording.section())?;
        }
        if ends.is_some() {
            self.hosts.hold = Some(MAX_TRAVEL_TIME);
            self.notes.push(format!(
                "{}: the file contains each packet twice; the first is taken as sent, the second as received.",
                shown(path)
            ));
        }
        let mut piece = recording.is_own().then(SocketsOfPiece::default);
        let mut take = |replay: &mut Self, entry: Entry<'_>| {
            if let Some(socket) = piece.as_mut().and_then(|piece| piece.learn(&entry)) {
                replay.take(&Entry::Event(socket), first)?;
            }
            if let (Some(ends), Entry::Event(event)) = (&mut ends, &entry) {
                return replay.take(&Entry::Event(ends.place(*event)), first);
            }
            replay.take(&entry, first)
        };
        if self.copy.is_none() {
            if self.for_report && !recording.is_own() {
                self.figures = FiguresThread::begin(self.correlator());
            }
            recording.read_ahead(|entry| take(self, entry))?;
        }
        while let Some(next) = self.block_or_entry(&mut recording) {
            match next {
                BlockOrEntry::Block(block) => {
                    self.copy.iter_mut().for_each(|copy| copy.block(&block));
                }
                BlockOrEntry::Entry(entry) => take(self, entry)?,
            }
            if let Some(copy) = &mut self.copy {
                if self.recorded.cut {
                    return Err(unread(path, &NO_MESSAGES));
                }
                copy.name(recording.take_named());
            }
        }
        let is_piece = piece.is_some_and(|piece| piece.is_piece());
        self.notes.extend(is_piece.then(|| without_beginning(&shown(path))));
        self.closing(&shown(path), &recording);
        Ok(())
    }

    /// The next entry of a file, or the next block if blocks are copied.
    fn block_or_entry<'a>(
        &self,
        recording: &'a mut Recording<impl io::Read>,
    ) -> Option<BlockOrEntry<'a>> {
        if self.copy.is_some() && self.packets_only {
            recording.next_block_or_entry()
        } else {
            recording.next().map(BlockOrEntry::Entry)
        }
    }

    /// Adds notes on what could not be read in a file.
    pub(crate) fn closing(&mut self, shown: &str, recording: &Recording<impl io::Read>) {
        let problems = recording.problems();
        self.is_damaged |= !problems.is_empty();
        self.notes.extend(problems.first.iter().map(|problem| format!("{shown}, {problem}.")));
        if problems.more > 0 {
            self.notes.push(format!("{shown}: {} more places cannot be read.", problems.more));
        }
        self.notes.extend(left_out(shown, recording.counts()));
        let disorder = recording.disorder();
        self.unsorted.too_late += disorder.too_late;
        self.unsorted.split_subflows += recording.counts().split_subflows;
        self.notes.extend(out_of_order(shown, disorder));
    }

    /// Completes all deliveries and makes the report.
    ///
    /// # Errors
    /// The follower cannot go on, or the copy could not be written.
    pub fn end(mut self) -> Result<Replayed<F>, Failure> {
        let end = self.recorded.end.unwrap_or_default();
        if let Some(figures) = self.figures.take() {
            figures.end(self.correlator());
        }
        match self.copy.take() {
            Some(copy) => {
                let note = copy.end(self.correlator())?;
                self.notes.extend(note);
            }
            None => self.with(|correlator, out| correlator.finish(out))?,
        }
        let snapshot = self.correlator().snapshot(end);
        self.follower.snapshot(Replay::<F>::for_follower(snapshot.clone()));
        let recorded = std::mem::take(&mut self.recorded);
        let (cut, is_own) = (recorded.cut, recorded.packets_only);
        let mut report = report(&snapshot, recorded, &self.hosts.other_reports);
        report.partial |= self.is_damaged;
        report.notes.append(&mut self.notes);
        report.notes.extend(self.observed.missing());
        if self.packets_only {
            // What a recording of wirelap leaves out of a packet was captured with another sighting of it.
            report.notes.extend(self.observed.cut().filter(|_| !is_own));
            packets_only(&mut report, !self.hosts.clocks.is_empty());
        }
        for result in &mut report.results {
            let trust = &mut result.trust;
            trust.packets_only = self.packets_only;
            trust.too_late_packets = self.unsorted.too_late.0;
            trust.split_subflows = self.unsorted.split_subflows.0;
            trust.time_unit_ns = self.observed.time_unit().filter(|_| self.packets_only);
            trust.hosts.clone_from(&self.hosts.clocks);
            trust.clocks = match self.hosts.clocks.as_slice() {
                [other] => Some(other.clock.clone()),
                _ => None,
            };
            result.judge();
        }
        Ok(Replayed { follower: self.follower, snapshot, report, cut })
    }

    pub(crate) fn take(&mut self, entry: &Entry<'_>, first: bool) -> Result<(), Failure> {
        match entry {
            Entry::Event(event) => {
                self.observed.add(event);
                self.follower.event(event)?;
                let Some(mut copy) = self.copy.take() else {
                    self.with(|correlator, out| correlator.take(event, out))?;
                    if let (Some(figures), Some(correlator)) = (&self.figures, &mut self.correlator)
                    {
                        figures.take(correlator);
                    }
                    self.offer_snapshot(event.at);
                    return Ok(());
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
                    self.with(|correlator, out| correlator.tick(*at, out))?;
                    self.offer_snapshot(*at);
                    return Ok(());
                };
                copy.tick(*at, self.correlator());
                self.copy = Some(copy);
            }
            Entry::TlsKeys(text) => {
                self.add_tls_keys(text, "the keys in the capture");
                self.copy.iter_mut().for_each(|copy| copy.entry(entry));
            }
            Entry::Note(note) => {
                if first || notes::is_last(*note) || notes::is_of_place(*note) {
                    self.copy.iter_mut().for_each(|copy| copy.entry(entry));
                }
                if let Some(fact) = self.recorded.take(*note)
                    && (first || !matches!(fact, NotedFact::Label(_)))
                {
                    self.tell(fact);
                }
                // It is said at the beginning of a file.
                if self.recorded.packets_only && self.correlator.is_none() {
                    self.packets_only = true;
                    self.copy.iter_mut().for_each(AnnotatedCopy::packets_only);
                }
            }
        }
        Ok(())
    }
}
