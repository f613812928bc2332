//! Requests of a client to the pull consumers of `JetStream` (docs.nats.io, Reference, wire API of `JetStream`).
//!
//! ```text
//! PUB  $JS.API.CONSUMER.MSG.NEXT.stream.consumer            reply …   asks; the payload says for how many messages and how long
//! PUB  $JS.domain.API.CONSUMER.MSG.NEXT.stream.consumer     reply …
//! PUB  $JS.ACK.stream.consumer.…                            reply …   `+NXT` acknowledges, and asks
//! HMSG reply sid                                            …         a status: no more messages come for this request
//! MSG  subject sid $JS.ACK.stream.consumer.…                …         a message of the consumer
//!
//! payload: nothing (one message) · a number · {"batch":number,"expires":nanoseconds,…}
//! ```
//!
//! Consumers that push have the same subjects for their acks, and no requests.

use super::jetstream::{consumer_number, consumer_of_ack, subject_number};
use super::line::MessageLine;
use wirelap_events::{Nanos, RequestLimits, Size};

/// The most requests of a connection that are kept; the oldest go first.
const MOST: usize = 64;

/// The payload of an ack that also asks for messages.
const ACK_AND_NEXT: &[u8] = b"+NXT";

/// A request that is not fulfilled.
#[derive(Clone, Copy, Debug)]
struct Pull {
    /// A number for the stream and the consumer.
    consumer: u64,
    /// A number for the subject to which a status is sent.
    reply: Option<u64>,
    /// Number of messages that are still wanted.
    left: u64,
}

/// The requests of one client.
#[derive(Debug, Default)]
pub(super) struct Pulls {
    open: Vec<Pull>,
}

impl Pulls {
    /// Takes in what a client publishes. Returns the consumer and how long a request may wait if the client had nothing to expect
    /// from the consumer before it: until then the server could not send.
    pub fn published(
        &mut self,
        message: &MessageLine<'_>,
        payload: &[u8],
    ) -> Option<(u64, RequestLimits)> {
        let (consumer, wish) = if let Some(consumer) = consumer_of_request(message.subject) {
            (consumer, payload)
        } else {
            (consumer_of_ack(message.subject)?, payload.strip_prefix(ACK_AND_NEXT)?)
        };
        let wish = Wish::read(wish);
        let expected = self.open.iter().any(|pull| pull.consumer == consumer);
        let reply = message.reply.map(subject_number);
        if self.open.len() >= MOST {
            self.open.remove(0);
        }
        self.open.push(Pull { consumer, reply, left: wish.batch });
        let ask = RequestLimits { longest: wish.expires, least_bytes: 1 };
        (!expected).then_some((consumer, ask))
    }

    /// A client gets a message of a consumer. Returns true if that was the last one that it had asked the consumer for.
    pub fn delivered(&mut self, consumer: u64) -> bool {
        let Some(place) = self.open.iter().position(|pull| pull.consumer == consumer) else {
            return false;
        };
        let left = self.open[place].left.saturating_sub(1);
        self.open[place].left = left;
        left == 0 && self.end(place).is_some()
    }

    /// A status was sent to this subject: the oldest request that names it gets no more messages, as each is sent a status of
    /// its own. Returns the consumer if nothing else was asked of it.
    pub fn ended(&mut self, subject: &[u8]) -> Option<u64> {
        if self.open.is_empty() {
            return None;
        }
        let number = subject_number(subject);
        self.end(self.open.iter().position(|pull| pull.reply == Some(number))?)
    }

    /// Removes a request. Returns its consumer if nothing else was asked of that.
    fn end(&mut self, place: usize) -> Option<u64> {
        let Pull { consumer, .. } = self.open.remove(place);
        self.open.iter().all(|pull| pull.consumer != consumer).then_some(consumer)
    }

    /// Something was missed: what is still wanted is not known.
    pub fn forget(&mut self) {
        self.open.clear();
    }

    /// Bytes of memory that they use.
    pub fn held_bytes(&self) -> Size {
        Size::of::<Pull>(self.open.capacity())
    }
}

/// Content of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wish {
    /// The number of messages.
    batch: u64,
    /// Time for which the server may wait for them.
    expires: Nanos,
}

impl Wish {
    /// Reads the payload of a request, of which the end may be missing.
    fn read(payload: &[u8]) -> Wish {
        let payload = payload.trim_ascii();
        let plain = number_at(payload).filter(|_| !payload.starts_with(b"{"));
        let expires = number_of(payload, b"\"expires\"").map_or(Nanos(u64::MAX), Nanos);
        let batch = plain.or(number_of(payload, b"\"batch\"")).unwrap_or(1).max(1);
        Wish { batch, expires }
    }
}

/// The number that belongs to a key of a JSON object without objects in it.
fn number_of(object: &[u8], key: &[u8]) -> Option<u64> {
    let start = object.windows(key.len()).position(|window| window == key)?;
    let (_, rest) = object.split_at_checked(start.saturating_add(key.len()))?;
    number_at(rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start())
}

/// The number that `bytes` begins with.
fn number_at(bytes: &[u8]) -> Option<u64> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, _) = bytes.split_at_checked(digits)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Stream and consumer of `$JS.[domain.]API.CONSUMER.MSG.NEXT.stream.consumer`.
fn consumer_of_request(subject: &[u8]) -> Option<u64> {
    let rest = subject.strip_prefix(b"$JS.")?;
    let mut words = rest.split(|&byte| byte == b'.');
    if words.next()? != b"API" {
        (words.next()? == b"API").then_some(())?;
    }
    for word in [&b"CONSUMER"[..], b"MSG", b"NEXT"] {
        (words.next()? == word).then_some(())?;
    }
    Some(consumer_number(words.next()?, words.next()?))
}

#[cfg(test)]
mod tests {
    use super::super::line::ControlLine;
    use super::*;

    const NEXT: &str = "$JS.API.CONSUMER.MSG.NEXT.ST.puller";
    const ACK: &[u8] = b"$JS.ACK.ST.puller.1.7.7.1700000000.0";

    fn asks(pulls: &mut Pulls, subject: &str, reply: &str, wish: &str) -> Option<Nanos> {
        let line = format!("PUB {subject} {reply} {}\r\n", wish.len());
        let line = ControlLine::read(line.as_bytes()).unwrap();
        let message = MessageLine::read(&line).unwrap();
        pulls.published(&message, wish.as_bytes()).map(|(_, ask)| ask.longest)
    }

    #[test]
    fn a_request_counts_where_nothing_was_expected() {
        let mut pulls = Pulls::default();
        pulls.delivered(consumer_of_ack(ACK).unwrap());
        let wish = r#"{"expires":500, "batch": 2}"#;
        assert_eq!(asks(&mut pulls, NEXT, "_INBOX.a", wish), Some(Nanos(500)));
        assert_eq!(asks(&mut pulls, NEXT, "_INBOX.b", "1"), None, "two are still to come");
        let last = [(); 3].map(|()| pulls.delivered(consumer_of_ack(ACK).unwrap()));
        assert_eq!(last, [false, false, true]);
        let with_domain = "$JS.hub.API.CONSUMER.MSG.NEXT.ST.puller";
        assert_eq!(asks(&mut pulls, with_domain, "_INBOX.c", ""), Some(Nanos(u64::MAX)));
        let other = b"$JS.ACK.hub.x.ST.puller.1.7.7.1700000000.0.z";
        pulls.delivered(consumer_of_ack(other).unwrap());
        let ack = "$JS.ACK.ST.puller.1.7.7.1700000000.0";
        assert_eq!(asks(&mut pulls, ack, "_INBOX.c", "+NXT 5"), Some(Nanos(u64::MAX)));
        assert_eq!(asks(&mut pulls, ack, "_INBOX.c", "+ACK"), None);
    }

    #[test]
    fn a_status_ends_its_request() {
        let mut pulls = Pulls::default();
        asks(&mut pulls, NEXT, "_INBOX.a", "10");
        assert_eq!(pulls.ended(b"_INBOX.other"), None);
        assert_eq!(asks(&mut pulls, NEXT, "_INBOX.b", "10"), None);
        assert_eq!(pulls.ended(b"_INBOX.a"), None, "another one is open");
        assert_eq!(pulls.ended(b"_INBOX.b"), consumer_of_ack(ACK));
        assert!(asks(&mut pulls, NEXT, "_INBOX.c", "10").is_some());
        pulls.forget();
        assert!(asks(&mut pulls, NEXT, "_INBOX.d", "10").is_some());
    }

    /// Libraries name one inbox in all requests of a consumer, and ask again before the first of them is over.
    #[test]
    fn a_status_ends_one_of_several_requests_that_name_one_inbox() {
        let mut pulls = Pulls::default();
        asks(&mut pulls, NEXT, "_INBOX.a", "10");
        asks(&mut pulls, NEXT, "_INBOX.a", "10");
        assert_eq!(pulls.ended(b"_INBOX.a"), None);
        assert_eq!(asks(&mut pulls, NEXT, "_INBOX.a", "10"), None, "one is still open");
        assert_eq!(pulls.ended(b"_INBOX.a"), None);
        assert_eq!(pulls.ended(b"_INBOX.a"), consumer_of_ack(ACK));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut pulls = Pulls::default();
        for n in 0..1_000 {
            let subject = format!("$JS.API.CONSUMER.MSG.NEXT.ST.c{n}");
            asks(&mut pulls, &subject, "_INBOX.a", r#"{"batch":99999999999999999999}"#);
        }
        assert!(pulls.open.len() <= MOST);
        assert!(pulls.held_bytes() < MOST * 100);
        for subject in ["$JS.API.CONSUMER.MSG.NEXT.ST", "$JS.API.STREAM.CREATE.S", "$JS.", "x"] {
            assert_eq!(asks(&mut pulls, subject, "_INBOX.a", "1"), None, "{subject}");
        }
    }
}
