//! Decryption Secrets Blocks (draft-ietf-opsawg-pcapng §4.8).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------------------------------------------------------+
//! |                          Secrets Type                         |
//! +---------------------------------------------------------------+
//! |                         Secrets Length                        |
//! +---------------------------------------------------------------+
//! /                          Secrets Data                         /
//! |              variable length, padded to 32 bits               |
//! +---------------------------------------------------------------+
//! ```

use super::{BlockBuffer, block};

/// The text of a TLS key log: `TLSK`.
pub const TLS_KEY_LOG: u32 = 0x544C_534B;

/// The most bytes of secrets in a block that is written.
const MAX_BYTES: usize = block::MAX_LEN - 24;

/// Appends a block with the text of a TLS key log; nothing if it is too long for one.
pub fn put_tls_keys(blocks: &mut BlockBuffer, text: &[u8]) {
    let Ok(len) = u32::try_from(text.len()) else { return };
    if text.len() > MAX_BYTES {
        return;
    }
    blocks.begin(block::SECRETS);
    blocks.u32(TLS_KEY_LOG);
    blocks.u32(len);
    blocks.bytes.extend_from_slice(text);
    blocks.pad();
    blocks.end();
}
