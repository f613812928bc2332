//! Streams of MQTT in datagrams that come late, twice, or not at all.

use super::super::server_protocols::ServerProtocols;
use super::*;
use crate::Config;
use wirelap_protocols::{Memories, registry};
use wirelap_test_support::committed::repository;
use wirelap_test_support::compose::mqtt::{connect, publish};
use wirelap_test_support::world::udp;

/// A connection whose client is [`Side::A`], and that has no packets but those that the tests say.
struct Made {
    conversation: Conversation,
    streams: QuicStreams,
    found: DecoderOutput,
}

/// Start of the flow's datagram with this number, all of which have 1000 bytes.
fn datagram_at(number: u64) -> Offset {
    Offset::START.plus(1000 * number)
}

fn carrier(number: u64) -> Carrier {
    let range = ByteRange::new(datagram_at(number), 1000);
    Carrier { side: Side::A, range, at: Nanos(number) }
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

impl Made {
    fn new() -> Made {
        let key = udp::flow("10.0.0.1:4000", "10.0.0.2:14567");
        let (memories, known) = (Memories::default(), ServerProtocols::default());
        let config = Config::default();
        let mut conversation = Conversation::new(1, key, Nanos(0), &config, memories, known);
        conversation.quic_event(TlsEvent::Opened, Side::A);
        Made { conversation, streams: QuicStreams::default(), found: DecoderOutput::default() }
    }

    /// One whose protocol is known.
    fn decided() -> Made {
        let mut made = Made::new();
        made.conversation.decide(registry::by_name("mqtt").unwrap());
        made.feed(0, 400_000, 0, &connect("a"), false);
        made.found.forget();
        made
    }

    fn take(&mut self, number: u64, one: QuicFound<'_>) {
        let of = (&mut self.streams, Side::A);
        self.conversation.take_quic(one, of, &mut carrier(number), &mut self.found);
    }

    /// Datagram `number` carries bytes of a stream.
    fn feed(&mut self, number: u64, id: u64, at: usize, bytes: &[u8], is_last: bool) {
        let at = at as u64;
        self.take(number, QuicFound::Stream { id, at, bytes, is_last, number });
    }

    /// The messages that were found: the first and the last datagram with their bytes, and the one with which they can be used.
    fn places(&mut self) -> Vec<[u64; 3]> {
        let number = |at: Offset| (at.0 - Offset::START.0) / 1000;
        let last = |end: Offset| number(Offset(end.0 - 1));
        let all = self.found.all.drain(..).map(|message| {
            let usable = message.usable_at.unwrap_or(message.extent.end);
            [number(message.extent.start), last(message.extent.end), last(usable)]
        });
        all.collect()
    }

    /// The connection as it is in a conversation.
    fn layered(mut self) -> Made {
        let path = repository("tracer/replay/tests/captures/mqtt-quic.pcap");
        // The first datagram behind the headers of the file, of the packet, of Ethernet, IP and UDP.
        let first = std::fs::read(path).unwrap()[24 + 16 + 14 + 20 + 8..][..1200].to_vec();
        let session = QuicSession::begin(&first, &mut Vec::new()).unwrap();
        let streams = take(&mut self.streams);
        let layer = QuicLayer { session, client: Side::A, streams };
        self.conversation.tls.quic = Some(Box::new(layer));
        self
    }
}

#[test]
fn what_waited_for_a_hole_lies_in_its_own_datagram_and_is_usable_with_the_one_that_filled_it() {
    let mut made = Made::decided();
    let [first, second, third] = [b"one", b"two", b"six"].map(|text| publish("a/b", text));
    made.feed(1, 0, 0, &connect("a"), false);
    let at = connect("a").len();
    made.feed(3, 0, at + first.len(), &second, false);
    made.feed(4, 0, at + first.len() + second.len(), &third, false);
    assert_eq!(made.places(), Vec::<[u64; 3]>::new());
    made.feed(7, 0, at, &first, false);
    assert_eq!(made.places(), [[7, 7, 7], [3, 3, 7], [4, 4, 7]]);
    let fourth = publish("a/b", b"end");
    made.feed(8, 0, at + 3 * first.len(), &fourth, false);
    assert_eq!(made.places(), [[8, 8, 8]]);
}

#[test]
fn behind_a_hole_that_is_given_up_only_the_own_datagram_counts() {
    let mut made = Made::decided();
    let text = publish("a/b", b"text");
    made.feed(1, 0, 0, &text, false);
    made.feed(3, 0, 2 * text.len(), &text, false);
    made.feed(9, 0, 4 * text.len(), &text, false);
    made.places();
    let mut made = made.layered();
    assert!(made.conversation.awaits_streams());
    assert_eq!(made.conversation.oldest_in_streams(Side::A), Some(datagram_at(3)));
    assert!(made.conversation.give_up_streams(Side::A, Some(Nanos(4)), &mut made.found));
    assert_eq!(made.places(), [[3, 3, 3]]);
    assert!(made.found.gaps.missed[0]);
    assert!(made.conversation.give_up_streams(Side::A, None, &mut made.found));
    assert_eq!(made.places(), [[9, 9, 9]]);
    assert!(!made.conversation.awaits_streams());
    assert_eq!(made.conversation.undecoded_bytes(), 2 * text.len() as u64);
}

#[test]
fn a_hole_of_packets_that_came_or_are_acknowledged_is_given_up_at_once() {
    let mut made = Made::decided();
    let text = publish("a/b", b"text");
    made.feed(1, 0, 0, &text, false);
    made.feed(2, 0, 2 * text.len(), &text, false);
    made.places();
    let mut made = made.layered();
    let mut quic = made.conversation.tls.quic.take().unwrap();
    // Nothing is missing of which it is not known what became of it.
    assert_eq!(quic.session.first_missing(TlsRole::Client), None);
    made.conversation.give_up_lost(&mut quic, &mut made.found);
    assert_eq!(made.places(), [[2, 2, 2]]);
}

#[test]
fn bytes_and_packets_that_are_not_read_are_a_doubt() {
    let mut made = Made::decided();
    made.take(1, QuicFound::Unread { bytes: 70 });
    assert_eq!((made.conversation.undecoded_bytes(), made.found.gaps.missed), (70, [true, false]));
    made.take(1, QuicFound::Missing { from: TlsRole::Server, packets: 2 });
    assert_eq!(made.found.gaps.missed, [true, true]);
    assert_eq!(made.conversation.holes().unread_packets, 3);
    let mut made = Made::new();
    made.take(1, QuicFound::Unread { bytes: 70 });
    assert_eq!(made.found.gaps.unknown, [true, false]);
}

#[test]
fn what_is_not_decoded_is_counted_whatever_stream_is_read() {
    let mut made = Made::decided();
    let text = publish("a/b", b"text");
    made.feed(1, 0, 0, &text, false);
    made.feed(2, 0, text.len() + 50, &text, false);
    let mut made = made.layered();
    made.conversation.give_up_streams(Side::A, None, &mut made.found);
    let mut told = made.conversation.take_hidden().undecoded;
    assert_eq!(told, 50);
    made.streams = made.conversation.tls.quic.take().unwrap().streams;
    for number in 3..9 {
        made.feed(number, 4 * (number % 2), 500 * index(number), &[], false);
        assert_eq!(made.conversation.undecoded_bytes(), 50, "{number}");
        told += made.conversation.take_hidden().undecoded;
    }
    // What waits in a stream that is forgotten is not decoded either.
    made.feed(20, 8, 0, &text[..5], false);
    for id in 10..10 + 2 * MAX_STREAMS as u64 {
        made.feed(21, 4 * id, 0, &text, true);
    }
    told += made.conversation.take_hidden().undecoded;
    assert_eq!((made.conversation.undecoded_bytes(), told), (55, 55));
}

#[test]
fn many_streams_are_read_and_none_twice() {
    let mut made = Made::decided();
    let text = publish("a/b", b"text");
    let streams = 600_u64;
    // More at a time than are kept: each goes on where it was.
    for round in 0..3 {
        for id in 0..streams {
            let number = round * streams + id;
            made.feed(number, 4 * id, index(round) * text.len(), &text, round == 2);
        }
        assert_eq!(made.places().len() as u64, streams, "{round}");
    }
    // Frames that are sent again are of streams that were read.
    for id in 0..streams {
        made.feed(4000 + id, 4 * id, 0, &[&text[..], &text, &text].concat(), true);
    }
    assert_eq!(made.places().len(), 0);
    assert_eq!(made.conversation.undecoded_bytes(), 0);
}

#[test]
fn a_stream_with_two_ends_goes_first_when_room_is_needed() {
    let mut made = Made::decided();
    let text = publish("a/b", b"text");
    // A stream of one direction that has ended, and one of two that has not.
    made.feed(1, 0, 0, &text, true);
    made.feed(2, 2, 0, &text, true);
    let ids = 10..10 + MAX_STREAMS as u64 - 3;
    for id in ids {
        made.feed(3, 4 * id, 0, &text, false);
    }
    made.feed(4, 4000, 0, &text, false);
    let ids = made.streams.ids();
    assert_eq!((ids.len(), ids.contains(&0), ids.contains(&2)), (MAX_STREAMS, true, false));
}

#[test]
fn the_start_of_a_long_message_is_kept() {
    let mut made = Made::decided();
    let text = publish("a/b", &vec![7; 1_400_000]);
    let chunks = text.chunks(700);
    let last = chunks.len() as u64;
    for (number, bytes) in (1..).zip(chunks) {
        made.feed(number, 0, 700 * (index(number) - 1), bytes, false);
        if number == last / 2 {
            // Another stream is read meanwhile.
            made.feed(number, 4, 0, &publish("a/b", b"text"), false);
            assert_eq!(made.places(), [[number, number, number]]);
            let layered = made.layered();
            assert_eq!(layered.conversation.oldest_in_streams(Side::A), Some(datagram_at(1)));
            made = layered;
            made.streams = made.conversation.tls.quic.take().unwrap().streams;
        }
    }
    assert_eq!(made.places(), [[1, last, last]]);
}

#[test]
fn bytes_that_passed_in_a_pause_are_nobody_s_failure() {
    let mut made = Made::decided();
    let text = publish("a/b", b"text");
    made.feed(1, 0, 0, &text, false);
    made.feed(2, 4, 0, &text, false);
    made.feed(3, 4, 500, &text, false);
    let mut made = made.layered();
    let mut quic = made.conversation.tls.quic.take().unwrap();
    made.conversation.interrupt_streams(&mut quic, Side::A, &mut made.found);
    made.streams = quic.streams;
    made.feed(9, 0, 9000, &text, false);
    made.feed(9, 4, 9000, &text, false);
    assert_eq!(made.places().len(), 5);
    assert_eq!(made.conversation.undecoded_bytes(), 0);
}

#[test]
fn what_other_streams_had_before_the_protocol_was_known_is_read() {
    let mut made = Made::new();
    let text = publish("a/b", b"text");
    made.feed(1, 4, 0, &text, false);
    assert_eq!(made.places(), Vec::<[u64; 3]>::new());
    made.feed(2, 0, 0, &connect("a"), false);
    for number in 3..40 {
        made.feed(number, 0, connect("a").len() + (index(number) - 3) * text.len(), &text, false);
    }
    assert!(matches!(made.conversation.state, State::Decoding(..)));
    assert!(made.places().contains(&[1, 1, 1]));
}

#[test]
fn another_connection_in_its_place_loses_nothing_without_a_word() {
    let mut made = Made::decided();
    let text = publish("a/b", b"text");
    made.feed(1, 0, 0, &text, false);
    made.feed(2, 0, 2 * text.len(), &text, false);
    made.take(3, QuicFound::Restart);
    assert_eq!(made.places(), [[1, 1, 1], [2, 2, 2]]);
    assert!(made.found.gaps.missed[0]);
    assert!(made.streams.open.is_empty());
    assert_eq!(made.conversation.undecoded_bytes(), text.len() as u64);
}

#[test]
fn a_connection_whose_beginning_was_missed_is_counted_once() {
    let mut made = Made::new();
    made.conversation.decide_named(registry::by_name("mqtt").unwrap());
    let keys = &made.conversation.tls.keys;
    keys.add(format!("CLIENT_TRAFFIC_SECRET_0 {} {}", "11".repeat(32), "22".repeat(32)).as_bytes());
    let mut strange = vec![0xC3, 0, 0, 0, 1, 8];
    strange.resize(1200, 9);
    for number in 1..5 {
        made.conversation.read_quic(carrier(number), &strange, &mut made.found);
    }
    assert_eq!(made.conversation.tls.keys.counts().unwrap().missed, 1);
}
