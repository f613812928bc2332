//! Two directions and the decoder that reads them.

use super::attempts::Attempts;
use super::collector::ControlFrames;
use super::decryption::Decryption;
use super::direction::Flow;
use super::namespaces::Namespaces;
use super::pending::Pending;
use super::server_protocols::{ServerEnd, ServerProtocols};
use super::tls::text::TlsText;
use super::translation::Translation;
use super::unread::Unread;
use super::window::Claim;
use crate::bytes::{Holes, Ledger, Overhead};
use crate::config::Config;
use crate::ids::{FlowEnds, ends, normal};
use crate::tls_keys::TlsKeys;
use arrayvec::ArrayVec;
use std::net::SocketAddr;
use std::sync::Arc;
use wirelap_events::{
    FlowKey, GroupId, Nanos, NetNs, Packet, PacketHook, Saturate, Seq, SocketId, TopicId, Total,
    TraceDetail, Transport,
};
use wirelap_protocols::foreign::{ForeignName, ForeignObserver};
use wirelap_protocols::stream::Stream;
use wirelap_protocols::websocket::WebSocketTrial;
use wirelap_protocols::{Connection, Encryption, Memories, Party, Protocol, Side};

/// The state of a conversation's protocol: searched for, read or given up.
pub enum State {
    /// Nothing yet.
    Undecided(Attempts),
    /// The protocol is known, and its bytes are read.
    Decoding(&'static dyn Protocol, Box<dyn Connection>),
    /// None that is known: its events cost as little as possible.
    Ignored,
}

/// The parts of a conversation that could not be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hidden {
    /// Observations that had to be forgotten.
    pub mark_evictions: u64,
    /// Payload bytes that were not captured.
    pub uncaptured: u64,
    /// Bytes that no frame was found in.
    pub undecoded: u64,
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
    pub state: EndsState,
    /// The ends of each flow.
    pub ends: [Arc<FlowEnds>; 2],
}

/// Both directions between two addresses.
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub struct Conversation {
    /// Never used for another conversation.
    pub serial: u64,
    /// The flow of [`Side::A`], then that of [`Side::B`].
    pub flows: [Flow; 2],
    pub state: State,
    pub ledger: Ledger,
    /// The end that accepted the conversation, once that is certain.
    pub server: Option<Side>,
    /// Time at which the conversation was opened, if that was seen.
    pub opened: Option<Nanos>,
    /// A number for the first bytes of whoever spoke first; 0 if they were not seen.
    pub opening: u32,
    /// The last event.
    pub seen: Nanos,
    /// True if it is in the list of conversations with something that waits.
    pub active: bool,
    /// An end is gone: soon no packet is expected any more.
    pub closed: bool,
    /// True if it carries an MPTCP connection: no calls are seen at its sockets.
    pub is_subflow: bool,
    /// The side that sent the first FIN or RST.
    pub closed_by: Option<Side>,
    pub claim: Claim,
    pub namespaces: Namespaces,
    /// The translation of its addresses, if there is one.
    translation: Option<Box<Translation>>,
    /// Packets that were compared with those of other conversations.
    pub compared: u8,
    /// The row, and the state of the naming of rows in which that was found.
    pub row: Option<(GroupId, u64)>,
    /// The names that the peers at its ends gave themselves.
    pub participants: [Option<TopicId>; 2],
    /// The ends, once they were looked up.
    pub ends: Option<Box<KnownEnds>>,
    /// Payload bytes that were not captured.
    pub uncaptured: u64,
    /// The part of `uncaptured` and of the undecoded bytes that [`Conversation::take_hidden`] has
    /// told.
    told: (u64, u64),
    /// Undecoded bytes that passed while observation was paused.
    pub(super) paused: u64,
    /// Frames since that was last asked: a keep-alive or discovery; a request for messages.
    pub control: ControlFrames,
    /// State that its decoder shares with others.
    pub(super) memories: Memories,
    /// Protocols that servers are known to speak.
    pub(super) known: ServerProtocols,
    /// The end of [`Side::A`], then that of [`Side::B`]: by which it is asked what is spoken there.
    pub(super) server_ends: [ServerEnd; 2],
    /// Bytes that were kept while its protocol is not known.
    pub(super) pending: Option<Box<Pending>>,
    /// The trial reading as a WebSocket, while its protocol is not known.
    pub(super) websocket: Option<Box<WebSocketTrial>>,
    /// Watches for protocols that are not decoded.
    pub(super) observer: Option<Box<ForeignObserver>>,
    /// The name of the one that it speaks, once nothing more is looked at.
    pub(super) name: Option<Box<ForeignName>>,
    /// True if it is never looked at again.
    pub(super) is_final: bool,
    /// The user has named its protocol.
    pub(super) is_named: bool,
    /// Bytes that passed before it was recognised and were not kept.
    pub(super) skipped: u64,
    /// The text in its TLS records, once some was seen. It is read in place of the records.
    pub(super) tls: Option<Box<TlsText>>,
    /// The keys of TLS connections that there are.
    pub(super) keys: TlsKeys,
    /// The decryption, if it is read with keys.
    pub(super) decryption: Option<Box<Decryption>>,
    /// True if it is TLS, and that was taken note of.
    pub(super) has_hello: bool,
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
                .saturating_add(flow.head.bytes.capacity())
                .saturating_add(stream)
                .saturating_add(flow.round_trips.as_ref().map_or(0, |trips| trips.held_bytes()))
        });
        let decoder = match &self.state {
            State::Decoding(_, connection) => connection.held_bytes().0,
            State::Undecided(_) | State::Ignored => 0,
        };
        let pending = self.pending.as_ref().map_or(0, |pending| pending.held_bytes());
        let observer = self.observer.as_ref().map_or(0, |observer| observer.held_bytes().0);
        let websocket = self.websocket.as_ref().map_or(0, |trial| trial.held_bytes().0);
        let text = self.tls.as_ref().map_or(0, |text| text.held_bytes());
        let decryption = self.decryption.as_ref().map_or(0, |keys| keys.held_bytes());
        flows.chain([decoder, pending, observer, websocket, text, decryption]).total()
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
            opened: None,
            opening: 0,
            seen: now,
            active: false,
            closed: false,
            is_subflow: false,
            closed_by: None,
            claim: Claim::Possible,
            namespaces: Namespaces::default(),
            translation: None,
            compared: 0,
            row: None,
            participants: [None; 2],
            ends: None,
            uncaptured: 0,
            told: (0, 0),
            paused: 0,
            control: ControlFrames::default(),
            memories,
            known,
            server_ends: ends(key).map(|(addr, scope)| ServerEnd::new(addr, scope)),
            pending: None,
            websocket: None,
            observer: None,
            name: None,
            is_final: false,
            is_named: false,
            skipped: 0,
            tls: None,
            keys: config.tls_keys.clone(),
            decryption: None,
            has_hello: false,
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
        self.translation.as_ref().map_or(key.src, |known| known.ends[side as usize])
    }

    /// Other addresses that its packets have.
    pub fn aliases(&self) -> &[FlowKey] {
        self.translation.as_ref().map_or(&[][..], |known| known.aliases.as_slice())
    }

    /// Returns the translation of its addresses, which is made if there is none.
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
        if self.decryption.is_none() && self.tls.is_none() {
            let keys = other.decryption.take();
            self.decryption = keys.map(|keys| Box::new(keys.mapped(side, theirs)));
            self.tls = other.tls.take().map(|text| Box::new(text.mapped(side, theirs)));
        }
        self.has_hello |= other.has_hello;
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
        self.namespaces.add_all(&other.namespaces);
    }

    /// True for a connection that was open before it came into view.
    pub fn was_open_before(&self) -> bool {
        let [one, other] = &self.flows;
        let is_stream = one.key.transport == Transport::Tcp;
        is_stream && self.opened.is_none() && one.isn.is_none() && other.isn.is_none()
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

    /// Forgets what the conversation carried so far, and which parts of it could not be seen: they
    /// are in no figure.
    pub fn forget_bytes(&mut self) {
        self.ledger = Ledger::default();
        self.paused.grow(self.undecoded_bytes());
        self.uncaptured = 0;
        self.told = (0, self.undecoded_bytes());
        self.flows.iter_mut().for_each(Flow::forget_seen);
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
            uncaptured_bytes: self.uncaptured,
            undecoded_bytes: self.undecoded_bytes(),
            unfinished_messages: connection.unfinished(),
            ..Holes::default()
        };
        if self.ends_only {
            return holes;
        }
        for flow in &self.flows {
            holes.sent += flow.unseen(PacketHook::Xmit);
            holes.received += flow.unseen(PacketHook::Rx);
        }
        holes
    }

    /// Takes the counts of what could not be seen since the last call, so that nobody has to look at idle
    /// conversations.
    pub fn take_hidden(&mut self) -> Hidden {
        let mark_evictions = self.flows.iter_mut().map(|flow| flow.marks.take_evicted()).total();
        if !matches!(self.state, State::Decoding(..)) {
            return Hidden { mark_evictions, ..Hidden::default() };
        }
        let now = (self.uncaptured, self.undecoded_bytes());
        let before = std::mem::replace(&mut self.told, now);
        Hidden {
            mark_evictions,
            uncaptured: now.0.saturating_sub(before.0),
            undecoded: now.1.saturating_sub(before.1),
        }
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
