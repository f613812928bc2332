//! Reads on a thread of its own, ahead of whoever takes the entries.

use super::recording::Recording;
use crate::record::{Entry, LocatedEntry};
use std::io::Read;
use std::ops::Range;
use std::sync::mpsc::sync_channel;
use std::thread;
use wirelap_events::Body;

/// Entries that are handed over at once: not so many that they displace what their taker has in the CPU's caches.
const ENTRIES: usize = 512;

/// Fewer entries are handed over at once if they have so many bytes.
const BYTES: usize = 256 << 10;

/// Batches that are read ahead.
const BATCHES: usize = 4;

/// Entries, and the bytes that they refer to.
#[derive(Default)]
struct Batch {
    entries: Vec<LocatedEntry>,
    bytes: Vec<u8>,
}

impl Batch {
    fn is_full(&self) -> bool {
        self.entries.len() >= ENTRIES || self.bytes.len() >= BYTES
    }

    /// Keeps some bytes. Returns where they are.
    fn keep(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
    }
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
                loop {
                    let mut batch = empty.try_recv().unwrap_or_default();
                    self.fill(&mut batch);
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
                batch.clear();
                // A batch that is one too many is not kept.
                let _ = used.try_send(batch);
            }
            Ok(())
        })
    }
}

impl<R: Read> Recording<R> {
    /// Reads entries until the batch is full, or there are no more.
    fn fill(&mut self, batch: &mut Batch) {
        while !batch.is_full()
            && let Some(mut entry) = self.next_located()
        {
            match &mut entry {
                LocatedEntry::Event { event, payload, .. } => {
                    if matches!(event.body, Body::Packet(_)) {
                        *payload = batch.keep(self.bytes(payload.clone()));
                    }
                }
                LocatedEntry::Tick(_) => {}
                LocatedEntry::TlsKeys(text) => *text = batch.keep(self.bytes(text.clone())),
                LocatedEntry::Note { subject, text } => {
                    *subject = batch.keep(self.bytes(subject.clone()));
                    *text = batch.keep(self.bytes(text.clone()));
                }
            }
            batch.entries.push(entry);
        }
    }
}
