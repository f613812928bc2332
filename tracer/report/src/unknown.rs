//! Traffic that is not decoded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelap_correlate::snapshot;

/// Traffic that is not decoded: encrypted, in a protocol that is only named, or in none that is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unknown {
    /// One entry a server and what is spoken with it, the most bytes first; a few.
    pub traffic: Vec<UnknownTraffic>,
    /// Connections that are in no entry.
    pub other_connections: u64,
    /// Their payload bytes.
    pub other_bytes: u64,
}

/// Connections to one server that speak the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnknownTraffic {
    /// The protocol, as far as its bytes tell: `TLS`, `HTTP/2`, `Redis` …; absent if nothing told.
    pub protocol: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The server's name that the client asked for (TLS's SNI, HTTP's Host).
    pub server_name: Option<String>,
    /// What travels inside, as the client or the server said (TLS's ALPN, a WebSocket's subprotocol).
    pub inside: Option<String>,
    /// Whether nobody in between can read it.
    pub encrypted: bool,
    /// `tcp` or `udp`.
    pub transport: String,
    /// The server's address and port.
    pub endpoint: Option<String>,
    /// The server's process, if it is on this host.
    pub server: Option<String>,
    /// The clients' processes; a few.
    pub clients: Vec<String>,
    /// At least one of the connections was open before observation began.
    pub joined_late: bool,
    /// Connections so far.
    pub connections: u64,
    /// Payload bytes that clients sent.
    pub to_server_bytes: u64,
    /// Payload bytes that the server sent.
    pub from_server_bytes: u64,
    /// Payload bits a second since the first byte.
    pub bit_per_s: f64,
    /// All of it in a sentence.
    pub sentence: String,
}

/// What it is, where, how much, and what of it is seen.
pub fn sentence(row: &UnknownTraffic) -> String {
    row.sentence.clone()
}

impl From<&snapshot::Unknown> for Unknown {
    fn from(unknown: &snapshot::Unknown) -> Unknown {
        Unknown {
            traffic: unknown.rows.iter().map(UnknownTraffic::from).collect(),
            other_connections: unknown.other_connections,
            other_bytes: unknown.other_bytes,
        }
    }
}

impl From<&snapshot::UnknownTraffic> for UnknownTraffic {
    fn from(row: &snapshot::UnknownTraffic) -> UnknownTraffic {
        UnknownTraffic {
            protocol: row.protocol.clone(),
            version: row.version.clone(),
            server_name: row.server_name.clone(),
            inside: row.inside.clone(),
            encrypted: row.is_encrypted,
            transport: if row.is_udp { "udp" } else { "tcp" }.to_owned(),
            endpoint: row.endpoint.map(|endpoint| endpoint.to_string()),
            server: row.server.clone(),
            clients: row.clients.clone(),
            joined_late: row.joined_late,
            connections: row.connections,
            to_server_bytes: row.bytes_to_server,
            from_server_bytes: row.bytes_from_server,
            bit_per_s: row.bit_per_s,
            sentence: row.sentence(),
        }
    }
}
