//! Packets in the order of their times, where a file has them in another one.
//!
//! ```text
//! a file of several interfaces     1 2 5 6 | 3 4 7 8     sorted: 1 2 3 4 5 6 7 8
//! a clock that was set back        5 6 7 8 | 1 2 3 4     moved:  5 6 7 8 8 9 10 11
//! ```
//!
//! TCP tells which of both it is: in the right order, a direction's bytes follow each other, and nobody acknowledges what was not
//! sent. Packets are held back until a whole batch behind them has nothing that is earlier, so that what is sorted lies within two
//! batches of the file or, where these overlap with others, [`MAX_HELD_BYTES`].

use super::batch::Batch;
use super::problem::Disorder;
use crate::record::{Entry, LocatedEntry};
use rustc_hash::FxHashMap;
use wirelap_events::{Body, Count, FlowKey, Nanos, Packet, Seq, tcp_flags};

/// A clock that goes back by less was not set: packets are stamped by several CPUs and devices, whose clocks differ by less.
const SMALLEST_STEP: Nanos = Nanos::from_millis(100);

/// Payload that is held back while packets are out of order: seconds of a slow link, and little memory.
const MAX_HELD_BYTES: usize = 4 << 20;

/// Puts packets into the order of their times.
#[derive(Default)]
pub struct TimeOrder {
    held: Batch,
    /// The latest time of a packet so far.
    latest: Nanos,
    /// The latest time of a packet that was handed out.
    handed_out: Nanos,
    /// Added to all times, since the clock was set back.
    shift: Nanos,
    found: Disorder,
}

impl TimeOrder {
    /// Disorder of the packets so far.
    pub fn found(&self) -> Disorder {
        self.found
    }

    /// Takes the next batch and hands out what cannot be later than anything in it. Returns a batch to be used again.
    pub fn add<E>(
        &mut self,
        mut batch: Batch,
        take: &mut impl FnMut(Entry<'_>) -> Result<(), E>,
    ) -> Result<Batch, E> {
        if self.shift > Nanos(0) {
            batch.entries.iter_mut().filter_map(time_mut).for_each(|at| *at += self.shift);
        }
        let before = self.latest;
        let (mut earliest, mut is_ordered) = (Nanos(u64::MAX), true);
        for at in batch.entries.iter().filter_map(time) {
            is_ordered &= at >= self.latest;
            earliest = earliest.min(at);
            self.latest = self.latest.max(at);
        }
        if is_ordered {
            self.handed_out = before;
            let mut past = std::mem::replace(&mut self.held, batch);
            past.hand_out(take)?;
            return Ok(past);
        }
        let first = self.held.entries.iter().position(|entry| time(entry) >= Some(earliest));
        self.hand_out_first(first.unwrap_or(self.held.entries.len()), take)?;
        self.held = joined(&[&self.held, &batch]);
        self.arrange();
        if self.held.bytes.len() > MAX_HELD_BYTES {
            self.hand_out_first(self.held.entries.len() / 2, take)?;
        }
        Ok(batch.emptied())
    }

    /// Hands out what is left.
    pub fn end<E>(&mut self, take: &mut impl FnMut(Entry<'_>) -> Result<(), E>) -> Result<(), E> {
        std::mem::take(&mut self.held).hand_out(take)
    }

    fn hand_out_first<E>(
        &mut self,
        count: usize,
        take: &mut impl FnMut(Entry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Batch { entries, bytes } = &mut self.held;
        for entry in entries.drain(..count.min(entries.len())) {
            self.handed_out = self.handed_out.max(time(&entry).unwrap_or_default());
            take(entry.entry(|range| bytes.get(range).unwrap_or_default()))?;
        }
        Ok(())
    }

    /// Sorts what is held, or moves what was stamped by a clock that was set back.
    fn arrange(&mut self) {
        let entries = &mut self.held.entries;
        let mut order: Vec<usize> = (0..entries.len()).collect();
        let mut latest = Nanos(0);
        let times: Vec<Nanos> = entries
            .iter()
            .map(|entry| {
                let at = time(entry).unwrap_or(latest);
                latest = latest.max(at);
                at
            })
            .collect();
        order.sort_by_key(|&entry| times.get(entry));
        let in_file = contradictions(entries.iter());
        let sorted = contradictions(order.iter().filter_map(|&entry| entries.get(entry)));
        if sorted > in_file || (sorted == in_file && is_one_step(entries)) {
            self.move_later();
            return;
        }
        let mut latest = Nanos(0);
        for at in times {
            self.found.sorted += u64::from(at < latest);
            self.found.too_late += u64::from(at < self.handed_out);
            latest = latest.max(at);
        }
        let sorted = order.iter().filter_map(|&entry| entries.get(entry).cloned());
        self.held.entries = sorted.collect();
    }

    /// Lets the times go on where the clock goes back.
    fn move_later(&mut self) {
        let (mut shift, mut latest) = (Nanos(0), Nanos(0));
        for at in self.held.entries.iter_mut().filter_map(time_mut) {
            *at += shift;
            let back = latest.since(*at).unwrap_or_default();
            if back >= SMALLEST_STEP {
                *at += back;
                shift += back;
                self.found.steps += 1;
                self.found.longest_step = self.found.longest_step.max(back);
            }
            latest = latest.max(*at);
        }
        self.shift += shift;
        self.latest = self.latest.max(latest);
    }
}

/// The entries of several batches, one after the other.
fn joined(batches: &[&Batch]) -> Batch {
    let mut joined = Batch::default();
    for batch in batches {
        for entry in &batch.entries {
            let entry = entry.clone().moved(&batch.bytes, &mut joined.bytes);
            joined.entries.push(entry);
        }
    }
    joined
}

fn time(entry: &LocatedEntry) -> Option<Nanos> {
    match entry {
        LocatedEntry::Event { event, .. } => Some(event.at),
        _ => None,
    }
}

fn time_mut(entry: &mut LocatedEntry) -> Option<&mut Nanos> {
    match entry {
        LocatedEntry::Event { event, .. } => Some(&mut event.at),
        _ => None,
    }
}

fn packet(entry: &LocatedEntry) -> Option<(Nanos, &Packet<'static>)> {
    match entry {
        LocatedEntry::Event { event, .. } => match &event.body {
            Body::Packet(packet) => Some((event.at, packet)),
            _ => None,
        },
        _ => None,
    }
}

/// Counts TCP packets with bytes before those that their direction has sent already, or that acknowledge bytes that the other
/// direction has not sent yet.
fn contradictions<'a>(entries: impl Iterator<Item = &'a LocatedEntry>) -> Count {
    let mut sent: FxHashMap<FlowKey, Seq> = FxHashMap::default();
    let mut found = Count(0);
    for (_, packet) in entries.filter_map(packet) {
        let Some(tcp) = packet.tcp else { continue };
        let other = sent.get(&packet.flow.reversed());
        let is_early = tcp.flags & tcp_flags::ACK != 0
            && other.is_some_and(|sent| tcp.ack.distance_from(*sent) > 0);
        let takes_one = tcp.flags & (tcp_flags::SYN | tcp_flags::FIN) != 0;
        let end = tcp.seq.plus(packet.payload_len).plus(takes_one.into());
        let known = sent.entry(packet.flow).or_insert(tcp.seq);
        let is_late = end != tcp.seq && tcp.seq.distance_from(*known) < 0;
        if end.distance_from(*known) > 0 {
            *known = end;
        }
        found += u64::from(is_early || is_late);
    }
    found
}

/// True if the times of one interface go back once, by much: of packets that tell no order themselves, nothing else is known.
fn is_one_step(entries: &[LocatedEntry]) -> bool {
    let mut latest = FxHashMap::default();
    let (mut steps, mut longest) = (Count(0), Nanos(0));
    for (at, packet) in entries.iter().filter_map(packet) {
        let before = latest.insert((packet.netns, packet.device), at).unwrap_or_default();
        steps += u64::from(at < before);
        longest = longest.max(before.since(at).unwrap_or_default());
    }
    steps == 1 && longest >= SMALLEST_STEP
}
