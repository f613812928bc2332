//! IP fragments, put together as their receiver does (RFC 791 §3.2, RFC 8200 §4.5).
//!
//! Of a datagram whose fragments overlap, nothing is handed out, as Linux does (RFC 5722, RFC 8200 §4.5): who made it wants to be read
//! in two ways.

use super::protocol::{IPV4_HEADER, IPV6_HEADER};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use wirelap_events::{IfIndex, Nanos, PacketHook, Saturate};

/// The most datagrams that are remembered, whole or not. An identification is used again after 65,536 datagrams of a sender at the
/// earliest, unless it is a random number.
const MAX_DATAGRAMS: usize = 1_024;

/// The most bytes of datagrams that are not whole.
const MAX_BYTES: usize = 16 << 20;

/// Longest time between a datagram's fragments: Linux gives up after as long (`net.ipv4.ipfrag_time`).
const MAX_AGE: Nanos = Nanos::from_millis(30_000);

/// Time around the beginning and the end of the capture in which a datagram may lack fragments that lie outside it: a sender
/// writes all of them at once.
const MARGIN: Nanos = Nanos::from_millis(100);

/// The most bytes that a datagram's fragments have together: the length in an IPv4 header has 16 bits.
const MAX_LEN: u32 = 65_535 - 20;

/// The datagram that a fragment is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FragmentedDatagram {
    /// The sender.
    pub src: IpAddr,
    /// The receiver.
    pub dst: IpAddr,
    /// The identification in the IP header, or in IPv6's fragment header.
    pub id: u32,
    /// The protocol of the datagram.
    pub protocol: u8,
}

/// A packet that is an IP fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The datagram that the fragment is a part of.
    pub datagram: FragmentedDatagram,
    /// Bytes of the packet before its part of the datagram.
    pub header: usize,
    /// Offset of the part in the datagram.
    pub start: u32,
    /// Bytes of its part on the wire.
    pub len: u32,
    /// No part follows behind it.
    pub is_last: bool,
}

impl Fragment {
    fn end(&self) -> u32 {
        self.start.saturating_add(self.len)
    }

    /// True if a sender can have made it: all parts but the last have a multiple of 8 bytes.
    fn is_possible(&self) -> bool {
        let can_follow = self.is_last || self.len.is_multiple_of(8);
        self.len > 0 && can_follow && self.end() <= MAX_LEN
    }
}

/// Place at which fragments are seen. Fragments of different places are not put together.
pub type FragmentPlace = (PacketHook, IfIndex);

/// A datagram that was put together.
#[derive(Debug)]
pub struct WholeDatagram {
    /// An IP header without options and the datagram behind it, up to the first byte that was not captured.
    pub bytes: Vec<u8>,
    /// Bytes from the IP header on, on the wire.
    pub original: u32,
    /// Bytes of all its packets as devices count them.
    pub wire_bytes: u32,
}

/// A part that has come: where it is, and up to where it was captured.
#[derive(Clone, Copy, Debug)]
struct ArrivedPart {
    start: u32,
    end: u32,
    captured: u32,
}

/// The parts that have come of a datagram.
#[derive(Debug)]
struct PartialDatagram {
    number: u64,
    /// Times at which the first and the last part came.
    came: (Nanos, Nanos),
    bytes: Vec<u8>,
    /// In order, with holes between them.
    arrived: Vec<ArrivedPart>,
    /// Length of the datagram, once its last part has come.
    end: Option<u32>,
    wire_bytes: u32,
    state: PartialState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartialState {
    Open,
    /// Parts overlap.
    Refused,
    /// All of it has come. What comes again is a copy, as a capture of several devices has it.
    Whole,
}

impl PartialDatagram {
    fn new(number: u64, came: (Nanos, Nanos)) -> PartialDatagram {
        let (bytes, arrived) = (Vec::new(), Vec::new());
        PartialDatagram {
            number,
            came,
            bytes,
            arrived,
            end: None,
            wire_bytes: 0,
            state: PartialState::Open,
        }
    }

    fn memory(&self) -> usize {
        self.bytes.len().saturating_add(self.arrived.len().saturating_mul(size_of::<ArrivedPart>()))
    }

    /// Adds a part, of which these bytes were captured.
    fn add(&mut self, fragment: &Fragment, captured: &[u8]) {
        let (start, end) = (fragment.start, fragment.end());
        let index = self.arrived.partition_point(|part| part.end <= start);
        match self.arrived.get(index) {
            // The same again.
            Some(part) if part.start <= start && part.end >= end => return,
            Some(part) if part.start < end => return self.refuse(),
            _ => {}
        }
        let is_beyond = self.end.is_some_and(|whole| end > whole || fragment.is_last);
        let is_before = fragment.is_last && self.arrived.last().is_some_and(|part| part.end > end);
        if is_beyond || is_before {
            return self.refuse();
        }
        if fragment.is_last {
            self.end = Some(end);
        }
        let captured = captured.get(..fragment.len as usize).unwrap_or(captured);
        let from = start as usize;
        let to = from.saturating_add(captured.len());
        if self.bytes.len() < to {
            self.bytes.resize(to, 0);
        }
        if let Some(place) = self.bytes.get_mut(from..to) {
            place.copy_from_slice(captured);
        }
        let captured = start.saturating_add(u32::try_from(captured.len()).unwrap_or(u32::MAX));
        self.arrived.insert(index, ArrivedPart { start, end, captured });
    }

    fn refuse(&mut self) {
        *self = PartialDatagram {
            state: PartialState::Refused,
            ..PartialDatagram::new(self.number, self.came)
        };
    }

    /// The datagram's length, if all of it is there.
    fn whole(&self) -> Option<u32> {
        let end = self.end?;
        let mut next = 0;
        for part in &self.arrived {
            if part.start != next {
                return None;
            }
            next = part.end;
        }
        (next == end).then_some(end)
    }

    /// Number of bytes that were captured, from the first on without a gap.
    fn captured(&self) -> usize {
        let cut = self.arrived.iter().find(|part| part.captured < part.end);
        cut.or(self.arrived.last()).map_or(0, |part| part.captured as usize)
    }
}

/// Datagrams that are not whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IncompleteDatagrams {
    /// Those whose first part, with the ports, has come.
    pub with_ports: u64,
    /// All others.
    pub without_ports: u64,
}

/// Puts fragments together, in any order.
#[derive(Debug, Default)]
pub struct FragmentTable {
    known: HashMap<(FragmentPlace, FragmentedDatagram), PartialDatagram>,
    /// The datagrams in the order in which they were begun.
    order: VecDeque<(Nanos, u64, (FragmentPlace, FragmentedDatagram))>,
    bytes: usize,
    next: u64,
    /// Time of the capture's beginning.
    begins: Nanos,
    incomplete: IncompleteDatagrams,
}

impl FragmentTable {
    /// A fragment was seen, of which `captured` are the bytes of its part. Returns its datagram if it completes it.
    pub fn add(
        &mut self,
        at: Nanos,
        place: FragmentPlace,
        fragment: &Fragment,
        captured: &[u8],
        wire_bytes: u32,
    ) -> Option<WholeDatagram> {
        self.forget(at);
        if !fragment.is_possible() {
            self.incomplete.without_ports.grow(1);
            return None;
        }
        let key = (place, fragment.datagram);
        let (next, order) = (&mut self.next, &mut self.order);
        let parts = self.known.entry(key).or_insert_with(|| {
            next.grow(1);
            order.push_back((at, *next, key));
            PartialDatagram::new(*next, (at, at))
        });
        if parts.state != PartialState::Open {
            return None;
        }
        parts.came.1 = at;
        let before = parts.memory();
        parts.add(fragment, captured);
        parts.wire_bytes.grow(wire_bytes);
        self.bytes = self.bytes.saturating_add(parts.memory()).saturating_sub(before);
        let len = parts.whole()?;
        let whole = std::mem::replace(parts, PartialDatagram::new(parts.number, parts.came));
        parts.state = PartialState::Whole;
        self.bytes.shrink(whole.memory());
        let captured = whole.bytes.get(..whole.captured()).unwrap_or_default();
        let bytes = with_header(&fragment.datagram, len, captured)?;
        let header = bytes.len().saturating_sub(captured.len());
        let original = len.saturating_add(u32::try_from(header).unwrap_or(u32::MAX));
        Some(WholeDatagram { bytes, original, wire_bytes: whole.wire_bytes })
    }

    /// The capture begins.
    pub fn begin(&mut self, at: Nanos) {
        self.begins = at;
    }

    /// The capture ends: gives up all datagrams that are not whole.
    pub fn give_up(&mut self, at: Nanos) {
        for (_, parts) in std::mem::take(&mut self.known) {
            if parts.came.1 + MARGIN < at {
                self.count(&parts);
            }
        }
        self.order.clear();
        self.bytes = 0;
    }

    /// The datagrams that were given up since this was asked last.
    pub fn take_incomplete(&mut self) -> IncompleteDatagrams {
        std::mem::take(&mut self.incomplete)
    }

    fn count(&mut self, parts: &PartialDatagram) {
        let is_first_there = parts.arrived.first().is_some_and(|part| part.start == 0);
        let count = match parts.state {
            PartialState::Whole => return,
            PartialState::Open if is_first_there => &mut self.incomplete.with_ports,
            PartialState::Open if parts.came.0 <= self.begins + MARGIN => return,
            PartialState::Open => &mut self.incomplete.without_ports,
            PartialState::Refused => &mut self.incomplete.with_ports,
        };
        count.grow(1);
    }

    fn forget(&mut self, now: Nanos) {
        while let Some(&(since, number, key)) = self.order.front() {
            let is_old = now.since(since + MAX_AGE).is_some();
            if !is_old && self.order.len() < MAX_DATAGRAMS && self.bytes < MAX_BYTES {
                return;
            }
            self.order.pop_front();
            if let Entry::Occupied(parts) = self.known.entry(key)
                && parts.get().number == number
            {
                let parts = parts.remove();
                self.bytes.shrink(parts.memory());
                self.count(&parts);
            }
        }
    }
}

/// An IP header without options and extensions, and what is behind it. `None` if the header cannot say the length.
fn with_header(datagram: &FragmentedDatagram, len: u32, captured: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(IPV6_HEADER.saturating_add(captured.len()));
    match (datagram.src, datagram.dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let total = len.checked_add(u32::try_from(IPV4_HEADER).ok()?)?;
            let [high, low] = u16::try_from(total).ok()?.to_be_bytes();
            out.extend([0x45, 0, high, low, 0, 0, 0, 0, 64, datagram.protocol, 0, 0]);
            out.extend(src.octets().into_iter().chain(dst.octets()));
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let [high, low] = u16::try_from(len).ok()?.to_be_bytes();
            out.extend([0x60, 0, 0, 0, high, low, datagram.protocol, 64]);
            out.extend(src.octets().into_iter().chain(dst.octets()));
        }
        _ => return None,
    }
    out.extend_from_slice(captured);
    Some(out)
}

#[cfg(test)]
mod tests;
