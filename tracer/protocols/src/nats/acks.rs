//! Messages that the consumers of `JetStream` on a connection have not acknowledged yet: to each, the server sends only so many
//! (`max_ack_pending`) before one is acknowledged. What the client has not answered after a while (`ack_wait`), the server sends again.

use super::jetstream::{SentNumbers, consumer_of_ack, sent_numbers, subject_number};
use crate::in_flight::{InFlight, SendCredit};
use rustc_hash::FxHashSet;
use wirelap_events::{Offset, Size};

/// The most consumers of a connection that are kept; the oldest go first.
const MOST: usize = 64;

/// The most messages of a consumer of which it is known that they have no answer; of more, it is not asked why they come again.
const MAX_UNANSWERED: usize = 4096;

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
    /// Numbers in the stream of the messages that the client has not answered.
    unanswered: FxHashSet<u64>,
}

/// A message that a client gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DeliveredMessage {
    /// Messages of the stream between it and what the consumer was sent before.
    pub between: u64,
    /// True if the client got it before on this connection, and has not answered.
    pub is_unanswered: bool,
}

impl AckedConsumer {
    fn new(number: u64) -> AckedConsumer {
        AckedConsumer {
            number,
            in_flight: InFlight::default(),
            last: None,
            unanswered: FxHashSet::default(),
        }
    }

    /// Notes that the client has a message to answer. Returns whether it had it before.
    fn await_answer(&mut self, numbers: SentNumbers) -> bool {
        if self.unanswered.len() >= MAX_UNANSWERED {
            self.unanswered.clear();
        }
        !self.unanswered.insert(numbers.in_stream) && numbers.is_again
    }

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
    /// A client gets a message of a consumer, which ends before `end`, with this subject for its ack.
    pub fn delivered(&mut self, consumer: u64, reply: &[u8], end: Offset) -> DeliveredMessage {
        let (id, numbers) = (subject_number(reply), sent_numbers(reply));
        if !self.consumers.iter().any(|known| known.number == consumer) {
            if self.consumers.len() >= MOST {
                self.consumers.remove(0);
            }
            self.consumers.push(AckedConsumer::new(consumer));
        }
        let known = self.consumers.iter_mut().find(|known| known.number == consumer);
        let Some(known) = known else { return DeliveredMessage::default() };
        known.in_flight.sent(id, end);
        DeliveredMessage {
            between: known.follow(numbers),
            is_unanswered: numbers.is_some_and(|numbers| known.await_answer(numbers)),
        }
    }

    /// A client publishes to a subject. Returns the consumer, and what room that makes, if it acknowledges a message.
    pub fn published(&mut self, subject: &[u8], payload: &[u8]) -> Option<(u64, SendCredit)> {
        if self.consumers.is_empty() || payload.starts_with(IN_PROGRESS) {
            return None;
        }
        let consumer = consumer_of_ack(subject)?;
        let known = self.consumers.iter_mut().find(|known| known.number == consumer)?;
        if let Some(answered) = sent_numbers(subject) {
            known.unanswered.remove(&answered.in_stream);
        }
        let room = known.in_flight.acknowledged(subject_number(subject))?;
        Some((consumer, room))
    }

    /// Something was missed.
    pub fn forget(&mut self) {
        for consumer in &mut self.consumers {
            consumer.in_flight.forget();
            consumer.last = None;
            consumer.unanswered.clear();
        }
    }

    /// Bytes of memory that they use.
    pub fn held_bytes(&self) -> Size {
        let own = Size::of::<AckedConsumer>(self.consumers.capacity());
        let each = self.consumers.iter().map(|known| {
            known.in_flight.held_bytes() + Size::of::<u64>(known.unanswered.capacity())
        });
        own + Size::sum(each)
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
            acks.delivered(1, reply.as_bytes(), Offset(*sent)).between
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
    fn what_comes_again_without_an_answer_is_told() {
        let mut acks = Acks::default();
        let mut comes = |times: u32, in_stream: u32, sent: u32, answer: Option<&[u8]>| {
            let reply = format!("$JS.ACK.S.c.{times}.{in_stream}.{sent}.1700000000.0");
            let consumer = consumer_of_ack(reply.as_bytes()).unwrap();
            let is_unanswered = acks.delivered(consumer, reply.as_bytes(), Offset(0)).is_unanswered;
            if let Some(answer) = answer {
                acks.published(reply.as_bytes(), answer);
            }
            is_unanswered
        };
        assert!(!comes(2, 4, 1, None), "the first time was not seen");
        assert!(!comes(1, 5, 2, None) && comes(2, 5, 3, Some(b"+WPI")) && comes(3, 5, 4, None));
        assert!(!comes(1, 6, 5, Some(b"-NAK")) && !comes(2, 6, 6, Some(b"")), "it wants it again");
        assert!(!comes(1, 7, 7, Some(b"+ACK")) && !comes(2, 7, 8, None));
        assert!(!comes(1, 5, 9, None), "another stream of that name");
        for n in 0..100_000 {
            comes(1, n, n, None);
        }
        assert!(acks.held_bytes() < 256 * 1024);
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
