//! Which traffic is not decoded, where it goes and how much it is.

use super::correlator::Correlator;
use crate::bytes::{Unknown, UnknownKey, UnknownTraffic};
use crate::flow::{Conversation, State};
use crate::ids::{Way, normal};
use crate::view::Group;
use wirelap_events::{Nanos, Transport};
use wirelap_protocols::Side;

impl Correlator {
    /// Keeps what a conversation that is forgotten adds to the traffic that is not decoded.
    pub(crate) fn keep_unknown(&mut self, way: Way) {
        if let Some((key, row)) = self.unknown_of(way) {
            self.ended.add(key, row);
        }
    }

    /// The traffic that is not decoded.
    pub(crate) fn unknown(&self, now: Nanos) -> Unknown {
        let open = self.flows.iter().filter(|(_, one)| one.unread.total() > 0);
        self.ended.with(open.filter_map(|(way, _)| self.unknown_of(way)), now)
    }

    /// Says of each row how many of its conversations hide their messages.
    pub(crate) fn note_encrypted(&self, groups: &mut [Group]) {
        for group in groups {
            let is_hidden = |conversation: &Conversation| {
                conversation.is_encrypted()
                    && conversation.row.is_some_and(|(row, _)| self.rows.root(row) == group.id)
            };
            let count =
                self.flows.iter().filter(|(_, conversation)| is_hidden(conversation)).count();
            if count > 0 {
                group.notes.push(format!(
                    "Encrypted connections: {count}. wirelap sees their bytes and timing; their messages are in no figure."
                ));
            }
        }
    }

    /// One conversation as a row; `None` if it is decoded, carried nothing, or belongs to a row that the caller has named.
    fn unknown_of(&self, way: Way) -> Option<(UnknownKey, UnknownTraffic)> {
        let conversation = self.flows.get(way)?;
        if matches!(conversation.state, State::Decoding(..))
            || conversation.unread.total() == 0
            || self.labelled_row(way).is_some()
        {
            return None;
        }
        let serves = self.flows.server(way)?;
        let key = conversation.flow(serves).key;
        let row = self.row_of_unknown(conversation, way, serves);
        let (addr, scope) = self.flows.place(key.src, key.scope);
        Some(((normal(addr), scope, key.transport, row.name.clone()), row))
    }

    fn row_of_unknown(
        &self,
        conversation: &Conversation,
        way: Way,
        serves: Side,
    ) -> UnknownTraffic {
        let key = conversation.flow(serves).key;
        let down = Way { side: serves, ..way };
        let process = |way| Some(self.sockets.name(self.sender_of(way)?)?.to_owned());
        let [from_server, to_server] =
            [down, down.back()].map(|way| conversation.unread.bytes[way.side as usize]);
        let name = conversation.foreign_name();
        UnknownTraffic {
            name: name.map(ToString::to_string).unwrap_or_default(),
            protocol: name.map(|name| name.protocol.to_owned()),
            version: name.and_then(|name| name.version).map(str::to_owned),
            server_name: name.and_then(|name| name.server_name.as_deref()).map(str::to_owned),
            inside: name.and_then(|name| name.inside.as_deref()).map(str::to_owned),
            is_encrypted: name.is_some_and(|name| name.is_encrypted),
            is_udp: key.transport == Transport::Udp,
            endpoint: Some(key.src),
            server: process(down),
            clients: process(down.back()).into_iter().collect(),
            joined_late: conversation.flows.iter().all(|flow| flow.isn.is_none()),
            connections: 1,
            bytes_to_server: to_server,
            bytes_from_server: from_server,
            first: conversation.unread.first,
            last: conversation.unread.last,
            bit_per_s: 0.0,
        }
    }
}
