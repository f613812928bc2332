//! Traffic without a name: frames behind lengths, counters, one byte again and again, random bytes.

use super::{Talk, be32, join, le32, sized, sized_le, talk, udp};
use wirelap_test_support::random::Random;

/// Traffic without a name: frames behind lengths, counters, one byte again and again, random bytes.
pub fn nameless() -> Vec<Talk> {
    let mut all = vec![
        talk("frames behind u32", 7001, Vec::new(), &mut |n, random| {
            let protobuf = |n: usize| [8, n as u8 & 0x7f, 18, 5, b'h', b'e', b'l', b'l', b'o'];
            let body = random.bytes(n);
            (sized(4, &join(&[&protobuf(n), &body])), sized(4, &protobuf(n + 1)))
        }),
        talk("frames behind u32 with zeros", 7002, Vec::new(), &mut |n, _| {
            (sized(4, &vec![0; 10 + n]), sized(4, &[0; 12]))
        }),
        talk("counted frames behind u32", 7003, Vec::new(), &mut |n, random| {
            (
                sized(4, &join(&[&be32(n), &random.bytes(20)])),
                sized(4, &join(&[&be32(n), &random.bytes(8)])),
            )
        }),
        talk("frames behind u32, low byte first", 7004, Vec::new(), &mut |n, random| {
            (sized_le(4, &random.bytes(12 + n)), sized_le(4, &random.bytes(30)))
        }),
        talk("frames behind u16, low byte first", 7005, Vec::new(), &mut |n, random| {
            (sized_le(2, &random.bytes(12 + n)), sized_le(2, &random.bytes(30)))
        }),
        talk("long frames behind u16", 7006, Vec::new(), &mut |n, random| {
            (sized(2, &random.bytes(300 + n)), sized(2, &random.bytes(500)))
        }),
        talk(
            "SP (nng, nanomsg)",
            5_555,
            vec![(true, b"\0SP\0\0\x50\0\0".to_vec()), (false, b"\0SP\0\0\x51\0\0".to_vec())],
            &mut |n, random| (sized(8, &random.bytes(12 + n)), Vec::new()),
        ),
        talk("frames behind u8", 7007, Vec::new(), &mut |n, random| {
            (sized(1, &random.bytes(12 + n)), sized(1, &random.bytes(30)))
        }),
        talk("types and lengths", 7008, Vec::new(), &mut |n, random| {
            (
                join(&[&[2], &sized(2, &random.bytes(12 + n))]),
                join(&[&[3], &sized(2, &random.bytes(30))]),
            )
        }),
        talk("counters", 7009, Vec::new(), &mut |n, _| (be32(n).to_vec(), le32(n).to_vec())),
        talk("long counters", 7010, Vec::new(), &mut |n, _| {
            let count = |from: usize| (from..from + 200).flat_map(be32).collect();
            (count(n * 200), count(n * 200 + 7))
        }),
        talk("bytes that count", 7011, Vec::new(), &mut |n, _| {
            ((0..=255).collect(), (0..100_u8).map(|at| at ^ n as u8).collect())
        }),
        talk("JSON lines", 7012, Vec::new(), &mut |n, _| {
            (
                format!("{{\"id\":{n},\"method\":\"get\",\"params\":[1,2]}}\n").into_bytes(),
                format!("{{\"id\":{n},\"result\":{{\"a\":\"b\"}}}}\n").into_bytes(),
            )
        }),
        talk("text", 7013, Vec::new(), &mut |n, _| {
            let words = "the quick brown fox jumps over the lazy dog ";
            (words.repeat(1 + n % 5).into_bytes(), format!("{n} {words}\n").into_bytes())
        }),
    ];
    for byte in [0, 1, 2, 4, 0x30, 0x40, 0x55, 0xff] {
        all.push(talk("one byte again and again", 7014, Vec::new(), &mut |n, _| {
            (vec![byte; 1 + n * 7], vec![byte; 30])
        }));
    }
    for seed in 0..6 {
        let mut own = Random::new(seed);
        all.push(talk("random bytes", 7015, Vec::new(), &mut |n, _| {
            let len = 1 + own.below([10, 60, 300, 1400, 3000, 9000][seed as usize % 6]);
            (own.bytes(len + n), own.bytes(len / 2))
        }));
        all.push(udp(talk("random datagrams", 7016, Vec::new(), &mut |n, _| {
            let len = 1 + own.below([10, 60, 300, 1400, 20, 9][seed as usize % 6]);
            (own.bytes(len + n), own.bytes(len / 2))
        })));
    }
    all
}
