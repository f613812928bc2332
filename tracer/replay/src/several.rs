//! Reads the captures of several hosts together.

use crate::follower::Follower;
use crate::hosts::{self, Hosts};
use crate::open::{open, shown, unread};
use crate::replay::{MAX_TRAVEL_TIME, Replay};
use std::path::{Path, PathBuf};
use wirelap_events::Nanos;
use wirelap_process::Failure;
use wirelap_recording::Entry;
use wirelap_recording::hosts::merge;
use wirelap_recording::hosts::merge::MergedEvents;
use wirelap_session::notes::{NotedFact, RecordedNotes};

/// Longest time that a packet is on its way to another host, as a multiple of the greatest error of a clock.
const TRIPS: u64 = 8;

impl<F: Follower> Replay<F> {
    /// Reads the files of several hosts to their ends, in the order of a common clock.
    ///
    /// # Errors
    /// A file cannot be read or has no payload, or the follower cannot go on.
    pub(crate) fn several_hosts(
        &mut self,
        paths: &[PathBuf],
        hosts: &Hosts,
    ) -> Result<(), Failure> {
        let mut files =
            paths.iter().map(|path| open(path, &self.read)).collect::<Result<Vec<_>, _>>()?;
        self.packets_only = hosts.what == MergedEvents::Packets;
        self.hosts.addresses.clone_from(&hosts.addresses);
        self.hosts.bounds = Some(hosts.bounds.clone());
        // A host is called as the first of its files.
        let name =
            |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let numbered = hosts.numbers.iter().copied().zip(paths.iter().map(name));
        self.hosts.names = numbered.collect();
        let trip = hosts.clocks.iter().map(|host| host.clock.at_most_ns).max().unwrap_or(0);
        self.hosts.hold = Some(Nanos(trip.saturating_mul(TRIPS)).max(MAX_TRAVEL_TIME));
        self.follower.begin(None);
        let mut recorded: Vec<RecordedNotes> =
            paths.iter().map(|_| RecordedNotes::default()).collect();
        merge(&mut files, &hosts.placings, |file, entry| match (hosts.numbers[file], entry) {
            (1, entry) => {
                self.take(entry, hosts.begins[file])?;
                refuse_cut(&paths[file], self.recorded.cut)
            }
            (number, Entry::Note(note)) => {
                let notes = &mut recorded[file];
                if let Some(fact) = notes.take(*note)
                    && (hosts.begins[file] || !matches!(fact, NotedFact::Label(_)))
                {
                    self.tell(fact.on_host(number));
                }
                refuse_cut(&paths[file], notes.cut)
            }
            (_, entry) => self.take(entry, hosts.begins[file]),
        })?;
        self.notes.extend(hosts::sentences(&hosts.clocks));
        if hosts.recorded && self.packets_only {
            self.notes.push(
                "Some of the files are recordings and others contain only packets, so only the packets are combined: analyze a \
                 recording alone to see its system calls and threads."
                    .into(),
            );
        }
        self.hosts.clocks.clone_from(&hosts.clocks);
        let reports = hosts
            .numbers
            .iter()
            .zip(recorded)
            .filter_map(|(number, notes)| Some((*number, notes.report?)));
        self.hosts.other_reports = reports.collect();
        // This time is of the clock of one file, and not of the common clock.
        self.recorded.end = None;
        for (path, recording) in paths.iter().zip(&files) {
            self.closing(&shown(path), recording);
        }
        Ok(())
    }
}

/// Refuses a recording without payload, because messages cannot be followed from host to host without it.
fn refuse_cut(path: &Path, cut: bool) -> Result<(), Failure> {
    const WHY: &str = "was recorded without --payload, so messages cannot be followed from host to host: record with \
                       --payload on all hosts, or analyze each file alone";
    if cut { Err(unread(path, &WHY)) } else { Ok(()) }
}
