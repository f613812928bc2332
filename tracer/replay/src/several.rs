//! What several hosts saw, read as one.

use crate::follower::Follower;
use crate::hosts::{self, Hosts};
use crate::open::{open, shown, unread};
use crate::replay::{ON_THE_WAY, Replay};
use std::path::{Path, PathBuf};
use wirelap_events::Nanos;
use wirelap_process::Failure;
use wirelap_recording::Entry;
use wirelap_recording::hosts::merge;
use wirelap_recording::hosts::merge::What;
use wirelap_session::notes::RecordedNotes;

/// A packet may be on its way for so many of half the shortest round trip.
const TRIPS: u64 = 8;

impl<F: Follower> Replay<F> {
    /// Reads all to their ends.
    ///
    /// # Errors
    /// One cannot be read, messages cannot be found in it, or the follower cannot go on.
    pub(crate) fn several_hosts(
        &mut self,
        paths: &[PathBuf],
        hosts: &Hosts,
    ) -> Result<(), Failure> {
        let mut files = paths.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
        self.packets_only = hosts.what == What::Packets;
        self.addresses.clone_from(&hosts.addresses);
        let trip = hosts.clocks.iter().map(|host| host.clock.at_most_ns).max().unwrap_or(0);
        self.hold = Some(Nanos(trip.saturating_mul(TRIPS)).max(ON_THE_WAY));
        self.follower.begin(None);
        let mut told: Vec<RecordedNotes> = paths.iter().map(|_| RecordedNotes::default()).collect();
        merge(&mut files, &hosts.placings, |file, entry| match (hosts.numbers[file], entry) {
            (1, entry) => {
                self.take(entry, hosts.begins[file])?;
                refuse_cut(&paths[file], self.told.cut)
            }
            (number, Entry::Note(note)) => {
                let there = &mut told[file];
                if let Some(mut label) = there.take(*note).filter(|_| hosts.begins[file]) {
                    label.pids.iter_mut().for_each(|pid| *pid = pid.on_host(number));
                    self.correlator().add_label(label);
                }
                refuse_cut(&paths[file], there.cut)
            }
            (_, entry) => self.take(entry, hosts.begins[file]),
        })?;
        self.notes.extend(hosts::sentences(&hosts.clocks));
        if hosts.recorded && self.packets_only {
            self.notes.push(
                "Some of the files are recordings and others packets alone, so only the packets are put together: calls and \
                 threads are in the report on each recording."
                    .into(),
            );
        }
        self.clocks.clone_from(&hosts.clocks);
        let reports = hosts
            .numbers
            .iter()
            .zip(told)
            .filter_map(|(number, told)| Some((*number, told.report?)));
        self.there = reports.collect();
        // Its time is that of another clock than the events'.
        self.told.end = None;
        for (path, recording) in paths.iter().zip(&files) {
            self.closing(&shown(path), recording);
        }
        Ok(())
    }
}

/// Of several hosts' recordings all must have what messages are found in.
fn refuse_cut(path: &Path, cut: bool) -> Result<(), Failure> {
    const WHY: &str = "was recorded without --payload, so that messages cannot be followed from host to host: record with \
                       --payload on all, or analyze each alone";
    if cut { Err(unread(path, &WHY)) } else { Ok(()) }
}
