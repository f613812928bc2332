//! Traffic that is not decoded: where it goes and how much it is.

use super::Picture;
use crate::view::{Group, GroupNote, SnapshotNote};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use wirelap_events::{Nanos, Pid, Saturate};
use wirelap_flow::{Conversation, Direction, Unknown};
use wirelap_limits::network::{LEAST_UNREAD_BEFORE, MIN_UNREAD_BEFORE};
use wirelap_protocols::registry::by_name;
use wirelap_protocols::{Encryption, Protocol, Side};

/// Notes on processes that read nothing.
const UNREAD_NOTES: usize = 3;

impl Picture<'_> {
    /// The traffic that is not decoded.
    pub fn unknown(&self, now: Nanos) -> Unknown {
        let conversations = self.seen.conversations;
        let open = conversations.flows().iter().filter(|(_, one)| one.unread.total() > 0);
        let rows = &self.accounts.rows;
        let open = open.filter_map(|(direction, _)| conversations.unknown_of(direction, rows));
        self.accounts.unknown(open, now)
    }

    /// Number of `WebSockets` that have compressed messages which refer to what was not seen.
    pub fn unread_websockets(&self) -> u64 {
        let flows = self.seen.conversations.flows();
        flows.iter().filter(|(_, conversation)| conversation.lacks_context()).count() as u64
    }

    /// The processes that have read nothing since the observation began, on connections where something lay for them: those with the most
    /// bytes.
    pub fn unread_before(&self, now: Nanos) -> Vec<SnapshotNote> {
        let coverage = self.seen.coverage;
        // Reads that were not observed may have taken it.
        if coverage.pauses().has_paused() || coverage.lost() > 0 {
            return Vec::new();
        }
        let conversations = self.seen.conversations;
        let mut readers: BTreeMap<Pid, (u64, u64, SocketAddr)> = BTreeMap::new();
        for (direction, conversation) in conversations.flows().iter() {
            let is_observed = !conversation.life.is_closed
                && conversation.muted_until == Nanos(0)
                && !conversation.is_only_counted();
            for side in [Side::A, Side::B].into_iter().filter(|_| is_observed) {
                let flow = conversation.flow(side);
                let is_watched = flow.start.found_at + LEAST_UNREAD_BEFORE <= now;
                let bytes = if is_watched { flow.start.unread_since_found() } else { 0 };
                let reader = conversations.receiver_of(Direction { side, ..direction });
                if let Some(reader) = reader.filter(|_| bytes >= MIN_UNREAD_BEFORE) {
                    let sum = readers.entry(reader).or_insert((0, 0, flow.key.src));
                    sum.0.grow(1);
                    sum.1.grow(bytes);
                }
            }
        }
        let named = |(pid, (connections, bytes, peer))| {
            let comm = conversations.sockets().comm(pid)?;
            Some((
                bytes,
                SnapshotNote::UnreadBefore { reader: (pid, comm), connections, peer, bytes },
            ))
        };
        let mut all: Vec<_> = readers.into_iter().filter_map(named).collect();
        all.sort_by_key(|&(bytes, _)| Reverse(bytes));
        all.into_iter().take(UNREAD_NOTES).map(|(_, note)| note).collect()
    }

    /// Notes for each row how many of its conversations hide their messages, and whether its messages are records.
    pub fn note_encrypted(&self, groups: &mut [Group]) {
        for group in groups {
            let hides = |conversation: &Conversation| {
                let (row, _) = conversation.row?;
                conversation.encryption().filter(|_| self.accounts.rows.root(row) == group.id)
            };
            if by_name(&group.middleware).is_some_and(Protocol::is_encryption) {
                group.notes.push(GroupNote::Records);
            }
            let (mut conversations, mut is_tls) = (0, false);
            for (_, conversation) in self.seen.conversations.flows().iter() {
                let Some(encryption) = hides(conversation) else { continue };
                conversations.grow(1_u64);
                is_tls |= encryption == Encryption::Tls;
            }
            if conversations > 0 {
                group.notes.push(GroupNote::Encrypted { conversations, is_tls });
            }
        }
    }
}
