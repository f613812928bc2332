//! Reads on a thread of its own, ahead of whoever takes the entries.

use super::batch::Batch;
use super::order::TimeOrder;
use super::recording::Recording;
use crate::record::{Entry, LocatedEntry};
use std::io::Read;
use std::sync::mpsc::sync_channel;
use std::thread;

/// Batches that are read ahead.
const BATCHES: usize = 4;

impl<R: Read + Send> Recording<R> {
    /// Hands out all entries that are left, as [`Recording::next`] does, but those of a capture of another program in the order of
    /// their times. They are read on a thread of its own meanwhile, if one can be started.
    ///
    /// # Errors
    /// What `take` fails with; nothing more is handed out then.
    pub fn read_ahead<E>(
        &mut self,
        mut take: impl FnMut(Entry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (full, batches) = sync_channel::<Batch>(BATCHES);
        let (used, empty) = sync_channel::<Batch>(BATCHES);
        // A recording's entries are in the order in which they were taken in.
        let mut order = (!self.is_own()).then(TimeOrder::default);
        let reader = &mut *self;
        let read = move || {
            reader.blocks.input_mut().keep_past();
            let mut first = None;
            loop {
                let mut batch = empty.try_recv().unwrap_or_default();
                first = reader.fill(first, &mut batch);
                // Nobody takes more batches, or there are no more entries.
                if batch.entries.is_empty() || full.send(batch).is_err() {
                    return;
                }
            }
        };
        let is_started = thread::scope(|scope| {
            if thread::Builder::new().name("ahead".into()).spawn_scoped(scope, read).is_err() {
                return Ok(false);
            }
            for batch in batches {
                let batch = hand_out(batch, order.as_mut(), &mut take)?;
                // A batch that is one too many is not kept.
                let _ = used.try_send(batch);
            }
            Ok(true)
        })?;
        if !is_started {
            self.read_here(order.as_mut(), &mut take)?;
        }
        let Some(mut order) = order else { return Ok(()) };
        self.disorder = order.found();
        order.end(&mut take)
    }

    /// Hands out all entries that are left, a batch at a time.
    fn read_here<E>(
        &mut self,
        mut order: Option<&mut TimeOrder>,
        take: &mut impl FnMut(Entry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.blocks.input_mut().keep_past();
        let (mut first, mut batch) = (None, Batch::default());
        loop {
            first = self.fill(first, &mut batch);
            if batch.entries.is_empty() {
                return Ok(());
            }
            batch = hand_out(batch, order.as_deref_mut(), take)?;
        }
    }
}

/// Hands out a batch, or what comes before it in the order of times. Returns a batch to be used again.
fn hand_out<E>(
    mut batch: Batch,
    order: Option<&mut TimeOrder>,
    take: &mut impl FnMut(Entry<'_>) -> Result<(), E>,
) -> Result<Batch, E> {
    if let Some(order) = order {
        return order.add(batch, take);
    }
    batch.hand_out(take)?;
    Ok(batch)
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
