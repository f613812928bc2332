//! Connections that were opened and closed without a word: whoever asks whether a server listens.
//!
//! No protocol can be told of them, so they are in no row by themselves. Their bytes belong to the row
//! of the server that they were opened to.

use super::ledger::Ledger;
use super::overhead::Overhead;
use rustc_hash::FxHashMap;
use std::net::SocketAddr;
use wirelap_events::NetNs;

/// Servers whose probe connections are kept after their end.
const SERVERS: usize = 256;

/// The address and namespace in which a server listens.
pub type ServerAddress = (SocketAddr, NetNs);

/// The bytes of probe connections that are no longer kept.
#[derive(Debug, Default)]
pub struct ProbeConnections(FxHashMap<ServerAddress, Overhead>);

impl ProbeConnections {
    /// Keeps the bytes of a probe connection that is forgotten.
    pub fn keep(&mut self, server: ServerAddress, bytes: &Ledger) {
        if self.0.len() < SERVERS || self.0.contains_key(&server) {
            bytes.add_to(self.0.entry(server).or_default());
        }
    }

    /// Adds the probe connections, past and `open`, to the sums of the rows whose server they went to. `row_at` tells the
    /// place of a server's row among the `sums`.
    pub fn add_to(
        &self,
        open: &[(ServerAddress, &Ledger)],
        row_at: impl Fn(ServerAddress) -> Option<usize>,
        sums: &mut [Overhead],
    ) {
        let mut known: FxHashMap<ServerAddress, Option<usize>> = FxHashMap::default();
        let mut row_of = |server| *known.entry(server).or_insert_with(|| row_at(server));
        for (server, bytes) in &self.0 {
            if let Some(sum) = row_of(*server).and_then(|index| sums.get_mut(index)) {
                *sum += bytes;
            }
        }
        for &(server, bytes) in open {
            if let Some(sum) = row_of(server).and_then(|index| sums.get_mut(index)) {
                bytes.add_to(sum);
            }
        }
    }
}
