//! The places of a conversation: the namespaces in which it is seen, and translations of its addresses.

use super::namespaces::Namespaces;
use super::translation::Translation;
use super::window::Claim;
use arrayvec::ArrayVec;
use std::net::SocketAddr;
use wirelap_events::FlowKey;

/// The places of a conversation.
#[derive(Debug, Default)]
pub struct ConversationPlaces {
    /// The certainty that its sockets are on this host.
    pub claim: Claim,
    /// The namespaces in which it was seen.
    pub namespaces: Namespaces,
    /// The translation of its addresses, if there is one.
    translation: Option<Box<Translation>>,
    /// Packets that were compared with those of other conversations.
    pub compared: u8,
}

impl ConversationPlaces {
    /// The translation of the addresses, if there is one.
    pub fn translation(&self) -> Option<&Translation> {
        self.translation.as_deref()
    }

    /// Returns the translation of the addresses, which is made of these ones if there is none.
    pub fn translation_mut(&mut self, ends: [SocketAddr; 2]) -> &mut Translation {
        let new = || Box::new(Translation { ends, aliases: ArrayVec::new() });
        self.translation.get_or_insert_with(new)
    }

    /// Other addresses that packets have.
    pub fn aliases(&self) -> &[FlowKey] {
        self.translation().map_or(&[][..], |known| known.aliases.as_slice())
    }
}
