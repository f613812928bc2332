//! Traffic that is not decoded: its name, as far as its bytes tell, where it goes and how much it is.

use crate::Correlator;
use crate::flow::{Conversation, State, Way};
use crate::rows::normal;
use crate::snapshot::{Group, Unknown, UnknownTraffic};
use rustc_hash::FxHashMap;
use std::net::SocketAddr;
use wirelap_events::Saturate;
use wirelap_events::human::{one_or, traffic_bytes, traffic_rate};
use wirelap_events::{Nanos, NetNs, Transport};
use wirelap_protocols::Side;

/// Rows of conversations that ended which are kept; more are summed.
const KEPT: usize = 256;

/// Rows in a snapshot; the rest is summed.
const SHOWN: usize = 8;

/// Rows that get a sentence of their own among the notes.
const SENTENCES: usize = 4;

/// Names of clients in a row.
const CLIENTS: usize = 3;

/// What makes conversations one row: the server, and what they speak.
type Key = (SocketAddr, NetNs, Transport, String);

/// Conversations that are no longer kept.
#[derive(Debug, Default)]
pub struct Ended {
    rows: FxHashMap<Key, UnknownTraffic>,
    others: (u64, u64),
}

impl Ended {
    fn add(&mut self, key: Key, row: UnknownTraffic) {
        if let Some(known) = self.rows.get_mut(&key) {
            merge(known, row);
        } else if self.rows.len() < KEPT {
            self.rows.insert(key, row);
        } else {
            self.others.0.grow(row.connections);
            self.others.1.grow(row.bytes());
        }
    }
}

impl Correlator {
    /// Keeps what a conversation that is forgotten adds to the traffic that is not decoded.
    pub(crate) fn keep_unknown(&mut self, way: Way) {
        if let Some((key, row)) = self.unknown_of(way) {
            self.ended.add(key, row);
        }
    }

    /// The traffic that is not decoded.
    pub(crate) fn unknown(&self, now: Nanos) -> Unknown {
        let mut rows = self.ended.rows.clone();
        for (way, conversation) in self.flows.iter() {
            if conversation.unread.total() > 0
                && let Some((key, row)) = self.unknown_of(way)
            {
                match rows.get_mut(&key) {
                    Some(known) => merge(known, row),
                    None => drop(rows.insert(key, row)),
                }
            }
        }
        let mut rows: Vec<_> = rows.into_values().collect();
        rows.sort_by(|a, b| {
            b.bytes()
                .cmp(&a.bytes())
                .then_with(|| (a.endpoint, &a.name).cmp(&(b.endpoint, &b.name)))
        });
        let rest = rows.split_off(rows.len().min(SHOWN));
        let (mut other_connections, mut other_bytes) = self.ended.others;
        for row in rest {
            other_connections.grow(row.connections);
            other_bytes.grow(row.bytes());
        }
        for row in &mut rows {
            let seconds = (now.max(row.last) - row.first).as_secs_f64();
            row.bit_per_s = if seconds > 0.0 { row.bytes() as f64 * 8.0 / seconds } else { 0.0 };
        }
        Unknown { rows, other_connections, other_bytes }
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
    fn unknown_of(&self, way: Way) -> Option<(Key, UnknownTraffic)> {
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

fn merge(row: &mut UnknownTraffic, other: UnknownTraffic) {
    row.connections.grow(other.connections);
    row.bytes_to_server.grow(other.bytes_to_server);
    row.bytes_from_server.grow(other.bytes_from_server);
    row.first = row.first.min(other.first);
    row.last = row.last.max(other.last);
    row.joined_late |= other.joined_late;
    row.server = row.server.take().or(other.server);
    for client in other.clients {
        if row.clients.len() < CLIENTS && !row.clients.contains(&client) {
            row.clients.push(client);
        }
    }
}

/// One sentence for each of the largest rows, and one for the rest.
pub(crate) fn sentences(unknown: &Unknown) -> Vec<String> {
    let mut all: Vec<String> =
        unknown.rows.iter().take(SENTENCES).map(UnknownTraffic::sentence).collect();
    let rest = unknown.rows.iter().skip(SENTENCES);
    let (connections, count) =
        rest.fold((unknown.other_connections, unknown.other_bytes), |(connections, count), row| {
            (connections.saturating_add(row.connections), count.saturating_add(row.bytes()))
        });
    if connections > 0 {
        all.push(format!(
            "{connections} more connections that wirelap does not decode carried {}.",
            traffic_bytes(count)
        ));
    }
    all
}

impl UnknownTraffic {
    /// What it is, where, how much, and what of it is seen.
    pub fn sentence(&self) -> String {
        let row = self;
        let transport = if row.is_udp { "UDP port" } else { "port" };
        let port = row.endpoint.map_or(0, |endpoint| endpoint.port());
        let address = row.endpoint.map_or(String::new(), |endpoint| endpoint.to_string());
        let server = row.server.as_ref().map_or(String::new(), |name| format!(", {name}"));
        let place = format!("on {transport} {port} ({address}{server})");
        let amount = amount(row);
        if row.protocol.is_none() {
            let what = if row.joined_late {
                "joined in mid-stream, and no message of a protocol that wirelap knows was found in it yet; \
                 --decode PORT=PROTOCOL names it"
            } else {
                "in no protocol that wirelap knows"
            };
            return format!("Traffic {place}: {amount}, {what}.");
        }
        let name = &row.name;
        if row.is_encrypted {
            format!(
                "{name} {place}: {amount}; encrypted: wirelap sees bytes and timing, not messages."
            )
        } else {
            format!(
                "{name} {place}: {amount}; wirelap does not decode it: it sees bytes and timing, not messages."
            )
        }
    }
}

fn amount(row: &UnknownTraffic) -> String {
    let noun = if row.is_udp {
        one_or(row.connections, "conversation", "conversations")
    } else {
        one_or(row.connections, "connection", "connections")
    };
    let (bytes, rate) = (traffic_bytes(row.bytes()), traffic_rate(row.bit_per_s));
    format!("{} {noun}, {bytes}, {rate}", row.connections)
}
