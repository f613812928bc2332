//! Packets after pauses, several in a datagram, of two versions, and handshakes in odd pieces.

use super::*;

/// A packet of the client of so many bytes.
fn full(made: &mut Made, text: &[u8], len: usize) -> Vec<u8> {
    // A packet has 33 bytes beyond those of its stream, with an id of six bytes.
    let frames = [&stream(0, 0, text)[..], &vec![0; len - 33 - text.len()]].concat();
    made.ends[0].packet(&frames)
}

#[test]
fn a_direction_is_read_again_after_many_packets_that_are_missing() {
    let mut made = Made::new(0x1301);
    for lost in [300_000, 900_000] {
        made.ends[0].number += lost;
        let packet = made.says(0, b"text");
        made.feed(TlsRole::Client, &packet);
        assert_eq!(made.take(), ["0@0 text"], "{lost}");
    }
}

#[test]
fn acknowledgements_tell_where_numbers_are() {
    let mut made = Made::new(0x1301);
    made.ends[0].number += 40_000_000;
    let [a, b, c, d] = u32::try_from(made.ends[0].number - 1).unwrap().to_be_bytes();
    let ack = made.ends[1].packet(&[2, 0x80 | a, b, c, d, 0, 0, 0]);
    made.feed(TlsRole::Server, &ack);
    let packet = made.says(0, b"text");
    made.feed(TlsRole::Client, &packet);
    assert_eq!(made.take(), ["0@0 text"]);
}

#[test]
fn two_updates_of_keys_may_be_missing() {
    let mut made = Made::new(0x1302);
    let packet = made.says(0, b"one");
    made.feed(TlsRole::Client, &packet);
    made.ends[0].update();
    made.ends[0].update();
    made.ends[0].number += 500;
    for text in ["two", "three"] {
        let packet = made.says(0, text.as_bytes());
        made.feed(TlsRole::Client, &packet);
    }
    assert_eq!(made.take(), ["0@0 one", "0@0 two", "0@0 three"]);
}

#[test]
fn the_length_of_packets_in_a_datagram_is_found_by_their_id() {
    let mut made = Made::new(0x1301);
    let alone = made.says(0, b"alone");
    made.feed(TlsRole::Client, &alone);
    let mut datagram = [full(&mut made, b"one", 1377), full(&mut made, b"two", 1377)].concat();
    datagram.extend(made.says(3, b"the last"));
    made.feed(TlsRole::Client, &datagram);
    assert_eq!(made.take(), ["0@0 alone", "0@0 one", "0@0 two", "0@3 the last"]);
}

#[test]
fn without_an_id_packets_have_the_length_of_one_of_the_last() {
    let mut made = Made::new(0x1301);
    let mut packet = |text: &[u8], len: usize| {
        let frames = [&stream(0, 0, text)[..], &vec![0; len - 27 - text.len()]].concat();
        let packet = made.ends[1].packet(&frames);
        assert_eq!(packet.len(), len);
        packet
    };
    let datagrams = [
        packet(b"a", 1300),
        packet(b"b", 1400),
        packet(b"c", 90),
        [packet(b"one", 1300), packet(b"two", 1300), packet(b"end", 100)].concat(),
    ];
    for datagram in datagrams {
        made.feed(TlsRole::Server, &datagram);
    }
    assert_eq!(made.take(), ["0@0 a", "0@0 b", "0@0 c", "0@0 one", "0@0 two", "0@0 end"]);
}

#[test]
fn a_datagram_that_is_not_read_fails_once() {
    let mut made = Made::new(0x1301);
    let mut datagram = full(&mut made, b"one", 1200);
    for text in [b"two", b"six"] {
        let mut packet = full(&mut made, text, 1200);
        packet[100] ^= 1;
        datagram.extend(packet);
    }
    made.feed(TlsRole::Client, &datagram);
    assert_eq!(made.take(), ["0@0 one", "Unread"]);
    assert_eq!(made.session.application[0].failed.0, 1);
}

#[test]
fn a_server_may_choose_another_version() {
    let suite = Suite::of_tls13(0x1301).unwrap();
    let key = log(&[("SERVER_TRAFFIC_SECRET_0", CLIENT, vec![4; 32])]);
    let hello = [crypto(0, &client_hello(CLIENT)), vec![0; 900]].concat();
    let first = initial(TlsRole::Client, [b"original", CLIENT_ID], 0, &hello);
    let session = QuicSession::begin(&first, &mut Vec::new()).unwrap();
    let ends = [End::new(suite, 3, SERVER_ID), End::new(suite, 4, CLIENT_ID)];
    let mut made = Made { session, log: key, ends, found: Vec::new() };
    made.feed(TlsRole::Client, &first);
    let hello = crypto(0, &server_hello(SERVER, 0x1301, TLS13_EXTENSION));
    let two = (QuicVersion::V2, &b"original"[..]);
    let ids = [CLIENT_ID, SERVER_ID];
    made.feed(TlsRole::Server, &initial_of(two, TlsRole::Server, ids, 0, &hello));
    // The client's first packet comes again in the old version.
    made.feed(TlsRole::Client, &first);
    assert_eq!(made.session.version, QuicVersion::V2);
    assert!(made.session.hello.has_server, "its hello is read");
    let ids = [SERVER_ID, CLIENT_ID];
    made.feed(TlsRole::Client, &initial_of(two, TlsRole::Client, ids, 1, &[0; 30]));
    assert_eq!(made.session.initial[0].largest, Some(1));
    assert_eq!(made.take(), ["Found"]);
}

#[test]
fn ids_of_a_connection_in_place_of_another_are_known() {
    let mut made = Made::new(0x1301);
    let random = [9; 32];
    made.log = log(&[("SERVER_TRAFFIC_SECRET_0", random, made.ends[1].secret.bytes().to_vec())]);
    let hello = [crypto(0, &client_hello(random)), vec![0; 900]].concat();
    let another = (QuicVersion::V1, &b"another."[..]);
    let ids: [&[u8]; 2] = [b"another.", b"client-7"];
    made.feed(TlsRole::Client, &initial_of(another, TlsRole::Client, ids, 0, &hello));
    let hello = crypto(0, &server_hello(SERVER, 0x1301, TLS13_EXTENSION));
    let ids: [&[u8]; 2] = [b"client-7", SERVER_ID];
    made.feed(TlsRole::Server, &initial_of(another, TlsRole::Server, ids, 0, &hello));
    made.ends[1].to = b"client-7".to_vec();
    let packet = made.ends[1].packet(&stream(0, 0, b"text"));
    made.feed(TlsRole::Server, &packet);
    assert_eq!(made.take(), ["Restart", "Found", "Opened", "0@0 text"]);
}

#[test]
fn first_packets_of_others_cost_few_keys() {
    let mut made = Made::new(0x1301);
    let mut forged = initial(TlsRole::Client, [b"original", CLIENT_ID], 9, &[0; 300]);
    forged[40] ^= 1;
    for _ in 0..1000 {
        made.feed(TlsRole::Client, &forged);
    }
    assert_eq!(made.session.vain_keys, MAX_VAIN_KEYS);
    let packet = made.says(0, b"text");
    made.feed(TlsRole::Client, &packet);
    assert_eq!((made.take(), made.session.vain_keys), (vec!["0@0 text".to_owned()], 0));
}

#[test]
fn zeros_behind_packets_are_no_packet() {
    let mut made = Made::new(0x1301);
    let padded = initial(TlsRole::Server, [CLIENT_ID, SERVER_ID], 3, &[0; 30]);
    made.feed(TlsRole::Server, &[&padded[..], &[0; 200]].concat());
    assert_eq!(made.take(), Vec::<String>::new());
}

#[test]
fn a_longer_piece_of_the_handshake_takes_the_place_of_a_shorter_one() {
    let hello = client_hello(CLIENT);
    let mut reader = CryptoReader::default();
    let mut found = 0;
    for (at, bytes) in
        [(20, &hello[20..30]), (20, &hello[20..]), (20, &hello[20..25]), (0, &hello[..20])]
    {
        reader.feed(at, bytes, &mut |_| found += 1);
    }
    assert_eq!(found, 1);
}
