//! Source of the events of a session: the probes, packets alone, or the agents of several hosts.

use crate::preflight::needs_root;
use crate::settings::SessionView;
use rustix::thread::CapabilitySet;
use std::collections::BTreeMap;
use std::time::Duration;
use wirelap_capture::packets::{LeftOut, PacketCapture, PacketConfig, PacketError};
use wirelap_capture::{
    AttachError, Capture, CaptureConfig, CaptureError, ChosenHook, MAX_BATCH, ProbeCounters,
};
use wirelap_correlate::{Snapshot, SnapshotNote};
use wirelap_events::{Event, HostState, Nanos, Probe, Total};
use wirelap_hosts::MergedHosts;
use wirelap_process::Failure;

/// Source of events.
pub enum Observer {
    Probes(Box<Capture>),
    Packets(Box<PacketCapture>),
    Hosts(Box<MergedHosts>),
}

impl Observer {
    /// Attaches the probes or opens a packet socket. With the second comes why the probes are not attached, if they were wanted.
    ///
    /// # Errors
    /// Neither can be done; the failure names the remedy.
    pub fn start(
        config: &CaptureConfig,
        view: &SessionView,
    ) -> Result<(Observer, Option<String>), Failure> {
        if let SessionView::Packets { device } = view {
            let packets = open(config, device.clone());
            let packets = packets.map_err(|error| Failure::Machine(error.to_string()))?;
            return Ok((packets, None));
        }
        let refused = match Capture::attach(config) {
            Ok(capture) => return Ok((Observer::Probes(Box::new(capture)), None)),
            Err(refused) => refused,
        };
        if *view == SessionView::ProbesOrPackets && refused.leaves_packets() {
            return match open(config, None) {
                Ok(packets) => Ok((packets, Some(instead(&refused)))),
                Err(PacketError::NoPrivileges) => Err(needs_rights(&refused)),
                Err(error) => Err(Failure::Machine(format!("{refused}; {error}"))),
            };
        }
        Err(needs_rights(&refused))
    }

    /// As [`Capture::poll`].
    pub fn poll(
        &mut self,
        timeout: Duration,
        sink: &mut dyn FnMut(&Event<'_>),
    ) -> Result<usize, CaptureError> {
        match self {
            Observer::Probes(capture) => capture.poll(timeout, sink),
            Observer::Packets(packets) => packets.poll(timeout, sink),
            Observer::Hosts(hosts) => Ok(hosts.poll(timeout, sink)),
        }
    }

    /// Time up to which all events were taken, after a call of [`Observer::poll`] that began at `before`, gave `count` events, and was
    /// last given that of the time `last`.
    pub fn taken_until(&self, before: Nanos, count: usize, last: Nanos) -> Nanos {
        match self {
            Observer::Hosts(hosts) => hosts.until(),
            // A ring buffer that is empty now had all events from before the call. Otherwise the last event is the limit.
            _ if count >= MAX_BATCH => last.min(before),
            Observer::Probes(_) => before,
            Observer::Packets(packets) => before - packets.lag(),
        }
    }

    /// The agents of several hosts, if events come from these.
    pub fn hosts(&self) -> Option<&MergedHosts> {
        match self {
            Observer::Hosts(hosts) => Some(hosts),
            Observer::Probes(_) | Observer::Packets(_) => None,
        }
    }

    pub fn hosts_mut(&mut self) -> Option<&mut MergedHosts> {
        match self {
            Observer::Hosts(hosts) => Some(hosts),
            Observer::Probes(_) | Observer::Packets(_) => None,
        }
    }

    pub fn into_hosts(self) -> Option<Box<MergedHosts>> {
        match self {
            Observer::Hosts(hosts) => Some(hosts),
            Observer::Probes(_) | Observer::Packets(_) => None,
        }
    }

    pub fn add_port(&mut self, port: u16) -> Result<(), CaptureError> {
        match self {
            Observer::Probes(capture) => capture.add_port(port),
            Observer::Packets(packets) => packets.add_port(port),
            // Agents observe what they were started to.
            Observer::Hosts(_) => Ok(()),
        }
    }

    /// The probes, if there are any: what only they can do is not asked of packets.
    pub fn probes(&self) -> Option<&Capture> {
        match self {
            Observer::Probes(capture) => Some(capture),
            Observer::Packets(_) | Observer::Hosts(_) => None,
        }
    }

    pub fn probes_mut(&mut self) -> Option<&mut Capture> {
        match self {
            Observer::Probes(capture) => Some(capture),
            Observer::Packets(_) | Observer::Hosts(_) => None,
        }
    }

    pub fn is_packets(&self) -> bool {
        matches!(self, Observer::Packets(_))
    }

    pub fn counters(&self) -> Vec<ProbeCounters> {
        match self {
            Observer::Probes(capture) => capture.counters(),
            Observer::Packets(packets) => packets.counters(),
            Observer::Hosts(hosts) => Probe::ALL.map(|probe| counted(hosts, probe)).into(),
        }
    }

    /// Bytes of the ring buffer that the kernel counts twice as memory of this process.
    pub fn counted_twice(&self) -> u64 {
        self.probes().map_or(0, |capture| capture.counted_twice().into())
    }

    pub fn hooks(&self) -> Vec<ChosenHook> {
        match self {
            Observer::Probes(capture) => capture.hooks().to_vec(),
            Observer::Packets(packets) => packets.hooks(),
            Observer::Hosts(_) => Vec::new(),
        }
    }

    pub fn rights_still_needed(&self, again: bool) -> CapabilitySet {
        self.probes().map_or(CapabilitySet::empty(), |capture| capture.rights_still_needed(again))
    }

    /// Says in a snapshot that it is of packets alone, if it is.
    pub fn note_view(&self, snapshot: &mut Snapshot) {
        if let Observer::Packets(packets) = self {
            let LeftOut { fragments, cut } = packets.left_out();
            snapshot.notes.insert(0, SnapshotNote::PacketsOnly { fragments, cut });
        }
    }
}

/// Events that a probe of all hosts has lost, and those that the merge has left out of their events: packets for all of these, because of which
/// probe they were is not known.
fn counted(hosts: &MergedHosts, probe: Probe) -> ProbeCounters {
    let of = |counts: fn(&HostState) -> &BTreeMap<String, u64>| -> u64 {
        hosts.states().filter_map(|state| counts(state).get(probe.name())).copied().total()
    };
    let left_out = hosts.states().map(|state| state.late.saturating_add(state.unreadable)).total();
    let lost =
        of(|state| &state.missing).saturating_add(if probe == Probe::Rx { left_out } else { 0 });
    ProbeCounters {
        probe,
        emitted: 0,
        filtered: of(|state| &state.filtered),
        lost,
        skipped: 0,
        muted: 0,
    }
}

fn open(config: &CaptureConfig, device: Option<String>) -> Result<Observer, PacketError> {
    let (ports, snap_bytes, ring_bytes) =
        (config.ports.clone(), config.snap_bytes, config.ring_bytes);
    let packets = PacketCapture::open(&PacketConfig { ports, device, snap_bytes, ring_bytes })?;
    Ok(Observer::Packets(Box::new(packets)))
}

/// The sentence for a session that shows packets because the probes cannot be attached.
fn instead(refused: &AttachError) -> String {
    format!(
        "packets only, without sockets and scheduler: when messages were sent and read is not known. The reason: {refused}"
    )
}

/// The failure that an error of attaching is, with the remedy.
fn needs_rights(error: &AttachError) -> Failure {
    match error {
        AttachError::NoPrivileges { missing } => needs_root(missing),
        other => Failure::Machine(other.to_string()),
    }
}
