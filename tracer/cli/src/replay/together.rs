//! What two hosts saw, read as one.

use super::{Follower, ON_THE_WAY, Replay, open, shown, unread};
use crate::failure::Failure;
use crate::hosts::{self, TwoHosts};
use crate::recording::Told;
use std::path::Path;
use wirelap_events::Nanos;
use wirelap_recording::Entry;
use wirelap_recording::hosts::merge::What;
use wirelap_recording::hosts::{Host, merge};

/// A packet may be on its way for so many of half the shortest round trip.
const TRIPS: u64 = 8;

impl<F: Follower> Replay<F> {
    /// Reads both to their ends.
    ///
    /// # Errors
    /// One cannot be read, messages cannot be found in it, or the follower cannot go on.
    pub(super) fn two_hosts(
        &mut self,
        first: &Path,
        second: &Path,
        hosts: &TwoHosts,
    ) -> Result<(), Failure> {
        let (mut one, mut two) = (open(first)?, open(second)?);
        self.packets_only = hosts.what == What::Packets;
        let trips = Nanos(hosts.clocks.at_most.0.saturating_mul(TRIPS));
        self.hold = Some(trips.max(ON_THE_WAY));
        self.follower.begin(None);
        let mut there = Told::default();
        merge(&mut one, &mut two, &hosts.placing, |host, entry| match (host, entry) {
            (Host::Second, Entry::Note(note)) => {
                if let Some(mut label) = there.take(*note) {
                    label.pids.iter_mut().for_each(|pid| *pid = pid.on_second_host());
                    self.correlator().add_label(label);
                }
                refuse_cut(second, there.cut)
            }
            (host, entry) => {
                self.take(entry, true)?;
                refuse_cut(first, host == Host::First && self.told.cut)
            }
        })?;
        let offset = hosts::offset(first, second, &hosts.clocks);
        self.notes.extend(hosts::sentences(&offset));
        if hosts.recorded && self.packets_only {
            self.notes.push(
                "One of the two is a recording and the other packets alone, so only the packets are put together: calls and \
                 threads are in the report on the recording."
                    .into(),
            );
        }
        self.clocks = Some(offset);
        self.there = there.report;
        // Its time is that of another clock than the events'.
        self.told.end = None;
        for (path, recording) in [(first, &one), (second, &two)] {
            self.closing(&shown(path), recording);
        }
        Ok(())
    }
}

/// Of two hosts' recordings both must have what messages are found in.
fn refuse_cut(path: &Path, cut: bool) -> Result<(), Failure> {
    const WHY: &str = "was recorded without --payload, so that messages cannot be followed from host to host: record with \
                       --payload on both, or analyze each alone";
    if cut { Err(unread(path, &WHY)) } else { Ok(()) }
}
