//! One direction of a full socket, joined anywhere: no packet begins with a message, and what the server speaks is known.

use super::{Pending, Seen};
use wirelap_events::{Offset, Transport};
use wirelap_protocols::Side;
use wirelap_protocols::recognise::Hints;
use wirelap_test_support::compose::{amqp, mqtt, nats, zenoh, zmtp};
use wirelap_test_support::random::Random;

/// A stream, and where its messages start.
struct Stream {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

impl Stream {
    fn new(messages: impl Iterator<Item = Vec<u8>>) -> Stream {
        let mut stream = Stream { bytes: Vec::new(), starts: Vec::new() };
        for message in messages {
            stream.starts.push(stream.bytes.len());
            stream.bytes.extend(message);
        }
        stream
    }

    /// Where the first message starts that it is recognised by, if it is recognised as `known` from `skipped` on.
    fn recognised(&self, known: &'static str, skipped: usize, packet: usize) -> Option<usize> {
        let hints = Hints { ports: [40_000, 7_831], known: Some(known) };
        let seen = Seen { hints, is_named: false, is_refused: false };
        let mut pending = Pending::default();
        let mut at = Offset(skipped as u64);
        for bytes in self.bytes[skipped..].chunks(packet) {
            pending.packet(Side::A, at, (bytes, 0), &[], Some(known));
            if let Some(protocol) = pending.decided(Transport::Tcp, &seen) {
                assert_eq!(protocol.name(), known);
                let best = pending.searches[0].best_of(protocol)?;
                return usize::try_from(best.start.0).ok();
            }
            pending.trim();
            assert!(pending.held_bytes() < 512 << 10);
            at = at.plus(bytes.len() as u64);
        }
        None
    }
}

fn random(n: u32, len: usize) -> Vec<u8> {
    Random::new(n.into()).bytes(len)
}

#[test]
fn long_messages_are_recognised_from_every_byte_on() {
    let stream = Stream::new((0..24).map(|n| mqtt::publish("t/a", &random(n, 2_000))));
    for skipped in 0..2_100 {
        let start = stream.recognised("mqtt", skipped, 1_448);
        let is_right = start.is_some_and(|start| stream.starts.contains(&start));
        assert!(is_right, "{start:?} from {skipped} on");
    }
}

#[test]
fn long_messages_of_every_protocol_are_recognised() {
    type Message = fn(u32) -> Vec<u8>;
    let protocols: [(&str, Message); 5] = [
        ("mqtt", |n| mqtt::publish("t", &random(n, 60_000))),
        ("amqp", |n| amqp::publish("sensors", "t1", &random(n, 60_000))),
        ("nats", |n| nats::message("MSG t 1", &random(n, 60_000))),
        ("zenoh", |n| zenoh::put(n, &random(n, 60_000))),
        ("zmtp", |n| zmtp::part(false, &random(n, 60_000))),
    ];
    for (name, message) in protocols {
        let stream = Stream::new((0..16).map(message));
        for skipped in (0..60_000).step_by(5_003) {
            let start = stream.recognised(name, 1 + skipped, 1_152);
            assert!(start.is_some(), "{name} from {skipped} on");
        }
    }
}

/// The payload of a message may be messages; that of others ends with the one that they are in.
#[test]
fn messages_in_the_payload_of_messages_are_none() {
    for inner in [60, 700, 3_000] {
        for topic in ["t/a", "sensors/kitchen"] {
            let payload: Vec<u8> = (0..7_000 / inner)
                .flat_map(|n| mqtt::publish(topic, &random(n, inner as usize)))
                .collect();
            let padded = |n| [payload.clone(), random(n, 1_000)].concat();
            let stream = Stream::new((0..24).map(|n| mqtt::publish(topic, &padded(n))));
            for skipped in (1..stream.starts[1]).step_by(13) {
                let start = stream.recognised("mqtt", skipped, 1_448);
                let is_right = start.is_some_and(|start| stream.starts.contains(&start));
                assert!(is_right, "{start:?}, from {skipped} on, of {inner} in {topic}");
            }
        }
    }
}

#[test]
fn random_bytes_are_no_messages_of_what_the_server_speaks() {
    for known in ["mqtt", "amqp", "kafka", "nats", "opcua", "zenoh", "zmtp", "xrce"] {
        for (seed, packet) in [(1, 1_448), (2, 65_483), (3, 700)] {
            let stream = Stream::new(std::iter::once(random(seed, 6 << 20)));
            assert_eq!(stream.recognised(known, 0, packet), None, "{known} in {packet}");
        }
    }
}

/// One byte over and over, and short patterns, in all of which something stands at each place.
#[test]
fn patterns_are_no_messages_of_what_the_server_speaks() {
    for known in ["mqtt", "amqp", "kafka", "nats", "opcua", "zenoh", "zmtp", "xrce"] {
        for byte in 0..=255_u8 {
            let stream = Stream::new(std::iter::once(vec![byte; 200_000]));
            assert_eq!(stream.recognised(known, 0, 1_448), None, "{known} in {byte:#x}");
        }
    }
}
