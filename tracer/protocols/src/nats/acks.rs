//! Messages that the consumers of `JetStream` on a connection have not acknowledged yet: to each, the server sends only so many
//! (`max_ack_pending`) before one is acknowledged.

use super::jetstream::{SentNumbers, consumer_of_ack, sent_numbers, subject_number};
use crate::in_flight::{InFlight, SendCredit};
use wirelap_events::{Offset, Size};

/// The most consumers of a connection that are kept; the oldest go first.
const MOST: usize = 64;

/// An ack that says that the client is still at work.
const IN_PROGRESS: &[u8] = b"+WPI";

/// The consumers of one client.
#[derive(Debug, Default)]
pub(super) struct Acks {
    consumers: Vec<AckedConsumer>,
}

/// A consumer.
#[derive(Debug)]
struct AckedConsumer {
    number: u64,
    in_flight: InFlight,
    /// The last message that it was sent, with the highest number in the stream so far; `None` if some may have been missed since.
    last: Option<SentNumbers>,
}

impl AckedConsumer {
    /// Notes that the consumer is sent a message with these numbers. Returns how many messages of the stream lie between it and what it was
    /// sent before, where it was sent nothing in between.
    fn follow(&mut self, numbers: Option<SentNumbers>) -> u64 {
        let (last, Some(now)) = (self.last, numbers) else {
            self.last = None;
            return 0;
        };
        let in_stream = last.map_or(0, |last| last.in_stream).max(now.in_stream);
        self.last = Some(SentNumbers { in_stream, ..now });
        let next = last.filter(|last| last.sent.checked_add(1) == Some(now.sent) && !now.is_again);
        next.map_or(0, |last| now.in_stream.saturating_sub(last.in_stream).saturating_sub(1))
    }
}

impl Acks {
    /// A client gets a message of a consumer, which ends before `end`, with this subject for its ack. Returns how many messages of the stream
    /// lie between it and what the consumer was sent before.
    pub fn delivered(&mut self, consumer: u64, reply: &[u8], end: Offset) -> u64 {
        let (id, numbers) = (subject_number(reply), sent_numbers(reply));
        if let Some(known) = self.consumers.iter_mut().find(|known| known.number == consumer) {
            known.in_flight.sent(id, end);
            return known.follow(numbers);
        }
        if self.consumers.len() >= MOST {
            self.consumers.remove(0);
        }
        let mut in_flight = InFlight::default();
        in_flight.sent(id, end);
        self.consumers.push(AckedConsumer { number: consumer, in_flight, last: numbers });
        0
    }

    /// A client publishes to a subject. Returns the consumer, and what room that makes, if it acknowledges a message.
    pub fn published(&mut self, subject: &[u8], payload: &[u8]) -> Option<(u64, SendCredit)> {
        if self.consumers.is_empty() || payload.starts_with(IN_PROGRESS) {
            return None;
        }
        let consumer = consumer_of_ack(subject)?;
        let known = self.consumers.iter_mut().find(|known| known.number == consumer)?;
        let room = known.in_flight.acknowledged(subject_number(subject))?;
        Some((consumer, room))
    }

    /// Something was missed.
    pub fn forget(&mut self) {
        for consumer in &mut self.consumers {
            consumer.in_flight.forget();
            consumer.last = None;
        }
    }

    /// Bytes of memory that they use.
    pub fn held_bytes(&self) -> Size {
        let own = Size::of::<AckedConsumer>(self.consumers.capacity());
        own + Size::sum(self.consumers.iter().map(|known| known.in_flight.held_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(consumer: &str, n: u32) -> Vec<u8> {
        format!("$JS.ACK.S.{consumer}.1.{n}.{n}.1700000000.0").into_bytes()
    }

    fn deliver(acks: &mut Acks, consumer: &str, n: u32) {
        let reply = ack(consumer, n);
        acks.delivered(consumer_of_ack(&reply).unwrap(), &reply, Offset(n.into()));
    }

    /// The messages of the stream between what a consumer is sent and what it was sent before, by deliveries, number in the stream and number
    /// for the consumer.
    fn between(all: &[[u64; 3]]) -> Vec<u64> {
        let mut acks = Acks::default();
        let sent = all.iter().map(|[times, in_stream, sent]| {
            let reply = format!("$JS.ACK.S.c.{times}.{in_stream}.{sent}.1700000000.0");
            acks.delivered(1, reply.as_bytes(), Offset(*sent))
        });
        sent.collect()
    }

    #[test]
    fn what_lies_between_successive_messages_is_counted() {
        assert_eq!(between(&[[1, 5, 1], [1, 6, 2], [1, 10, 3], [1, 11, 4]]), [0, 0, 3, 0]);
        assert_eq!(between(&[[1, 5, 1], [1, 10, 3], [1, 11, 4]]), [0, 0, 0], "another one has it");
        let again = [[1, 5, 1], [1, 6, 2], [2, 5, 3], [1, 7, 4]];
        assert_eq!(between(&again), [0; 4], "what comes again is older");
    }

    #[test]
    fn room_is_made_for_the_same_consumer() {
        let mut acks = Acks::default();
        assert_eq!(acks.published(&ack("a", 1), b""), None, "nothing was delivered");
        for n in 1..=2 {
            deliver(&mut acks, "a", n);
            deliver(&mut acks, "b", n);
        }
        assert_eq!(acks.published(&ack("a", 1), b"+WPI"), None);
        let of = |consumer, n| {
            let room = SendCredit::After(Offset(n), Offset(2));
            Some((consumer_of_ack(&ack(consumer, 1)).unwrap(), room))
        };
        assert_eq!(acks.published(&ack("a", 1), b"+ACK"), of("a", 1));
        assert_eq!(acks.published(&ack("b", 2), b""), of("b", 2));
        let unknown =
            |consumer| Some((consumer_of_ack(&ack(consumer, 1)).unwrap(), SendCredit::Unknown));
        assert_eq!(acks.published(&ack("b", 9), b""), unknown("b"));
        assert_eq!(acks.published(b"orders", b""), None);
        acks.forget();
        assert_eq!(acks.published(&ack("a", 2), b""), unknown("a"));
    }

    #[test]
    fn consumers_are_bounded() {
        let mut acks = Acks::default();
        for n in 0..1_000 {
            deliver(&mut acks, &format!("c{n}"), 1);
        }
        assert_eq!(acks.consumers.len(), MOST);
        assert!(acks.held_bytes() < 64 * 1024);
    }
}
