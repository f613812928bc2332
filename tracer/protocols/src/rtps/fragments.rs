//! Samples that come in parts.

use super::data::Fragment;
use super::entity::Guid;
use super::payload::{Application, Shape};
use crate::Side;
use wirelap_events::ByteRange;
use wirelap_events::{Saturate, Total};

/// The most samples of a conversation that are open at once; then the one that got nothing for
/// longest goes.
const MAX_OPEN: usize = 32;

/// The most fragments of a sample that are kept track of: 88 MB in fragments of 1344 bytes. A larger
/// sample is counted in the ledger, but never complete.
pub(super) const MAX_FRAGMENTS: u32 = 1 << 16;

/// Bytes kept of a payload's head.
const HEAD_BYTES: usize = 256;

/// One sample of one writer, going one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub side: Side,
    pub guid: Guid,
    pub number: u64,
}

/// What some fragments brought.
#[derive(Debug)]
pub(super) enum Added<'a> {
    /// This many new bytes of the payload; more fragments are to come.
    Part { payload_bytes: u64 },
    /// The last bytes that were missing.
    Whole { payload_bytes: u64, sample: Whole<'a> },
    /// The payload's start was not captured.
    Headless,
    /// This many bytes of the payload of a sample that is too large to keep track of.
    Untracked { payload_bytes: u64 },
}

/// A complete sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole<'a> {
    pub extent: ByteRange,
    pub payload_len: u64,
    /// The payload's head: at most [`HEAD_BYTES`], and no more than the submessage with the sample's
    /// first fragment had.
    pub payload: &'a [u8],
}

/// Samples that wait for fragments.
#[derive(Debug, Default)]
pub(super) struct OpenSamples {
    open: Vec<Open>,
    clock: u64,
}

/// One of them. Its buffers outlive it and serve the next.
#[derive(Debug)]
struct Open {
    /// `None`: free.
    key: Option<Key>,
    /// When it last got a fragment, in fragments of the conversation.
    used: u64,
    part_bytes: u32,
    sample_bytes: u32,
    /// A bit for each fragment that is here.
    here: Vec<u64>,
    missing: u32,
    /// Payload bytes of the fragments that are here.
    counted: u64,
    extent: ByteRange,
    /// Known once the first fragment is here.
    application: Option<Application>,
    head: Vec<u8>,
}

impl OpenSamples {
    /// Bytes of memory that they take.
    pub fn held_bytes(&self) -> usize {
        let bytes = |open: &Open| {
            open.here.capacity().saturating_mul(8).saturating_add(open.head.capacity())
        };
        self.open.iter().map(bytes).total()
    }

    /// Takes the fragments of one submessage, which lies at `range`, from a writer of this `shape`.
    pub fn add(
        &mut self,
        key: Key,
        fragment: &Fragment,
        range: ByteRange,
        shape: &mut Shape,
    ) -> Added<'_> {
        let application = match first_application(fragment, shape) {
            Ok(application) => application,
            Err(NotCaptured) => return Added::Headless,
        };
        if fragment.fragments_in_sample() > MAX_FRAGMENTS {
            return untracked(fragment, application);
        }
        self.clock.grow(1);
        let index = self.place(key, fragment, range);
        let open = &mut self.open[index];
        open.used = self.clock;
        open.add(fragment, application, range)
    }

    /// The index of this sample: where it is, or a free place, or that of the one to give up.
    fn place(&mut self, key: Key, fragment: &Fragment, range: ByteRange) -> usize {
        if let Some(index) = self.open.iter().position(|open| open.key == Some(key)) {
            let open = &mut self.open[index];
            if !open.is_cut_like(fragment) {
                open.start(key, fragment, range);
            }
            return index;
        }
        let free = self.open.iter().position(|open| open.key.is_none());
        let index = match free {
            Some(index) => index,
            None if self.open.len() < MAX_OPEN => {
                self.open.push(Open::free());
                self.open.len().saturating_sub(1)
            }
            None => {
                let idle = self.open.iter().enumerate().min_by_key(|(_, open)| open.used);
                idle.map_or(0, |(index, _)| index)
            }
        };
        self.open[index].start(key, fragment, range);
        index
    }
}

struct NotCaptured;

/// Where the sample's payload lies, if its first fragment is among these.
fn first_application(
    fragment: &Fragment,
    shape: &mut Shape,
) -> Result<Option<Application>, NotCaptured> {
    let sample_bytes = u64::from(fragment.sample_bytes);
    if fragment.first > 0 {
        return Ok(None);
    }
    if !fragment.serialized.encapsulated {
        return Ok(Some(Application::everything(sample_bytes)));
    }
    let found = Application::find(fragment.serialized.bytes, sample_bytes, shape);
    found.map(Some).ok_or(NotCaptured)
}

/// Counts the fragments of a sample that is too large to keep track of.
fn untracked(fragment: &Fragment, application: Option<Application>) -> Added<'static> {
    let application = application.unwrap_or(Application::everything(fragment.sample_bytes.into()));
    let (start, end) = fragment.span(fragment.first, fragment.count);
    Added::Untracked { payload_bytes: application.within(start, end) }
}

impl Open {
    fn free() -> Open {
        Open {
            key: None,
            used: 0,
            part_bytes: 0,
            sample_bytes: 0,
            here: Vec::new(),
            missing: 0,
            counted: 0,
            extent: ByteRange::default(),
            application: None,
            head: Vec::new(),
        }
    }

    /// Waits for the fragments of a new sample, of which one lies at `range`.
    fn start(&mut self, key: Key, fragment: &Fragment, range: ByteRange) {
        let fragments = fragment.fragments_in_sample();
        self.key = Some(key);
        self.part_bytes = fragment.part_bytes;
        self.sample_bytes = fragment.sample_bytes;
        self.here.clear();
        self.here.resize(fragments.div_ceil(u64::BITS) as usize, 0);
        self.missing = fragments;
        self.counted = 0;
        self.extent = range;
        self.application = None;
        self.head.clear();
    }

    fn is_cut_like(&self, fragment: &Fragment) -> bool {
        (self.part_bytes, self.sample_bytes) == (fragment.part_bytes, fragment.sample_bytes)
    }

    fn add(
        &mut self,
        fragment: &Fragment,
        application: Option<Application>,
        range: ByteRange,
    ) -> Added<'_> {
        let first_seen = self.application.is_none() && application.is_some();
        if let (true, Some(found)) = (first_seen, application) {
            self.application = Some(found);
            self.keep_head(fragment.serialized.bytes, found);
        }
        let everything = Application::everything(u64::from(self.sample_bytes));
        let application = self.application.unwrap_or(everything);
        let missing = self.missing;
        let mut payload_bytes = 0;
        for index in fragment.first..fragment.first.saturating_add(fragment.count) {
            if self.mark(index) {
                let (start, end) = fragment.span(index, 1);
                payload_bytes.grow(application.within(start, end));
            }
        }
        if self.missing == missing {
            return Added::Part { payload_bytes: 0 };
        }
        if first_seen {
            // Those that came before the first one were counted without knowing what is padding.
            payload_bytes = self.exactly(fragment, application).saturating_sub(self.counted);
        }
        self.extent.start = self.extent.start.min(range.start);
        self.extent.end = self.extent.end.max(range.end);
        if self.missing > 0 {
            self.counted.grow(payload_bytes);
            return Added::Part { payload_bytes };
        }
        self.key = None;
        let payload_bytes = application.len.saturating_sub(self.counted).min(range.len());
        let (extent, payload_len) = (self.extent, application.len);
        Added::Whole { payload_bytes, sample: Whole { extent, payload_len, payload: &self.head } }
    }

    /// The payload's bytes in all fragments that are here; `like` tells how long one is.
    fn exactly(&self, like: &Fragment, application: Application) -> u64 {
        let is_here = |&index: &u32| {
            let word = self.here.get((index / u64::BITS) as usize).copied().unwrap_or(0);
            word >> (index % u64::BITS) & 1 == 1
        };
        let payload = |index| {
            let (start, end) = like.span(index, 1);
            application.within(start, end)
        };
        (0..like.fragments_in_sample()).filter(is_here).map(payload).total()
    }

    fn keep_head(&mut self, serialized: &[u8], application: Application) {
        let skip = usize::try_from(application.skip).unwrap_or(usize::MAX);
        let len = usize::try_from(application.len).unwrap_or(usize::MAX);
        let head = serialized.iter().skip(skip).take(len.min(HEAD_BYTES));
        self.head.extend(head);
    }

    /// Marks a fragment as here; false if it was.
    fn mark(&mut self, index: u32) -> bool {
        let bit = 1 << (index % u64::BITS);
        let Some(word) = self.here.get_mut((index / u64::BITS) as usize) else { return false };
        let is_new = *word & bit == 0;
        *word |= bit;
        self.missing.shrink(u32::from(is_new));
        is_new
    }
}
