//! Other datagrams, and names asked for over TCP.

use super::services::{openvpn, snmp};
use super::{Talk, be16, be32, join, sized, talk, udp};
use wirelap_test_support::random::Random;

pub fn question(n: usize) -> Vec<u8> {
    let name = join(&[&sized(1, format!("host{n}").as_bytes()), b"\x07example\x03com\0"]);
    join(&[&be16(n * 7919), b"\x01\0\0\x01\0\0\0\0\0\0", &name, &[0, 1, 0, 1]])
}

pub fn answer(n: usize) -> Vec<u8> {
    let mut answer = question(n);
    answer[2..12].copy_from_slice(b"\x81\x80\0\x01\0\x01\0\0\0\0");
    join(&[&answer, b"\xc0\x0c\0\x01\0\x01\0\0\x01\x2c\0\x04\x0a\0\0", &[n as u8]])
}

/// Other datagrams.
pub fn datagrams() -> Vec<Talk> {
    vec![
        udp(talk("DNS", 53, Vec::new(), &mut |n, _| (question(n), answer(n)))),
        udp(talk("NTP", 123, Vec::new(), &mut |n, random| {
            let packet =
                |mode: u8, random: &mut Random| join(&[&[mode, 2, 6, 0xec], &random.bytes(44)]);
            let _ = n;
            (packet(0x23, random), packet(0x24, random))
        })),
        udp(talk("RTP", 5004, Vec::new(), &mut |n, random| {
            let packet = |n: usize, random: &mut Random| {
                join(&[
                    &[0x80, 0],
                    &be16(n),
                    &be32(n * 160),
                    &be32(0x1234_5678),
                    &random.bytes(160),
                ])
            };
            (packet(n, random), packet(n + 77, random))
        })),
        udp(talk("CoAP", 5683, Vec::new(), &mut |n, random| {
            (
                join(&[&[0x42, 1], &be16(n), &be16(n), b"\xb4temp"]),
                join(&[&[0x62, 0x45], &be16(n), &be16(n), b"\xff", &random.bytes(4)]),
            )
        })),
        udp(talk("TFTP", 69, Vec::new(), &mut |n, random| {
            (join(&[&[0, 4], &be16(n)]), join(&[&[0, 3], &be16(n + 1), &random.bytes(512)]))
        })),
        udp(talk("RADIUS", 1812, Vec::new(), &mut |n, random| {
            let packet = |code: u8, body: &[u8], random: &mut Random| {
                join(&[&[code, n as u8], &be16(20 + body.len()), &random.bytes(16), body])
            };
            (packet(1, b"\x01\x06root\x04\x06\x7f\0\0\x01", random), packet(2, b"", random))
        })),
        udp(talk("IKE", 4500, Vec::new(), &mut |n, random| {
            let packet = |n: usize, random: &mut Random| {
                join(&[&[0, 0, 0x12, 0x34], &be32(n), &random.bytes(80)])
            };
            (packet(n, random), packet(n, random))
        })),
        udp(talk("VXLAN", 4789, Vec::new(), &mut |_, random| {
            (join(&[&[8, 0, 0, 0, 0, 0, 5, 0], &random.bytes(70)]), Vec::new())
        })),
        snmp(),
        openvpn("OpenVPN over UDP", false, 60),
        udp(talk("DHCP", 67, Vec::new(), &mut |n, _| {
            let packet = |op: u8| {
                join(&[&[op, 1, 6, 0], &be32(n), &[0; 228], b"\x63\x82\x53\x63\x35\x01\x01\xff"])
            };
            (packet(1), packet(2))
        })),
    ]
}
