//! Rates at which random bytes, and bytes of other protocols, look like something: the evidence that a protocol claims to see is
//! held against how often it sees it where there is none.

// Lengths and counters here are small.
#![allow(clippy::cast_possible_truncation)]

use wirelap_events::{Offset, Transport};
use wirelap_protocols::search::SURE_BITS;
use wirelap_protocols::{ProtocolSearch, SignatureMatch, registry};
use wirelap_test_support::random::Random;

/// In so many random strings, `n` bits of evidence may be seen in one of 2^n; more shows in these sums.
#[test]
fn evidence_is_not_claimed_where_there_is_none() {
    const STRINGS: u32 = 3_000_000;
    let mut random = Random::new(1);
    let mut sums = vec![0.0_f64; registry().len() * 2];
    let mut buffer = [0; 1024];
    for index in 0..STRINGS {
        let len = [16, 40, 200, 1024][index as usize % 4];
        let bytes = &mut buffer[..len];
        random.fill(bytes);
        // Small numbers are more frequent than in random bytes; half of all strings begin with some.
        if index % 8 >= 4 {
            bytes[0] = 0;
            bytes[1] = (len - 2) as u8;
        }
        for (at, protocol) in registry().iter().enumerate() {
            for (of, transport) in [Transport::Tcp, Transport::Udp].into_iter().enumerate() {
                if protocol.transports().contains(&transport)
                    && let SignatureMatch::Pdu(sight) = protocol.match_signature(transport, bytes)
                {
                    sums[at * 2 + of] += f64::from(sight.bits).exp2();
                }
            }
        }
    }
    let mut told = Vec::new();
    for (at, protocol) in registry().iter().enumerate() {
        for (of, sum) in sums[at * 2..at * 2 + 2].iter().enumerate() {
            let factor = sum / f64::from(STRINGS);
            println!("{} {of}: {factor:.2}", protocol.name());
            // Strings that begin with a small number favour lengths of two bytes by 2^15 of 2^16.
            if factor > 64.0 {
                told.push(format!("{} {of}: {factor:.1} times too often", protocol.name()));
            }
        }
    }
    assert!(told.is_empty(), "{told:?}");
}

/// The most evidence that a protocol finds in a stream of such messages.
fn most(messages: &[Vec<u8>], packet: usize) -> (u32, &'static str) {
    let mut search = ProtocolSearch::default();
    let mut at = Offset::START;
    let mut most = (0, "");
    for message in messages {
        for part in message.chunks(packet) {
            search.packet(at, part, 0, &[]);
            at = at.plus(part.len() as u64);
            for candidate in search.candidates() {
                most = most.max((candidate.bits(), candidate.protocol.name()));
            }
        }
    }
    most
}

fn sized(width: usize, body: &[u8]) -> Vec<u8> {
    let len = (body.len() as u64).to_be_bytes();
    [&len[8 - width..], body].concat()
}

#[test]
fn other_protocols_are_not_ours() {
    let mut random = Random::new(42);
    let mut body = |len: usize| {
        let mut bytes = vec![0; len];
        random.fill(&mut bytes);
        bytes
    };
    let messages = |make: &mut dyn FnMut(usize) -> Vec<u8>| (0..400).map(make).collect::<Vec<_>>();
    let corpora = [
        (
            "TLS records",
            messages(&mut |n| [&[23, 3, 3][..], &sized(2, &body(40 + n * 7))].concat()),
        ),
        ("length u32", messages(&mut |n| sized(4, &body(8 + n * 5)))),
        (
            "length u32, counted",
            messages(&mut |n| {
                sized(4, &[&(n as u32).to_be_bytes()[..], &body(4 + n * 5)].concat())
            }),
        ),
        ("length u16, long", messages(&mut |n| sized(2, &body(300 + n)))),
        (
            "length u32 LE",
            messages(&mut |n| [&(n as u32 + 16).to_le_bytes()[..], &body(n + 16)].concat()),
        ),
        (
            "lines",
            messages(&mut |n| {
                format!("{n} 2026-11-22 level=info msg=\"hello {n}\"\r\n").into_bytes()
            }),
        ),
        ("HTTP", messages(&mut |n| format!("GET /{n} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes())),
        (
            "JSON",
            messages(&mut |n| format!("{{\"n\":{n},\"list\":[1,2,3],\"t\":\"x\"}}").into_bytes()),
        ),
        ("Redis", messages(&mut |n| format!("*2\r\n$3\r\nGET\r\n$5\r\nk{n:04}\r\n").into_bytes())),
        ("Redis ping", messages(&mut |_| b"PING\r\n".to_vec())),
        ("OK", messages(&mut |_| b"+OK\r\n".to_vec())),
        ("zeros", messages(&mut |n| vec![0; 1 + n])),
        ("ones", messages(&mut |n| vec![1; 1 + n])),
        ("digits", messages(&mut |n| vec![b'0'; 10 + n])),
        (
            "DER",
            messages(&mut |n| {
                let inner = [&[2, 1, n as u8][..], &[4], &sized(1, &body(20))].concat();
                [&[0x30][..], &sized(1, &inner)].concat()
            }),
        ),
        (
            "PostgreSQL rows",
            messages(&mut |n| {
                [&b"D"[..], &(20_u32 + n as u32).to_be_bytes(), &body(16 + n)].concat()
            }),
        ),
        (
            "HTTP/2 data",
            messages(&mut |n| {
                [&sized(3, &body(30 + n))[..3], &[0, 0, 0, 0, 0, 1], &body(30 + n)].concat()
            }),
        ),
        (
            "protobuf, length first",
            messages(&mut |n| [&[10, 8][..], &body(8), &[16, n as u8 & 0x7F]].concat()),
        ),
        ("random", messages(&mut |n| body(1 + n))),
    ];
    let mut wrong = Vec::new();
    for (name, messages) in &corpora {
        for packet in [1_448, 65_483] {
            let (bits, protocol) = most(messages, packet);
            println!("{name}: {bits} bits of {protocol}");
            if bits >= SURE_BITS {
                wrong.push(format!("{name} in packets of {packet}: {protocol}, {bits} bits"));
            }
            // The same in packets that have nothing to do with the messages.
            let stream: Vec<Vec<u8>> =
                messages.concat().chunks(packet).map(<[u8]>::to_vec).collect();
            let (bits, protocol) = most(&stream, packet);
            if bits >= SURE_BITS {
                wrong.push(format!("{name} as a stream: {protocol}, {bits} bits"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A message of 100,000 bytes in three batches, as a Zenoh session sends it, with the fragments' numbers from `sn` on.
fn fragmented(sn: u32) -> Vec<u8> {
    let number = |sn: u32| {
        let [low, high] = [sn & 0x7f | 0x80, sn >> 7];
        vec![
            u8::try_from(low).unwrap(),
            u8::try_from(high & 0x7f | 0x80).unwrap(),
            u8::try_from(sn >> 14).unwrap(),
        ]
    };
    let batch = |header: u8, sn: u32, content: &[u8]| {
        let body = [&[header], number(sn).as_slice(), content].concat();
        let len = u16::try_from(body.len()).unwrap().to_le_bytes();
        [len.as_slice(), &body].concat()
    };
    // PUSH of a key expression with a number, PUT, 100,000 bytes.
    let head = [0x02, 0x1d, 0x01, 0x01, 0xa0, 0x8d, 0x06];
    let content =
        |head: &[u8], len: usize| [head, vec![b'x'; len - head.len()].as_slice()].concat();
    [
        batch(0xe6, sn, &content(&head, 49_100)),
        batch(0x66, sn + 1, &content(&[], 49_100)),
        batch(0x26, sn + 2, &content(&[], 1_806)),
    ]
    .concat()
}

/// A saturated sender's packets begin anywhere in its batches, and its writes are not seen.
#[test]
fn fragments_of_a_saturated_sender_are_found_inside_its_packets() {
    let stream: Vec<u8> = (0..8).flat_map(|n| fragmented(20_000 + 3 * n)).collect();
    let mut search = ProtocolSearch::default();
    let mut at = Offset(70_000);
    for packet in stream[70_000..].chunks(65_483) {
        search.packet(at, packet, 0, &[]);
        at = Offset(at.0 + packet.len() as u64);
    }
    let zenoh = registry().iter().find(|protocol| protocol.name() == "zenoh").unwrap();
    let found = search.best_of(*zenoh).expect("a candidate");
    assert!(found.bits() >= SURE_BITS, "{found:?}");
    // The first message that begins after the start.
    let first = fragmented(20_000).len() as u64;
    assert_eq!(found.last().0 % first % 49_106, 0, "{found:?}");
}

/// A message of 24,010 bytes alone in its batch, as a Zenoh session sends it behind a device of the usual MTU.
fn alone(sn: u8) -> Vec<u8> {
    let head = [0xd5, 0x5d, 0x25, 0x80 | sn, 0xf5, 0xcf, 0x01, 0x1d, 0x01, 0x01, 0xca, 0xbb, 0x01];
    [head.as_slice(), &vec![b'x'; 24_010]].concat()
}

/// Packets that are much shorter than the messages, and begin anywhere in them.
#[test]
fn long_messages_of_a_saturated_sender_are_found_inside_its_packets() {
    let stream: Vec<u8> = (0..8).flat_map(alone).collect();
    let mut search = ProtocolSearch::default();
    let mut at = Offset(30_000);
    for packet in stream[30_000..].chunks(1_448) {
        search.packet(at, packet, 0, &[]);
        at = Offset(at.0 + packet.len() as u64);
    }
    let zenoh = registry().iter().find(|protocol| protocol.name() == "zenoh").unwrap();
    let found = search.best_of(*zenoh).expect("a candidate");
    assert!(found.bits() >= SURE_BITS, "{found:?}");
    assert_eq!(found.last().0 % 24_023, 0, "{found:?}");
}
