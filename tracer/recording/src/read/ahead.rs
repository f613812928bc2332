//! Reads on a thread of its own, ahead of whoever takes the entries.

use super::recording::Recording;
use crate::record::{Entry, LocatedEntry};
use std::io::Read;
use std::sync::mpsc::sync_channel;
use std::thread;

/// Batches that are read ahead.
const BATCHES: usize = 4;

/// Entries, and the buffer with the bytes that they refer to. A batch ends where a buffer does, so that no bytes are copied.
#[derive(Default)]
struct Batch {
    entries: Vec<LocatedEntry>,
    bytes: Vec<u8>,
}

impl<R: Read + Send> Recording<R> {
    /// Hands out all entries that are left, as [`Recording::next`] does. They are read on a thread of its own meanwhile.
    ///
    /// # Errors
    /// What `take` fails with; nothing more is handed out then.
    pub fn read_ahead<E>(
        &mut self,
        mut take: impl FnMut(Entry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (full, batches) = sync_channel::<Batch>(BATCHES);
        let (used, empty) = sync_channel::<Batch>(BATCHES);
        thread::scope(|scope| {
            scope.spawn(move || {
                self.blocks.input_mut().keep_past();
                let mut first = None;
                loop {
                    let mut batch = empty.try_recv().unwrap_or_default();
                    first = self.fill(first, &mut batch);
                    // Nobody takes more batches, or there are no more entries.
                    if batch.entries.is_empty() || full.send(batch).is_err() {
                        return;
                    }
                }
            });
            for mut batch in batches {
                for entry in &batch.entries {
                    take(entry.entry(|range| batch.bytes.get(range).unwrap_or_default()))?;
                }
                batch.entries.clear();
                // A batch that is one too many is not kept.
                let _ = used.try_send(batch);
            }
            Ok(())
        })
    }
}

impl<R: Read> Recording<R> {
    /// Reads entries until their buffer ends, or there are no more. Returns the `first` entry of the next batch.
    fn fill(&mut self, first: Option<LocatedEntry>, batch: &mut Batch) -> Option<LocatedEntry> {
        batch.entries.extend(first);
        while let Some(entry) = self.next_located() {
            let entry = entry.in_buffer(self.blocks.position());
            if let Some(full) = self.blocks.input_mut().take_full(&mut batch.bytes) {
                batch.bytes = full;
                if !batch.entries.is_empty() {
                    return Some(entry);
                }
            }
            batch.entries.push(entry);
        }
        let input = self.blocks.input_mut();
        batch.bytes = input.take_full(&mut batch.bytes).unwrap_or_else(|| input.take_last());
        None
    }
}
