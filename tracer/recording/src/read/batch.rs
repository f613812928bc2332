//! Entries that are read ahead, and their bytes.

use crate::record::{Entry, LocatedEntry};

/// Entries, and the buffer with the bytes that they refer to. A batch ends where a buffer does, so that no bytes are copied.
#[derive(Default)]
pub struct Batch {
    pub entries: Vec<LocatedEntry>,
    pub bytes: Vec<u8>,
}

impl Batch {
    /// The batch without its entries, to be used again.
    pub fn emptied(mut self) -> Batch {
        self.entries.clear();
        self
    }

    /// Hands out its entries, after which it has none.
    pub fn hand_out<E>(
        &mut self,
        take: &mut impl FnMut(Entry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for entry in &self.entries {
            take(entry.entry(|range| self.bytes.get(range).unwrap_or_default()))?;
        }
        self.entries.clear();
        Ok(())
    }
}
