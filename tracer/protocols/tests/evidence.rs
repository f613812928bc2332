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
