//! Samples that are sent in fragments.

use super::data::DataFrag;
use super::entity::Guid;
use super::payload::{ApplicationBytes, PayloadShape};
use crate::Side;
use wirelap_events::{ByteRange, Count, Size};
use wirelap_events::{Saturate, Total};

/// The most incomplete samples of a conversation; then the one without a new fragment for longest is evicted.
const MAX_OPEN: usize = 32;

/// The most fragments of a sample that is followed: 88 MB in fragments of 1344 bytes. The bytes of a larger sample are
/// counted, but it never becomes complete.
pub(super) const MAX_FRAGMENTS: u32 = 1 << 16;

/// Bytes that are kept of a payload's start.
const HEAD_BYTES: usize = 256;

/// Identifies a sample of a writer in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleKey {
    pub side: Side,
    pub guid: Guid,
    pub number: u64,
}

/// The result of adding fragments.
#[derive(Debug)]
pub(super) enum FragmentOutcome<'a> {
    /// The fragments had this many new bytes of payload; the sample is still incomplete.
    Part { payload_bytes: u64 },
    /// The sample is complete.
    Whole { payload_bytes: u64, sample: CompleteSample<'a> },
    /// The start of the sample was not captured.
    Headless,
    /// The sample is too large to be followed; the fragments had this many bytes of payload.
    Untracked { payload_bytes: u64 },
}

/// A complete sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompleteSample<'a> {
    pub extent: ByteRange,
    pub payload_len: u64,
    /// The payload's start: at most [`HEAD_BYTES`], and not more than is in the submessage with the first fragment.
    pub payload: &'a [u8],
}

/// The incomplete samples of a conversation.
#[derive(Debug, Default)]
pub(super) struct OpenSamples {
    open: Vec<OpenSample>,
    clock: Count,
}

/// An incomplete sample. Its buffers are reused for the next one.
#[derive(Debug)]
struct OpenSample {
    /// The sample; `None` if this entry is free.
    key: Option<SampleKey>,
    /// Time when the last fragment was added, counted in fragments of the conversation.
    used: u64,
    part_bytes: u32,
    sample_bytes: u32,
    /// A bit for each fragment that has arrived.
    here: Vec<u64>,
    missing: u32,
    /// Payload bytes of the fragments that have arrived.
    counted: Count,
    extent: ByteRange,
    /// Known once the first fragment has arrived.
    application: Option<ApplicationBytes>,
    head: Vec<u8>,
}

impl OpenSamples {
    /// Bytes of memory that the samples use.
    pub fn held_bytes(&self) -> Size {
        let of = |open: &OpenSample| Size(8) * open.here.capacity() + open.head.capacity();
        Size::sum(self.open.iter().map(of))
    }

    /// Adds the fragments of the submessage at `range`, from a writer whose payloads have this `shape`.
    pub fn add(
        &mut self,
        key: SampleKey,
        fragment: &DataFrag,
        range: ByteRange,
        shape: &mut PayloadShape,
    ) -> FragmentOutcome<'_> {
        let application = match first_application(fragment, shape) {
            Ok(application) => application,
            Err(NotCaptured) => return FragmentOutcome::Headless,
        };
        if fragment.fragments_in_sample() > MAX_FRAGMENTS {
            return untracked(fragment, application);
        }
        self.clock += 1;
        let index = self.slot_for(key, fragment, range);
        let open = &mut self.open[index];
        open.used = self.clock.0;
        open.add(fragment, application, range)
    }

    /// The index of the sample: its own, or a free one, or that of the sample to evict.
    fn slot_for(&mut self, key: SampleKey, fragment: &DataFrag, range: ByteRange) -> usize {
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
                let index = self.open.len();
                self.open.push(OpenSample::free());
                index
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

/// The position of the sample's payload, if its first fragment is among these.
fn first_application(
    fragment: &DataFrag,
    shape: &mut PayloadShape,
) -> Result<Option<ApplicationBytes>, NotCaptured> {
    let sample_bytes = u64::from(fragment.sample_bytes);
    if fragment.first > 0 {
        return Ok(None);
    }
    if !fragment.serialized.encapsulated {
        return Ok(Some(ApplicationBytes::everything(sample_bytes)));
    }
    let found = ApplicationBytes::find(fragment.serialized.bytes, sample_bytes, shape);
    found.map(Some).ok_or(NotCaptured)
}

/// Counts the payload bytes of a sample that is too large to be followed.
fn untracked(
    fragment: &DataFrag,
    application: Option<ApplicationBytes>,
) -> FragmentOutcome<'static> {
    let application =
        application.unwrap_or(ApplicationBytes::everything(fragment.sample_bytes.into()));
    let (start, end) = fragment.span(fragment.first, fragment.count);
    FragmentOutcome::Untracked { payload_bytes: application.within(start, end) }
}

impl OpenSample {
    fn free() -> OpenSample {
        OpenSample {
            key: None,
            used: 0,
            part_bytes: 0,
            sample_bytes: 0,
            here: Vec::new(),
            missing: 0,
            counted: Count(0),
            extent: ByteRange::default(),
            application: None,
            head: Vec::new(),
        }
    }

    /// Begins a new sample, of which one fragment is at `range`.
    fn start(&mut self, key: SampleKey, fragment: &DataFrag, range: ByteRange) {
        let fragments = fragment.fragments_in_sample();
        self.key = Some(key);
        self.part_bytes = fragment.part_bytes;
        self.sample_bytes = fragment.sample_bytes;
        self.here.clear();
        self.here.resize(fragments.div_ceil(u64::BITS) as usize, 0);
        self.missing = fragments;
        self.counted = Count(0);
        self.extent = range;
        self.application = None;
        self.head.clear();
    }

    fn is_cut_like(&self, fragment: &DataFrag) -> bool {
        (self.part_bytes, self.sample_bytes) == (fragment.part_bytes, fragment.sample_bytes)
    }

    fn add(
        &mut self,
        fragment: &DataFrag,
        application: Option<ApplicationBytes>,
        range: ByteRange,
    ) -> FragmentOutcome<'_> {
        let first_seen = self.application.is_none() && application.is_some();
        if let (true, Some(found)) = (first_seen, application) {
            self.application = Some(found);
            self.keep_head(fragment.serialized.bytes, found);
        }
        let everything = ApplicationBytes::everything(u64::from(self.sample_bytes));
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
            return FragmentOutcome::Part { payload_bytes: 0 };
        }
        if first_seen {
            // Fragments before the first one were counted without knowing which bytes are padding.
            payload_bytes = (Count(self.exactly(fragment, application)) - self.counted).0;
        }
        self.extent.start = self.extent.start.min(range.start);
        self.extent.end = self.extent.end.max(range.end);
        if self.missing > 0 {
            self.counted += payload_bytes;
            return FragmentOutcome::Part { payload_bytes };
        }
        self.key = None;
        let payload_bytes = (Count(application.len) - self.counted).0.min(range.len());
        let (extent, payload_len) = (self.extent, application.len);
        FragmentOutcome::Whole {
            payload_bytes,
            sample: CompleteSample { extent, payload_len, payload: &self.head },
        }
    }

    /// The payload bytes in all fragments that have arrived; `like` has their size.
    fn exactly(&self, like: &DataFrag, application: ApplicationBytes) -> u64 {
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

    fn keep_head(&mut self, serialized: &[u8], application: ApplicationBytes) {
        let skip = usize::try_from(application.skip).unwrap_or(usize::MAX);
        let len = usize::try_from(application.len).unwrap_or(usize::MAX);
        let head = serialized.iter().skip(skip).take(len.min(HEAD_BYTES));
        self.head.extend(head);
    }

    /// Marks a fragment as arrived; returns whether it is new.
    fn mark(&mut self, index: u32) -> bool {
        let bit = 1 << (index % u64::BITS);
        let Some(word) = self.here.get_mut((index / u64::BITS) as usize) else { return false };
        let is_new = *word & bit == 0;
        *word |= bit;
        self.missing.shrink(u32::from(is_new));
        is_new
    }
}
