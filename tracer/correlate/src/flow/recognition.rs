//! Finding out what a conversation speaks.

use super::table::ends;
use super::{Conversation, Finds, Piece, State};
use wirelap_events::{Offset, Transport};
use wirelap_protocols::recognise::{Choice, Hints, choose};
use wirelap_protocols::{Protocol, Side};

/// First bytes that are kept of one direction.
const HEAD_BYTES: usize = 4096;

/// A conversation joined in mid-stream may begin in the middle of a long message: it is asked again at
/// this many packets.
const PACKETS: u32 = 256;

/// What has been tried.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attempts {
    packets: u32,
}

impl Conversation {
    fn hints(&self) -> Hints {
        let key = self.flows[0].key;
        let known = self.known.at(ends(key));
        Hints { ports: [key.src.port(), key.dst.port()], known }
    }

    /// Its bytes have shown what it speaks: others with the same server most likely speak it too.
    fn recognised(&mut self, protocol: &'static dyn Protocol) {
        let [a, b] = ends(self.flows[0].key);
        let lower_port = if a.0.port() < b.0.port() { Side::A } else { Side::B };
        let server = if self.server.unwrap_or(lower_port) == Side::A { a } else { b };
        self.known.learn(server, protocol.name());
        self.decide(protocol);
    }

    /// The protocol is known.
    pub fn decide(&mut self, protocol: &'static dyn Protocol) {
        let transport = self.flows[0].key.transport;
        let connection = protocol.connection_with(transport, &self.memories.of(protocol));
        self.state = State::Decoding(protocol, connection);
    }

    pub(super) fn recognise_piece(&mut self, side: Side, piece: Piece<'_>, found: &mut Finds) {
        let Piece::Bytes { at, bytes, missing } = piece else {
            self.flow_mut(side).head.bytes.clear();
            return;
        };
        if self.flow(side).head.refused {
            self.count_attempt();
            return;
        }
        let hints = self.hints();
        let flow = self.flow_mut(side);
        let head = &mut flow.head;
        if head.bytes.is_empty() {
            head.at = at;
        }
        let room = HEAD_BYTES.saturating_sub(head.bytes.len());
        let kept = bytes.get(..room).unwrap_or(bytes);
        head.bytes.extend_from_slice(kept);
        head.missing = missing + (bytes.len() - kept.len()) as u64;
        let at_start = flow.isn.is_some() && flow.head.at == Offset::START;
        let mut choice = choose(Transport::Tcp, &flow.head.bytes, at_start, hints);
        // Where the server is known to speak something, a start that was missed without a trace is no obstacle.
        if matches!(choice, Choice::Unknown) && at_start && hints.known.is_some() {
            choice = choose(Transport::Tcp, &flow.head.bytes, false, hints);
        }
        match choice {
            Choice::Protocol(protocol) => {
                self.recognised(protocol);
                self.read_heads(side, piece, found);
            }
            Choice::NeedMore if flow.head.missing == 0 => {}
            Choice::NeedMore | Choice::Unknown => self.refuse(side, at_start),
        }
    }

    /// The head of `side` ends with the packet `last`, which may be longer than what was kept of it.
    fn read_heads(&mut self, side: Side, last: Piece<'_>, found: &mut Finds) {
        let other = if side == Side::A { Side::B } else { Side::A };
        for side in [other, side] {
            let head = std::mem::take(&mut self.flow_mut(side).head);
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

    /// What follows the kept head at `rest`: from the packet itself as far as it was captured.
    fn read_rest(
        &mut self,
        side: Side,
        rest: Offset,
        missing: u64,
        last: Piece<'_>,
        found: &mut Finds,
    ) {
        if let Piece::Bytes { at, bytes, missing: uncaptured } = last
            && let Some(skip) = rest.0.checked_sub(at.0)
            && let Some(bytes) = usize::try_from(skip).ok().and_then(|skip| bytes.get(skip..))
            && bytes.len() as u64 + uncaptured == missing
        {
            self.read_piece(side, Piece::Bytes { at: rest, bytes, missing: uncaptured }, found);
        } else {
            self.read_piece(side, Piece::Gap { at: rest, len: missing }, found);
        }
    }

    fn refuse(&mut self, side: Side, at_start: bool) {
        let flow = self.flow_mut(side);
        // Bytes that were not captured contradict nothing: probes that are only just being attached can see a
        // connection's first packets without them.
        flow.head.refused = at_start && flow.head.missing == 0;
        if !flow.head.refused {
            flow.head.bytes.clear();
        }
        if self.flows.iter().all(|flow| flow.head.refused) {
            self.ignore();
        } else {
            self.count_attempt();
        }
    }

    fn count_attempt(&mut self) {
        if let State::Undecided(attempts) = &mut self.state {
            attempts.packets += 1;
            if attempts.packets > PACKETS {
                self.ignore();
            }
        }
    }

    /// Stops looking, and frees what was kept for it.
    fn ignore(&mut self) {
        self.state = State::Ignored;
        for flow in &mut self.flows {
            flow.head = super::direction::Head::default();
        }
    }

    pub(super) fn recognise_datagram(&mut self, side: Side, bytes: &[u8]) {
        let hints = self.hints();
        let first = self.flow(side).head.at == Offset(0);
        self.flow_mut(side).head.at = Offset::START;
        match choose(Transport::Udp, bytes, first, hints) {
            Choice::Protocol(protocol) => self.recognised(protocol),
            Choice::NeedMore | Choice::Unknown => self.count_attempt(),
        }
    }
}
