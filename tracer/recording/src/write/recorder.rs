//! The way of events into files: encoded, kept back until their messages are known, written.

use super::encoder::Encoder;
use super::files::{Files, Plain, Rotation, Store, WriteFailed};
use super::pending::{PendingLimits, PendingPackets, ReleaseExtent};
use crate::message::{MessageLeg, MessageSink};
use crate::record::{Entry, Note};
use std::path::{Path, PathBuf};
use wirelap_events::{Count, Event, FlowRange, IfIndex, Nanos, NetNs, Size};

/// Bytes that are written at once.
const CHUNK: usize = 256 << 10;

/// Longest time until an event that is not kept back is in the file.
const DELAY: Nanos = Nanos::from_millis(1000);

/// Files and bytes that were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The files that are there now, the oldest first.
    pub files: Vec<PathBuf>,
    /// Bytes of all files, those that are gone included.
    pub bytes: u64,
}

/// Writes entries into files.
#[derive(Debug)]
pub struct FileRecorder {
    encoder: Encoder,
    /// Packets that wait until it is known what became of their messages, if that is written at all.
    pending: Option<PendingPackets>,
    /// The last event was a packet that is shown.
    is_packet_last: bool,
    rotation: Rotation,
    files: Files,
    /// Bytes of the file that is being filled: the one that is being written, or a later one.
    filled: Count,
    /// Bytes that were not written at once.
    waiting: Size,
    /// The first and the last time in the file that is being filled.
    span: Option<(Nanos, Nanos)>,
    flushed: Nanos,
    /// Everything is written that can be.
    is_closed: bool,
}

/// Whatever ended the program's work, what was recorded until then is in the file.
impl Drop for FileRecorder {
    fn drop(&mut self) {
        self.finish();
    }
}

impl FileRecorder {
    /// Creates the file, or the first one of several: `trace-00001.pcapng` for `trace.pcapng` when there will be several. `-` is
    /// stdout.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(
        path: &Path,
        encoder: Encoder,
        rotation: Rotation,
    ) -> Result<FileRecorder, WriteFailed> {
        FileRecorder::create_in(Box::new(Plain), path, encoder, rotation)
    }

    /// As [`FileRecorder::create`], with a store that creates the files.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create_in(
        store: Box<dyn Store>,
        path: &Path,
        encoder: Encoder,
        rotation: Rotation,
    ) -> Result<FileRecorder, WriteFailed> {
        let mut recorder = FileRecorder {
            encoder,
            pending: None,
            is_packet_last: false,
            rotation,
            files: Files::create(store, path, rotation)?,
            filled: Count(0),
            waiting: Size(0),
            span: None,
            flushed: Nanos(0),
            is_closed: false,
        };
        recorder.flush(true);
        match recorder.files.failed.take() {
            None => Ok(recorder),
            Some(failed) => {
                recorder.is_closed = true;
                Err(failed)
            }
        }
    }

    /// Keeps packets back until what became of their messages is known, within these limits.
    pub fn hold(&mut self, limits: PendingLimits) {
        self.pending = Some(PendingPackets::new(limits));
    }

    /// True if packets are kept back until what became of their messages is known.
    pub fn holds(&self) -> bool {
        self.pending.is_some()
    }

    /// The file that is being written.
    pub fn path(&self) -> &Path {
        self.files.path()
    }

    /// Why nothing is written any more.
    pub fn failed(&self) -> Option<&WriteFailed> {
        self.files.failed.as_ref()
    }

    /// Takes an event.
    pub fn event(&mut self, event: &Event<'_>) {
        self.entry(&Entry::Event(*event));
    }

    /// All events up to this time have been taken.
    pub fn tick(&mut self, at: Nanos) {
        self.entry(&Entry::Tick(at));
    }

    /// Takes an entry.
    pub fn entry(&mut self, entry: &Entry<'_>) {
        if self.failed().is_some() {
            return;
        }
        self.is_packet_last = false;
        self.encoder.entry(entry);
        match entry {
            Entry::Event(Event { at, .. }) | Entry::Tick(at) => self.passed(*at),
            Entry::Known(_) | Entry::Note(_) | Entry::TlsKeys(_) => {}
        }
    }

    /// Names a device that nothing here could name.
    pub fn name_device(&mut self, netns: NetNs, device: IfIndex, name: &str) {
        self.encoder.name_device(netns, device, name);
    }

    /// Writes something down.
    pub fn note(&mut self, note: Note<'_>) {
        self.encoder.note(note);
    }

    /// Writes something down in each file.
    pub fn standing_note(&mut self, note: Note<'_>) {
        self.encoder.standing_note(note);
    }

    /// Removes the files.
    pub fn discard(mut self) {
        self.is_closed = true;
        self.files.discard();
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// Not everything could be written, now or before.
    pub fn close(mut self) -> Result<Written, WriteFailed> {
        self.finish();
        match self.files.failed.take() {
            None => {
                let files = std::mem::take(&mut self.files.kept).into();
                Ok(Written { files, bytes: self.files.bytes })
            }
            Some(failed) => Err(failed),
        }
    }

    fn finish(&mut self) {
        if !std::mem::replace(&mut self.is_closed, true) {
            self.encoder.complete();
            self.flush(true);
        }
    }

    /// Time has come to `at`: writes and changes files if it is time.
    fn passed(&mut self, at: Nanos) {
        let (first, last) = self.span.unwrap_or((at, at));
        let last = last.max(at);
        self.span = Some((first, last));
        let is_late = last >= self.flushed + DELAY;
        if is_late && self.encoder.has_news() {
            self.encoder.complete();
        }
        self.move_to_pending(last);
        if is_late || self.waiting + self.encoder.bytes().len() >= CHUNK {
            self.flushed = last;
            self.flush(false);
        }
        let is_over = |is: u64, most: Option<u64>| most.is_some_and(|most| is >= most);
        if is_over(self.filled.0, self.rotation.bytes)
            || is_over((last - first).0, self.rotation.time.map(|time| time.0))
        {
            self.rotate();
        }
    }

    fn rotate(&mut self) {
        self.encoder.complete();
        self.move_to_pending(Nanos(0));
        if let Some(pending) = &mut self.pending {
            pending.end_file();
        } else {
            self.flush(true);
            self.files.next();
        }
        self.encoder.restart();
        self.filled = Count(0);
        self.span = None;
    }

    /// Hands what is encoded to the packets that wait.
    fn move_to_pending(&mut self, now: Nanos) {
        let Some(pending) = &mut self.pending else { return };
        let shown = self.encoder.take_shown();
        self.is_packet_last |= shown.is_some();
        let bytes = self.encoder.bytes();
        pending.push(bytes, shown, now);
        self.waiting += bytes.len();
        self.filled += bytes.len() as u64;
        self.encoder.clear();
    }

    /// Writes complete blocks: those that may go, or all.
    fn flush(&mut self, all: bool) {
        self.move_to_pending(Nanos(0));
        self.waiting = Size(0);
        let Some(pending) = &mut self.pending else {
            let bytes = self.encoder.bytes();
            self.filled += bytes.len() as u64;
            self.files.write(bytes);
            return self.encoder.clear();
        };
        loop {
            let added = pending.added;
            let released = pending.release(all);
            self.filled += pending.added - added;
            self.files.write(&pending.ready);
            pending.ready.clear();
            match released {
                ReleaseExtent::All => break,
                ReleaseExtent::File => self.files.next(),
                ReleaseExtent::Chunk => {}
            }
        }
    }
}

impl MessageSink for FileRecorder {
    fn carries(&mut self, range: FlowRange) {
        if let (Some(pending), true) = (&mut self.pending, self.is_packet_last) {
            pending.carries(range);
        }
    }

    fn message(&mut self, legs: &mut Vec<MessageLeg>) {
        match &mut self.pending {
            Some(pending) => pending.message(legs),
            None => legs.clear(),
        }
    }
}
