//! The TLS of a conversation: its text, and the keys that open its records.

use super::super::decryption::Decryption;
use super::super::quic_layer::QuicLayer;
use super::text::TlsText;
use wirelap_protocols::Side;
use wirelap_tls::TlsKeys;

/// The TLS of a conversation, as far as it has one.
pub struct TlsLayer {
    /// The text in its records, once some was seen. It is read in place of the records.
    pub text: Option<Box<TlsText>>,
    /// The keys of TLS connections that there are.
    pub keys: TlsKeys,
    /// The decryption, if it is read with keys.
    pub decryption: Option<Box<Decryption>>,
    /// The QUIC connection, if it is one that is read with keys.
    pub quic: Option<Box<QuicLayer>>,
    /// True if streams of QUIC are read in place of datagrams.
    pub has_streams: bool,
    /// True if it is TLS, and that was taken note of.
    pub has_hello: bool,
}

impl TlsLayer {
    /// A layer that has seen no byte yet.
    pub fn new(keys: TlsKeys) -> TlsLayer {
        TlsLayer {
            text: None,
            keys,
            decryption: None,
            quic: None,
            has_streams: false,
            has_hello: false,
        }
    }

    /// Bytes of memory that it holds on to.
    pub fn held_bytes(&self) -> usize {
        let text = self.text.as_ref().map_or(0, |text| text.held_bytes());
        let quic = self.quic.as_ref().map_or(0, |quic| quic.held_bytes());
        let decryption = self.decryption.as_ref().map_or(0, |keys| keys.held_bytes());
        text.saturating_add(decryption).saturating_add(quic)
    }

    /// Takes over what only another one of the same conversation knows: `side` here is `theirs` there.
    pub fn absorb(&mut self, side: Side, other: &mut TlsLayer, theirs: Side) {
        if self.decryption.is_none() && self.text.is_none() {
            let keys = other.decryption.take();
            self.decryption = keys.map(|keys| Box::new(keys.mapped(side, theirs)));
            self.text = other.text.take().map(|text| Box::new(text.mapped(side, theirs)));
        }
        if self.quic.is_none() {
            self.quic = other.quic.take().map(|quic| Box::new(quic.mapped(side, theirs)));
            self.has_streams |= other.has_streams;
        }
        self.has_hello |= other.has_hello;
    }
}
