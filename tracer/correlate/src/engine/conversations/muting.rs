//! Conversations that are not looked at: those of rows that the user has muted.

use super::Conversations;
use crate::rows::Rows;
use rustc_hash::FxHashSet;
use wirelap_events::{Body, GroupId, Nanos, SocketId, Transport, tcp_flags};
use wirelap_flow::{Conversation, Direction, Flow};
use wirelap_protocols::Side;

/// The time up to which a conversation is not looked at that is muted now.
pub const MUTED: Nanos = Nanos(u64::MAX);

impl Conversations {
    /// True if an event is of a conversation that is muted, or was when it happened.
    pub fn is_muted(&self, at: Nanos, body: &Body<'_>) -> bool {
        if at >= self.muted_until {
            return false;
        }
        match body {
            Body::Send(send) => self.is_socket_muted(at, send.socket),
            Body::Written(written) => self.is_socket_muted(at, written.socket),
            Body::Plain(plain) => self.is_socket_muted(at, plain.socket),
            Body::Read(read) => self.is_socket_muted(at, read.socket),
            Body::Ready(ready) => self.is_socket_muted(at, ready.socket),
            Body::Retransmit(retransmit) => self.is_socket_muted(at, retransmit.socket),
            Body::Packet(packet) => {
                // One that opens a connection may be of another conversation with the same addresses.
                let opens = packet.tcp.as_ref().is_some_and(|tcp| tcp.flags & tcp_flags::SYN != 0);
                let of = self.flows.seek(packet.flow, packet.netns, packet.tcp.as_ref());
                !opens && self.is_way_muted(at, of)
            }
            Body::Drop(drop) => {
                self.is_way_muted(at, self.flows.seek_anywhere(drop.flow, drop.tcp.as_ref()))
            }
            _ => false,
        }
    }

    fn is_socket_muted(&self, at: Nanos, id: SocketId) -> bool {
        let Some(entry) = self.sockets.get(id) else { return false };
        let its = entry.tx.and_then(|direction| self.flows.get(direction));
        at < its.map_or(entry.muted_until, |conversation| conversation.muted_until)
    }

    fn is_way_muted(&self, at: Nanos, direction: Option<Direction>) -> bool {
        let conversation = direction.and_then(|direction| self.flows.get(direction));
        conversation.is_some_and(|conversation| at < conversation.muted_until)
    }

    /// Does not look any more at the conversations of muted rows. `are_new`: those that are not muted yet have come into view since
    /// their row was muted, and are in no figure. Returns [`Conversations::muted_sockets`].
    pub fn mute(&mut self, rows: &Rows, are_new: bool) -> Vec<SocketId> {
        for conversation in self.flows.iter_mut() {
            if conversation.muted_until == MUTED || !is_of_muted(conversation, rows, None) {
                continue;
            }
            conversation.muted_until = MUTED;
            self.muted_until = MUTED;
            if are_new && conversation.flows.iter().all(|flow| flow.messages.count == 0) {
                conversation.forget_bytes();
            }
            // Its numbers go on unseen: of conversations between the same addresses, those of others tell what is theirs.
            conversation.flows.iter_mut().for_each(Flow::lose_place);
        }
        let sockets = self.muted_sockets(rows, None);
        self.sockets.mute(&sockets);
        sockets
    }

    /// Looks from `at` on at the conversations of rows that are not muted any more, wherever their bytes are by then.
    pub fn unmute(&mut self, rows: &Rows, at: Nanos) {
        let mut until = at;
        for conversation in self.flows.iter_mut().filter(|one| one.muted_until == MUTED) {
            if is_of_muted(conversation, rows, None) {
                until = MUTED;
                continue;
            }
            conversation.muted_until = at;
            conversation.flows.iter_mut().for_each(Flow::lose_place);
        }
        self.muted_until = until;
        let still: FxHashSet<SocketId> = self.muted_sockets(rows, None).into_iter().collect();
        self.sockets.unmute_except(&still, at);
    }

    /// The open sockets of the conversations of muted rows. A UDP socket that other rows use as well is none of them. `except`: the
    /// sockets of this row are left out.
    pub fn muted_sockets(&self, rows: &Rows, except: Option<GroupId>) -> Vec<SocketId> {
        let is_muted =
            |one: &Conversation| one.muted_until == MUTED && is_of_muted(one, rows, except);
        let is_udp = |one: &Conversation| one.flow(Side::A).key.transport == Transport::Udp;
        let all = || self.flows.iter().map(|(_, one)| one);
        let others = all().filter(|one| is_udp(one) && !is_muted(one));
        let others: FxHashSet<SocketId> = others.flat_map(sockets_of).collect();
        let is_open = |id: &SocketId| self.sockets.is_open(*id);
        let its = all().filter(|one| is_muted(one)).flat_map(sockets_of);
        its.filter(|id| is_open(id) && !others.contains(id)).collect()
    }
}

fn sockets_of(conversation: &Conversation) -> impl Iterator<Item = SocketId> + '_ {
    conversation.flows.iter().flat_map(|flow| [flow.sender, flow.receiver]).flatten()
}

/// True if a conversation belongs to a muted row other than `except`.
fn is_of_muted(conversation: &Conversation, rows: &Rows, except: Option<GroupId>) -> bool {
    conversation.row.is_some_and(|(row, _)| {
        rows.is_muted(row) && except.is_none_or(|except| rows.root(except) != rows.root(row))
    })
}
