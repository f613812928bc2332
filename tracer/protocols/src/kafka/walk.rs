//! Walks the bodies that carry records, Produce requests and Fetch responses, piece by piece.
//!
//! ```text
//! ProduceRequest 3-13                          FetchResponse 4-18
//!   [9+ compact]                                 [12+ compact]
//!   transactional id, nullable                   i32 throttle time
//!   i16 acks                                     i16 error, i32 session id          [7+]
//!   i32 timeout                                  topics, array of
//!   topics, array of                               name | uuid [13+: KIP-516]
//!     name | uuid [13+: KIP-516]                   partitions, array of
//!     partitions, array of                           i32 index, i16 error
//!       i32 index                                    i64 high watermark, i64 last stable offset
//!       records, as bytes                            i64 log start offset           [5+]
//!                                                    aborted transactions, array of (i64, i64)
//!                                                    i32 preferred read replica     [11+]
//!                                                    records, as bytes
//! ```
//!
//! Every structure of a flexible version ends with a tag buffer. A piece is a record, or the rest of a
//! batch whose records cannot be read one by one, or everything between two of these. Where pieces end
//! does not depend on how much of the body is here, so that a body can be read as it comes.

use super::apis::{Call, FETCH, PRODUCE};
use super::batch::{self, Batch, Header, Start};
use super::fields::{Fault, Fields, Parsed, ensure};
use super::topics;
use wirelap_events::Class;
use wirelap_events::Saturate;

/// A piece between records ends with the first structure that reaches so far.
const LONG_PIECE: u64 = 4096;

/// No piece between records is longer; it must fit into memory.
const LONGEST_PIECE: u64 = 64 << 10;

/// The codes of errors (protocol guide, "Error Codes"), and some to come.
const ERRORS: std::ops::RangeInclusive<i16> = -1..=255;

/// What differs between the two bodies and between their versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    call: Call,
    /// Topics are told by their ids.
    ids: bool,
}

impl Layout {
    /// The layout of the body, header not included, that carries records for this call, if it is a
    /// version that is known.
    pub fn of(call: Call) -> Option<Layout> {
        let known = match call.key {
            PRODUCE => 3..=13,
            FETCH => 4..=18,
            _ => return None,
        };
        known.contains(&call.version).then_some(Layout { call, ids: call.version >= 13 })
    }

    /// Moves over everything before the array of topics.
    fn start(self, fields: &mut Fields<'_>) -> Parsed<()> {
        if self.call.key == PRODUCE {
            fields.string()?;
            let acks = fields.i16()?;
            ensure((-1..=1).contains(&acks))?;
            return fields.take(4).map(drop);
        }
        ensure(fields.i32()? >= 0)?;
        if self.call.version >= 7 {
            ensure(ERRORS.contains(&fields.i16()?) && fields.i32()? >= 0)?;
        }
        Ok(())
    }

    pub fn topic<'a>(self, fields: &mut Fields<'a>) -> Parsed<Topic<'a>> {
        if self.ids {
            let id = fields.uuid()?;
            ensure(id != [0; 16])?;
            return Ok(Topic::Id(id));
        }
        let name = fields.string()?.ok_or(Fault::Malformed)?;
        ensure(topics::is_name(name))?;
        Ok(Topic::Name(name))
    }

    /// Moves over a partition up to its records. Returns its index, and the array of the transactions that were aborted.
    fn partition<'a>(self, fields: &mut Fields<'a>) -> Parsed<(i32, Option<Fields<'a>>)> {
        let index = fields.i32()?;
        ensure(index >= 0)?;
        let mut aborted = None;
        if self.call.key == FETCH {
            ensure(ERRORS.contains(&fields.i16()?))?;
            for _ in 0..if self.call.version >= 5 { 3 } else { 2 } {
                ensure(fields.i64()? >= -1)?;
            }
            aborted = Some(*fields);
            for _ in 0..fields.count()? {
                fields.take(16)?;
                fields.tags()?;
            }
            if self.call.version >= 11 {
                fields.take(4)?;
            }
        }
        Ok((index, aborted))
    }
}

/// A topic as it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Topic<'a> {
    Name(&'a [u8]),
    Id([u8; 16]),
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Start,
    Topics,
    Partitions,
    /// A batch, or the end of a partition's records.
    Batches,
    Records {
        records: u32,
        bytes: u64,
    },
    Block(Block, u64),
    End,
}

/// Bytes that are not read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    Compressed,
    Control,
    Partial,
    MessageSet,
}

impl Block {
    /// Name and class of its frame. A batch cut short is no data: the consumer drops it.
    pub fn frame(self) -> (&'static str, Class) {
        match self {
            // As long as nobody opens it.
            Block::Compressed => ("CompressedRecords", Class::Opaque),
            Block::Control => ("ControlRecords", Class::Other),
            Block::Partial => ("PartialRecordBatch", Class::Other),
            Block::MessageSet => ("MessageSet", Class::Opaque),
        }
    }

    /// What the piece before it is for.
    fn class(self) -> Class {
        match self {
            Block::Compressed | Block::MessageSet => Class::Data,
            Block::Control | Block::Partial => Class::Other,
        }
    }
}

/// A piece of a body.
#[derive(Clone, Copy, Debug)]
pub(super) enum Piece<'a> {
    /// One record, its length first; those of its bytes that are here.
    Record(Fields<'a>),
    Block(Block),
    /// Anything between: the last topic and the last partition in it, and what it leads to.
    Between {
        topic: Option<Topic<'a>>,
        partition: Option<i32>,
        /// The array of that partition's transactions that were aborted.
        aborted: Option<Fields<'a>>,
        class: Option<Class>,
    },
}

/// Where in a body one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Walk {
    layout: Layout,
    /// Bytes of the body that are left.
    left: u64,
    place: Place,
    topics: u32,
    partitions: u32,
    /// Bytes left of a partition's records, after the batch that is open.
    records: u64,
    /// Of the last batch.
    header: Header,
}

impl Walk {
    /// At the start of a body of `left` bytes.
    pub fn new(layout: Layout, left: u64) -> Walk {
        Walk {
            layout,
            left,
            place: Place::Start,
            topics: 0,
            partitions: 0,
            records: 0,
            header: Header::default(),
        }
    }

    /// The header of the last batch.
    pub fn header(&self) -> Header {
        self.header
    }

    /// It is the body of a response: the records have offsets.
    pub fn is_fetch(&self) -> bool {
        self.layout.call.key == FETCH
    }

    /// Whether the records of a batch come next, compressed or not: its header was read, which hardly any other bytes are.
    pub fn is_in_batch(&self) -> bool {
        matches!(self.place, Place::Records { .. }) || self.is_compressed()
    }

    /// Whether records are to come: those of a batch, or a partition's, whose place and length make sense.
    pub fn is_promising(&self) -> bool {
        self.is_in_batch() || (self.place == Place::Batches && self.records > 0)
    }

    /// Records that are left of the batch that is open.
    pub fn records_left(&self) -> u32 {
        match self.place {
            Place::Records { records, .. } => records,
            Place::Block(Block::Compressed, _) => self.header.records,
            _ => 0,
        }
    }

    /// Whether compressed records come next.
    pub fn is_compressed(&self) -> bool {
        matches!(self.place, Place::Block(Block::Compressed, _))
    }

    /// Bytes of the body that are left.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The next piece, which starts with `captured`, and its bytes, of which not all need be here.
    pub fn next<'a>(&mut self, captured: &'a [u8]) -> Parsed<(Piece<'a>, u64)> {
        let mut fields = Fields::new(captured, self.left).flexible(self.layout.call.is_flexible());
        let (piece, len) = match self.place {
            Place::Records { .. } => self.record(fields)?,
            Place::Block(block, len) => (self.block(block), len),
            _ => {
                fields = fields.at_most(LONGEST_PIECE);
                let before = fields.left();
                let piece = self.between(&mut fields)?;
                match (before.saturating_sub(fields.left()), self.place) {
                    (0, Place::Block(block, len)) => (self.block(block), len),
                    (0, _) => return Err(Fault::Malformed),
                    (len, _) => (piece, len),
                }
            }
        };
        self.left = self.left.checked_sub(len).ok_or(Fault::Malformed)?;
        Ok((piece, len))
    }

    fn record<'a>(&mut self, fields: Fields<'a>) -> Parsed<(Piece<'a>, u64)> {
        let Place::Records { records, bytes } = self.place else { return Err(Fault::Malformed) };
        let whole = fields.at_most(bytes);
        let len = batch::record_bytes(&mut { whole })?;
        let left = bytes.checked_sub(len).ok_or(Fault::Malformed)?;
        ensure((records == 1) == (left == 0))?;
        self.place = match left {
            0 => Place::Batches,
            bytes => Place::Records { records: records.saturating_sub(1), bytes },
        };
        Ok((Piece::Record(whole.at_most(len)), len))
    }

    fn block<'a>(&mut self, block: Block) -> Piece<'a> {
        self.place = Place::Batches;
        Piece::Block(block)
    }

    /// Reads structure up to the next record or block.
    fn between<'a>(&mut self, fields: &mut Fields<'a>) -> Parsed<Piece<'a>> {
        let before = fields.left();
        let (mut topic, mut partition, mut aborted) = (None, None, None);
        loop {
            match self.place {
                Place::Start => {
                    self.layout.start(fields)?;
                    self.topics = fields.count()?;
                    self.place = Place::Topics;
                }
                Place::Topics if self.topics == 0 => {
                    fields.tags()?;
                    ensure(self.left == before.saturating_sub(fields.left()))?;
                    self.place = Place::End;
                    break;
                }
                Place::Topics => {
                    topic = Some(self.layout.topic(fields)?);
                    self.topics.shrink(1);
                    self.partitions = fields.count()?;
                    self.place = Place::Partitions;
                }
                Place::Partitions if self.partitions == 0 => {
                    fields.tags()?;
                    self.place = Place::Topics;
                }
                Place::Partitions => {
                    let (index, transactions) = self.layout.partition(fields)?;
                    (partition, aborted) = (Some(index), transactions);
                    self.partitions.shrink(1);
                    self.records = fields.length()?.unwrap_or(0).into();
                    let left = self.left.saturating_sub(before.saturating_sub(fields.left()));
                    ensure(self.records <= left)?;
                    self.place = Place::Batches;
                }
                Place::Batches if self.records == 0 => {
                    fields.tags()?;
                    self.place = Place::Partitions;
                }
                Place::Batches => self.batch(fields)?,
                Place::Records { .. } | Place::Block(..) | Place::End => break,
            }
            if before.saturating_sub(fields.left()) >= LONG_PIECE {
                break;
            }
        }
        let class = match self.place {
            Place::Records { .. } => Some(Class::Data),
            Place::Block(block, _) => Some(block.class()),
            _ => None,
        };
        Ok(Piece::Between { topic, partition, aborted, class })
    }

    /// Reads what a partition's records go on with.
    fn batch(&mut self, fields: &mut Fields<'_>) -> Parsed<()> {
        let header = batch::HEADER_BYTES.min(self.records);
        ensure(fields.left() >= header)?;
        // As far as the partition goes, even where the piece may not.
        let mut records = Fields::new(fields.peek_up_to(header), self.records);
        let start = Start::read(&mut records)?;
        let read = self.records.saturating_sub(records.left());
        fields.take(read)?;
        self.records.shrink(read);
        if let Start::Batch(header, _) = start {
            self.header = header;
        }
        self.place = match start {
            Start::Partial | Start::MessageSet if self.records == 0 => Place::Batches,
            Start::Partial => Place::Block(Block::Partial, self.records),
            Start::MessageSet => Place::Block(Block::MessageSet, self.records),
            Start::Batch(_, Batch::Records { bytes: 0, .. }) => Place::Batches,
            Start::Batch(_, Batch::Records { records, bytes }) => Place::Records { records, bytes },
            Start::Batch(_, Batch::Compressed { bytes }) => Place::Block(Block::Compressed, bytes),
            Start::Batch(_, Batch::Control { bytes }) => Place::Block(Block::Control, bytes),
        };
        match self.place {
            Place::Block(_, bytes) | Place::Records { bytes, .. } => {
                self.records = self.records.checked_sub(bytes).ok_or(Fault::Malformed)?;
            }
            _ => {}
        }
        Ok(())
    }
}
