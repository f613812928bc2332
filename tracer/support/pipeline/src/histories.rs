//! Updates made up for tests and for looking at the screen by hand: what the five middlewares of [`snapshots`](crate::snapshots) deliver, a
//! quarter of a second after the other.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "made-up figures")]

use crate::snapshots;
use std::ops::Range;
use std::sync::Arc;
use wirelap_correlate::snapshot::{Group, Snapshot};
use wirelap_events::{GroupId, Nanos, Segment};
use wirelap_history::{Bins, RowSlice, SegmentSlice, Slice, Update};

/// Extra time in one segment of a row.
#[derive(Clone, Copy, Debug)]
pub struct Slower {
    /// The row.
    pub group: GroupId,
    /// The leg, from 1 on.
    pub leg: u8,
    /// The segment of the leg that takes longer.
    pub segment: Segment,
    /// By how much, in nanoseconds, for each message.
    pub by: u64,
}

/// The updates of these seconds since the beginning, four a second, of 400 messages of each row. A message in a hundred takes three times as
/// long as the others, and one in a thousand ten times.
pub fn five(seconds: Range<u64>, slower: Option<Slower>) -> Vec<Update> {
    let quarters = seconds.start * 4..seconds.end * 4;
    quarters.map(|quarter| update(quarter, slower)).collect()
}

fn update(quarter: u64, slower: Option<Slower>) -> Update {
    let mut snapshot = snapshots::five((quarter + 1).div_ceil(4));
    let time = |quarter: u64| snapshot.since + Nanos(quarter * 250_000_000);
    let (from, to) = (time(quarter), time(quarter + 1));
    snapshot.at = to;
    for group in &mut snapshot.groups {
        let messages = MESSAGES * (quarter + 1);
        (group.messages.delivered, group.messages.matched) = (messages, messages);
        group.messages.sent = messages;
    }
    let rows = snapshot.groups.iter().map(|group| row(group, quarter, slower)).collect();
    let slice = Slice { from, to, rows, ..Slice::default() };
    Update { snapshot: Arc::new(snapshot), slice }
}

/// The messages of a row in a quarter of a second.
const MESSAGES: u64 = 100;

fn row(group: &Group, quarter: u64, slower: Option<Slower>) -> RowSlice {
    let slower = slower.filter(|slower| slower.group == group.id);
    let mut row = RowSlice { group: group.id, ..RowSlice::default() };
    let mut random = Random(quarter * 1_000 + u64::from(group.id.0));
    // Some quarters are slower than others.
    let mood = 0.97 + 0.06 * random.share();
    for _ in 0..MESSAGES {
        let outlier = match random.share() {
            share if share < 0.001 => 10.0,
            share if share < 0.011 => 3.0,
            _ => 1.0,
        };
        let factor = (0.8 + 0.4 * random.share()) * mood * outlier;
        message(&mut row, group, factor, slower);
    }
    row.payload_bytes = MESSAGES * 64;
    row
}

fn message(row: &mut RowSlice, group: &Group, factor: f64, slower: Option<Slower>) {
    let (mut whole, mut gap, mut dwell) = (0, 0, 0);
    for stat in &group.segments {
        let mut time = (stat.p50.0 as f64 * factor) as u64;
        let more = slower.filter(|one| (one.leg, one.segment) == (stat.leg, stat.segment));
        time += more.map_or(0, |more| more.by);
        whole += time;
        match stat.segment {
            Segment::Wakeup | Segment::RunQueue => gap += time,
            Segment::BrokerDwell => dwell += time,
            _ => {}
        }
        add(row, usize::from(stat.leg) - 1, stat.segment, time);
    }
    row.one_way.add(whole);
    row.sched_gap.add(gap);
    if dwell > 0 {
        row.dwell.add(dwell);
    }
}

fn add(row: &mut RowSlice, leg: usize, segment: Segment, time: u64) {
    let mut all = row.segments.iter_mut();
    let found = all.find(|one| (one.leg, one.segment) == (leg, segment));
    if let Some(found) = found {
        found.sum += time;
        found.count += 1;
        found.times.add(time);
        return;
    }
    let times = Bins::from_iter([time]);
    row.segments.push(SegmentSlice { leg, segment, sum: time, count: 1, times });
}

/// One update of whatever rows, all of whose messages took these times.
pub fn one(snapshot: Snapshot, from: Nanos, rows: &[(GroupId, &[u64])]) -> Update {
    let to = snapshot.at;
    let row = |(group, times): &(GroupId, &[u64])| RowSlice {
        group: *group,
        one_way: times.iter().copied().collect(),
        ..RowSlice::default()
    };
    let rows = rows.iter().map(row).collect();
    Update { snapshot: Arc::new(snapshot), slice: Slice { from, to, rows, ..Slice::default() } }
}

/// Numbers that look random and are the same each time (`SplitMix64`).
struct Random(u64);

impl Random {
    /// The next number, 0..1.
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
