//! Which traffic is not decoded, where it goes and how much it is.

use super::Picture;
use crate::bytes::Unknown;
use crate::flow::Conversation;
use crate::view::{Group, GroupNote};
use wirelap_events::Nanos;

impl Picture<'_> {
    /// The traffic that is not decoded.
    pub fn unknown(&self, now: Nanos) -> Unknown {
        let conversations = self.seen.conversations;
        let open = conversations.flows().iter().filter(|(_, one)| one.unread.total() > 0);
        let rows = &self.accounts.rows;
        let open = open.filter_map(|(direction, _)| conversations.unknown_of(direction, rows));
        self.accounts.unknown(open, now)
    }

    /// How many `WebSockets` have compressed messages that refer to what was not seen.
    pub fn unread_websockets(&self) -> u64 {
        let flows = self.seen.conversations.flows();
        flows.iter().filter(|(_, conversation)| conversation.lacks_context()).count() as u64
    }

    /// Notes for each row how many of its conversations hide their messages.
    pub fn note_encrypted(&self, groups: &mut [Group]) {
        for group in groups {
            let is_hidden = |conversation: &Conversation| {
                conversation.is_encrypted()
                    && conversation
                        .row
                        .is_some_and(|(row, _)| self.accounts.rows.root(row) == group.id)
            };
            let count = self
                .seen
                .conversations
                .flows()
                .iter()
                .filter(|(_, conversation)| is_hidden(conversation))
                .count();
            if count > 0 {
                let conversations = count as u64;
                group.notes.push(GroupNote::Encrypted { conversations });
            }
        }
    }
}
