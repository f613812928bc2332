//! Traffic that is not decoded.

use crate::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelap_correlate::snapshot;

/// Traffic that is not decoded: it is encrypted, or in a protocol that wirelap only names or does not know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Unknown")]
pub struct ReportedUnknown {
    /// One entry for each server and protocol, the most bytes first; a few entries at most.
    pub traffic: Vec<ReportedUnknownTraffic>,
    /// Connections that are in no entry of `traffic`.
    pub other_connections: u64,
    /// Payload bytes of `other_connections`.
    pub other_bytes: u64,
    /// Open sockets of such connections whose calls and payload are no longer observed, so that they cost less. Their bytes are
    /// counted all the same.
    #[serde(default)]
    pub muted_sockets: u64,
}

/// Connections to one server in one protocol.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UnknownTraffic")]
pub struct ReportedUnknownTraffic {
    /// The protocol that its bytes show: `TLS`, `HTTP/2`, `Redis` …; absent if it is not recognised.
    pub protocol: Option<String>,
    /// The protocol's version.
    pub version: Option<String>,
    /// The server's name that the client requested (TLS SNI, HTTP Host).
    pub server_name: Option<String>,
    /// The protocol carried inside, as client or server announced it (TLS ALPN, WebSocket subprotocol).
    pub inside: Option<String>,
    /// Whether the content is encrypted.
    pub encrypted: bool,
    /// `tcp` or `udp`.
    pub transport: String,
    /// The server's address and port.
    pub endpoint: Option<String>,
    /// The server's process, if it is on this host.
    pub server: Option<String>,
    /// The clients' processes; a few at most.
    pub clients: Vec<String>,
    /// Whether at least one of the connections was open before the observation began.
    pub joined_late: bool,
    /// Number of connections.
    pub connections: u64,
    /// Payload bytes that clients sent.
    pub to_server_bytes: u64,
    /// Payload bytes that the server sent.
    pub from_server_bytes: u64,
    /// Payload bits per second since the first byte.
    pub bit_per_s: f64,
    /// This entry as a sentence.
    pub sentence: String,
}

/// The entry as a sentence: protocol, server, bytes, and what wirelap can know of it.
pub fn sentence(row: &ReportedUnknownTraffic) -> String {
    row.sentence.clone()
}

/// The sockets of unknown traffic that are not observed any more; `None` if there are none.
pub fn muted(unknown: &ReportedUnknown) -> Option<String> {
    (unknown.muted_sockets > 0).then(|| words::muted_sockets(unknown.muted_sockets))
}

impl From<&snapshot::Unknown> for ReportedUnknown {
    fn from(unknown: &snapshot::Unknown) -> ReportedUnknown {
        ReportedUnknown {
            traffic: unknown.rows.iter().map(ReportedUnknownTraffic::from).collect(),
            other_connections: unknown.other_connections,
            other_bytes: unknown.other_bytes,
            muted_sockets: unknown.muted_sockets,
        }
    }
}

impl From<&snapshot::UnknownTraffic> for ReportedUnknownTraffic {
    fn from(row: &snapshot::UnknownTraffic) -> ReportedUnknownTraffic {
        let name = row.protocol.as_ref();
        ReportedUnknownTraffic {
            protocol: name.map(|name| name.protocol.to_owned()),
            version: name.and_then(|name| name.version).map(str::to_owned),
            server_name: name.and_then(|name| name.server_name.as_deref()).map(str::to_owned),
            inside: name.and_then(|name| name.inside.as_deref()).map(str::to_owned),
            encrypted: name.is_some_and(|name| name.is_encrypted),
            transport: if row.is_udp { "udp" } else { "tcp" }.to_owned(),
            endpoint: row.endpoint.map(|endpoint| endpoint.to_string()),
            server: row.server.clone(),
            clients: row.clients.clone(),
            joined_late: row.joined_late,
            connections: row.connections,
            to_server_bytes: row.bytes_to_server,
            from_server_bytes: row.bytes_from_server,
            bit_per_s: row.bit_per_s,
            sentence: words::traffic(row),
        }
    }
}
