//! Walks bodies with records (Produce requests and Fetch responses) part by part. Their layouts are in `layout`.
//!
//! Every structure of a flexible version ends with a tag buffer. A part is a record, the rest of a batch whose records
//! cannot be read one by one, or all bytes between two of these. The ends of parts do not depend on how much of the body
//! has arrived, so that a body can be decoded while it arrives.

use super::apis::PRODUCE;
use super::batch::{self, BatchBody, BatchHeader, RecordsStart};
use super::fields::{KafkaFieldError, KafkaFields, KafkaResult, ensure};
use super::layout::BodyLayout;
use super::share;
use super::topic_name::KafkaTopic;
use wirelap_events::FrameClass;
use wirelap_events::Saturate;

/// A part between records ends with the first structure that ends after this many bytes.
const LONG_PIECE: u64 = 4096;

/// The longest part between records; it must fit into memory.
const LONGEST_PIECE: u64 = 64 << 10;

/// The next thing in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WalkState {
    Start,
    Topics,
    Partitions,
    /// A batch, or the end of a partition's records.
    Batches,
    Records {
        records: u32,
        bytes: u64,
    },
    /// The key and value of an old message.
    Message(u64),
    Block(UnwalkedBytes, u64),
    End,
}

/// Bytes that are not walked any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnwalkedBytes {
    Compressed,
    Control,
    Partial,
    MessageSet,
}

impl UnwalkedBytes {
    /// The frame's name and class. A partial batch is not data, because the consumer drops it.
    pub fn frame(self) -> (&'static str, FrameClass) {
        match self {
            // The class is `Data` once the batch is decompressed.
            UnwalkedBytes::Compressed => ("CompressedRecords", FrameClass::Opaque),
            UnwalkedBytes::Control => ("ControlRecords", FrameClass::Other),
            UnwalkedBytes::Partial => ("PartialRecordBatch", FrameClass::Other),
            UnwalkedBytes::MessageSet => ("MessageSet", FrameClass::Opaque),
        }
    }

    /// The class of the part before the block.
    fn class(self) -> FrameClass {
        match self {
            UnwalkedBytes::Compressed | UnwalkedBytes::MessageSet => FrameClass::Data,
            UnwalkedBytes::Control | UnwalkedBytes::Partial => FrameClass::Other,
        }
    }
}

/// A part of a body.
#[derive(Clone, Copy, Debug)]
pub(super) enum BodyPart<'a> {
    /// One record, from its length field on, or an old message's key and value, as far as it was captured.
    Record(KafkaFields<'a>),
    Block(UnwalkedBytes),
    /// Bytes between records: the last topic and the last partition in them, and the class of what follows.
    Between {
        topic: Option<KafkaTopic<'a>>,
        partition: Option<i32>,
        /// The array of that partition's aborted transactions.
        aborted: Option<KafkaFields<'a>>,
        /// The partition's array of acquired records, in a response to a share group's member, if it was captured.
        acquired: Option<KafkaFields<'a>>,
        /// True if the log does not have the offset that the consumer asked for of that partition.
        is_out_of_range: bool,
        class: Option<FrameClass>,
    },
}

/// The position of a walk in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BodyWalk {
    layout: BodyLayout,
    /// Remaining bytes of the body.
    left: u64,
    place: WalkState,
    topics: u32,
    partitions: u32,
    /// Remaining bytes of a partition's records after the open batch.
    records: u64,
    /// The header of the last batch.
    header: BatchHeader,
}

impl BodyWalk {
    /// A walk at the start of a body of `left` bytes.
    pub fn new(layout: BodyLayout, left: u64) -> BodyWalk {
        BodyWalk {
            layout,
            left,
            place: WalkState::Start,
            topics: 0,
            partitions: 0,
            records: 0,
            header: BatchHeader::default(),
        }
    }

    /// The header of the last batch.
    pub fn header(&self) -> BatchHeader {
        self.header
    }

    /// True if this is the body of a response, whose records have offsets.
    pub fn is_fetch(&self) -> bool {
        self.layout.call.key != PRODUCE
    }

    /// True if this is the body of a response to a share group's member.
    pub fn is_shared(&self) -> bool {
        self.layout.is_shared()
    }

    /// True if the records of a batch come next, compressed or not. Its header was valid, which other bytes rarely are.
    pub fn is_in_batch(&self) -> bool {
        matches!(self.place, WalkState::Records { .. } | WalkState::Message(_))
            || self.is_compressed()
    }

    /// True if records come next, or a partition's records with a plausible length.
    pub fn is_promising(&self) -> bool {
        self.is_in_batch() || (self.place == WalkState::Batches && self.records > 0)
    }

    /// Remaining records of the open batch.
    pub fn records_left(&self) -> u32 {
        match self.place {
            WalkState::Records { records, .. } => records,
            WalkState::Message(_) => 1,
            WalkState::Block(UnwalkedBytes::Compressed, _) => self.header.records,
            _ => 0,
        }
    }

    /// True if a compressed batch comes next.
    pub fn is_compressed(&self) -> bool {
        matches!(self.place, WalkState::Block(UnwalkedBytes::Compressed, _))
    }

    /// Remaining bytes of the body.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The next part, which starts with `captured`, and its length, which may be more than was captured.
    pub fn next<'a>(&mut self, captured: &'a [u8]) -> KafkaResult<(BodyPart<'a>, u64)> {
        let mut fields =
            KafkaFields::new(captured, self.left).flexible(self.layout.call.is_flexible());
        let (piece, len) = match self.place {
            WalkState::Records { .. } => self.record(fields)?,
            WalkState::Message(len) => {
                self.place = WalkState::Batches;
                (BodyPart::Record(fields.at_most(len)), len)
            }
            WalkState::Block(block, len) => (self.block(block), len),
            _ => {
                let whole = fields;
                fields = fields.at_most(LONGEST_PIECE);
                let before = fields.left();
                let piece = self.between(&mut fields, whole)?;
                match (fields.read_since(before), self.place) {
                    (0, WalkState::Block(block, len)) => (self.block(block), len),
                    (0, _) => return Err(KafkaFieldError::Malformed),
                    (len, _) => (piece, len),
                }
            }
        };
        self.left = self.left.checked_sub(len).ok_or(KafkaFieldError::Malformed)?;
        Ok((piece, len))
    }

    fn record<'a>(&mut self, fields: KafkaFields<'a>) -> KafkaResult<(BodyPart<'a>, u64)> {
        let WalkState::Records { records, bytes } = self.place else {
            return Err(KafkaFieldError::Malformed);
        };
        let whole = fields.at_most(bytes);
        let len = batch::record_bytes(&mut { whole })?;
        let left = bytes.checked_sub(len).ok_or(KafkaFieldError::Malformed)?;
        ensure((records == 1) == (left == 0))?;
        self.place = match left {
            0 => WalkState::Batches,
            bytes => WalkState::Records { records: records.saturating_sub(1), bytes },
        };
        Ok((BodyPart::Record(whole.at_most(len)), len))
    }

    fn block<'a>(&mut self, block: UnwalkedBytes) -> BodyPart<'a> {
        self.place = WalkState::Batches;
        BodyPart::Block(block)
    }

    /// Walks structures up to the next record or block.
    fn between<'a>(
        &mut self,
        fields: &mut KafkaFields<'a>,
        whole: KafkaFields<'a>,
    ) -> KafkaResult<BodyPart<'a>> {
        let before = fields.left();
        let (mut topic, mut partition, mut aborted, mut acquired) = (None, None, None, None);
        let mut is_out_of_range = false;
        loop {
            match self.place {
                WalkState::Start => {
                    self.layout.start(fields)?;
                    self.topics = fields.count()?;
                    self.place = WalkState::Topics;
                }
                WalkState::Topics if self.topics == 0 => {
                    if self.is_shared() {
                        share::end(fields)?;
                    }
                    fields.tags()?;
                    ensure(self.left == fields.read_since(before))?;
                    self.place = WalkState::End;
                    break;
                }
                WalkState::Topics => {
                    topic = Some(self.layout.topic(fields)?);
                    self.topics.shrink(1);
                    self.partitions = fields.count()?;
                    self.place = WalkState::Partitions;
                }
                WalkState::Partitions if self.partitions == 0 => {
                    fields.tags()?;
                    self.place = WalkState::Topics;
                }
                WalkState::Partitions => {
                    let head = self.layout.partition(fields)?;
                    (partition, aborted) = (Some(head.index), head.aborted);
                    is_out_of_range = head.is_out_of_range;
                    if self.is_shared() {
                        let mut ahead = whole;
                        ahead.take(fields.read_since(before))?;
                        acquired = share::acquired_after_records(ahead);
                    }
                    self.partitions.shrink(1);
                    self.records = fields.length()?.unwrap_or(0).into();
                    let left = self.left.saturating_sub(fields.read_since(before));
                    ensure(self.records <= left)?;
                    self.place = WalkState::Batches;
                }
                WalkState::Batches if self.records == 0 => {
                    if self.is_shared() {
                        share::skip_acquired(fields)?;
                    }
                    fields.tags()?;
                    self.place = WalkState::Partitions;
                }
                WalkState::Batches => self.batch(fields)?,
                WalkState::Records { .. }
                | WalkState::Message(_)
                | WalkState::Block(..)
                | WalkState::End => break,
            }
            // The part is about this partition alone.
            if is_out_of_range && self.place == WalkState::Batches
                || fields.read_since(before) >= LONG_PIECE
            {
                break;
            }
        }
        let class = match self.place {
            WalkState::Records { .. } | WalkState::Message(_) => Some(FrameClass::Data),
            WalkState::Block(block, _) => Some(block.class()),
            _ => None,
        };
        Ok(BodyPart::Between { topic, partition, aborted, acquired, is_out_of_range, class })
    }

    /// Walks the start of the next batch of a partition's records.
    fn batch(&mut self, fields: &mut KafkaFields<'_>) -> KafkaResult<()> {
        let header = batch::HEADER_BYTES.min(self.records);
        ensure(fields.left() >= header)?;
        // The limit is the end of the partition's records, not that of the part.
        let mut records = KafkaFields::new(fields.peek_up_to(header), self.records);
        let start = RecordsStart::read(&mut records)?;
        let read = self.records.saturating_sub(records.left());
        fields.take(read)?;
        self.records.shrink(read);
        if let RecordsStart::Batch(header, _) = start {
            self.header = header;
        }
        self.place = match start {
            RecordsStart::Partial | RecordsStart::MessageSet if self.records == 0 => {
                WalkState::Batches
            }
            RecordsStart::Partial => WalkState::Block(UnwalkedBytes::Partial, self.records),
            RecordsStart::MessageSet => WalkState::Block(UnwalkedBytes::MessageSet, self.records),
            RecordsStart::Batch(_, BatchBody::Records { bytes: 0, .. }) => WalkState::Batches,
            RecordsStart::Batch(_, BatchBody::Records { records, bytes }) => {
                WalkState::Records { records, bytes }
            }
            RecordsStart::Batch(_, BatchBody::Message { bytes }) => WalkState::Message(bytes),
            RecordsStart::Batch(_, BatchBody::Compressed { bytes }) => {
                WalkState::Block(UnwalkedBytes::Compressed, bytes)
            }
            RecordsStart::Batch(_, BatchBody::Control { bytes }) => {
                WalkState::Block(UnwalkedBytes::Control, bytes)
            }
        };
        match self.place {
            WalkState::Block(_, bytes)
            | WalkState::Message(bytes)
            | WalkState::Records { bytes, .. } => {
                self.records = self.records.checked_sub(bytes).ok_or(KafkaFieldError::Malformed)?;
            }
            _ => {}
        }
        Ok(())
    }
}
