//! Traffic that is not decoded: its name, as far as its bytes tell, where it goes and how much it is.

use rustc_hash::FxHashMap;
use std::net::SocketAddr;
use wirelap_events::{Nanos, NetNs, Pid, Saturate, Transport};
use wirelap_protocols::foreign::ForeignName;

/// Rows of conversations that ended which are kept; more are summed.
const KEPT: usize = 256;

/// Rows in a snapshot; the rest is summed.
const SHOWN: usize = 8;

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
    /// Open sockets whose calls and payload are no longer observed, because their conversations cannot be followed.
    pub muted_sockets: u64,
}

/// Connections to one server that speak the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnknownTraffic {
    /// The protocol that its bytes show; `None` if nothing told.
    pub protocol: Option<ForeignName>,
    /// Over UDP rather than TCP.
    pub is_udp: bool,
    /// The server's address.
    pub endpoint: Option<SocketAddr>,
    /// The server's process, if it is here.
    pub server: Option<String>,
    /// The clients' processes; a few.
    pub clients: Vec<String>,
    /// The processes at both ends that are here, with their names; a few.
    pub ends: Vec<(Pid, String)>,
    /// Encrypted: why its text is not read, although text is read where it can be, by process. `None` if no text is read at all.
    pub not_read: Option<Vec<String>>,
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

/// The key that makes conversations one row: the server, and the protocol that they speak.
pub type UnknownKey = (SocketAddr, NetNs, Transport, Option<ForeignName>);

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
                .then_with(|| (a.endpoint, &a.protocol).cmp(&(b.endpoint, &b.protocol)))
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
        Unknown { rows, other_connections, other_bytes, muted_sockets: 0 }
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
    for end in other.ends {
        // The server, and as many clients.
        if row.ends.len() <= CLIENTS && !row.ends.contains(&end) {
            row.ends.push(end);
        }
    }
}
