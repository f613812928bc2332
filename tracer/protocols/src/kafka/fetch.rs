//! What a Fetch request asks for.
//!
//! ```text
//! FetchRequest 4-18
//!   i32 replica id [-14]
//!   i32 max wait (ms), i32 min bytes, i32 max bytes, i8 isolation level
//!   i32 session id, i32 session epoch           [7+]
//!   topics, array of
//!     name | uuid [13+]
//!     partitions, array of
//!       i32 index, i32 leader epoch [9+], i64 fetch offset, i32 last epoch [12+]
//!       i64 log start offset [5+], i32 max bytes
//!   forgotten topics [7+], rack [11+]
//!   tags: 1 replica state (i32 replica id, i64 epoch) [15+]
//! ```
//!
//! A session's later requests (KIP-227, of an epoch above 0) name only the partitions that change: those whose offset has
//! moved are among them, and those that are not read any more are the forgotten topics.

use super::apis::Call;
use super::fields::{Fields, Parsed};
use super::handover::{Place, Reader, Table};
use super::topics::{Topics, hash};
use super::walk::{Layout, Topic};
use rustc_hash::FxHashMap;
use wirelap_events::Saturate;
use wirelap_events::{Nanos, RequestLimits};

/// Partitions that are remembered of a connection; of more, what is fetched counts as it comes.
const PARTITIONS: usize = 4096;

/// How far a consumer is in one partition.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    /// It throws away what lies before: a batch is handed out whole, and it may be in its middle.
    wanted: i64,
    /// The request that says so, and what was wanted before: where bytes come late, an older answer may come after it.
    since: i32,
    before: i64,
    /// Behind the last record that it was sent.
    next: i64,
    /// Where it is for other connections.
    place: Place,
    /// It goes on reading here.
    is_read: bool,
}

/// How far a consumer is in its partitions.
#[derive(Debug, Default)]
pub(super) struct Positions {
    all: FxHashMap<(u64, i32), Position>,
    /// In how many it goes on reading.
    read: usize,
    reader: Option<Reader>,
    /// It is another broker, which keeps a copy of the partitions.
    pub is_replica: bool,
    /// Its consumer takes what is committed only (KIP-98).
    pub is_committed: bool,
}

/// What a record is for a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Message,
    /// It was sent on this connection before.
    Again,
    /// The consumer asked for what comes after it.
    Skipped,
}

impl Positions {
    /// Learns from the body of the Fetch request with this correlation id. Returns how long the broker may keep it waiting,
    /// and how many more records are known to have been sent to two consumers of a group.
    pub fn asked(
        &mut self,
        id: i32,
        call: Call,
        body: Fields<'_>,
        topics: &Topics,
    ) -> Option<(RequestLimits, u64)> {
        let mut fields = body;
        let Preamble { ask, is_replica, is_committed, is_full } = head(call, &mut fields).ok()?;
        (self.is_replica, self.is_committed) = (is_replica, is_committed);
        let mut table = topics.handovers.open();
        let reader = *self.reader.get_or_insert_with(|| table.reader());
        let asking = Asking { id, call, reader, topics };
        // What was read before an end that is missing stays.
        if self.topics(&asking, &mut table, &mut fields) == Ok(Named::Fewer) && is_full {
            self.leave(reader, &mut table, |position| position.since != id);
        }
        Some((ask, table.take_found()))
    }

    /// It reads nothing any more.
    pub fn closed(&mut self, topics: &Topics) {
        if let Some(reader) = self.reader {
            self.leave(reader, &mut topics.handovers.open(), |_| true);
        }
    }

    fn leave(&mut self, reader: Reader, table: &mut Table, which: impl Fn(&Position) -> bool) {
        for position in self.all.values_mut().filter(|one| one.is_read && which(one)) {
            position.is_read = false;
            self.read = self.read.saturating_sub(1);
            table.reaches(position.place, reader, position.next, true);
        }
    }

    fn topics(
        &mut self,
        asking: &Asking<'_>,
        table: &mut Table,
        fields: &mut Fields<'_>,
    ) -> Parsed<Named> {
        let call = asking.call;
        let Some(layout) = Layout::of(call) else { return Ok(Named::All) };
        let mut named = 0;
        for _ in 0..fields.count()? {
            let topic = layout.topic(fields)?;
            for _ in 0..fields.count()? {
                let (index, offset) = partition(call, fields)?;
                self.wants(asking, table, (topic, index), offset);
                named.grow(1);
            }
            fields.tags()?;
        }
        if call.version >= 7 {
            for _ in 0..fields.count()? {
                let topic = hash(layout.topic(fields)?);
                for _ in 0..fields.count()? {
                    let place = (topic, fields.i32()?);
                    if let Some(position) = self.all.get_mut(&place).filter(|one| one.is_read) {
                        position.is_read = false;
                        self.read = self.read.saturating_sub(1);
                        table.reaches(position.place, asking.reader, position.next, true);
                    }
                }
                fields.tags()?;
            }
        }
        if call.version >= 11 {
            fields.string()?;
        }
        if call.version >= 15 {
            let is_replica = &mut self.is_replica;
            fields.each_tag(|tag, value| {
                *is_replica |= tag == 1 && value.i32().is_ok_and(|id| id >= 0);
            })?;
        }
        Ok(if named < self.read { Named::Fewer } else { Named::All })
    }

    fn wants(
        &mut self,
        asking: &Asking<'_>,
        table: &mut Table,
        (topic, index): (Topic<'_>, i32),
        offset: i64,
    ) {
        let place = (hash(topic), index);
        if self.all.len() >= PARTITIONS && !self.all.contains_key(&place) {
            return;
        }
        let position = self.all.entry(place).or_default();
        (position.before, position.wanted, position.since) = (position.wanted, offset, asking.id);
        if self.is_replica {
            return;
        }
        if position.is_read {
            table.reaches(position.place, asking.reader, position.next, false);
            return;
        }
        position.is_read = true;
        position.place = (asking.topics.number(topic), index);
        self.read.grow(1);
        table.begins(position.place, asking.reader, offset);
    }

    /// A record is sent in the answer to the request with this correlation id.
    pub fn sent(&mut self, id: i32, place: (u64, i32), offset: i64) -> Meaning {
        let Some(position) = self.all.get_mut(&place) else { return Meaning::Message };
        let is_older = position.since.wrapping_sub(id) > 0;
        if offset < if is_older { position.before } else { position.wanted } {
            return Meaning::Skipped;
        }
        if offset < position.next {
            return Meaning::Again;
        }
        position.next = offset.saturating_add(1);
        Meaning::Message
    }
}

/// A request, and whose it is.
struct Asking<'a> {
    id: i32,
    call: Call,
    reader: Reader,
    topics: &'a Topics,
}

/// Whether a request names all partitions that its connection reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    All,
    Fewer,
}

/// What stands before the topics.
struct Preamble {
    ask: RequestLimits,
    is_replica: bool,
    is_committed: bool,
    /// What it does not name is not read any more; within a session, it is.
    is_full: bool,
}

fn head(call: Call, fields: &mut Fields<'_>) -> Parsed<Preamble> {
    let replica = if call.version <= 14 { fields.i32()? } else { -1 };
    let wait = u64::try_from(fields.i32()?).unwrap_or(0);
    let least = u64::try_from(fields.i32()?).unwrap_or(0);
    fields.take(4)?;
    let is_committed = fields.u8()? == 1;
    let mut is_full = true;
    if call.version >= 7 {
        fields.take(4)?;
        is_full = fields.i32()? <= 0;
    }
    let longest = Nanos::from_millis(wait);
    let ask = RequestLimits { longest, least_bytes: least };
    Ok(Preamble { ask, is_replica: replica >= 0, is_committed, is_full })
}

/// A partition's index, and the offset that is asked for.
fn partition(call: Call, fields: &mut Fields<'_>) -> Parsed<(i32, i64)> {
    let index = fields.i32()?;
    fields.take(if call.version >= 9 { 4 } else { 0 })?;
    let offset = fields.i64()?;
    fields.take(if call.version >= 12 { 4 } else { 0 })?;
    fields.take(if call.version >= 5 { 12 } else { 4 })?;
    fields.tags()?;
    Ok((index, offset))
}
