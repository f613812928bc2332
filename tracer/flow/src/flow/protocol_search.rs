//! The search for what a conversation speaks, and the name of what is not decoded.

use super::pending::Pending;
use super::server_protocols::{ServerEnd, ServerProtocols};
use crate::ids::ends;
use wirelap_events::FlowKey;
use wirelap_protocols::foreign::{ForeignName, ForeignObserver};
use wirelap_protocols::recognise::Hints;
use wirelap_protocols::websocket::WebSocketTrial;
use wirelap_protocols::{Memories, Side};

/// The search for a conversation's protocol.
pub struct ProtocolSearch {
    /// State that decoders share.
    pub memories: Memories,
    /// Protocols that servers are known to speak.
    pub known: ServerProtocols,
    /// The end of [`Side::A`], then the other one: by which it is asked what is spoken there.
    pub ends: [ServerEnd; 2],
    /// Bytes that are kept while the protocol is not known.
    pub pending: Option<Box<Pending>>,
    /// The trial reading as a WebSocket, while the protocol is not known.
    pub websocket: Option<Box<WebSocketTrial>>,
    /// Watches for protocols that are not decoded.
    pub observer: Option<Box<ForeignObserver>>,
    /// The name of the one that is spoken, once nothing more is looked at.
    name: Option<Box<ForeignName>>,
    /// True if the conversation is never looked at again.
    pub is_final: bool,
    /// The user has named the protocol.
    pub is_named: bool,
}

impl ProtocolSearch {
    /// A search that has seen no byte yet.
    pub fn new(key: FlowKey, memories: Memories, known: ServerProtocols) -> ProtocolSearch {
        ProtocolSearch {
            memories,
            known,
            ends: ends(key).map(|(addr, scope)| ServerEnd::new(addr, scope)),
            pending: None,
            websocket: None,
            observer: None,
            name: None,
            is_final: false,
            is_named: false,
        }
    }

    /// Bytes of memory that it holds on to.
    pub fn held_bytes(&self) -> usize {
        let pending = self.pending.as_ref().map_or(0, |pending| pending.held_bytes());
        let observer = self.observer.as_ref().map_or(0, |observer| observer.held_bytes().0);
        let websocket = self.websocket.as_ref().map_or(0, |trial| trial.held_bytes().0);
        pending.saturating_add(observer).saturating_add(websocket)
    }

    /// The hints that its addresses give.
    pub fn hints(&self, key: FlowKey) -> Hints {
        Hints { ports: [key.src.port(), key.dst.port()], known: self.known.at(&self.ends) }
    }

    /// The name of the protocol, if that is known and not decoded.
    pub fn foreign_name(&self) -> Option<&ForeignName> {
        self.name.as_deref().or_else(|| self.observer.as_ref()?.name())
    }

    /// Sets the name of a protocol that is not decoded.
    pub fn set_name(&mut self, name: ForeignName) {
        self.name = Some(Box::new(name));
    }

    /// Notes that the protocol is read with keys, if it has a name.
    pub fn note_decrypted(&mut self) {
        self.name.iter_mut().for_each(|name| name.is_encrypted = false);
    }

    /// Begins anew, with other bytes of the same conversation. The name that was found so far stays.
    pub fn restart(&mut self) {
        self.name = self.foreign_name().cloned().map(Box::new);
        (self.observer, self.pending, self.websocket) = (None, None, None);
        self.is_final = false;
    }

    /// A packet of a conversation that is named and not decoded: its next ones may tell a version, or what is inside.
    pub fn watch(&mut self, side: Side, bytes: &[u8], missing: u64) {
        let Some(observer) = &mut self.observer else { return };
        observer.packet(side, false, bytes, missing);
        if observer.is_done() {
            self.name = observer.name().cloned().map(Box::new);
            self.observer = None;
        }
    }
}
