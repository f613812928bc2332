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

/// `NetBIOS`'s name service (RFC 1002 §4.2): names of hosts are registered, each four times, with numbers that count from `first` on.
fn netbios(name: &'static str, first: usize) -> Talk {
    let host = |n: usize| {
        let text = format!("{:<15}\0", format!("HOST{n}"));
        text.bytes().flat_map(|byte| [b'A' + (byte >> 4), b'A' + (byte & 15)]).collect::<Vec<u8>>()
    };
    udp(talk(name, 137, Vec::new(), &mut |n, _| {
        let flags = if n % 4 == 3 { b"\x28\x10" } else { b"\x29\x10" };
        let question = join(&[&sized(1, &host(n / 4)), b"\0\0\x20\0\x01"]);
        let record = b"\xc0\x0c\0\x20\0\x01\0\x04\x93\xe0\0\x06\x60\0\x0a\x14\x14\x14";
        let counts = b"\0\x01\0\0\0\0\0\x01";
        (join(&[&be16(first + n / 4), flags, counts, &question, record]), Vec::new())
    }))
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
        netbios("NBNS", 0x86A9),
        netbios("NBNS, with numbers of one byte", 0x6605),
        netbios("NBNS, with first bytes of a FRAME", 0x25A9),
        udp(talk("QUIC", 443, Vec::new(), &mut |n, random| {
            let initial = [&b"\xc3\0\0\0\x01\x08destinat\0"[..], &random.bytes(1_180)].concat();
            let short = |random: &mut Random| join(&[&[0x46], &random.bytes(1_200)]);
            let up = if n == 0 { initial } else { short(random) };
            (up, short(random))
        })),
        udp(talk("syslog", 514, Vec::new(), &mut |n, _| {
            let text = format!("<{}>Nov 29 08:00:{:02} host app[77]: line {n}", n % 192, n % 60);
            (text.into_bytes(), Vec::new())
        })),
        udp(talk("SSDP", 1900, Vec::new(), &mut |_, _| {
            let text = "M-SEARCH * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\nMX: 2\r\n\r\n";
            (text.as_bytes().to_vec(), b"HTTP/1.1 200 OK\r\nST: ssdp:all\r\n\r\n".to_vec())
        })),
        udp(talk("STUN", 3478, Vec::new(), &mut |_, random| {
            let packet = |kind: &[u8], random: &mut Random| {
                join(&[kind, b"\0\0\x21\x12\xa4\x42", &random.bytes(12)])
            };
            (packet(b"\0\x01", random), packet(b"\x01\x01", random))
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
