//! Connections of which something is missing or wrong.

use super::*;

#[test]
fn a_loss_costs_what_was_lost() {
    for made in all() {
        let (records, texts) = made.texts(12);
        let flow = records.concat();
        let starts: Vec<usize> = (0..=records.len()).map(|n| records[..n].concat().len()).collect();
        for (from, to) in [(2, 3), (2, 7), (1, 11)] {
            // A part of a record, then as much as a whole one, then several.
            for (cut, next) in [(starts[from] + 9, starts[to]), (starts[from], starts[to] - 5)] {
                let mut reader = made.begin();
                reader.feed(TlsRole::Client, &flow[..cut]);
                reader.gap(TlsRole::Client, next - cut);
                reader.feed(TlsRole::Client, &flow[next..]);
                let mut read = reader.of(TlsRole::Client);
                read.retain(|out| matches!(out, Out::Text(_)));
                let expected = texts[..from].iter().chain(&texts[to..]);
                assert_eq!(read, expected.map(|bytes| text(bytes)).collect::<Vec<_>>());
                assert_ne!(read.len(), reader.of(TlsRole::Client).len(), "and the loss is told");
            }
        }
    }
}

#[test]
fn a_record_that_does_not_authenticate_is_not_read() {
    for made in all() {
        let (mut records, texts) = made.texts(3);
        *records[1].last_mut().unwrap() ^= 1;
        let mut reader = made.begin();
        reader.feed(TlsRole::Client, &records.concat());
        let [first, unread, last] = &reader.of(TlsRole::Client)[..] else { panic!() };
        assert_eq!((first, last), (&text(&texts[0]), &text(&texts[2])));
        let at_most = texts[1].len() as u64;
        let Out::Unread(len) = *unread else { panic!("{unread:?}") };
        let padding = if made.keys[0].is_cbc() { 48 } else { 3 };
        assert!((at_most..at_most + padding).contains(&len), "{len}: the padding may be text");
    }
}

#[test]
fn a_handshake_that_was_lost_is_found_out() {
    for made in all() {
        // Only the hello messages are seen.
        let mut reader = Reader::new(made.log.clone(), CLIENT);
        reader.feed(TlsRole::Client, &record(22, &client_hello(CLIENT)));
        let hello_end = 105;
        reader.feed(TlsRole::Server, &made.handshake[1][..hello_end]);
        reader.session.gap(
            TlsRole::Server,
            Offset(hello_end as u64),
            (made.handshake[1].len() - hello_end) as u64,
            (&made.log, &mut Vec::new()),
            &mut |_| {},
        );
        reader.ends[1] = made.handshake[1].len() as u64;
        let rest = made.handshake[0].len() - record(22, &client_hello(CLIENT)).len();
        reader.session.gap(
            TlsRole::Client,
            Offset(reader.ends[0]),
            rest as u64,
            (&made.log, &mut Vec::new()),
            &mut |_| {},
        );
        reader.ends[0] += rest as u64;
        let is_tls13 = made.next == 0;
        reader.feed(TlsRole::Client, &made.keys[0].seal(made.next + 1, 23, b"question"));
        // Of TLS 1.2, the server's hello is in a record that was not seen to its end.
        let expected = if is_tls13 { vec![text(b"question")] } else { vec![] };
        let mut read = reader.of(TlsRole::Client);
        read.retain(|out| matches!(out, Out::Text(_)));
        assert_eq!(read, expected);
    }
}

#[test]
fn a_server_may_ask_for_another_hello() {
    let retry = [
        0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8,
        0x91, 0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8,
        0x33, 0x9C,
    ];
    let made = tls13(0x1303);
    let mut reader = Reader::new(made.log.clone(), CLIENT);
    let hello = record(22, &client_hello(CLIENT));
    reader.feed(TlsRole::Client, &hello);
    reader.feed(TlsRole::Server, &record(22, &server_hello(retry, 0x1303, TLS13_EXTENSION)));
    reader.feed(TlsRole::Server, &record(20, &[1]));
    reader.feed(TlsRole::Client, &[&record(20, &[1])[..], &hello].concat());
    reader.feed(TlsRole::Server, &made.handshake[1]);
    reader.feed(TlsRole::Client, &made.handshake[0][hello.len()..]);
    reader.feed(TlsRole::Client, &made.keys[0].seal(0, 23, b"question"));
    assert_eq!(reader.out, [(TlsRole::Client, text(b"question"))]);
}

#[test]
fn what_cannot_be_read_is_said() {
    let mut reader = Reader::new(tls13(0x1301).log, CLIENT);
    reader.feed(TlsRole::Server, &record(22, &server_hello(SERVER, 0x1306, TLS13_EXTENSION)));
    assert_eq!(reader.session.obstacle(), Some(DecryptionObstacle::Cipher));
    let mut reader = Reader::new(tls12(0xC02F, MacOrder::MacThenEncrypt).log, CLIENT);
    reader.feed(TlsRole::Server, &record(22, &server_hello(SERVER, 0x000A, NO_EXTENSION)));
    assert_eq!(reader.session.obstacle(), Some(DecryptionObstacle::Cipher));
    let mut reader = Reader::new(tls12(0xC02F, MacOrder::MacThenEncrypt).log, CLIENT);
    reader.feed(TlsRole::Server, &record(22, &server_hello(SERVER, 0x1301, TLS13_EXTENSION)));
    assert_eq!(
        reader.session.obstacle(),
        Some(DecryptionObstacle::Keys),
        "secrets of another version"
    );

    let mut other = tls12(0xC02F, MacOrder::MacThenEncrypt);
    let mut reader = Reader::new(other.log.clone(), CLIENT);
    other = tls12(0xC030, MacOrder::MacThenEncrypt);
    reader.feed(TlsRole::Server, &record(22, &server_hello(SERVER, 0xC02F, NO_EXTENSION)));
    (0..70).for_each(|number| reader.feed(TlsRole::Server, &other.keys[1].seal(number, 23, b"x")));
    assert_eq!((reader.session.obstacle(), reader.out.len()), (Some(DecryptionObstacle::Keys), 0));

    let mut reader = Reader::new(other.log, CLIENT);
    (0..70).for_each(|number| reader.feed(TlsRole::Server, &other.keys[1].seal(number, 23, b"x")));
    assert_eq!(reader.session.obstacle(), Some(DecryptionObstacle::Handshake));
}

#[test]
fn searching_for_numbers_is_bounded() {
    let made = tls13(0x1301);
    let mut reader = made.begin();
    let (records, _) = made.texts(1);
    reader.feed(TlsRole::Client, &records[0]);
    reader.gap(TlsRole::Client, 1 << 30);
    // None of these is one of the connection.
    let alien = tls13(0x1302);
    let bytes = alien.keys[0].seal(0, 23, &[0; 16_000]);
    let began = std::time::Instant::now();
    (0..200).for_each(|_| reader.feed(TlsRole::Client, &bytes));
    assert!(began.elapsed().as_secs() < 10);
    assert!(reader.session.held_bytes() < 100_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_bytes_do_any_harm(pieces in proptest::collection::vec(
        (any::<bool>(), 0_usize..600, proptest::collection::vec(any::<u8>(), 0..300)), 0..30)
    ) {
        let mut reader = tls12(0xC02F, MacOrder::MacThenEncrypt).begin();
        for (is_server, gap, bytes) in pieces {
            let from = if is_server { TlsRole::Server } else { TlsRole::Client };
            let at = Offset(reader.ends[from as usize] + gap as u64);
            reader.ends[from as usize] = at.0 + bytes.len() as u64;
            reader.session.feed(from, at, &bytes, (&reader.log, &mut Vec::new()), &mut |opened| {
                assert!(!matches!(opened.content, OpenedContent::Text(_)));
            });
        }
    }

    #[test]
    fn what_is_read_was_said(
        changes in proptest::collection::vec((0_usize..2500, any::<u8>()), 0..4),
        gaps in proptest::collection::vec((0_usize..2500, 1_usize..400), 0..3),
        cut in 1_usize..400,
        which in 0..all().count(),
    ) {
        let made = all().nth(which).unwrap();
        let (records, texts) = made.texts(20);
        let mut flow = records.concat();
        for (at, byte) in changes {
            let at = at % flow.len();
            flow[at] ^= byte;
        }
        let mut is_there = vec![true; flow.len()];
        for (at, len) in gaps {
            is_there.iter_mut().skip(at).take(len).for_each(|there| *there = false);
        }
        let mut reader = made.begin();
        let base = reader.ends[0];
        let mut at = 0;
        while at < flow.len() {
            let same = is_there[at..].iter().take_while(|there| **there == is_there[at]).count();
            let len = if is_there[at] { same.min(cut) } else { same };
            if is_there[at] {
                reader.ends[0] = base + at as u64;
                reader.feed(TlsRole::Client, &flow[at..at + len]);
            }
            at += len;
        }
        let mut all = texts.iter();
        for out in reader.of(TlsRole::Client) {
            if let Out::Text(bytes) = out {
                prop_assert!(all.any(|said| *said == bytes), "in order, and said");
            }
        }
    }
}
