//! The running capture of packets.

use super::error::PacketError;
use super::frames::{RingPacket, RingPackets};
use super::program::{LOOPBACK, program};
use super::sightings::PacketNumbering;
use super::socket::{PacketSocket, RETIRE_MS, device_number};
use super::wall::Wall;
use crate::hooks::{ChosenHook, OBSERVATIONS, RefusedHook};
use crate::{CaptureError, MAX_BATCH, ProbeCounters, clock};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};
use wirelap_events::{
    Body, Cpu, Event, IfIndex, LossCause, LostEvents, Nanos, NetNs, PacketHook, PacketId, Probe,
};
use wirelap_recording::{FragmentTable, IncompleteDatagrams, LivePacket, UnreadablePacket};

/// The observation that this capture makes, as hooks are listed.
pub const PACKETS: &str = "packets (sent and received)";

/// The hook of [`PACKETS`].
const HOOK: &str = "packet socket (AF_PACKET, TPACKET_V3)";

/// `ARPHRD_ETHER` (`include/uapi/linux/if_arp.h`).
const ETHERNET: u16 = 1;
/// Bytes of an Ethernet header, and of a VLAN tag in it (IEEE 802.3, 802.1Q).
const ETHERNET_HEADER: u16 = 14;
const VLAN_TAG: u16 = 4;

/// Time between two questions to the kernel: what it dropped, and whether the wall clock was set.
const CHECK: Duration = Duration::from_millis(20);

/// The longest time that a packet may be in a block that the kernel has not given away yet: it looks at a block once in [`RETIRE_MS`],
/// rounded up to a tick of at most 10 ms, and gives it away the second time.
const LAG: Nanos = Nanos::from_millis(2 * (RETIRE_MS as u64 + 10));

/// Settings of a capture of packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketConfig {
    /// Local or remote ports; empty for all.
    pub ports: Vec<u16>,
    /// The device; `None` for all of this network namespace.
    pub device: Option<String>,
    /// Payload bytes captured of each packet.
    pub snap_bytes: u32,
    /// Bytes of the ring buffer, about.
    pub ring_bytes: u32,
}

/// Packets that are in no event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Datagrams in IP fragments of which a part is missing, or parts overlap.
    pub fragments: u64,
    /// Packets whose headers contradict each other, or were not captured as a whole.
    pub cut: u64,
}

/// Packets as events. Dropping this value ends the capture, and so does the end of the process, even if it is killed.
#[derive(Debug)]
pub struct PacketCapture {
    socket: PacketSocket,
    /// The block that the kernel gives away next.
    next: usize,
    /// Sorted; empty for all.
    ports: Vec<u16>,
    snap: usize,
    netns: NetNs,
    wall: Wall,
    sightings: PacketNumbering,
    fragments: LiveFragments,
    /// Packets that were sent, and received.
    taken: [u64; 2],
    lost: u64,
    left_out: LeftOut,
    next_check: Instant,
}

impl PacketCapture {
    /// Opens a packet socket.
    ///
    /// # Errors
    /// [`PacketError`], a sentence that tells what is missing and the remedy.
    pub fn open(config: &PacketConfig) -> Result<PacketCapture, PacketError> {
        let device = config.device.as_deref().map(device_number).transpose()?;
        let mut ports = config.ports.clone();
        ports.sort_unstable();
        ports.dedup();
        let snap = config.snap_bytes.min(65_536);
        let program = program(&ports, snap);
        Ok(PacketCapture {
            socket: PacketSocket::open(device, &program, config.ring_bytes)?,
            next: 0,
            ports,
            snap: snap as usize,
            netns: own_namespace(),
            wall: Wall::now(),
            sightings: PacketNumbering::default(),
            fragments: LiveFragments::default(),
            taken: [0; 2],
            lost: 0,
            left_out: LeftOut::default(),
            next_check: Instant::now(),
        })
    }

    /// Takes packets out of the ring and calls `sink` for each, as [`crate::Capture::poll`] does.
    ///
    /// # Errors
    /// [`CaptureError::Wait`] if the kernel refuses to wait.
    pub fn poll(
        &mut self,
        timeout: Duration,
        sink: &mut dyn FnMut(&Event<'_>),
    ) -> Result<usize, CaptureError> {
        let deadline = Instant::now() + timeout;
        loop {
            let mut count = self.check(sink);
            while count < MAX_BATCH {
                let Some(taken) = self.block(sink) else { break };
                count += taken;
            }
            let now = Instant::now();
            if count > 0 || now >= deadline {
                return Ok(count);
            }
            self.wait(deadline.saturating_duration_since(now))?;
        }
    }

    /// Takes the next block, if the kernel has given it away. Returns the number of its events.
    fn block(&mut self, sink: &mut dyn FnMut(&Event<'_>)) -> Option<usize> {
        let mut frames = RingPackets::of(self.socket.block(self.next)?);
        let mut count = 0_usize;
        let place = (self.netns, self.wall, self.snap);
        for frame in frames.by_ref() {
            match event(&frame, place, &mut self.sightings, &mut self.fragments) {
                Ok(event) if is_wanted(&self.ports, &event) => {
                    let is_sent = frame.is_outgoing;
                    self.taken[usize::from(!is_sent)] += 1;
                    count += 1;
                    sink(&event);
                }
                // The filter in the kernel is coarser than that.
                Ok(_)
                | Err(
                    UnreadablePacket::Protocol
                    | UnreadablePacket::Link
                    | UnreadablePacket::Fragment(_),
                ) => {}
                Err(UnreadablePacket::Cut) => self.left_out.cut += 1,
            }
        }
        self.left_out.cut += u64::from(frames.left());
        self.socket.release(self.next);
        self.next = self.next.wrapping_add(1).checked_rem(self.socket.blocks()).unwrap_or(0);
        Some(count)
    }

    /// Reports what the kernel dropped, and looks whether the wall clock was set. Returns the number of events.
    fn check(&mut self, sink: &mut dyn FnMut(&Event<'_>)) -> usize {
        let now = Instant::now();
        if now < self.next_check {
            return 0;
        }
        self.next_check = now + CHECK;
        self.wall.check();
        let incomplete = self.take_incomplete();
        self.left_out.fragments += incomplete;
        let dropped = self.socket.take_dropped().map_or(0, u64::from);
        let mut count = 0_usize;
        for (lost, cause) in
            [(incomplete, LossCause::FragmentMissing), (dropped, LossCause::RingFull)]
        {
            if lost > 0 {
                self.lost = self.lost.saturating_add(lost);
                // The kernel does not tell which way they went.
                let body = Body::Lost(LostEvents { probe: Probe::Rx, count: lost, cause });
                sink(&Event { at: clock::now(), cpu: Cpu(0), body });
                count += 1;
            }
        }
        count
    }

    /// Datagrams of which fragments are missing. Where ports are filtered, all later fragments pass the filter: those whose first
    /// one did not are of other ports.
    fn take_incomplete(&mut self) -> u64 {
        let IncompleteDatagrams { with_ports, without_ports } =
            self.fragments.table.take_incomplete();
        if self.ports.is_empty() { with_ports + without_ports } else { with_ports }
    }

    fn wait(&self, time: Duration) -> Result<(), CaptureError> {
        let timeout = Timespec::try_from(time).ok();
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(_) if fds[0].revents().contains(PollFlags::ERR) => {
                // A device that went down: there are no packets until it is up again.
                if let Some(error) = self.socket.take_error() {
                    tracing::warn!(%error, "the packet socket reports an error");
                }
                Ok(())
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(CaptureError::Wait(error.into())),
        }
    }

    /// Captures a further port. Without a filter, all ports are captured already and this changes nothing.
    ///
    /// # Errors
    /// The kernel refuses the filter.
    pub fn add_port(&mut self, port: u16) -> Result<(), CaptureError> {
        let Err(place) = self.ports.binary_search(&port) else { return Ok(()) };
        if self.ports.is_empty() {
            return Ok(());
        }
        self.ports.insert(place, port);
        let snap = u32::try_from(self.snap).unwrap_or(u32::MAX);
        Ok(self.socket.filter(&program(&self.ports, snap))?)
    }

    /// Returns the longest time that a packet may be there before [`PacketCapture::poll`] shows it.
    pub fn lag(&self) -> Nanos {
        LAG
    }

    /// The size of the ring buffer, in bytes.
    pub fn ring_bytes(&self) -> u32 {
        self.socket.ring_bytes()
    }

    /// Packets that are in no event, because they cannot be read.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// The counters of packets, as of probes: those that were lost may have been sent or received.
    pub fn counters(&self) -> Vec<ProbeCounters> {
        let [sent, received] = self.taken;
        let of = |probe, emitted, lost| ProbeCounters {
            probe,
            emitted,
            filtered: 0,
            lost,
            skipped: 0,
            muted: 0,
        };
        vec![of(Probe::Xmit, sent, 0), of(Probe::Rx, received, self.lost)]
    }

    /// The hooks: packets have one, and all other observations have none.
    pub fn hooks(&self) -> Vec<ChosenHook> {
        let packets = ChosenHook {
            observation: PACKETS,
            hook: Some(HOOK),
            without: "nothing is captured",
            remedy: "none is needed",
            refused: Vec::new(),
        };
        let others = OBSERVATIONS.iter().map(|observation| ChosenHook {
            refused: vec![RefusedHook { hook: HOOK, reason: "packets do not show it".into() }],
            ..ChosenHook::untried(observation)
        });
        std::iter::once(packets).chain(others).collect()
    }
}

/// The network namespace that this thread is in.
pub fn own_namespace() -> NetNs {
    let number = fs::metadata("/proc/thread-self/ns/net").ok();
    NetNs(number.and_then(|file| u32::try_from(file.ino()).ok()).unwrap_or(0))
}

fn is_wanted(ports: &[u16], event: &Event<'_>) -> bool {
    let Body::Packet(packet) = &event.body else { return false };
    let is_port = |port: u16| ports.binary_search(&port).is_ok();
    ports.is_empty() || is_port(packet.flow.src.port()) || is_port(packet.flow.dst.port())
}

/// Datagrams in fragments.
#[derive(Debug, Default)]
struct LiveFragments {
    table: FragmentTable,
    /// The last one that was put together.
    whole: Vec<u8>,
}

/// The event of a packet, or of the datagram that it completes.
fn event<'a>(
    frame: &RingPacket<'a>,
    (netns, wall, snap): (NetNs, Wall, usize),
    sightings: &mut PacketNumbering,
    fragments: &'a mut LiveFragments,
) -> Result<Event<'a>, UnreadablePacket> {
    if !frame.is_ip() {
        return Err(UnreadablePacket::Protocol);
    }
    let tag = if frame.has_vlan { VLAN_TAG } else { 0 };
    let live = LivePacket {
        at: wall.monotonic(frame.wall),
        hook: if frame.is_outgoing { PacketHook::Xmit } else { PacketHook::Rx },
        netns,
        device: IfIndex(frame.device),
        link_header: match frame.hardware {
            ETHERNET => ETHERNET_HEADER.saturating_add(tag),
            // Of other devices, only the bytes from the IP header on are known. Loopback counts no link header.
            _ => 0,
        },
        original: frame.original,
        bytes: frame.bytes,
    };
    let mut event = live.event(PacketId(0), &mut fragments.table, &mut fragments.whole)?;
    if let Body::Packet(packet) = &mut event.body {
        packet.id = sightings.id(packet, event.at);
        let is_copy = frame.hardware == LOOPBACK && !frame.is_outgoing;
        let kept = if is_copy { 0 } else { snap };
        packet.payload = packet.payload.get(..kept).unwrap_or(packet.payload);
    }
    Ok(event)
}

#[cfg(test)]
mod tests;
