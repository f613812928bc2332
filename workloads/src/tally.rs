//! Counting messages, each once.

use wirelap_contract::{Done, Stamp};
use wirelap_events::Nanos;

const PAGE_BITS: u32 = 1 << 16;
type BitPage = Box<[u64; (PAGE_BITS / 64) as usize]>;

/// Counts what was sent and received, warm-up left out.
#[derive(Default)]
pub struct MessageTally {
    done: Done,
    sent: u64,
    received: u64,
    /// Messages that each subscriber has received.
    seen: Vec<SeenSequences>,
}

impl MessageTally {
    /// A message was handed to the library.
    pub fn sent(&mut self, stamp: Stamp, at: Nanos) {
        if !stamp.warmup {
            self.sent += 1;
            self.note(at);
        }
    }

    /// A message arrived at a subscriber. Returns how many did so far, each counted once for each subscriber.
    pub fn received(&mut self, subscriber: u32, stamp: Stamp, at: Nanos) -> u64 {
        if !stamp.warmup {
            if self::at(&mut self.seen, subscriber as usize).insert(stamp) {
                self.received += 1;
                self.note(at);
            } else {
                self.done.duplicates += 1;
            }
        }
        self.received
    }

    fn note(&mut self, at: Nanos) {
        if self.done.first_ns == 0 || at.0 < self.done.first_ns {
            self.done.first_ns = at.0;
        }
        self.done.last_ns = self.done.last_ns.max(at.0);
    }

    /// Adds what another tally has sent.
    pub fn add_sent(&mut self, other: &MessageTally) {
        let Done { first_ns, last_ns, .. } = other.done;
        self.sent += other.sent;
        for at in [first_ns, last_ns].into_iter().filter(|&at| at > 0) {
            self.note(Nanos(at));
        }
    }

    /// The counts so far.
    pub fn done(&self) -> Done {
        Done { sent: Some(self.sent), received: Some(self.received), ..self.done.clone() }
    }
}

/// Sequences of all streams that have come: a bit each, in pages, so that dense sequences cost an allocation for every 65,536 messages.
#[derive(Default)]
struct SeenSequences {
    streams: Vec<Vec<Option<BitPage>>>,
}

impl SeenSequences {
    /// False if it was there already.
    fn insert(&mut self, stamp: Stamp) -> bool {
        let pages = at(&mut self.streams, usize::from(stamp.stream));
        let page = at(pages, (stamp.seq / PAGE_BITS) as usize);
        let page = page.get_or_insert_with(|| Box::new([0; (PAGE_BITS / 64) as usize]));
        let bit = stamp.seq % PAGE_BITS;
        let word = &mut page[(bit / 64) as usize];
        let mask = 1 << (bit % 64);
        let new = *word & mask == 0;
        *word |= mask;
        new
    }
}

fn at<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(stream: u8, seq: u32, warmup: bool) -> Stamp {
        Stamp { stream, seq, reply: false, warmup }
    }

    #[test]
    fn each_message_counts_once_and_warmup_never() {
        let mut tally = MessageTally::default();
        for seq in [0, 1, 65_536, 1, u32::MAX, u32::MAX] {
            tally.received(0, stamp(3, seq, false), Nanos(10 + u64::from(seq)));
            tally.received(0, stamp(3, seq, true), Nanos(1));
        }
        assert_eq!(tally.received(0, stamp(4, 1, false), Nanos(12)), 5);
        let done = tally.done();
        assert_eq!((done.received, done.duplicates), (Some(5), 2));
        assert_eq!((done.first_ns, done.last_ns), (10, 10 + u64::from(u32::MAX)));
    }

    #[test]
    fn each_subscriber_counts_its_own() {
        let mut tally = MessageTally::default();
        for subscriber in [0, 7, 7] {
            tally.received(subscriber, stamp(0, 1, false), Nanos(5));
        }
        let done = tally.done();
        assert_eq!((done.received, done.duplicates), (Some(2), 1));
    }

    #[test]
    fn publishers_in_threads_of_their_own_are_summed_up() {
        let mut all = MessageTally::default();
        for (seq, at) in [(0, 9), (1, 4), (2, 6)] {
            let mut one = MessageTally::default();
            one.sent(stamp(0, seq, false), Nanos(at));
            all.add_sent(&one);
        }
        let done = all.done();
        assert_eq!((done.sent, done.first_ns, done.last_ns), (Some(3), 4, 9));
    }

    #[test]
    fn sent_leaves_warmup_out() {
        let mut tally = MessageTally::default();
        tally.sent(stamp(0, 0, true), Nanos(5));
        tally.sent(stamp(0, 0, false), Nanos(6));
        let done = tally.done();
        assert_eq!(
            (done.sent, done.received, done.first_ns, done.last_ns),
            (Some(1), Some(0), 6, 6)
        );
    }
}
