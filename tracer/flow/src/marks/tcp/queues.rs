//! Queues that bytes wait in after they have left their socket: before a device of this host, and on the path.

use std::collections::VecDeque;
use wirelap_events::{AckRoundTrip, LinkQueue, Nanos};
use wirelap_limits::SECOND;

/// The most times that are kept of each place: that of a link which is always busy is one.
const SPANS: usize = 64;

/// A time in which there was a queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueSpan {
    /// The beginning.
    pub from: Nanos,
    /// The end.
    pub to: Nanos,
    /// The longest time that bytes took, and the shortest one of a round trip.
    pub longest: Nanos,
    /// The shortest time of a round trip.
    pub least: Nanos,
    /// Bytes that came through, and in what time.
    pub bytes: u64,
    /// Time in which those bytes came through.
    pub time: Nanos,
}

/// The last times in which there was a queue in one place, in order.
#[derive(Debug, Default)]
pub struct QueueSpans(VecDeque<QueueSpan>);

impl QueueSpans {
    /// Adds what was seen of a queue: one that began before the last one ended is the same.
    pub fn add(&mut self, seen: QueueSpan) {
        match self.0.back_mut() {
            Some(last) if seen.from <= last.to => {
                // What came through before the last one ended is counted there.
                let more = seen.to - last.to;
                last.bytes = last.bytes.saturating_add(part(seen.bytes, more, seen.time));
                last.time += more;
                last.from = last.from.min(seen.from);
                last.to = last.to.max(seen.to);
                last.longest = last.longest.max(seen.longest);
                last.least = last.least.min(seen.least);
            }
            _ => {
                if self.0.len() >= SPANS {
                    self.0.pop_front();
                }
                self.0.push_back(seen);
            }
        }
    }

    /// Adds a packet that has left a device's queue: all of it came through since the one before it left.
    pub fn add_packet(&mut self, mut packet: QueueSpan) {
        if let Some(last) = self.0.back_mut().filter(|last| packet.from <= last.to) {
            packet.time = packet.to - last.to;
            if packet.time == Nanos(0) {
                last.bytes = last.bytes.saturating_add(packet.bytes);
            }
        }
        self.add(packet);
    }

    /// The one that covers most of the time between two moments.
    pub fn between(&self, from: Nanos, to: Nanos) -> Option<LinkQueue> {
        let within = self.0.iter().rev().take_while(|span| span.to > from).map(|span| LinkQueue {
            from: span.from,
            to: span.to,
            longest: span.longest,
            least: span.least,
            rate: part(span.bytes, SECOND, span.time),
        });
        let longest = within.max_by_key(|queue| queue.within(from, to));
        longest.filter(|queue| queue.within(from, to) > Nanos(0))
    }
}

/// The part of so many bytes in `whole` that falls to `time`.
fn part(bytes: u64, time: Nanos, whole: Nanos) -> u64 {
    let product = u128::from(bytes).saturating_mul(u128::from(time.0));
    let part = product.checked_div(u128::from(whole.0)).unwrap_or(0);
    u64::try_from(part).unwrap_or(u64::MAX)
}

/// The queues of one direction.
#[derive(Debug, Default)]
pub struct Queues {
    /// Queues before a device of this host.
    pub device: QueueSpans,
    /// Queues on the path.
    pub path: QueueSpans,
}

/// The packets of one direction that the receiver's socket got last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrivals {
    /// Time at which the last packet came in.
    pub at: Nanos,
    /// Number of packets that have come from a queue, one after the other.
    pub queued: usize,
}

/// The round-trip times of the acknowledgements of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckRoundTrips {
    last: Option<AckRoundTrip>,
    /// The shortest one of bytes that left when no others were under way.
    alone: Option<Nanos>,
    /// The shortest one that TCP itself has measured, which may have been before anything was seen.
    measured: Option<Nanos>,
}

impl AckRoundTrips {
    /// The last one.
    pub fn last(self) -> Option<AckRoundTrip> {
        self.last
    }

    /// TCP's own shortest one.
    pub fn measured(&mut self, time: Nanos) {
        self.measured = Some(self.measured.map_or(time, |known| known.min(time)));
    }

    /// Distance of the other end in time, where bytes took `way` to it at the shortest.
    pub fn distance(self, way: Nanos) -> Nanos {
        self.measured.map_or(way, |measured| measured.min(way))
    }

    /// Another one, of bytes that left when others were under way or not.
    pub fn add(&mut self, time: Nanos, is_alone: bool) -> AckRoundTrip {
        if is_alone {
            self.alone = Some(self.alone.map_or(time, |known| known.min(time)));
        }
        let least = self.last.map_or(time, |known| known.least.min(time));
        let least = self.measured.map_or(least, |measured| measured.min(least));
        let is_without_queue = self.alone.is_some_and(|alone| AckRoundTrip::is_about(alone, least));
        *self.last.insert(AckRoundTrip { time, least, is_without_queue })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_memory_is_bounded() {
        let mut spans = QueueSpans::default();
        for number in 0..1_000 {
            let (from, to) = (Nanos::from_micros(number * 10), Nanos::from_micros(number * 10 + 5));
            let span = QueueSpan {
                from,
                to,
                longest: Nanos::from_micros(5),
                least: Nanos::from_micros(1),
                bytes: 10,
                time: Nanos::from_micros(5),
            };
            spans.add(span);
        }
        assert_eq!(spans.0.len(), SPANS);
        assert!(spans.between(Nanos::from_micros(9_000), Nanos::from_micros(20_000)).is_some());
    }
}
