//! Which protocol is spoken at an address, as other conversations there have shown.
//!
//! A conversation that is joined in mid-stream may say too little to be told by its bytes alone: one short `PUBLISH` now
//! and then. If somebody else at the same server was recognised for certain, it most likely speaks the same.

use rustc_hash::FxHashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use wirelap_events::NetNs;

/// The most addresses remembered; beyond, new ones are not.
const MAX_ADDRESSES: usize = 4096;

/// The names of protocols by the address that serves. A clone shares the same.
#[derive(Clone, Debug, Default)]
pub struct ServerProtocols(Arc<Mutex<FxHashMap<(SocketAddr, NetNs), &'static str>>>);

impl ServerProtocols {
    /// A conversation with this server was recognised.
    pub fn learn(&self, server: (SocketAddr, NetNs), protocol: &'static str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MAX_ADDRESSES || known.contains_key(&server) {
            known.insert(server, protocol);
        }
    }

    /// What was recognised at either end.
    pub fn at(&self, ends: [(SocketAddr, NetNs); 2]) -> Option<&'static str> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ends.iter().find_map(|end| known.get(end).copied())
    }
}
