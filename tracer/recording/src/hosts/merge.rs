//! Two captures of two hosts as one, in the order of the first one's clock.

use super::Clocks;
use crate::Recording;
use rustc_hash::FxHashSet;
use std::io::Read;
use std::net::IpAddr;
use wirelap_events::{Body, Event, FlowKey, Nanos, NetNs, PacketHook, PacketId, TaskId};

/// What makes numbers of one host others than those of another.
const ELSEWHERE: u32 = 0x5555_5555;

/// Whose capture an event is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Host {
    First,
    Second,
}

/// How the packets of both captures are told apart and put in order.
#[derive(Clone, Debug)]
pub struct Placing {
    clocks: Clocks,
    ours: FxHashSet<IpAddr>,
    theirs: FxHashSet<IpAddr>,
}

impl Placing {
    /// With the addresses of the first host and of the second.
    pub fn new(clocks: Clocks, ours: &[IpAddr], theirs: &[IpAddr]) -> Placing {
        let set = |addresses: &[IpAddr]| addresses.iter().copied().collect();
        Placing { clocks, ours: set(ours), theirs: set(theirs) }
    }

    /// A packet by the first clock, on a device of its host, sent or received there.
    fn place<'a>(&self, mut event: Event<'a>, host: Host, is_own: bool) -> Event<'a> {
        let seen = event.at;
        if host == Host::Second {
            event.at = self.clocks.to_first(seen);
        }
        let Body::Packet(packet) = &mut event.body else { return event };
        packet.queued = packet.queued.map(|queued| event.at - (seen - queued));
        let (mine, other) = match host {
            Host::First => (&self.ours, &self.theirs),
            Host::Second => (&self.theirs, &self.ours),
        };
        let flow = packet.flow;
        // A recording says it itself.
        if is_own {
            (packet.socket, packet.task) = (None, TaskId::default());
        } else if mine.contains(&flow.src.ip()) {
            packet.hook = PacketHook::Xmit;
        } else if mine.contains(&flow.dst.ip()) || other.contains(&flow.src.ip()) {
            packet.hook = PacketHook::Rx;
        }
        if host == Host::Second {
            // Numbers of each host's own: they may be the same.
            packet.netns = NetNs(packet.netns.0 ^ ELSEWHERE);
            packet.id = PacketId(packet.id.0 ^ u64::from(ELSEWHERE) << 32);
        }
        packet.flow = FlowKey::new(flow.transport, flow.src, flow.dst, packet.netns);
        event
    }
}

/// Hands out the packets of both, in the order of the first one's clock; of recordings nothing else, as their threads
/// and sockets are of two machines.
///
/// # Errors
/// Those of `out`.
pub fn merge<R: Read, S: Read, E>(
    first: &mut Recording<R>,
    second: &mut Recording<S>,
    placing: &Placing,
    mut out: impl FnMut(&Event<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut one = next(first, placing, Host::First);
    let mut two = next(second, placing, Host::Second);
    let time = |event: &Option<Event<'_>>| event.map_or(Nanos(u64::MAX), |event| event.at);
    while one.is_some() || two.is_some() {
        if two.is_none() || one.is_some() && time(&one) <= time(&two) {
            one.as_ref().map_or(Ok(()), &mut out)?;
            one = next(first, placing, Host::First);
        } else {
            two.as_ref().map_or(Ok(()), &mut out)?;
            two = next(second, placing, Host::Second);
        }
    }
    Ok(())
}

/// A recording's next packet, by its host's wall clock.
pub fn next_on_wall<R: Read>(recording: &mut Recording<R>) -> Option<Event<'_>> {
    let wall = recording.wall().unwrap_or(0);
    let mut event = recording.next_packet()?;
    let seen = event.at;
    event.at = Nanos(seen.0.saturating_add_signed(wall));
    if let Body::Packet(packet) = &mut event.body {
        packet.queued = packet.queued.map(|queued| event.at - (seen - queued));
    }
    Some(event)
}

fn next<'a, R: Read>(
    recording: &'a mut Recording<R>,
    placing: &Placing,
    host: Host,
) -> Option<Event<'a>> {
    let is_own = recording.is_own();
    Some(placing.place(next_on_wall(recording)?, host, is_own))
}
