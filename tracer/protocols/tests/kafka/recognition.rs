//! Bytes that are taken for Kafka, and bytes that are not.

use wirelap_events::Transport;
use wirelap_protocols::kafka::PROTOCOL;
use wirelap_protocols::recognise::{ProtocolChoice, choose};
use wirelap_protocols::{Protocol, Recognition, registry};
use wirelap_test_support::compose::kafka::{fetched, fetched_by_id, heartbeat, produce, uniform};
use wirelap_test_support::transcript;

const TCP: Transport = Transport::Tcp;

#[test]
fn nothing_of_another_protocol_is_claimed() {
    let mut asked = 0;
    for other in registry().iter().filter(|other| other.name() != PROTOCOL.name()) {
        for transcript in transcript::of(*other).iter().filter(|t| t.transport == TCP) {
            for chunk in transcript.chunks.iter().filter(|_| transcript.frames.is_some()) {
                for at_start in [true, false] {
                    let found = PROTOCOL.recognise(TCP, &chunk.bytes, at_start);
                    assert_ne!(found, Recognition::Yes, "{}", transcript.path.display());
                    asked += 1;
                }
            }
        }
    }
    assert!(asked > 500, "{asked}");
}

#[test]
fn nothing_of_kafka_is_claimed_by_another_protocol() {
    for transcript in transcript::of(&PROTOCOL) {
        for (index, chunk) in transcript.chunks.iter().enumerate() {
            for at_start in [true, false] {
                let choice = choose(TCP, &chunk.bytes, at_start, [1, 2]);
                if let ProtocolChoice::Protocol(chosen) = choice {
                    let path = transcript.path.display();
                    assert_eq!(chosen.name(), PROTOCOL.name(), "packet {index} of {path}");
                }
            }
        }
    }
}

#[test]
fn a_port_decides_where_bytes_do_not() {
    // A response to a Heartbeat: its size is right, and that is all.
    let response = b"\0\0\0\x0b\0\0\0\x07\0\0\0\0\0\0\0";
    let choice = |port| choose(TCP, response, false, [port, 40_000]);
    assert!(matches!(choice(9092), ProtocolChoice::Protocol(kafka) if kafka.name() == "kafka"));
    assert!(matches!(choice(9093), ProtocolChoice::Possible));
}

#[test]
fn the_start_of_a_long_pdu_is_enough() {
    let records = uniform(1000, 1000);
    for pdu in [produce(900, "t", &records), fetched(900, "t", &records), heartbeat(900)] {
        let head = &pdu[..pdu.len().min(1448)];
        for at_start in [true, false] {
            assert_eq!(PROTOCOL.recognise(TCP, head, at_start), Recognition::Yes);
        }
    }
}

#[test]
fn what_contradicts_is_not_kafka() {
    let good = heartbeat(1);
    assert_eq!(PROTOCOL.recognise(TCP, &good, true), Recognition::Yes);
    let is_no = |at: usize, byte: u8| {
        let mut bad = good.clone();
        bad[at] = byte;
        assert_eq!(PROTOCOL.recognise(TCP, &bad, true), Recognition::No, "{byte:02x} at {at}");
    };
    is_no(0, 0x7F); // longer than any PDU
    is_no(4, 1); // no such API
    is_no(7, 99); // no such version
    is_no(8, 0xFF); // a negative correlation id
    is_no(15, 0x07); // a client id that is no text
    is_no(12, 0x7F); // … or too long
    // Something else follows.
    let followed = [&good[..], b"GET / HTTP/1.1\r\n\r\n"].concat();
    assert_eq!(PROTOCOL.recognise(TCP, &followed, true), Recognition::No);
}

/// Zeros and two letters of a topic's id behind them.
#[test]
fn no_request_starts_within_a_response_without_records() {
    for start in [&b"jD-X"[..], b"abcd", b"Zz\xDB\xDB"] {
        let mut id = [0xDB; 16];
        id[..start.len()].copy_from_slice(start);
        let response = fetched_by_id(19, id, b"");
        for at in 1..response.len() {
            assert!(!PROTOCOL.stands_out(&response[at..]), "{start:?} at {at}");
        }
    }
}
