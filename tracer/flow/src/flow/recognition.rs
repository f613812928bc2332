//! Finding out what a conversation speaks.
//!
//! Seen from its first byte, its beginning tells. Joined in mid-stream, both directions are searched for messages that
//! follow each other (`wirelap_protocols::search`); what comes meanwhile is kept as far as messages may be in it, and read
//! once it is known what they are.

mod datagrams;

use super::attempts::Attempts;
use super::conversation::{Conversation, State};
use super::head::FirstBytes;
use super::output::DecoderOutput;
use super::pending::{Pending, Seen};
use super::reassembly::Piece;
use super::unread::Unread;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use wirelap_events::{Offset, Saturate, Transport};
use wirelap_protocols::recognise::{Hints, ProtocolChoice, choose};
use wirelap_protocols::search::HINTED_BITS;
use wirelap_protocols::stream::Stream;
use wirelap_protocols::websocket::MaybeWebSocket;
use wirelap_protocols::{Protocol, Recognition, Side};

/// First bytes that are kept of one direction.
const HEAD_BYTES: usize = 4096;

/// A conversation whose beginning was seen is asked again at this many packets.
const PACKETS: u32 = 256;

/// One that was joined in mid-stream may be in the middle of a long message, and send many more.
const PACKETS_JOINED: u32 = 1 << 16;

/// First bytes that tell connections of a proxy apart: as many as are before and in the name of most clients.
const OPENING_BYTES: usize = 64;

/// Evidence that a long message is open: what its payload looks like says nothing then.
const OPEN_BITS: u32 = 24;

/// A number for the first bytes of a connection, which is not 0.
fn opening(bytes: &[u8]) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes.get(..OPENING_BYTES).unwrap_or(bytes));
    u32::try_from(hasher.finish() >> 32).unwrap_or_default().max(1)
}

impl Conversation {
    pub(super) fn hints(&self) -> Hints {
        self.search.hints(self.flows[0].key)
    }

    /// Decides on a protocol that the conversation's bytes have shown, and learns that the server
    /// speaks it: others with the same server most likely speak it too.
    pub(super) fn recognised(&mut self, protocol: &'static dyn Protocol) {
        let [a, b] = &self.search.ends;
        let lower_port = if a.addr.port() < b.addr.port() { Side::A } else { Side::B };
        let server = if self.server.unwrap_or(lower_port) == Side::A { a } else { b };
        self.search.known.learn(server, protocol.name());
        self.decide(protocol);
    }

    /// The user has named the protocol. It may stand on a WebSocket.
    pub fn decide_named(&mut self, protocol: &'static dyn Protocol) {
        self.search.is_named = true;
        self.decide(protocol);
    }

    /// The protocol is known.
    pub fn decide(&mut self, protocol: &'static dyn Protocol) {
        let transport = self.decoded_transport();
        let memory = self.search.memories.of(protocol);
        let mut connection = protocol.connection_with(transport, &memory);
        if self.search.is_named && transport == Transport::Tcp && !protocol.is_encryption() {
            let carried = protocol.connection_with(transport, &memory);
            connection = Box::new(MaybeWebSocket::new(protocol, connection, carried));
        }
        self.state = State::Decoding(protocol, connection);
        self.unread = Unread::default();
        self.search.observer = None;
        self.search.websocket = None;
    }

    pub(super) fn recognise_piece(
        &mut self,
        side: Side,
        piece: Piece<'_>,
        found: &mut DecoderOutput,
    ) {
        let Piece::Bytes { at, bytes, missing } = piece else {
            let Piece::Gap { at, len } = piece else { return };
            self.flow_mut(side).start.head.bytes.clear();
            if let Some(trial) = &mut self.search.websocket {
                trial.gap(side, at, len);
            }
            if let Some(pending) = &mut self.search.pending {
                pending.searches[side as usize].gap(at, len);
            }
            return;
        };
        let flow = self.flow_mut(side);
        let from_start = flow.start.isn.is_some();
        let begins = from_start && at == Offset::START;
        let is_head =
            from_start && !flow.start.head.refused && (begins || !flow.start.head.bytes.is_empty());
        let refused = flow.start.head.refused;
        if begins && self.life.opening == 0 {
            self.life.opening = opening(bytes);
        }
        self.observe(side, begins, bytes, missing);
        if self.try_websocket(side, begins, (at, bytes, missing), found) {
            return;
        }
        if is_head {
            self.recognise_head(side, piece, found);
        } else if refused {
            self.count_attempt();
        } else {
            self.recognise_middle(side, piece, found);
        }
        if matches!(self.state, State::Undecided(_)) && self.is_certainly_foreign() {
            self.ignore();
        }
    }

    /// Watches for what is not decoded.
    pub(super) fn observe(&mut self, side: Side, begins: bool, bytes: &[u8], missing: u64) {
        self.search.observer.get_or_insert_default().packet(side, begins, bytes, missing);
    }

    /// True if it is named, and has no open message of a known protocol in which such bytes may lie.
    fn is_certainly_foreign(&self) -> bool {
        let is_certain =
            self.search.observer.as_ref().is_some_and(|observer| observer.is_certain());
        let most = self.search.pending.as_ref().map_or(0, |pending| pending.most_bits());
        is_certain && most < OPEN_BITS
    }

    /// The first bytes of a direction.
    fn recognise_head(&mut self, side: Side, piece: Piece<'_>, found: &mut DecoderOutput) {
        let Piece::Bytes { at, bytes, missing } = piece else { return };
        if let Some(behind) = behind_proxy(bytes) {
            // What the proxy's client sends starts behind what the proxy says of it.
            let at = at.plus(bytes.len().saturating_sub(behind.len()) as u64);
            let piece = Piece::Bytes { at, bytes: behind, missing };
            return self.recognise_middle(side, piece, found);
        }
        let hints = self.hints();
        let flow = self.flow_mut(side);
        let head = &mut flow.start.head;
        if head.bytes.is_empty() {
            head.at = at;
        }
        let is_alone = head.bytes.is_empty();
        let room = HEAD_BYTES.saturating_sub(head.bytes.len());
        let kept = bytes.get(..room).unwrap_or(bytes);
        head.bytes.extend_from_slice(kept);
        head.missing = missing.saturating_add(bytes.len().saturating_sub(kept.len()) as u64);
        let missing = head.missing;
        let mut choice = choose(Transport::Tcp, &head.bytes, true, hints);
        // Where the server is known to speak something, a start that was missed without a trace is no obstacle.
        if matches!(choice, ProtocolChoice::Unknown | ProtocolChoice::Possible)
            && hints.known.is_some()
        {
            choice = choose(Transport::Tcp, &head.bytes, false, hints);
        }
        match choice {
            ProtocolChoice::Protocol(protocol) if is_believed(protocol, &head.bytes, hints) => {
                self.recognised(protocol);
                if let Some(pending) = self.search.pending.take() {
                    self.read_kept(side, at, *pending, protocol, found);
                }
                self.read_heads(side, piece, found);
            }
            ProtocolChoice::NeedMore if missing == 0 => {}
            // A text may begin anywhere: its program may have been found when the connection was open.
            ProtocolChoice::NeedMore | ProtocolChoice::Unknown
                if self.search.pending.is_none() && self.tls.text.is_none() =>
            {
                self.refuse(side);
            }
            _ => self.search_head(side, piece, is_alone, found),
        }
    }

    /// The first bytes of a direction do not tell by themselves: what follows, in both directions, has to say the same.
    /// `is_alone` tells that no packet came before this one.
    fn search_head(
        &mut self,
        side: Side,
        piece: Piece<'_>,
        is_alone: bool,
        found: &mut DecoderOutput,
    ) {
        let head = std::mem::take(&mut self.flow_mut(side).start.head);
        let (at, missing) = (head.at, head.missing);
        let whole = Piece::Bytes { at, bytes: &head.bytes, missing };
        self.recognise_middle(side, if is_alone { piece } else { whole }, found);
    }

    /// Somewhere in mid-stream.
    fn recognise_middle(&mut self, side: Side, piece: Piece<'_>, found: &mut DecoderOutput) {
        let Piece::Bytes { at, bytes, missing } = piece else { return };
        let hints = self.hints();
        let writes = std::mem::take(&mut self.flow_mut(side).start.writes);
        let pending = self.search.pending.get_or_insert_default();
        pending.packet(side, at, (bytes, missing), &writes, hints.known);
        let is_named =
            self.search.observer.as_ref().is_some_and(|observer| observer.name().is_some());
        let is_refused = self.flows.iter().any(|flow| flow.start.head.refused);
        let seen = Seen { hints, is_named, is_refused };
        if let Some(protocol) = pending.decided(Transport::Tcp, &seen) {
            let pending = self.search.pending.take().unwrap_or_default();
            self.recognised(protocol);
            // The other direction's beginning may have been seen, and not have told.
            self.read_heads(side, piece, found);
            self.read_kept(side, at, *pending, protocol, found);
        } else {
            pending.trim();
            self.count_attempt();
        }
    }

    /// Reads what was kept: from where a message is known to start, if it is. `at` is where the last packet starts.
    pub(super) fn read_kept(
        &mut self,
        side: Side,
        at: Offset,
        pending: Pending,
        protocol: &'static dyn Protocol,
        found: &mut DecoderOutput,
    ) {
        let other = side.other();
        let Pending { searches, mut kept, .. } = pending;
        for side in [other, side] {
            if kept[side as usize].packets.is_empty() {
                self.hidden.skipped.grow(kept[side as usize].lost);
                continue;
            }
            // Too little evidence is no place to begin at: it may be a length that never ends.
            let best = searches[side as usize].best_of(protocol);
            let best = best.filter(|best| best.bits() >= HINTED_BITS);
            let kept = std::mem::take(&mut kept[side as usize]);
            // Where a flow begins, a PDU does.
            let first = kept.packets.front().map(|first| first.at);
            let is_opening = first == Some(Offset::START)
                && self.flow(side).start.isn.is_some()
                && (self.tls.text.is_none() || self.tls.has_streams);
            let best = best.filter(|_| !is_opening);
            let start = if is_opening { first } else { best.map(|best| best.start) };
            self.hidden.skipped.grow(kept.lost);
            let end = kept.packets.back().map(|last| last.at);
            let from = start.or(end).unwrap_or(at);
            if let Some(best) = best {
                let is_proven = best.is_followed_by(kept.end());
                let stream =
                    if is_proven { Stream::new(side, false) } else { Stream::guessing(side) };
                self.flow_mut(side).stream = Some(stream);
            }
            for packet in kept.packets {
                let before = from.0.saturating_sub(packet.at.0);
                let cut = usize::try_from(before).unwrap_or(usize::MAX).min(packet.bytes.len());
                let missing_cut = before.saturating_sub(cut as u64).min(packet.missing);
                self.hidden.skipped.grow((cut as u64).saturating_add(missing_cut));
                let (at, missing) = (
                    packet.at.plus((cut as u64).saturating_add(missing_cut)),
                    packet.missing.saturating_sub(missing_cut),
                );
                let bytes = packet.bytes.get(cut..).unwrap_or_default();
                if !bytes.is_empty() || missing > 0 {
                    self.read_piece(side, Piece::Bytes { at, bytes, missing }, found);
                }
            }
        }
    }

    /// The head of `side` ends with the packet `last`, which may be longer than what was kept of it.
    pub(super) fn read_heads(&mut self, side: Side, last: Piece<'_>, found: &mut DecoderOutput) {
        for side in [side.other(), side] {
            let head = std::mem::take(&mut self.flow_mut(side).start.head);
            if !head.bytes.is_empty() {
                let (at, bytes) = (head.at, head.bytes.as_slice());
                let missing = head.missing;
                // Bytes beyond the kept ones come with `last` when this is its side.
                let missing = if head.refused { 0 } else { missing };
                self.read_piece(side, Piece::Bytes { at, bytes, missing: 0 }, found);
                let rest = at.plus(bytes.len() as u64);
                if missing > 0 {
                    self.read_rest(side, rest, missing, last, found);
                }
            }
        }
    }

    /// Reads the bytes that follow the kept head at `rest`: from the packet itself as far as it was
    /// captured.
    fn read_rest(
        &mut self,
        side: Side,
        rest: Offset,
        missing: u64,
        last: Piece<'_>,
        found: &mut DecoderOutput,
    ) {
        if let Piece::Bytes { at, bytes, missing: uncaptured } = last
            && let Some(skip) = rest.0.checked_sub(at.0)
            && let Some(bytes) = usize::try_from(skip).ok().and_then(|skip| bytes.get(skip..))
            && (bytes.len() as u64).saturating_add(uncaptured) == missing
        {
            self.read_piece(side, Piece::Bytes { at: rest, bytes, missing: uncaptured }, found);
        } else {
            self.read_piece(side, Piece::Gap { at: rest, len: missing }, found);
        }
    }

    fn refuse(&mut self, side: Side) {
        let flow = self.flow_mut(side);
        // Bytes that were not captured contradict nothing: probes that are only just being attached can see a
        // connection's first packets without them.
        flow.start.head.refused = flow.start.head.missing == 0;
        if !flow.start.head.refused {
            flow.start.head.bytes.clear();
        }
        if self.flows.iter().all(|flow| flow.start.head.refused) {
            self.ignore();
        } else {
            self.count_attempt();
        }
    }

    fn count_attempt(&mut self) {
        let is_joined = self.flows.iter().all(|flow| !flow.start.head.refused);
        if let State::Undecided(attempts) = &mut self.state {
            attempts.packets.grow(1);
            if attempts.packets > if is_joined { PACKETS_JOINED } else { PACKETS } {
                self.ignore();
            }
        }
    }

    /// Stops looking, and frees what was kept for it.
    pub(super) fn ignore(&mut self) {
        let refused = self.flows.iter().any(|flow| flow.start.head.refused);
        self.note_missed_handshake();
        self.state = State::Ignored;
        self.search.pending = None;
        self.search.websocket = None;
        // What is known not to be decoded is not looked at again; of the rest, a pause may show the next message's start.
        self.search.is_final =
            refused || self.search.observer.as_ref().is_some_and(|seen| seen.is_certain());
        for flow in &mut self.flows {
            flow.start.head = FirstBytes::default();
        }
        if self.foreign_name().is_none() {
            self.search.observer = None;
        }
    }

    /// A packet of a conversation that is named and not decoded: its next ones may tell a version, or what is inside.
    pub fn watch(&mut self, side: Side, bytes: &[u8], missing: u64) {
        self.search.watch(side, bytes, missing);
    }

    /// The name of its protocol, if that is known and not decoded.
    pub fn foreign_name(&self) -> Option<&wirelap_protocols::foreign::ForeignName> {
        self.search.foreign_name()
    }

    /// True if its bytes are never looked at again, only counted.
    pub fn is_only_counted(&self) -> bool {
        matches!(self.state, State::Ignored)
            && self.search.is_final
            && self.search.observer.is_none()
    }

    /// Looks again at a conversation that was given up and sends after a pause: it most likely begins with a message.
    pub fn look_again(&mut self) {
        if self.search.is_final || !matches!(self.state, State::Ignored) {
            return;
        }
        self.state = State::Undecided(Attempts::default());
        for flow in &mut self.flows {
            flow.interrupted = true;
            // Its packets were not looked at, and so seem not to have been seen.
            flow.packets.forget_seen();
        }
    }
}

/// True if the first bytes of a connection are enough: a magic number, or the port or the server say the same.
fn is_believed(protocol: &dyn Protocol, head: &[u8], hints: Hints) -> bool {
    let says = |at_start| protocol.recognise(Transport::Tcp, head, at_start) == Recognition::Yes;
    let is_hinted = hints.names(Transport::Tcp, protocol);
    (says(true) && (protocol.has_magic() || is_hinted))
        || (says(false) && hints.known.is_some() && is_hinted)
}

/// The bytes behind the line or header that a proxy puts before what its client sends (`HAProxy`, "The PROXY protocol",
/// §2).
pub(super) fn behind_proxy(bytes: &[u8]) -> Option<&[u8]> {
    const LONGEST_LINE: usize = 107;
    const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
    if bytes.starts_with(b"PROXY TCP") || bytes.starts_with(b"PROXY UNKNOWN") {
        let end = bytes.iter().take(LONGEST_LINE).position(|byte| *byte == b'\n')?;
        return bytes.get(end.saturating_add(1)..);
    }
    let [_, _, high, low, ..] = *bytes.strip_prefix(SIGNATURE)? else { return None };
    bytes.get(
        SIGNATURE
            .len()
            .saturating_add(4)
            .saturating_add(usize::from(u16::from_be_bytes([high, low])))..,
    )
}
