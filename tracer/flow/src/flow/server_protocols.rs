//! Protocols that servers speak, as other conversations with them have shown.
//!
//! A conversation that is joined in mid-stream may say too little to be told by its bytes alone: one short `PUBLISH` now
//! and then, or the middle of long ones. If somebody else at the same server was recognised for certain, it most likely
//! speaks the same. A server has as many addresses as its host, so its process and port tell it, too.

use crate::ids::{normal, scope_of};
use rustc_hash::FxHashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use wirelap_events::{NetNs, Pid};

/// The most servers remembered; beyond, new ones are not.
const MAX_SERVERS: usize = 4096;

/// The key by which a server is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ServerKey {
    Address(SocketAddr, NetNs),
    /// The process, the namespace of its socket, and the port.
    Process(Pid, NetNs, u16),
}

/// One end of a conversation, which may be a server.
#[derive(Clone, Copy, Debug)]
pub struct ServerEnd {
    /// The address that stands for all of its host.
    pub addr: SocketAddr,
    /// The namespace that the address is told by.
    pub scope: NetNs,
    /// The process whose socket it is, and the namespace of the socket, as far as that is known.
    pub process: Option<(Pid, NetNs)>,
}

impl ServerEnd {
    /// An end at an address of which the process is not known.
    pub fn new(addr: SocketAddr, scope: NetNs) -> ServerEnd {
        ServerEnd { addr: normal(addr), scope: scope_of(addr, scope), process: None }
    }

    fn keys(&self) -> impl Iterator<Item = ServerKey> {
        let process =
            self.process.map(|(pid, netns)| ServerKey::Process(pid, netns, self.addr.port()));
        std::iter::once(ServerKey::Address(self.addr, self.scope)).chain(process)
    }
}

/// The names of protocols by the server that speaks them. A clone shares the same.
#[derive(Clone, Debug, Default)]
pub struct ServerProtocols(Arc<Mutex<FxHashMap<ServerKey, &'static str>>>);

impl ServerProtocols {
    /// A conversation with this server was recognised.
    pub fn learn(&self, server: &ServerEnd, protocol: &'static str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for key in server.keys() {
            if known.len() < MAX_SERVERS || known.contains_key(&key) {
                known.insert(key, protocol);
            }
        }
    }

    /// The protocol that was recognised at either end.
    pub fn at(&self, ends: &[ServerEnd; 2]) -> Option<&'static str> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ends.iter().flat_map(ServerEnd::keys).find_map(|key| known.get(&key).copied())
    }
}
