//! Two directions and the decoder that reads them.

use super::identity::{content, identify};
use super::known::Known;
use super::pending::Pending;
use super::recognition::Attempts;
use super::{Carried, Claim, DecoderOutput, Flow, Found, Piece, Released, Unread};
use crate::config::Config;
use crate::correlator::Totals;
use crate::ledger::Ledger;
use crate::snapshot::Holes;
use arrayvec::ArrayVec;
use std::net::SocketAddr;
use wirelap_events::{
    ByteRange, Class, FlowKey, Frame, GroupId, Nanos, NetNs, Offset, Packet, PacketHook, Portion,
    RequestLimits, Seq, TcpFields,
};
use wirelap_events::{Saturate, Total};
use wirelap_protocols::foreign::{ForeignName, Observer};
use wirelap_protocols::stream::Stream;
use wirelap_protocols::{Connection, Fragments, FrameSink, Memories, Pdu, Protocol, Side};

/// What is known of a conversation's protocol.
pub enum State {
    /// Nothing yet.
    Undecided(Attempts),
    /// It is read.
    Decoding(&'static dyn Protocol, Box<dyn Connection>),
    /// None that is known: its events cost as little as possible.
    Ignored,
}

/// Namespaces that are remembered of a conversation: both ends, and a router or two between them.
const PLACES: usize = 6;

/// Translations of a conversation's addresses that are remembered, each with two directions.
pub const ALIASES: usize = 4;

/// A conversation whose addresses are translated between its ends. Most are not.
#[derive(Clone, Debug)]
pub struct Translation {
    /// The address of each end as that end has it.
    pub ends: [SocketAddr; 2],
    /// Other addresses than its own that its packets have, before or behind a translation.
    pub aliases: ArrayVec<FlowKey, ALIASES>,
}

/// The network namespaces that a conversation was seen in.
#[derive(Clone, Debug, Default)]
struct Places {
    all: ArrayVec<NetNs, PLACES>,
    /// There are more than are remembered.
    everywhere: bool,
}

/// Both directions between two addresses.
pub struct Conversation {
    /// Never used for another conversation.
    pub serial: u64,
    /// The flow of [`Side::A`], then that of [`Side::B`].
    pub flows: [Flow; 2],
    pub state: State,
    pub ledger: Ledger,
    /// The end that accepted the conversation, once that is certain.
    pub server: Option<Side>,
    /// When it was opened, if that was seen.
    pub opened: Option<Nanos>,
    /// The last event.
    pub seen: Nanos,
    /// It is in the list of conversations with something that waits.
    pub active: bool,
    /// An end is gone: soon no packet is expected any more.
    pub closed: bool,
    pub claim: Claim,
    /// The network namespaces that it was seen in; 0 stands for all of a capture's.
    places: Places,
    /// The translation of its addresses, if there is one.
    translation: Option<Box<Translation>>,
    /// Packets that were compared with those of other conversations.
    pub compared: u8,
    /// Its row, and the state of the naming of rows in which that was found.
    pub row: Option<(GroupId, u64)>,
    /// Payload bytes that were not captured.
    pub uncaptured: u64,
    /// What of `uncaptured` and of the undecoded bytes is in the totals.
    told: (u64, u64),
    /// Undecoded bytes that passed while observation was paused.
    paused: u64,
    /// Frames since that was last asked: a keep-alive or discovery; a request for messages.
    pub asides: Asides,
    /// What its decoder shares with others.
    pub(super) memories: Memories,
    /// What is spoken where.
    pub(super) known: Known,
    /// What was seen while its protocol is not known.
    pub(super) pending: Option<Box<Pending>>,
    /// Watches for protocols that are not decoded.
    pub(super) observer: Option<Box<Observer>>,
    /// The name of the one that it speaks, once nothing more is looked at.
    pub(super) name: Option<Box<ForeignName>>,
    /// It is never looked at again.
    pub(super) is_final: bool,
    /// Bytes that passed before it was recognised and were not kept.
    pub(super) skipped: u64,
    /// Payload while its protocol is not known.
    pub unread: Unread,
    /// Bytes of memory that it held on to when that was last looked at.
    pub held: usize,
}

/// Kinds of frames that bear on messages and are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asides {
    /// A keep-alive or discovery frame.
    pub upkeep: bool,
    /// A request for messages, and its end.
    pub asked: Option<Offset>,
    /// What that said of how long it may be kept waiting.
    pub ask: Option<RequestLimits>,
    /// Messages that their receiver is given once their transaction is committed.
    pub committed: bool,
    /// An acknowledgement before which its receiver may not have been allowed to send more.
    pub room: bool,
}

/// What a decoder hands over.
struct Collector<'a> {
    asides: &'a mut Asides,
    side: Side,
    protocol: &'static dyn Protocol,
    ledger: &'a mut Ledger,
    found: &'a mut DecoderOutput,
    /// What was told of the frame that comes next.
    fragments: Option<Fragments>,
    /// Where the message begins that the frame that comes next releases.
    releases: Option<Offset>,
    /// Bytes of what was compressed, and what became of them, for the messages that follow.
    packed: (u64, u64),
    /// From which byte on the messages that follow can be used.
    usable_at: Option<Offset>,
    /// The payload of the message in the frame that comes next may start earlier.
    is_unsure: bool,
}

impl<'a> Collector<'a> {
    fn new(
        asides: &'a mut Asides,
        side: Side,
        protocol: &'static dyn Protocol,
        ledger: &'a mut Ledger,
        found: &'a mut DecoderOutput,
    ) -> Collector<'a> {
        Collector {
            asides,
            side,
            protocol,
            ledger,
            found,
            fragments: None,
            releases: None,
            packed: (0, 0),
            usable_at: None,
            is_unsure: false,
        }
    }
}

impl FrameSink for Collector<'_> {
    fn frame(&mut self, frame: &Frame<'_>) {
        self.ledger.frame(self.side, frame);
        let fragments = self.fragments.take();
        let is_unsure = std::mem::take(&mut self.is_unsure);
        if let Some(fragments) = fragments {
            self.ledger.repeated(self.side, fragments.repeated_bytes);
            let (side, at) = (self.side, frame.range.start);
            self.found.carried.push(Carried { side, at, fragments });
        }
        self.asides.upkeep |= matches!(frame.class, Class::KeepAlive | Class::Discovery);
        if let Some(message) = self.releases.take() {
            self.found.released.push(Released { side: self.side, message, end: frame.range.end });
        }
        if frame.asks_for_messages() {
            self.asides.asked = Some(frame.range.end);
        }
        if let Some(data) = &frame.data {
            let shared = frame.is_in_shared_memory();
            let topic = self.found.topics.id_of(data.topic);
            let assembly = fragments.map(|fragments| fragments.message);
            let mut found = Found { shared, topic, assembly, ..identify(self.side, data) };
            if self.protocol.numbers_topics() {
                found.content = content(found.stamp, data, is_unsure);
            }
            found.usable_at = self.usable_at.filter(|&end| end > data.extent.end);
            if frame.range.is_empty() {
                let (bytes, opened) = self.packed;
                let share = u128::from(data.payload_len).saturating_mul(u128::from(bytes));
                found.wire_payload =
                    u64::try_from(share.checked_div(u128::from(opened.max(1))).unwrap_or(0))
                        .unwrap_or(u64::MAX);
            }
            self.found.all.push(found);
        }
    }

    fn fragments(&mut self, fragments: &Fragments) {
        self.fragments = Some(*fragments);
    }

    fn asks(&mut self, ask: RequestLimits) {
        self.asides.ask = Some(ask);
    }

    fn awaits_commit(&mut self) {
        self.asides.committed = true;
    }

    fn releases(&mut self, start: Offset) {
        self.releases = Some(start);
    }

    fn makes_room(&mut self) {
        self.asides.room = true;
    }

    fn unpacked(&mut self, bytes: u64, opened: u64) {
        self.packed = (bytes, opened);
    }

    fn uncertain_start(&mut self) {
        self.is_unsure = true;
    }

    fn usable_at(&mut self, end: Offset) {
        self.usable_at = Some(end);
    }

    fn unread_messages(&mut self, messages: u64) {
        let unread = &mut self.found.unread[self.side as usize];
        *unread = unread.saturating_add(messages);
    }

    fn thrown_away(&mut self, messages: u64) {
        self.found.thrown_away = self.found.thrown_away.saturating_add(messages);
    }

    fn read_twice(&mut self, messages: u64) {
        self.found.read_twice = self.found.read_twice.saturating_add(messages);
    }

    fn in_order(&mut self, origin: [u8; 16], first: u64) {
        self.found.ordered.push((self.side, origin, first));
    }
}

impl Conversation {
    /// Bytes of memory that it holds on to: what waits for more, and what its decoder remembers.
    pub fn held_bytes(&self) -> usize {
        let flows = self.flows.iter().map(|flow| {
            let stream = flow.stream.as_ref().map_or(0, Stream::held_bytes);
            flow.bytes
                .held_bytes()
                .saturating_add(flow.head.bytes.capacity())
                .saturating_add(stream)
        });
        let decoder = match &self.state {
            State::Decoding(_, connection) => connection.held_bytes(),
            State::Undecided(_) | State::Ignored => 0,
        };
        let pending = self.pending.as_ref().map_or(0, |pending| pending.held_bytes());
        let observer = self.observer.as_ref().map_or(0, |observer| observer.held_bytes());
        flows.chain([decoder, pending, observer]).total()
    }

    /// A conversation whose [`Side::A`] sends on `key`.
    pub fn new(
        serial: u64,
        key: FlowKey,
        now: Nanos,
        config: &Config,
        memories: Memories,
        known: Known,
    ) -> Conversation {
        Conversation {
            serial,
            flows: [Flow::new(key, config), Flow::new(key.reversed(), config)],
            state: State::Undecided(Attempts::default()),
            ledger: Ledger::default(),
            server: None,
            opened: None,
            seen: now,
            active: false,
            closed: false,
            claim: Claim::Possible,
            places: Places::default(),
            translation: None,
            compared: 0,
            row: None,
            uncaptured: 0,
            told: (0, 0),
            paused: 0,
            asides: Asides::default(),
            memories,
            known,
            pending: None,
            observer: None,
            name: None,
            is_final: false,
            skipped: 0,
            unread: Unread::default(),
            held: 0,
        }
    }

    /// Whether it was seen in a namespace.
    pub fn is_in(&self, netns: NetNs) -> bool {
        self.places.all.contains(&netns) || self.places.everywhere
    }

    /// Whether it was seen in none yet.
    pub fn is_nowhere(&self) -> bool {
        self.places.all.is_empty()
    }

    /// It is seen in a namespace.
    pub fn enters(&mut self, netns: NetNs) {
        if !self.is_in(netns) {
            self.places.everywhere = self.places.all.try_push(netns).is_err();
        }
    }

    /// The namespaces of another one, which has turned out to be the same.
    pub fn takes_places(&mut self, other: &Conversation) {
        other.places.all.iter().for_each(|&netns| self.enters(netns));
    }

    /// How far these numbers are from the next ones of both directions. `None` where nothing is known of them.
    pub fn distance(&self, side: Side, next: Seq, back: Option<Seq>) -> Option<u32> {
        let there = self.flow(side).unwrap.distance(next);
        let back = back.and_then(|seq| self.flow(side.other()).unwrap.distance(seq));
        there.into_iter().chain(back).max()
    }

    /// The address of an end as that end has it.
    pub fn end(&self, side: Side) -> SocketAddr {
        let key = self.flow(side).key;
        self.translation.as_ref().map_or(key.src, |known| known.ends[side as usize])
    }

    /// Other addresses that its packets have.
    pub fn aliases(&self) -> &[FlowKey] {
        self.translation.as_ref().map_or(&[][..], |known| known.aliases.as_slice())
    }

    /// What is known of the translation of its addresses, which there is.
    pub fn translation(&mut self) -> &mut Translation {
        let [a, b] = [self.flows[0].key.src, self.flows[0].key.dst];
        self.translation
            .get_or_insert_with(|| Box::new(Translation { ends: [a, b], aliases: ArrayVec::new() }))
    }

    /// Payload bytes that were read so far.
    pub fn carried(&self) -> u64 {
        self.flows.iter().map(|flow| flow.bytes.next().map_or(0, |at| at.0)).total()
    }

    /// Takes over what only another one knows, which has turned out to be the same: `side` here is `theirs` there.
    pub fn absorb(&mut self, side: Side, other: &mut Conversation, theirs: Side) {
        if matches!(self.state, State::Undecided(_)) {
            std::mem::swap(&mut self.state, &mut other.state);
        }
        for (side, theirs) in [(side, theirs), (side.other(), theirs.other())] {
            let key = self.flow(side).key;
            let (mine, there) = (self.flow(side), other.flow(theirs));
            // Packets without bytes are counted where their sender hands them over, if that was seen.
            let sees_sender = !mine.devices.is_sent_here() && there.devices.is_sent_here();
            let is_less = mine.is_fresh() || (mine.carried.is_empty() && sees_sender);
            if is_less && !there.is_fresh() {
                let (sender, receiver) = (self.flow(side).sender, self.flow(side).receiver);
                std::mem::swap(self.flow_mut(side), other.flow_mut(theirs));
                let flow = self.flow_mut(side);
                (flow.sender, flow.receiver) = (sender, receiver);
                other.flow_mut(theirs).key = std::mem::replace(&mut flow.key, key);
                self.ledger.adopt(side, &other.ledger, theirs);
            }
            self.flow_mut(side).has_sends |= other.flow(theirs).has_sends;
            // What was seen under the other addresses is not known here.
            self.flow_mut(side).forget_seen();
        }
        let mapped = |end: Side| if end == theirs { side } else { side.other() };
        self.server = self.server.or(other.server.map(mapped));
        self.uncaptured = self.uncaptured.min(other.uncaptured);
        self.seen = self.seen.max(other.seen);
        self.takes_places(other);
    }

    pub fn flow(&self, side: Side) -> &Flow {
        &self.flows[side as usize]
    }

    pub fn flow_mut(&mut self, side: Side) -> &mut Flow {
        &mut self.flows[side as usize]
    }

    pub fn protocol(&self) -> Option<&'static dyn Protocol> {
        match self.state {
            State::Decoding(protocol, _) => Some(protocol),
            State::Undecided(_) | State::Ignored => None,
        }
    }

    /// Counts the payload of a packet while it is not known what it is.
    pub fn count_unread(&mut self, side: Side, packet: &Packet<'_>, tcp: &TcpFields, at: Nanos) {
        if packet.payload_len > 0
            && let Some(range) = self.flow_mut(side).payload_range(tcp, packet.payload_len)
        {
            self.unread.add(side, range, at);
        }
    }

    /// Counts a datagram of a conversation that nothing is read from: on one device.
    pub fn count_datagram(&mut self, side: Side, packet: &Packet<'_>, at: Nanos) {
        if self.flow_mut(side).devices.counts(packet, false) {
            self.unread.count(side, u64::from(packet.payload_len), at);
        }
    }

    /// Bytes that no frame was found in, those of a pause on purpose left out.
    pub fn undecoded_bytes(&self) -> u64 {
        let streams = self.flows.iter().filter_map(|flow| flow.stream.as_ref());
        let all: u64 = streams.map(Stream::undecoded_bytes).total();
        all.saturating_add(self.skipped).saturating_sub(self.paused)
    }

    /// One of its ends is gone.
    pub fn close(&mut self) {
        self.closed = true;
        if let State::Decoding(_, connection) = &mut self.state {
            connection.closed();
        }
    }

    /// Nothing more comes: what was followed on a guess that nothing has confirmed is in no frame.
    pub fn give_up_guesses(&mut self) {
        let State::Decoding(_, connection) = &mut self.state else { return };
        let streams = self.flows.iter_mut().filter_map(|flow| flow.stream.as_mut());
        for stream in streams.filter(|stream| !stream.is_in_sync()) {
            stream.finish(&mut **connection);
        }
    }

    /// What passed without a packet event, and what of the rest could not be read.
    pub fn holes(&self) -> Holes {
        if !matches!(self.state, State::Decoding(..)) {
            return Holes::default();
        }
        let mut holes = Holes {
            uncaptured_bytes: self.uncaptured,
            undecoded_bytes: self.undecoded_bytes(),
            ..Holes::default()
        };
        for flow in &self.flows {
            holes.sent += flow.unseen(PacketHook::Xmit);
            holes.received += flow.unseen(PacketHook::Rx);
        }
        holes
    }

    /// Adds to the totals what they do not have yet, so that nobody has to look at idle conversations.
    pub fn tell(&mut self, totals: &mut Totals) {
        totals
            .mark_evictions
            .grow(self.flows.iter_mut().map(|flow| flow.marks.take_evicted()).total::<u64>());
        if matches!(self.state, State::Decoding(..)) {
            let now = (self.uncaptured, self.undecoded_bytes());
            let before = std::mem::replace(&mut self.told, now);
            totals.uncaptured.grow(now.0.saturating_sub(before.0));
            totals.undecoded.grow(now.1.saturating_sub(before.1));
        }
    }

    /// Payload of a packet, in any order.
    pub fn packet(
        &mut self,
        side: Side,
        range: ByteRange,
        bytes: &[u8],
        now: Nanos,
        found: &mut DecoderOutput,
    ) {
        let missing = range.len().saturating_sub(bytes.len() as u64);
        self.uncaptured.grow(missing);
        let flow = self.flow_mut(side);
        let interrupted = std::mem::take(&mut flow.interrupted);
        let skipped = match (flow.bytes.next(), flow.boundary.take()) {
            // Found open: begin where a write begins, if that is in or after this packet.
            (None, Some(boundary)) if boundary >= range.end => {
                flow.boundary = Some(boundary);
                return;
            }
            (None, Some(boundary)) => boundary.0.saturating_sub(range.start.0),
            _ => 0,
        };
        let start = range.start.plus(skipped);
        let skipped_bytes = usize::try_from(skipped).unwrap_or(usize::MAX).min(bytes.len());
        let missing = missing.saturating_sub(skipped.saturating_sub(skipped_bytes as u64));
        let bytes = bytes.get(skipped_bytes..).unwrap_or_default();
        if interrupted {
            self.resume(side, start, found);
        }
        self.reassemble(side, found, |flow, out| {
            flow.packet(start, bytes, missing, now, out);
        });
    }

    /// Goes on at `at` after a pause on purpose: the bytes in between are nobody's failure.
    fn resume(&mut self, side: Side, at: Offset, found: &mut DecoderOutput) {
        let before = self.undecoded_bytes();
        self.reassemble(side, found, |flow, out| {
            flow.interrupt(out);
            flow.resume_at(at, out);
        });
        self.paused.grow(self.undecoded_bytes().saturating_sub(before));
    }

    /// Whether its protocol is known and its messages are encrypted.
    pub fn is_encrypted(&self) -> bool {
        matches!(&self.state, State::Decoding(_, connection) if connection.is_encrypted())
    }

    /// Whether its frames have told which end serves.
    pub fn tells_server(&self) -> bool {
        matches!(&self.state, State::Decoding(_, connection) if connection.server().is_some())
    }

    /// Whether what one side sends may be a copy of what it sends to others.
    pub fn makes_copies(&self, from: Side) -> bool {
        match &self.state {
            State::Decoding(_, connection) => connection.makes_copies(from),
            State::Undecided(_) | State::Ignored => true,
        }
    }

    /// Runs the reassembly of one side, reading what comes out.
    pub fn reassemble(
        &mut self,
        side: Side,
        found: &mut DecoderOutput,
        step: impl FnOnce(&mut super::Reassembly, &mut dyn FnMut(Piece<'_>)),
    ) {
        let mut bytes = std::mem::take(&mut self.flow_mut(side).bytes);
        step(&mut bytes, &mut |piece| self.piece(side, piece, found));
        self.flow_mut(side).bytes = bytes;
    }

    /// The next bytes of one direction.
    fn piece(&mut self, side: Side, piece: Piece<'_>, found: &mut DecoderOutput) {
        match self.state {
            State::Decoding(..) => self.read_piece(side, piece, found),
            State::Undecided(_) => self.recognise_piece(side, piece, found),
            State::Ignored => {}
        }
    }

    pub(super) fn read_piece(&mut self, side: Side, piece: Piece<'_>, found: &mut DecoderOutput) {
        let State::Decoding(protocol, connection) = &mut self.state else { return };
        let flow = &mut self.flows[side as usize];
        let (asides, ledger) = (&mut self.asides, &mut self.ledger);
        let mut out = Collector::new(asides, side, *protocol, ledger, found);
        let from_start = flow.isn.is_some();
        let at = match piece {
            Piece::Bytes { at, .. } | Piece::Gap { at, .. } => at,
        };
        let mid_stream = !from_start || at != Offset::START;
        let stream = flow.stream.get_or_insert_with(|| Stream::new(side, mid_stream));
        match piece {
            Piece::Bytes { at, bytes, missing } => {
                let first = out.found.all.len();
                stream.feed(at, bytes, missing, connection.as_mut(), &mut out);
                let hole = flow.hole.take().filter(|hole| hole.end == at);
                flow.frame(hole, first, self.serial, found);
            }
            Piece::Gap { at, len } => {
                let is_between = stream.is_in_sync() && stream.pending_bytes() == 0;
                flow.hole = is_between.then(|| ByteRange::new(at, len));
                stream.gap(at, len, connection.as_mut(), &mut out);
            }
        }
    }

    /// A packet with a datagram of these bytes, or with a fragment of it.
    pub fn datagram_packet(
        &mut self,
        side: Side,
        range: ByteRange,
        packet: &Packet<'_>,
        found: &mut DecoderOutput,
    ) {
        let pieces = &mut self.flow_mut(side).pieces;
        let Portion::Fragment { start, .. } = packet.portion else {
            if !pieces.is_empty() {
                self.put_together(side, found);
            }
            self.datagram(side, range, packet.payload, found);
            return;
        };
        if start == 0 && !pieces.is_empty() {
            self.put_together(side, found);
        }
        let pieces = &mut self.flow_mut(side).pieces;
        pieces.add(range, u64::from(start), packet.payload);
        if pieces.is_whole() {
            self.put_together(side, found);
        }
    }

    /// Reads the fragments so far as one datagram.
    fn put_together(&mut self, side: Side, found: &mut DecoderOutput) {
        let mut pieces = std::mem::take(&mut self.flow_mut(side).pieces);
        self.datagram(side, pieces.range, &pieces.bytes, found);
        pieces.clear();
        self.flow_mut(side).pieces = pieces;
    }

    /// A datagram, as far as it was captured.
    fn datagram(&mut self, side: Side, range: ByteRange, bytes: &[u8], found: &mut DecoderOutput) {
        self.uncaptured.grow(range.len().saturating_sub(bytes.len() as u64));
        if matches!(self.state, State::Undecided(_)) {
            self.recognise_datagram(side, range, bytes, found);
        }
        self.read_datagram(side, range, bytes, found);
    }

    pub(super) fn read_datagram(
        &mut self,
        side: Side,
        range: ByteRange,
        bytes: &[u8],
        found: &mut DecoderOutput,
    ) {
        if let State::Decoding(protocol, connection) = &mut self.state {
            let (asides, ledger) = (&mut self.asides, &mut self.ledger);
            let mut out = Collector::new(asides, side, *protocol, ledger, found);
            connection.pdu(side, Pdu { range, bytes }, &mut out);
        }
    }
}
