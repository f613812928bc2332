//! The first bytes of a direction, for recognition.

use wirelap_events::Offset;

/// The first bytes of a direction, for recognition.
#[derive(Debug, Default)]
pub struct FirstBytes {
    /// Offset of the first of these bytes.
    pub at: Offset,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Bytes after those that were not captured.
    pub missing: u64,
    /// The bytes are the flow's first, and no protocol knows them.
    pub refused: bool,
}
