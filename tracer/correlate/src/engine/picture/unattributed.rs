//! Traffic that is not decoded: where it goes and how much it is.

use super::Picture;
use crate::view::{Group, GroupNote};
use wirelap_events::{Nanos, Saturate};
use wirelap_flow::{Conversation, Unknown};
use wirelap_protocols::registry::by_name;
use wirelap_protocols::{Encryption, Protocol};

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
