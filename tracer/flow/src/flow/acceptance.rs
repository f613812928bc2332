//! Acceptance of TCP segments: the check that a segment can be a conversation's.
//!
//! Anybody who can send packets can send some with the addresses of others: from another network namespace, or from
//! another host. A socket takes only what lies in its window (RFC 9293 §3.4, RFC 5961), and so nothing else counts. Where
//! the window is, the sockets themselves say, as far as they are on this host: what leaves a socket has its cookie, and
//! tells what it has sent and what it has received. No other packet outranks that. Between two sockets that are not here,
//! several segments in a row, each of which goes on where the one before it ended, are believed.

use super::conversation::{Conversation, State};
use super::direction::Flow;
use wirelap_events::{Packet, PacketHook, Seq, TcpFields, tcp_flags};
use wirelap_protocols::Side;

/// Bytes that may be sent beyond what is known: more than that has hardly ever been given room for.
const AHEAD: i32 = 1 << 24;

/// Beyond what its own socket was seen to send, a copy is only a little: one segment that was sent offloaded.
const AHEAD_OF_SENDER: i32 = 1 << 20;

/// Bytes by which a segment may be behind and still come again, or late.
const BEHIND: i32 = 1 << 26;

/// So many segments in a row are believed.
const IN_A_ROW: u8 = 3;

/// Distance at which the second of two segments in a row may begin before or behind the end of the first: those
/// between may come late.
const ROW: i32 = 1 << 17;

impl Flow {
    /// True if bytes that begin at `seq` can be under way.
    pub fn fits(&self, seq: Seq) -> bool {
        let near = |reference: Seq, ahead: i32| {
            let distance = seq.distance_from(reference);
            (-BEHIND..=ahead).contains(&distance)
        };
        match (self.unwrap.farthest(), self.window.acked) {
            (Some(farthest), _) if self.sender.is_some() => near(farthest, AHEAD_OF_SENDER),
            (_, Some(acked)) if self.window.is_own => near(acked, AHEAD),
            (Some(farthest), _) => near(farthest, AHEAD),
            (None, Some(acked)) => near(acked, AHEAD),
            (None, None) => true,
        }
    }

    /// Goes on at `seq`, wherever that is: what was between was not seen.
    fn jump_to(&mut self, seq: Seq) {
        let is_far = self.unwrap.farthest().is_some_and(|farthest| {
            let distance = seq.distance_from(farthest);
            !(-BEHIND..=BEHIND).contains(&distance)
        });
        if is_far {
            self.unwrap.jump(seq);
            self.interrupted = true;
            self.packets.forget_seen();
        }
    }

    /// Notes a segment that does not fit; true if it is the last of several in a row.
    fn note_strange(&mut self, seq: Seq, end: Seq) -> bool {
        let before = self.window.strange.filter(|(at, _)| {
            let distance = seq.distance_from(*at);
            end != seq && (-ROW..=ROW).contains(&distance)
        });
        let times = before.map_or(1, |(_, times)| times.saturating_add(1));
        self.window.strange = Some((end, times));
        times >= IN_A_ROW
    }

    /// Notes that the flow's receiving socket has the bytes before `seq`, if nothing else is known
    /// of the flow.
    pub fn received_to(&mut self, seq: Seq) {
        if self.is_fresh() && !self.unwrap.is_based() {
            self.unwrap.offset(seq);
            self.acknowledge(seq, true);
        }
    }

    /// The receiver has acknowledged what is before `seq`.
    fn acknowledge(&mut self, seq: Seq, by_own: bool) {
        let window = &mut self.window;
        let is_newer = window.acked.is_none_or(|acked| seq.distance_from(acked) > 0);
        if by_own || (!window.is_own && is_newer) {
            (window.acked, window.is_own) = (Some(seq), by_own || window.is_own);
        }
    }
}

impl Conversation {
    /// True if a segment that is no SYN can be this conversation's; if so, takes note of where it is.
    pub fn accepts(&mut self, side: Side, packet: &Packet<'_>, tcp: &TcpFields) -> bool {
        // Where nothing is read, nothing is known of where it is.
        if matches!(self.state, State::Ignored) || tcp.flags & tcp_flags::SYN != 0 {
            return true;
        }
        let ack = (tcp.flags & tcp_flags::ACK != 0).then_some(tcp.ack);
        let other = side.other();
        let sender = self.flow(side).sender;
        let by_own = packet.hook == PacketHook::Xmit
            && packet.socket.is_some_and(|socket| sender.is_none_or(|sender| sender == socket));
        let was_paused = self.flows.iter().any(|flow| flow.interrupted);
        let fits =
            self.flow(side).fits(tcp.seq) && ack.is_none_or(|ack| self.flow(other).fits(ack));
        if !fits {
            let end = tcp.seq.plus(packet.payload_len);
            let is_between_others = sender.is_none() && self.flow(side).receiver.is_none();
            let is_believed = by_own
                || was_paused
                || is_between_others && self.flow_mut(side).note_strange(tcp.seq, end);
            if !is_believed {
                return false;
            }
            self.flow_mut(side).jump_to(tcp.seq);
            if let Some(ack) = ack {
                self.flow_mut(other).jump_to(ack);
            }
        }
        self.flow_mut(side).window.strange = None;
        if let Some(ack) = ack {
            self.flow_mut(other).acknowledge(ack, by_own);
        }
        true
    }

    /// True if a socket of this host has the conversation open: no packet opens another one in its
    /// place.
    pub fn is_held(&self) -> bool {
        let has_socket = |flow: &Flow| flow.sender.is_some() || flow.receiver.is_some();
        !self.life.is_closed && self.flows.iter().any(has_socket)
    }
}
