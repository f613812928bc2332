//! Traffic that is not decoded: its name, as far as its bytes tell, where it goes and how much it is.

use rustc_hash::FxHashMap;
use std::net::SocketAddr;
use wirelap_events::human::{one_or, traffic_bytes, traffic_rate};
use wirelap_events::{Nanos, NetNs, Saturate, Transport};

/// Rows of conversations that ended which are kept; more are summed.
const KEPT: usize = 256;

/// Rows in a snapshot; the rest is summed.
const SHOWN: usize = 8;

/// Rows that get a sentence of their own among the notes.
const SENTENCES: usize = 4;

/// Datagrams in no known protocol that are less than this together get no sentence: a program that announces itself or
/// looks whether a port answers.
const NOTEWORTHY_BYTES: u64 = 64;

/// Names of clients in a row.
const CLIENTS: usize = 3;

/// Traffic that is not decoded: encrypted, or in a protocol that wirelap only names, or in none that it knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unknown {
    /// One row a server and what is spoken with it, the most bytes first; a few.
    pub rows: Vec<UnknownTraffic>,
    /// Connections that are in no row.
    pub other_connections: u64,
    /// Their payload bytes.
    pub other_bytes: u64,
}

/// Connections to one server that speak the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnknownTraffic {
    /// What it is, in words: `TLS 1.3 (SNI broker.example)`; empty if nothing told.
    pub name: String,
    /// The protocol: `TLS`, `HTTP/2`, `Redis` …
    pub protocol: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The server's name that the client asked for.
    pub server_name: Option<String>,
    /// What travels inside, as the client or the server said.
    pub inside: Option<String>,
    /// Whether nobody in between can read it.
    pub is_encrypted: bool,
    /// Over UDP rather than TCP.
    pub is_udp: bool,
    /// The server's address.
    pub endpoint: Option<SocketAddr>,
    /// The server's process, if it is here.
    pub server: Option<String>,
    /// The clients' processes; a few.
    pub clients: Vec<String>,
    /// At least one of the connections was open before observation began.
    pub joined_late: bool,
    /// Connections so far.
    pub connections: u64,
    /// Payload bytes that clients sent.
    pub bytes_to_server: u64,
    /// Payload bytes that the server sent.
    pub bytes_from_server: u64,
    /// The first byte.
    pub first: Nanos,
    /// The last byte.
    pub last: Nanos,
    /// Payload bits a second since the first byte.
    pub bit_per_s: f64,
}

impl UnknownTraffic {
    /// Payload bytes both ways.
    pub fn bytes(&self) -> u64 {
        self.bytes_to_server.saturating_add(self.bytes_from_server)
    }
}

/// What makes conversations one row: the server, and what they speak.
pub type UnknownKey = (SocketAddr, NetNs, Transport, String);

/// Conversations that are no longer kept.
#[derive(Debug, Default)]
pub struct EndedUnknown {
    rows: FxHashMap<UnknownKey, UnknownTraffic>,
    others: (u64, u64),
}

impl EndedUnknown {
    /// Keeps one that has ended.
    pub fn add(&mut self, key: UnknownKey, row: UnknownTraffic) {
        if let Some(known) = self.rows.get_mut(&key) {
            merge(known, row);
        } else if self.rows.len() < KEPT {
            self.rows.insert(key, row);
        } else {
            self.others.0.grow(row.connections);
            self.others.1.grow(row.bytes());
        }
    }

    /// These and the `open` ones, at `now`.
    pub fn with(
        &self,
        open: impl Iterator<Item = (UnknownKey, UnknownTraffic)>,
        now: Nanos,
    ) -> Unknown {
        let mut rows = self.rows.clone();
        for (key, row) in open {
            match rows.get_mut(&key) {
                Some(known) => merge(known, row),
                None => drop(rows.insert(key, row)),
            }
        }
        let mut rows: Vec<_> = rows.into_values().collect();
        rows.sort_by(|a, b| {
            b.bytes()
                .cmp(&a.bytes())
                .then_with(|| (a.endpoint, &a.name).cmp(&(b.endpoint, &b.name)))
        });
        let rest = rows.split_off(rows.len().min(SHOWN));
        let (mut other_connections, mut other_bytes) = self.others;
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
pub fn sentences(unknown: &Unknown) -> Vec<String> {
    let mut rows = unknown.rows.iter().filter(|row| row.is_noteworthy());
    let mut all: Vec<String> =
        rows.by_ref().take(SENTENCES).map(UnknownTraffic::sentence).collect();
    let (connections, count) =
        rows.fold((unknown.other_connections, unknown.other_bytes), |(connections, count), row| {
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
    fn is_noteworthy(&self) -> bool {
        !self.is_udp || self.protocol.is_some() || self.bytes() >= NOTEWORTHY_BYTES
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_that_announces_a_program_gets_no_sentence() {
        let row = |is_udp, bytes_to_server| UnknownTraffic {
            is_udp,
            bytes_to_server,
            connections: 1,
            ..UnknownTraffic::default()
        };
        let said = |rows: &[UnknownTraffic]| {
            sentences(&Unknown { rows: rows.to_vec(), ..Unknown::default() }).len()
        };
        assert_eq!(said(&[row(true, 16)]), 0);
        assert_eq!(said(&[row(true, 64)]), 1);
        assert_eq!(said(&[row(false, 16)]), 1);
        let named = UnknownTraffic { protocol: Some("DNS".into()), ..row(true, 16) };
        assert_eq!(said(&[named]), 1);
        // Nor does it count among those that share one.
        let mut rows = vec![row(false, 1_000); SENTENCES];
        rows.push(row(true, 16));
        assert_eq!(said(&rows), SENTENCES);
    }
}
