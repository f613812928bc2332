//! Reads files on a thread of its own, into frames that a screen shows meanwhile.

use super::{FrameLimits, Playback, PlaybackFrame};
use crate::follower::Follower;
use crate::replay::{Replay, Replayed};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use wirelap_correlate::snapshot::HistoryPoint;
use wirelap_correlate::{Breakdown, BreakdownQuery, BreakdownRow, DeliverySink, Snapshot};
use wirelap_events::{Delivery, Event, GroupId, Nanos, Saturate, Total};
use wirelap_history::{DeliveryCollector, KeptMessage, MessageFate, Update};
use wirelap_process::{Failure, remedy};
use wirelap_report::RunReport;

/// The messages of a row that a thinned frame keeps: the slowest, and some that were not delivered or are in no latency.
const KEPT: (usize, usize) = (6, 2);

/// About how much memory a message takes, in bytes: with a few threads that were woken for it.
const MESSAGE_BYTES: usize = size_of::<Delivery>() + size_of::<KeptMessage>() + 512;
/// About how much memory a row of a snapshot takes, without its history.
const ROW_BYTES: usize = 8_192;

/// About how much memory a breakdown takes, in bytes.
fn breakdown_bytes(breakdown: &Breakdown) -> usize {
    let names = breakdown.rows.iter().flat_map(|row| row.names.iter().flatten());
    let rows = breakdown.rows.len().saturating_mul(size_of::<BreakdownRow>());
    names
        .map(|name| name.len().saturating_add(size_of::<String>()))
        .fold(rows, usize::saturating_add)
}

impl PlaybackFrame for Update {
    fn bytes(&self) -> usize {
        let groups = &self.snapshot.groups;
        let points: usize = groups.iter().map(|group| group.history.len()).total();
        let rows = groups.len().saturating_mul(ROW_BYTES);
        let points = points.saturating_mul(size_of::<HistoryPoint>());
        let messages = self.slice.messages.len().saturating_mul(MESSAGE_BYTES);
        let fixed = size_of::<Update>().saturating_add(size_of::<Snapshot>());
        let breakdown = self.snapshot.breakdown.as_ref().map_or(0, breakdown_bytes);
        [fixed, rows, points, messages, breakdown, self.slice.bytes()]
            .into_iter()
            .fold(0, usize::saturating_add)
    }

    fn slowest(&self) -> Option<Nanos> {
        let delivered = self.slice.messages.iter().filter(|one| one.fate == MessageFate::Delivered);
        delivered.filter_map(|message| message.one_way).max()
    }

    fn absorb(&mut self, later: Update) {
        self.snapshot = later.snapshot;
        self.slice.merge(&later.slice);
        self.slice.topics.extend(later.slice.topics);
        self.slice.messages.extend(later.slice.messages);
    }

    fn thin(&mut self) {
        // The slowest of a row first; the messages stay in their order.
        let messages = &mut self.slice.messages;
        let mut order: Vec<usize> = (0..messages.len()).collect();
        order.sort_by_key(|&at| Reverse(messages.get(at).and_then(|message| message.one_way)));
        let mut kept: HashMap<GroupId, (usize, usize)> = HashMap::new();
        let mut keep = vec![false; messages.len()];
        for at in order {
            let (Some(message), Some(keep)) = (messages.get(at), keep.get_mut(at)) else {
                continue;
            };
            let (slow, others) = kept.entry(message.delivery.group).or_default();
            let is_delivered = message.fate == MessageFate::Delivered;
            let (count, most) = if is_delivered { (slow, KEPT.0) } else { (others, KEPT.1) };
            *keep = *count < most;
            count.grow(1);
        }
        let mut keep = keep.into_iter();
        messages.retain(|_| keep.next().unwrap_or(false));
        messages.shrink_to_fit();
    }
}

/// Files that are read on a thread of its own.
pub struct FileReading {
    shared: Arc<SharedPlayback>,
    thread: Option<JoinHandle<Result<Replayed<()>, Failure>>>,
    outcome: Option<Result<RunReport, Failure>>,
    /// The bytes of all files; `None` if it is not known.
    size: Option<u64>,
    read: Arc<AtomicU64>,
}

/// Progress in reading the files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReadingState {
    /// They are being read; the share that was read, 0..=1, if it is known.
    Reads(Option<f64>),
    /// They were read to their ends, or as far as they can be.
    Ended,
}

struct SharedPlayback {
    playback: Mutex<Playback<Update>>,
    /// True if nobody wants the rest.
    is_over: AtomicBool,
}

impl SharedPlayback {
    fn playback(&self) -> MutexGuard<'_, Playback<Update>> {
        self.playback.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileReading {
    /// Starts to read files. `decode` are protocols by port, `query` the rows of the breakdown, and `tls_keys` files with keys of TLS
    /// connections.
    ///
    /// # Errors
    /// The thread cannot be started, or there are no keys in a file that should have some.
    pub fn start(
        files: &[PathBuf],
        decode: &[(u16, String)],
        query: BreakdownQuery,
        tls_keys: &[PathBuf],
    ) -> Result<FileReading, Failure> {
        let playback = Mutex::new(Playback::new(FrameLimits::default()));
        let shared = Arc::new(SharedPlayback { playback, is_over: AtomicBool::new(false) });
        let mut replay = Replay::new(decode, FrameFollower::new(Arc::clone(&shared)));
        replay.breakdown(query);
        replay.tls_keys(tls_keys)?;
        let (read, size) = (replay.bytes_read(), size(files));
        let files = files.to_vec();
        let thread = Builder::new().name("replay".into()).spawn(move || {
            replay.files(&files)?;
            let Replayed { snapshot, report, cut, .. } = replay.end()?;
            Ok(Replayed { follower: (), snapshot, report, cut })
        });
        let thread = thread.map_err(|error| {
            Failure::Machine(format!("cannot start a thread: {}", remedy::with(&error)))
        })?;
        Ok(FileReading { shared, thread: Some(thread), outcome: None, size, read })
    }

    /// The frames that were read, and the position in them.
    pub fn playback(&self) -> MutexGuard<'_, Playback<Update>> {
        self.shared.playback()
    }

    /// Progress in reading the files.
    pub fn state(&mut self) -> ReadingState {
        if self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            let joined = self.thread.take().map(JoinHandle::join);
            let lost = || {
                Failure::Measured("the reading thread panicked: this is a defect of wirelap".into())
            };
            let outcome = joined.and_then(Result::ok).unwrap_or_else(|| Err(lost()));
            self.outcome = Some(outcome.map(|replayed| replayed.report));
            self.playback().complete();
        }
        if self.outcome.is_some() {
            return ReadingState::Ended;
        }
        let read = self.read.load(Ordering::Relaxed);
        let share = |size: u64| (read as f64 / size as f64).clamp(0.0, 1.0);
        ReadingState::Reads(self.size.filter(|size| *size > 0).map(share))
    }

    /// Notes for the user on the files once they were read: what could not be read, and what they do not contain.
    pub fn notes(&self) -> Vec<String> {
        match &self.outcome {
            None => Vec::new(),
            Some(Ok(report)) => report.notes.clone(),
            Some(Err(failure)) => vec![format!("Not everything was read: {failure}.")],
        }
    }

    /// True if nothing could be read, so that there is nothing to show.
    pub fn has_failed(&self) -> bool {
        matches!(self.outcome, Some(Err(_))) && self.playback().frames().is_empty()
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// Not everything could be read.
    pub fn end(mut self) -> Result<(), Failure> {
        self.state();
        self.shared.is_over.store(true, Ordering::Relaxed);
        match self.outcome {
            Some(Err(failure)) => Err(failure),
            Some(Ok(_)) | None => Ok(()),
        }
    }
}

/// The bytes of all files together; `None` if one of them is no regular file.
fn size(files: &[PathBuf]) -> Option<u64> {
    let mut size: u64 = 0;
    for file in files {
        let about = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?;
        size = size.saturating_add(about.len());
    }
    Some(size)
}

/// Makes frames of what is read.
struct FrameFollower {
    shared: Arc<SharedPlayback>,
    collector: DeliveryCollector,
    updates: Receiver<Update>,
    /// Time at which the next frame ends, by the clock of the events.
    due: Nanos,
}

impl FrameFollower {
    fn new(shared: Arc<SharedPlayback>) -> FrameFollower {
        // Each update is taken as soon as it was made.
        let (collector, updates) = DeliveryCollector::new(1);
        FrameFollower { shared, collector, updates, due: Nanos(0) }
    }
}

impl Follower for FrameFollower {
    const DELIVERIES: bool = true;

    fn begin(&mut self, _: Option<i64>) {}

    fn event(&mut self, _: &Event<'_>) -> Result<(), Failure> {
        if self.shared.is_over.load(Ordering::Relaxed) {
            return Err(Failure::Measured("the rest of the files was not read".into()));
        }
        Ok(())
    }

    fn delivery(&mut self, _: &Delivery, _: Option<&[u8]>) -> Result<(), Failure> {
        Ok(())
    }

    fn sink(&mut self) -> Option<&mut dyn DeliverySink> {
        Some(&mut self.collector)
    }

    fn wants_snapshot(&mut self, at: Nanos) -> bool {
        at >= self.due
    }

    fn snapshot(&mut self, snapshot: Snapshot) {
        let (since, at) = (snapshot.since, snapshot.at);
        self.collector.published(&Arc::new(snapshot));
        let mut playback = self.shared.playback();
        for update in self.updates.try_iter() {
            playback.push(since, at, update);
        }
        self.due = at + playback.frames().interval();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_history::Slice;
    use wirelap_test_support::delivered;

    fn message(number: u64, group: u32, fate: MessageFate) -> KeptMessage {
        let delivery = Delivery {
            message: wirelap_events::MessageId(number),
            group: GroupId(group),
            ..delivered::delivery([])
        };
        let one_way = (fate == MessageFate::Delivered).then_some(Nanos(number % 50));
        KeptMessage { delivery: Arc::new(delivery), one_way, cause: None, fate }
    }

    fn update(numbers: std::ops::Range<u64>) -> Update {
        let messages = numbers.flat_map(|number| {
            let fate = MessageFate::Undelivered { at_end: false };
            let delivered = |group| message(number, group, MessageFate::Delivered);
            [delivered(1), delivered(2), message(number, 1, fate)]
        });
        let slice = Slice { messages: messages.collect(), ..Slice::default() };
        Update { snapshot: Arc::default(), slice }
    }

    #[test]
    fn a_thinned_frame_keeps_the_slowest_of_each_row_in_their_order() {
        let mut frame = update(0..100);
        frame.absorb(update(100..200));
        assert_eq!(frame.slice.messages.len(), 600);
        let before = frame.bytes();
        frame.thin();
        assert_eq!(frame.slowest(), Some(Nanos(49)));
        for group in [1, 2] {
            let of_row = frame.slice.messages.iter().filter(|one| one.delivery.group.0 == group);
            let (slow, others): (Vec<_>, Vec<_>) =
                of_row.partition(|one| one.fate == MessageFate::Delivered);
            assert_eq!(slow.len(), KEPT.0);
            assert!(slow.iter().all(|one| one.one_way >= Some(Nanos(48))), "{slow:?}");
            assert_eq!(others.len(), if group == 1 { KEPT.1 } else { 0 });
        }
        let numbers = frame.slice.messages.iter().map(|one| one.delivery.message);
        assert!(numbers.is_sorted());
        assert!(frame.bytes() < before / 10);
    }
}
