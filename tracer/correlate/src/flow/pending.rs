//! What is kept of a conversation joined in mid-stream until its protocol is known.

use std::collections::VecDeque;
use wirelap_events::{ByteRange, Offset, Transport};
use wirelap_protocols::recognise::Hints;
use wirelap_protocols::search::{Candidate, HINTED_BITS, SURE_BITS};
use wirelap_protocols::{Protocol, Search, Side};

/// Captured bytes that are kept of one direction.
const KEPT_BYTES: usize = 64 << 10;

/// Packets, of which perhaps only the length is kept.
const KEPT_PACKETS: usize = 4096;

/// Of a PDU that is longer than this the rest of the body is not kept.
const HEAD_BYTES: u64 = 4 << 10;

/// Datagrams that are kept, and their bytes.
const KEPT_DATAGRAMS: usize = 64;
const DATAGRAM_BYTES: usize = 2048;

/// Both directions of a conversation in no known protocol.
#[derive(Debug, Default)]
pub struct Pending {
    pub searches: [Search; 2],
    pub kept: [Kept; 2],
    /// UDP: where the datagrams were, and their first bytes.
    pub datagrams: VecDeque<(Side, ByteRange, Box<[u8]>)>,
}

/// A packet of one direction.
#[derive(Debug)]
pub struct KeptPacket {
    pub at: Offset,
    pub bytes: Vec<u8>,
    pub missing: u64,
}

impl KeptPacket {
    fn end(&self) -> Offset {
        self.at.plus(self.bytes.len() as u64 + self.missing)
    }
}

/// The last packets of one direction that may be part of a message.
#[derive(Debug, Default)]
pub struct Kept {
    pub packets: VecDeque<KeptPacket>,
    bytes: usize,
    /// Bytes that were not kept.
    pub lost: u64,
}

impl Kept {
    /// One past its last byte.
    pub fn end(&self) -> Offset {
        self.packets.back().map_or(Offset(0), KeptPacket::end)
    }

    fn push(&mut self, packet: KeptPacket, is_body: bool) {
        if !is_body {
            self.bytes += packet.bytes.len();
            return self.packets.push_back(packet);
        }
        let missing = packet.missing + packet.bytes.len() as u64;
        match self.packets.back_mut() {
            Some(last) if last.end() == packet.at => last.missing += missing,
            _ => self.packets.push_back(KeptPacket { bytes: Vec::new(), missing, ..packet }),
        }
    }

    /// Forgets what no candidate needs, and what is too much: first the bytes that the best one does without.
    fn trim(&mut self, search: &Search) {
        let from = search.wanted_from();
        let best = search.candidates().iter().max_by_key(|candidate| candidate.bits());
        let needs = |packet: &KeptPacket| best.is_some_and(|best| is_head(best, packet));
        let excess = self.bytes.saturating_sub(KEPT_BYTES);
        let mut freed = 0;
        for packet in &mut self.packets {
            if freed >= excess {
                break;
            }
            if !needs(packet) {
                let bytes = std::mem::take(&mut packet.bytes).len();
                packet.missing += bytes as u64;
                freed += bytes;
            }
        }
        self.bytes -= freed;
        while let Some(first) = self.packets.front()
            && (from.is_none_or(|from| first.end() <= from)
                || self.bytes > KEPT_BYTES
                || self.packets.len() > KEPT_PACKETS)
        {
            let Some(gone) = self.packets.pop_front() else { return };
            self.bytes -= gone.bytes.len();
            self.lost += gone.end().0 - gone.at.0;
        }
    }
}

/// Whether a packet has some of the beginning of a candidate's first or last PDU.
fn is_head(candidate: &Candidate, packet: &KeptPacket) -> bool {
    [candidate.start, candidate.last()]
        .into_iter()
        .any(|start| packet.at < start.plus(HEAD_BYTES) && packet.end() > start)
}

/// Whether a packet lies in the part of a long PDU that nothing is read from.
fn is_body(candidate: &Candidate, packet: &KeptPacket) -> bool {
    candidate.bits() >= HINTED_BITS
        && packet.at >= candidate.last().plus(HEAD_BYTES)
        && packet.end() <= candidate.next()
}

impl Pending {
    /// The next packet of one direction.
    pub fn packet(
        &mut self,
        side: Side,
        at: Offset,
        (bytes, missing): (&[u8], u64),
        writes: &[Offset],
    ) {
        let search = &mut self.searches[side as usize];
        search.packet(at, bytes, missing, writes);
        let packet = KeptPacket { at, bytes: bytes.to_vec(), missing };
        let all = search.candidates();
        let is_body = all.iter().any(|candidate| is_body(candidate, &packet))
            && !all.iter().any(|candidate| is_head(candidate, &packet));
        self.kept[side as usize].push(packet, is_body);
    }

    /// Forgets what no candidate needs.
    pub fn trim(&mut self) {
        for (search, kept) in self.searches.iter().zip(&mut self.kept) {
            kept.trim(search);
        }
    }

    /// The best candidate of all, with the evidence of both directions together.
    pub fn best(&self) -> Option<(&'static dyn Protocol, u32)> {
        self.best_of(|_| true)
    }

    fn best_of(&self, counts: fn(&Candidate) -> bool) -> Option<(&'static dyn Protocol, u32)> {
        let all = self.searches.iter().flat_map(Search::candidates).filter(|c| counts(c));
        let sum = |protocol: &'static dyn Protocol| {
            let best = self.searches.iter().filter_map(|search| search.best_of(protocol));
            let best = best.filter(|candidate| counts(candidate));
            let (strong, weak) = best.fold((0, 0), |(strong, weak), c| {
                (strong + c.strong_bits(), weak.max(c.bits() - c.strong_bits()))
            });
            (protocol, strong + weak)
        };
        all.map(|candidate| sum(candidate.protocol)).max_by_key(|(_, bits)| *bits)
    }

    /// What it is, once there is evidence enough: less where something else says the same, more where it has a name that
    /// contradicts.
    pub fn decided(
        &self,
        transport: Transport,
        hints: &Hints,
        is_named: bool,
    ) -> Option<&'static dyn Protocol> {
        let (protocol, bits) = self.best_of(Candidate::is_free)?;
        let enough = if hints.names(transport, protocol) { HINTED_BITS } else { SURE_BITS };
        let enough = if is_named { 2 * SURE_BITS } else { enough };
        (bits >= enough).then_some(protocol)
    }

    /// Keeps a datagram that may be a message.
    pub fn datagram(&mut self, side: Side, range: ByteRange, bytes: &[u8]) {
        if self.searches.iter().all(|search| search.candidates().is_empty()) {
            return self.datagrams.clear();
        }
        if self.datagrams.len() >= KEPT_DATAGRAMS {
            self.datagrams.pop_front();
        }
        let kept = bytes.get(..DATAGRAM_BYTES).unwrap_or(bytes);
        self.datagrams.push_back((side, range, kept.into()));
    }
}
