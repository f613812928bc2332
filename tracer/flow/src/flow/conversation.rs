//! Two directions and the decoder that reads them.

use super::attempts::Attempts;
use super::collector::ControlFrames;
use super::conversation_places::ConversationPlaces;
use super::direction::Flow;
use super::hidden::{Hidden, HiddenBytes};
use super::lifetime::Lifetime;
use super::protocol_search::ProtocolSearch;
use super::server_protocols::ServerProtocols;
use super::tls::layer::TlsLayer;
use super::translation::Translation;
use super::unread::Unread;
use crate::bytes::{Holes, Ledger, Overhead};
use crate::config::Config;
use crate::ids::{FlowEnds, normal};
use std::net::SocketAddr;
use std::sync::Arc;
use wirelap_events::{
    FlowKey, GroupId, Nanos, NetNs, Packet, PacketHook, Saturate, Seq, SocketId, TopicId, Total,
    TraceDetail, Transport,
};
use wirelap_protocols::stream::Stream;
use wirelap_protocols::{Connection, Encryption, LeftMessages, Memories, Party, Protocol, Side};

/// The state of a conversation's protocol: searched for, read or given up.
pub enum State {
    /// Nothing yet.
    Undecided(Attempts),
    /// The protocol is known, and its bytes are read.
    Decoding(&'static dyn Protocol, Box<dyn Connection>),
    /// None that is known: its events cost as little as possible.
    Ignored,
}

/// The state of the knowledge about a conversation's sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndsState {
    /// Number of facts learned of all sockets.
    pub learned: u64,
    /// Sender and receiver of each flow.
    pub sockets: [[Option<SocketId>; 2]; 2],
}

/// The ends of a conversation as they were looked up when that was known.
#[derive(Debug)]
pub struct KnownEnds {
    /// The state of the knowledge when the ends were looked up.
    pub state: EndsState,
    /// The ends of each flow.
    pub ends: [Arc<FlowEnds>; 2],
}

/// Both directions between two addresses.
pub struct Conversation {
    /// Never used for another conversation.
    pub serial: u64,
    /// The flow of [`Side::A`], then that of [`Side::B`].
    pub flows: [Flow; 2],
    /// The state of its protocol.
    pub state: State,
    /// Counts of its bytes by what they are.
    pub ledger: Ledger,
    /// The end that accepted the conversation, once that is certain.
    pub server: Option<Side>,
    /// The beginning and the end.
    pub life: Lifetime,
    /// The namespaces in which it is seen, and its addresses.
    pub places: ConversationPlaces,
    /// True if it is in the list of conversations with something that waits.
    pub active: bool,
    /// True if it carries an MPTCP connection: no calls are seen at its sockets.
    pub is_subflow: bool,
    /// The row, and the state of the naming of rows in which that was found.
    pub row: Option<(GroupId, u64)>,
    /// The names that the peers at its ends gave themselves.
    pub participants: [Option<TopicId>; 2],
    /// The ends, once they were looked up.
    pub ends: Option<Box<KnownEnds>>,
    /// Bytes that could not be read.
    pub(super) hidden: HiddenBytes,
    /// Frames since that was last asked: a keep-alive or discovery; a request for messages.
    pub control: ControlFrames,
    pub(super) search: ProtocolSearch,
    pub(super) tls: TlsLayer,
    /// Payload while its protocol is not known.
    pub unread: Unread,
    /// True if its bytes come from their senders, and it is not expected that packets are seen.
    ends_only: bool,
    /// Bytes of memory that it held on to when that was last looked at.
    pub held: usize,
    /// Until then it is not looked at, because the user has muted its row.
    pub muted_until: Nanos,
}

impl Conversation {
    /// Bytes of memory that it holds on to: what waits for more, and what its decoder remembers.
    pub fn held_bytes(&self) -> usize {
        let flows = self.flows.iter().map(|flow| {
            let stream = flow.stream.as_ref().map_or(0, |stream| stream.held_bytes().0);
            flow.bytes
                .held_bytes()
                .saturating_add(flow.start.head.bytes.capacity())
                .saturating_add(stream)
                .saturating_add(flow.round_trips.as_ref().map_or(0, |trips| trips.held_bytes()))
        });
        let decoder = match &self.state {
            State::Decoding(_, connection) => connection.held_bytes().0,
            State::Undecided(_) | State::Ignored => 0,
        };
        flows.chain([decoder, self.search.held_bytes(), self.tls.held_bytes()]).total()
    }

    /// A conversation whose [`Side::A`] sends on `key`.
    pub fn new(
        serial: u64,
        key: FlowKey,
        now: Nanos,
        config: &Config,
        memories: Memories,
        known: ServerProtocols,
    ) -> Conversation {
        Conversation {
            serial,
            flows: [Flow::new(key, config), Flow::new(key.reversed(), config)],
            state: State::Undecided(Attempts::default()),
            ledger: Ledger::default(),
            server: None,
            life: Lifetime { seen: now, ..Lifetime::default() },
            places: ConversationPlaces::default(),
            active: false,
            is_subflow: false,
            row: None,
            participants: [None; 2],
            ends: None,
            hidden: HiddenBytes::default(),
            control: ControlFrames::default(),
            search: ProtocolSearch::new(key, memories, known),
            tls: TlsLayer::new(config.tls_keys.clone()),
            unread: Unread::default(),
            ends_only: config.detail == TraceDetail::Ends && key.transport == Transport::Tcp,
            held: 0,
            muted_until: Nanos(0),
        }
    }

    /// The distance of these numbers from the next ones, the larger of both directions. `None` where nothing
    /// is known of them.
    pub fn distance(&self, side: Side, next: Seq, back: Option<Seq>) -> Option<u32> {
        let there = self.flow(side).unwrap.distance(next);
        let back = back.and_then(|seq| self.flow(side.other()).unwrap.distance(seq));
        there.into_iter().chain(back).max()
    }

    /// The address of an end as that end has it.
    pub fn end(&self, side: Side) -> SocketAddr {
        let key = self.flow(side).key;
        self.places.translation().map_or(key.src, |known| known.ends[side as usize])
    }

    /// Returns the translation of its addresses, which is made if there is none.
    pub fn translation_mut(&mut self) -> &mut Translation {
        self.places.translation_mut([self.flows[0].key.src, self.flows[0].key.dst])
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
        if self.tls.quic.is_none() {
            self.hidden.elsewhere.grow(std::mem::take(&mut other.hidden.elsewhere));
            let unread = std::mem::take(&mut other.hidden.unread_packets);
            self.hidden.unread_packets.grow(unread);
        }
        self.tls.absorb(side, &mut other.tls, theirs);
        for (side, theirs) in [(side, theirs), (side.other(), theirs.other())] {
            let key = self.flow(side).key;
            let (mine, there) = (self.flow(side), other.flow(theirs));
            // Packets without bytes are counted where their sender hands them over, if that was seen.
            let sees_sender =
                !mine.packets.devices.is_sent_here() && there.packets.devices.is_sent_here();
            let is_less = mine.is_fresh() || (mine.packets.carried.is_empty() && sees_sender);
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
            self.flow_mut(side).packets.forget_seen();
        }
        let mapped = |end: Side| if end == theirs { side } else { side.other() };
        self.server = self.server.or(other.server.map(mapped));
        self.hidden.uncaptured = self.hidden.uncaptured.min(other.hidden.uncaptured);
        self.life.note_event(other.life.seen);
        self.places.namespaces.add_all(&other.places.namespaces);
    }

    /// True for a connection that was open before it came into view.
    pub fn was_open_before(&self) -> bool {
        let [one, other] = &self.flows;
        let is_stream = one.key.transport == Transport::Tcp;
        is_stream
            && self.life.opened.is_none()
            && one.start.isn.is_none()
            && other.start.isn.is_none()
    }

    /// The flow that one end sends.
    #[inline]
    pub fn flow(&self, side: Side) -> &Flow {
        &self.flows[side as usize]
    }

    /// The flow that one end sends.
    #[inline]
    pub fn flow_mut(&mut self, side: Side) -> &mut Flow {
        &mut self.flows[side as usize]
    }

    /// The protocol, once that is known.
    #[inline]
    pub fn protocol(&self) -> Option<&'static dyn Protocol> {
        match self.state {
            State::Decoding(protocol, _) => Some(protocol),
            State::Undecided(_) | State::Ignored => None,
        }
    }

    /// Counts a datagram of a conversation that nothing is read from: on one device.
    pub fn count_datagram(&mut self, side: Side, packet: &Packet<'_>, at: Nanos) {
        if self.flow_mut(side).packets.devices.counts(packet, false) {
            self.unread.count(side, u64::from(packet.payload_len), at);
        }
    }

    /// Bytes that no frame was found in, those of a pause on purpose left out.
    pub fn undecoded_bytes(&self) -> u64 {
        self.hidden.undecoded(self.undecoded_by_streams())
    }

    /// Undecoded bytes of what is read now: of a QUIC connection, that is one of its streams.
    pub(super) fn undecoded_by_streams(&self) -> u64 {
        let streams = self.flows.iter().filter_map(|flow| flow.stream.as_ref());
        streams.map(Stream::undecoded_bytes).total()
    }

    /// Forgets what the conversation carried so far, and which parts of it could not be seen: they
    /// are in no figure.
    pub fn forget_bytes(&mut self) {
        self.ledger = Ledger::default();
        self.hidden.forget(self.undecoded_by_streams());
        self.flows.iter_mut().for_each(|flow| flow.packets.forget_seen());
    }

    /// Messages of which its end decides what becomes of them.
    pub fn left(&self) -> LeftMessages {
        match &self.state {
            State::Decoding(_, connection) => connection.left(),
            _ => LeftMessages::default(),
        }
    }

    /// The time until which its server keeps what comes for its client, whose connection is closed at `at`.
    pub fn session_until(&self, at: Nanos) -> Option<Nanos> {
        let State::Decoding(_, connection) = &self.state else { return None };
        Some(connection.keeps_for_client().until(at)).filter(|&until| until > at)
    }

    /// One of its ends is gone.
    pub fn close(&mut self) {
        self.life.is_closed = true;
        if let State::Decoding(_, connection) = &mut self.state {
            connection.closed();
        }
    }

    /// Nothing more comes: what was followed on a guess that nothing has confirmed is in no frame.
    pub fn give_up_guesses(&mut self) {
        self.give_up_guesses_aside();
        let State::Decoding(_, connection) = &mut self.state else { return };
        let streams = self.flows.iter_mut().filter_map(|flow| flow.stream.as_mut());
        for stream in streams.filter(|stream| !stream.is_in_sync()) {
            stream.finish(&mut **connection);
        }
    }

    /// Adds its bytes. Without packets, those on the wire are not known.
    pub fn add_bytes_to(&self, sum: &mut Overhead) {
        if !self.ends_only {
            self.ledger.add_to(sum);
        }
    }

    /// Counts of what passed without a packet event, and of what could not be read of the rest.
    pub fn holes(&self) -> Holes {
        let State::Decoding(_, connection) = &self.state else { return Holes::default() };
        let mut holes = Holes {
            uncaptured_bytes: self.hidden.uncaptured,
            undecoded_bytes: self.undecoded_bytes(),
            unfinished_messages: connection.unfinished(),
            unread_packets: self.hidden.unread_packets,
            encrypted_connections: self.hides_text().into(),
            ..Holes::default()
        };
        if self.ends_only {
            return holes;
        }
        for flow in &self.flows {
            holes.sent += flow.packets.unseen(PacketHook::Xmit);
            holes.received += flow.packets.unseen(PacketHook::Rx);
        }
        holes
    }

    /// True if it is encrypted, and the text of a direction or of both is not read. What a protocol encrypts itself, its decoder counts by
    /// message.
    pub fn hides_text(&self) -> bool {
        match (&self.tls.text, &self.state) {
            (Some(text), _) => text.is_half_read(),
            (None, State::Decoding(_, connection)) => {
                connection.encryption() == Some(Encryption::Tls)
            }
            (None, _) => self.foreign_name().is_some_and(|name| name.is_encrypted),
        }
    }

    /// Takes the counts of what could not be seen since the last call, so that nobody has to look at idle
    /// conversations.
    pub fn take_hidden(&mut self) -> Hidden {
        let mark_evictions = self.flows.iter_mut().map(|flow| flow.marks.take_evicted()).total();
        if !matches!(self.state, State::Decoding(..)) {
            return Hidden { mark_evictions, ..Hidden::default() };
        }
        let hidden = self.hidden.take(self.undecoded_by_streams());
        Hidden { mark_evictions, ..hidden }
    }

    /// The encryption of its messages; `None` if its protocol is not known or it has none.
    pub fn encryption(&self) -> Option<Encryption> {
        let State::Decoding(_, connection) = &self.state else { return None };
        connection.encryption()
    }

    /// True if its protocol is known and its messages refer to earlier ones that were not seen.
    pub fn lacks_context(&self) -> bool {
        matches!(&self.state, State::Decoding(_, connection) if connection.lacks_context())
    }

    /// True if its frames have told which end serves.
    pub fn tells_server(&self) -> bool {
        matches!(&self.state, State::Decoding(_, connection) if connection.server().is_some())
    }

    /// The ID that an end gives itself; `None` if its protocol has none, or is not known.
    pub fn party(&self, side: Side) -> Option<Party> {
        let State::Decoding(_, connection) = &self.state else { return None };
        connection.party(side)
    }

    /// True if both ends are servers, each of which hands on what it gets.
    pub fn joins_servers(&self) -> bool {
        matches!(&self.state, State::Decoding(_, connection) if connection.joins_servers())
    }

    /// True if one end is a server that copies the log of the other one.
    pub fn copies_log(&self) -> bool {
        matches!(&self.state, State::Decoding(_, connection) if connection.copies_log())
    }

    /// True if the messages that one side sends may be copies of those that it sends to others.
    pub fn makes_copies(&self, from: Side) -> bool {
        match &self.state {
            State::Decoding(_, connection) => connection.makes_copies(from),
            State::Undecided(_) | State::Ignored => true,
        }
    }

    /// The server that a probe connection was opened to; `None` if it carried something, or nobody saw who opened it.
    pub fn probed_server(&self) -> Option<(SocketAddr, NetNs)> {
        if self.row.is_some() || !self.ledger.is_silent() {
            return None;
        }
        let key = self.flow(self.server?).key;
        Some((normal(key.src), key.scope))
    }
}
