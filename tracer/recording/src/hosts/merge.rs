//! Two captures of two hosts as one, in the order of the first one's clock.

use super::{Clocks, elsewhere};
use crate::{Entry, Recording};
use rustc_hash::FxHashSet;
use std::io::Read;
use std::net::IpAddr;
use wirelap_events::{Body, Event, Nanos, PacketHook, TaskId};

/// Whose capture something is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// The one whose clock times are told by.
    First,
    /// The other one.
    Second,
}

/// What is put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Everything: both are recordings of wirelap's.
    Everything,
    /// Packets alone, as at least one has nothing else.
    Packets,
}

/// How both captures are told apart and put in order.
#[derive(Clone, Debug)]
pub struct Placing {
    clocks: Clocks,
    what: What,
    ours: FxHashSet<IpAddr>,
    theirs: FxHashSet<IpAddr>,
}

impl Placing {
    /// With the addresses of the first host and of the second.
    pub fn new(clocks: Clocks, what: What, ours: &[IpAddr], theirs: &[IpAddr]) -> Placing {
        let set = |addresses: &[IpAddr]| addresses.iter().copied().collect();
        Placing { clocks, what, ours: set(ours), theirs: set(theirs) }
    }

    /// An event by the first clock. `wall` leads to the wall clock of its host.
    fn place(&self, event: &mut Event<'_>, host: Host, wall: i64) {
        elsewhere::retime(event, |seen| {
            let at = Nanos(seen.0.saturating_add_signed(wall));
            if host == Host::Second { self.clocks.to_first(at) } else { at }
        });
        if host == Host::Second {
            elsewhere::renumber(event);
        }
    }

    /// A packet on a device of its host, sent or received there.
    fn packet<'a>(&self, mut event: Event<'a>, host: Host, wall: i64, is_own: bool) -> Event<'a> {
        self.place(&mut event, host, wall);
        let Body::Packet(packet) = &mut event.body else { return event };
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
        event
    }
}

/// One of the two captures.
struct Source<'r, 'p, R> {
    recording: &'r mut Recording<R>,
    placing: &'p Placing,
    host: Host,
    /// The time of the last entry that had one.
    at: Nanos,
}

impl<'r, 'p, R: Read> Source<'r, 'p, R> {
    fn new(recording: &'r mut Recording<R>, placing: &'p Placing, host: Host) -> Self {
        Source { recording, placing, host, at: Nanos(0) }
    }

    /// The next entry, and its place in the common order. Ticks are of one host's events alone, and left out.
    fn next(&mut self) -> Option<(Nanos, Entry<'_>)> {
        let Source { recording, placing, host, at } = self;
        let (is_own, wall) = (recording.is_own(), recording.wall().unwrap_or(0));
        if placing.what == What::Packets {
            let event = placing.packet(recording.next_packet()?, *host, wall, is_own);
            return Some((event.at, Entry::Event(event)));
        }
        let mut entry = recording.next_but_ticks()?;
        if let Entry::Event(event) | Entry::Known(event) = &mut entry {
            placing.place(event, *host, wall);
        }
        if let Entry::Event(event) = &entry {
            *at = event.at;
        }
        Some((*at, entry))
    }
}

/// Hands out what is in both, in the order of the first one's clock.
///
/// # Errors
/// Those of `out`.
pub fn merge<R: Read, S: Read, E>(
    first: &mut Recording<R>,
    second: &mut Recording<S>,
    placing: &Placing,
    mut out: impl FnMut(Host, &Entry<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut first = Source::new(first, placing, Host::First);
    let mut second = Source::new(second, placing, Host::Second);
    let mut one = first.next();
    let mut two = second.next();
    loop {
        let is_first = match (&one, &two) {
            (Some((at, _)), Some((other, _))) => at <= other,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return Ok(()),
        };
        if is_first {
            one.iter().try_for_each(|(_, entry)| out(Host::First, entry))?;
            one = first.next();
        } else {
            two.iter().try_for_each(|(_, entry)| out(Host::Second, entry))?;
            two = second.next();
        }
    }
}

/// A recording's next packet, by its host's wall clock.
pub fn next_on_wall<R: Read>(recording: &mut Recording<R>) -> Option<Event<'_>> {
    let wall = recording.wall().unwrap_or(0);
    let mut event = recording.next_packet()?;
    elsewhere::retime(&mut event, |seen| Nanos(seen.0.saturating_add_signed(wall)));
    Some(event)
}
