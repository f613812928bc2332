//! Datagrams of other protocols are no evidence of ours, whatever numbers are in them.

// Numbers here are small.
#![allow(clippy::cast_possible_truncation)]

use wirelap_events::{Offset, Transport};
use wirelap_protocols::recognise::{ProtocolChoice, choose};
use wirelap_protocols::search::SURE_BITS;
use wirelap_protocols::{ProtocolSearch, registry};
use wirelap_test_support::random::Random;

/// The 16-bit number of the first datagram, and the number of the datagram: by how much the first number has grown.
type Make = fn(u16, usize, &mut Random) -> Vec<u8>;

fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

fn bytes(len: usize, random: &mut Random) -> Vec<u8> {
    let mut bytes = vec![0; len];
    random.fill(&mut bytes);
    bytes
}

fn number(first: u16, n: usize) -> [u8; 2] {
    first.wrapping_add(n as u16).to_be_bytes()
}

/// The name of a host in the half-octets of `NetBIOS` (RFC 1001 §14.1).
fn netbios_name(n: usize) -> Vec<u8> {
    let text = format!("{:<15}\0", format!("HOST{n}"));
    let halves = text.bytes().flat_map(|byte| [b'A' + (byte >> 4), b'A' + (byte & 15)]);
    join(&[&[32], &halves.collect::<Vec<u8>>(), &[0]])
}

/// RFC 1002 §4.2: a broadcast question, and the registration of a name, which is sent four times.
fn netbios_question(first: u16, n: usize, _: &mut Random) -> Vec<u8> {
    join(&[&number(first, n), b"\x01\x10\0\x01\0\0\0\0\0\0", &netbios_name(n), b"\0\x20\0\x01"])
}

fn netbios_registration(first: u16, n: usize, _: &mut Random) -> Vec<u8> {
    let flags = if n % 4 == 3 { b"\x28\x10" } else { b"\x29\x10" };
    let counts = b"\0\x01\0\0\0\0\0\x01";
    let record = b"\xc0\x0c\0\x20\0\x01\0\x04\x93\xe0\0\x06\x60\0\x0a\x14\x14\x14";
    let name = netbios_name(n / 4);
    join(&[&number(first, n / 4), flags, counts, &name, b"\0\x20\0\x01", record])
}

/// RFC 1002 §4.4.
fn netbios_datagram(first: u16, n: usize, random: &mut Random) -> Vec<u8> {
    let names = join(&[&netbios_name(n), &netbios_name(n + 1)]);
    let content = bytes(120, random);
    let len = (names.len() + content.len()) as u16;
    let head = [&b"\x11\x0a"[..], &number(first, n), b"\x0a\x14\x14\x14\0\x8a"].concat();
    join(&[&head, &len.to_be_bytes(), b"\0\0", &names, &content])
}

fn dns(first: u16, n: usize, flags: [u8; 2], answers: u8) -> Vec<u8> {
    let counts = [0, 1, 0, answers, 0, 0, 0, 0];
    let record = b"\xc0\x0c\0\x01\0\x01\0\0\x01\x2c\0\x04\x0a\0\0\x01".repeat(answers.into());
    let host = format!("host{n}");
    let question =
        join(&[&[host.len() as u8], host.as_bytes(), b"\x07example\x03com\0\0\x01\0\x01"]);
    join(&[&number(first, n), &flags, &counts, &question, &record])
}

fn syslog(first: u16, n: usize, _: &mut Random) -> Vec<u8> {
    format!("<{}>Nov 29 08:00:{:02} host app[{}]: line {n}", n % 192, n % 60, first).into_bytes()
}

fn ssdp(first: u16, _: usize, _: &mut Random) -> Vec<u8> {
    format!("M-SEARCH * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\nMAN: \"ssdp:discover\"\r\nMX: {first}\r\n\r\n")
        .into_bytes()
}

fn dhcp(first: u16, n: usize, _: &mut Random) -> Vec<u8> {
    let options = b"\x63\x82\x53\x63\x35\x01\x01\xff";
    join(&[&[1 + (n % 2) as u8, 1, 6, 0], &number(first, n), &[0; 2], &[0; 228], options])
}

fn snmp(first: u16, n: usize, _: &mut Random) -> Vec<u8> {
    let request = join(&[b"\x02\x02", &number(first & 0x7FFF, n), b"\x02\x01\0\x02\x01\0\x30\0"]);
    let pdu = join(&[&[0xA0, request.len() as u8], &request]);
    let message = join(&[b"\x02\x01\x01\x04\x06public", &pdu]);
    join(&[&[0x30, message.len() as u8], &message])
}

fn stun(first: u16, n: usize, random: &mut Random) -> Vec<u8> {
    let transaction = bytes(10, random);
    join(&[b"\0\x01\0\0\x21\x12\xa4\x42", &number(first, n), &transaction])
}

fn quic(first: u16, n: usize, random: &mut Random) -> Vec<u8> {
    let header = [0x40 | (first >> 8) as u8 & 0x3F];
    let packet = if n == 0 { b"\xc3\0\0\0\x01\x08destinat\0".to_vec() } else { header.to_vec() };
    join(&[&packet, &bytes(1_200, random)])
}

fn rtp(first: u16, n: usize, random: &mut Random) -> Vec<u8> {
    let stamp = (n as u32 * 160).to_be_bytes();
    join(&[b"\x80\0", &number(first, n), &stamp, b"\x12\x34\x56\x78", &bytes(160, random)])
}

/// A header of one's own: a number that counts, high byte first, and data.
fn numbered(first: u16, n: usize, random: &mut Random) -> Vec<u8> {
    join(&[&number(first, n), &bytes(100, random)])
}

/// The same with a counter behind a fixed byte.
fn numbered_behind_a_kind(first: u16, n: usize, random: &mut Random) -> Vec<u8> {
    join(&[&[(first >> 8) as u8, n as u8], &bytes(1_400, random)])
}

const OTHERS: [(&str, Make); 19] = [
    ("NBNS, questions", netbios_question),
    ("NBNS, registrations", netbios_registration),
    ("NBDS", netbios_datagram),
    ("DNS, questions", |first, n, _| dns(first, n, [1, 0], 0)),
    ("DNS, answers", |first, n, _| dns(first, n, [0x81, 0x80], 1)),
    ("mDNS, questions", |_, n, _| dns(0, 0, [0, 0], (n % 3) as u8)),
    ("mDNS, answers", |_, n, _| dns(0, 0, [0x84, 0], (n % 7) as u8)),
    ("LLMNR", |first, n, _| dns(first, n, [0, 0], 0)),
    ("SSDP", ssdp),
    ("NTP", |_, n, random| join(&[&[0x23 + (n % 2) as u8, 2, 6, 0xec], &bytes(44, random)])),
    ("DHCP", dhcp),
    ("syslog", syslog),
    ("QUIC", quic),
    ("SNMP", snmp),
    ("TFTP", |first, n, random| join(&[&[0, 3], &number(first, n), &bytes(512, random)])),
    ("STUN", stun),
    ("RTP", rtp),
    ("numbered", numbered),
    ("numbered behind a kind", numbered_behind_a_kind),
];

/// The most evidence of one of our protocols in datagrams with numbers from `first` on.
fn most(make: Make, first: u16, random: &mut Random) -> (u32, &'static str) {
    let mut search = ProtocolSearch::default();
    let mut most = (0, "");
    for n in 0..40 {
        let datagram = make(first, n, random);
        search.datagram(&datagram);
        for candidate in search.candidates() {
            assert_eq!(candidate.start, Offset(0));
            most = most.max((candidate.bits(), candidate.protocol.name()));
        }
    }
    most
}

#[test]
fn they_are_too_little_evidence() {
    let mut random = Random::new(137);
    let mut wrong = Vec::new();
    for (name, make) in OTHERS {
        // Every first byte, with second bytes that are numbers of one and of two bytes to Zenoh.
        for first in (0..=0xFF_u16).flat_map(|high| [high << 8 | 0x05, high << 8 | 0xA9]) {
            let (bits, protocol) = most(make, first, &mut random);
            if bits >= SURE_BITS {
                wrong.push(format!("{name} from {first:04x} on: {protocol}, {bits} bits"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong: {wrong:#?}", wrong.len());
}

#[test]
fn not_one_of_them_decides() {
    let mut random = Random::new(138);
    let ports = registry().iter().flat_map(|protocol| protocol.ports(Transport::Udp));
    let ports: Vec<u16> = ports.copied().chain([137, 5353]).collect();
    for (name, make) in OTHERS {
        for first in (0..=0xFF_u16).map(|high| high << 8 | 0xA9) {
            let datagram = make(first, 0, &mut random);
            for port in &ports {
                let choice = choose(Transport::Udp, &datagram, true, [40_000, *port]);
                let ProtocolChoice::Protocol(protocol) = choice else { continue };
                // A port makes a little evidence enough to look for more, and only then.
                let is_home = protocol.ports(Transport::Udp).contains(port);
                assert!(
                    is_home,
                    "{name} from {first:04x} on port {port}: {protocol:?}",
                    protocol = protocol.name()
                );
            }
        }
    }
}
