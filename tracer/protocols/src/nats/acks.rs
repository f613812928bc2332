//! What the consumers of `JetStream` on a connection have not acknowledged yet: of each, the server sends only so many messages
//! (`max_ack_pending`) before one is acknowledged.

use super::jetstream::consumer_of_ack;
use crate::in_flight::InFlight;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use wirelap_events::Total;

/// The most consumers of a connection that are kept; the oldest go first.
const MOST: usize = 64;

/// An ack that says that the client is still at work.
const IN_PROGRESS: &[u8] = b"+WPI";

/// The consumers of one client.
#[derive(Debug, Default)]
pub(super) struct Acks {
    consumers: Vec<(u64, InFlight)>,
    /// The consumer whose acknowledgement made room last.
    last: Option<u64>,
}

impl Acks {
    /// A client gets a message of a consumer, with this subject for its ack. Returns whether the last acknowledgement that made
    /// room was another consumer's.
    pub fn delivered(&mut self, consumer: u64, reply: &[u8]) -> bool {
        let id = number(reply);
        match self.consumers.iter_mut().find(|(known, _)| *known == consumer) {
            Some((_, in_flight)) => in_flight.sent(id),
            None => {
                if self.consumers.len() >= MOST {
                    self.consumers.remove(0);
                }
                let mut in_flight = InFlight::default();
                in_flight.sent(id);
                self.consumers.push((consumer, in_flight));
            }
        }
        self.last.is_some_and(|last| last != consumer)
    }

    /// Whether an acknowledgement made room before.
    pub fn has_made_room(&self) -> bool {
        self.last.is_some()
    }

    /// A client publishes to a subject. Returns whether that acknowledges a message of a consumer that had as many
    /// unacknowledged ones as ever.
    pub fn published(&mut self, subject: &[u8], payload: &[u8]) -> bool {
        if self.consumers.is_empty() || payload.starts_with(IN_PROGRESS) {
            return false;
        }
        let Some(consumer) = consumer_of_ack(subject) else { return false };
        let known = self.consumers.iter_mut().find(|(known, _)| *known == consumer);
        let makes_room = known.is_some_and(|(_, open)| open.acknowledged(number(subject)));
        if makes_room {
            self.last = Some(consumer);
        }
        makes_room
    }

    /// Something was missed.
    pub fn forget(&mut self) {
        self.consumers.iter_mut().for_each(|(_, in_flight)| in_flight.forget());
    }

    /// Bytes of memory that they use.
    pub fn held_bytes(&self) -> usize {
        let own = self.consumers.capacity().saturating_mul(size_of::<(u64, InFlight)>());
        own.saturating_add(self.consumers.iter().map(|(_, open)| open.held_bytes()).total())
    }
}

fn number(subject: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(subject);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(consumer: &str, n: u32) -> Vec<u8> {
        format!("$JS.ACK.S.{consumer}.1.{n}.{n}.1700000000.0").into_bytes()
    }

    fn deliver(acks: &mut Acks, consumer: &str, n: u32) -> bool {
        let reply = ack(consumer, n);
        acks.delivered(consumer_of_ack(&reply).unwrap(), &reply)
    }

    #[test]
    fn room_is_made_for_the_same_consumer() {
        let mut acks = Acks::default();
        assert!(!acks.published(&ack("a", 1), b""), "nothing was delivered");
        for n in 1..=2 {
            assert!(!deliver(&mut acks, "a", n));
            assert!(!deliver(&mut acks, "b", n));
        }
        assert!(!acks.published(&ack("a", 1), b"+WPI"));
        assert!(acks.published(&ack("a", 1), b"+ACK"));
        assert!(!deliver(&mut acks, "a", 3) && deliver(&mut acks, "b", 3));
        assert!(!acks.published(&ack("b", 9), b"") && !acks.published(b"orders", b""));
        acks.forget();
        assert!(!acks.published(&ack("a", 3), b""));
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
