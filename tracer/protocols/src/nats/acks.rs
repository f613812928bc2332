//! Messages that the consumers of `JetStream` on a connection have not acknowledged yet: to each, the server sends only so many
//! (`max_ack_pending`) before one is acknowledged.

use super::jetstream::{consumer_of_ack, subject_number};
use crate::in_flight::{InFlight, SendCredit};
use wirelap_events::{Offset, Size};

/// The most consumers of a connection that are kept; the oldest go first.
const MOST: usize = 64;

/// An ack that says that the client is still at work.
const IN_PROGRESS: &[u8] = b"+WPI";

/// The consumers of one client.
#[derive(Debug, Default)]
pub(super) struct Acks {
    consumers: Vec<(u64, InFlight)>,
}

impl Acks {
    /// A client gets a message of a consumer, which ends before `end`, with this subject for its ack.
    pub fn delivered(&mut self, consumer: u64, reply: &[u8], end: Offset) {
        let id = subject_number(reply);
        if let Some((_, open)) = self.consumers.iter_mut().find(|(known, _)| *known == consumer) {
            return open.sent(id, end);
        }
        if self.consumers.len() >= MOST {
            self.consumers.remove(0);
        }
        let mut open = InFlight::default();
        open.sent(id, end);
        self.consumers.push((consumer, open));
    }

    /// A client publishes to a subject. Returns the consumer, and what room that makes, if it acknowledges a message.
    pub fn published(&mut self, subject: &[u8], payload: &[u8]) -> Option<(u64, SendCredit)> {
        if self.consumers.is_empty() || payload.starts_with(IN_PROGRESS) {
            return None;
        }
        let consumer = consumer_of_ack(subject)?;
        let (_, open) = self.consumers.iter_mut().find(|(known, _)| *known == consumer)?;
        open.acknowledged(subject_number(subject)).map(|room| (consumer, room))
    }

    /// Something was missed.
    pub fn forget(&mut self) {
        self.consumers.iter_mut().for_each(|(_, in_flight)| in_flight.forget());
    }

    /// Bytes of memory that they use.
    pub fn held_bytes(&self) -> Size {
        let own = Size::of::<(u64, InFlight)>(self.consumers.capacity());
        own + Size::sum(self.consumers.iter().map(|(_, open)| open.held_bytes()))
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
