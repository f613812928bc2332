//! A TLS connection whose keys are known.

use wirelap_protocols::Side;
use wirelap_tls::{TlsRole, TlsSession};

/// A TLS connection whose keys are known.
#[derive(Debug)]
pub struct Decryption {
    /// The keys, and the state of both directions.
    pub session: TlsSession,
    /// The end that sends the first hello.
    pub client: Side,
    /// Text was opened, which is read in place of the records.
    pub has_text: bool,
}

impl Decryption {
    /// The role of an end of the connection: client or server.
    pub fn role(&self, side: Side) -> TlsRole {
        if side == self.client { TlsRole::Client } else { TlsRole::Server }
    }

    /// Bytes of memory that it uses.
    pub fn held_bytes(&self) -> usize {
        self.session.held_bytes().0
    }

    /// The decryption with `side` in place of `theirs`.
    pub fn mapped(self, side: Side, theirs: Side) -> Decryption {
        let client = if self.client == theirs { side } else { side.other() };
        Decryption { client, ..self }
    }
}
