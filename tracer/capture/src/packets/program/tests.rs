use super::*;

/// A packet as the kernel has it for the program: from its IP header on, and what it knows beside.
#[derive(Clone, Copy)]
struct Packet<'a> {
    bytes: &'a [u8],
    protocol: u16,
    hardware: u16,
    kind: u8,
}

impl<'a> Packet<'a> {
    fn of(bytes: &'a [u8]) -> Packet<'a> {
        let protocol = if bytes.first().is_some_and(|first| first >> 4 == 6) { IPV6 } else { IPV4 };
        Packet { bytes, protocol, hardware: 1, kind: 0 }
    }

    fn load(&self, at: u32, len: usize) -> Option<u32> {
        match at {
            PROTOCOL => return Some(self.protocol.into()),
            PACKET_TYPE => return Some(self.kind.into()),
            HARDWARE_TYPE => return Some(self.hardware.into()),
            _ => {}
        }
        let bytes = self.bytes.get(at as usize..at as usize + len)?;
        Some(bytes.iter().fold(0, |sum, &byte| sum << 8 | u32::from(byte)))
    }
}

/// Runs a program as the kernel does: how many bytes are copied. A load beyond the end of the packet drops it.
fn run(program: &[Instruction], packet: Packet<'_>) -> u32 {
    let (mut a, mut x, mut at) = (0, 0, 0);
    for _ in 0..=program.len() {
        let Instruction { code, jt, jf, k } = program[at];
        at += 1;
        let loaded = match code {
            LOAD_WORD => packet.load(k, 4),
            LOAD_HALF => packet.load(k, 2),
            LOAD_BYTE => packet.load(k, 1),
            LOAD_HALF_AT => packet.load(x + k, 2),
            INDEX_HEADER => packet.load(k, 1).map(|byte| {
                x = 4 * (byte & 15);
                a
            }),
            SET_INDEX => {
                x = k;
                Some(a)
            }
            SHIFT_RIGHT => Some(a >> k),
            JUMP => {
                at += k as usize;
                Some(a)
            }
            IS => {
                at += usize::from(if a == k { jt } else { jf });
                Some(a)
            }
            HAS_BIT => {
                at += usize::from(if a & k != 0 { jt } else { jf });
                Some(a)
            }
            RETURN => return k,
            other => panic!("instruction {other:#x}"),
        };
        let Some(next) = loaded else { return 0 };
        a = next;
    }
    panic!("the program does not end");
}

/// An IPv4 packet with a header of so many words.
fn v4(protocol: u8, words: u8, fragment: u16, ports: [u16; 2]) -> Vec<u8> {
    let mut out = vec![0; usize::from(words) * 4];
    out[0] = 0x40 | words;
    out[6..8].copy_from_slice(&fragment.to_be_bytes());
    out[9] = protocol;
    out.extend(ports.into_iter().flat_map(u16::to_be_bytes));
    out.extend([0; 16]);
    out
}

fn v6(next: u8, ports: [u16; 2]) -> Vec<u8> {
    let mut out = vec![0; 40];
    out[0] = 0x60;
    out[6] = next;
    out.extend(ports.into_iter().flat_map(u16::to_be_bytes));
    out.extend([0; 16]);
    out
}

fn passes(ports: &[u16], bytes: &[u8]) -> bool {
    run(&program(ports, 100), Packet::of(bytes)) > 0
}

#[test]
fn a_port_is_found_behind_headers_of_any_length() {
    for words in 5..=15 {
        for protocol in [6, 17] {
            assert!(passes(&[7, 1883], &v4(protocol, words, 0, [1883, 40_000])));
            assert!(passes(&[7, 1883], &v4(protocol, words, 0x4000, [40_000, 1883])));
            assert!(!passes(&[7, 1883], &v4(protocol, words, 0, [40_000, 1884])));
        }
    }
    assert!(passes(&[1883], &v6(6, [1883, 2])) && passes(&[1883], &v6(17, [2, 1883])));
    assert!(!passes(&[1883], &v6(6, [2, 3])));
}

#[test]
fn what_is_neither_tcp_nor_udp_is_dropped_and_extensions_are_left_to_the_reader() {
    for ports in [&[][..], &[1883]] {
        assert!(!passes(ports, &v4(1, 5, 0, [1883, 1883])));
        assert!(!passes(ports, &v6(58, [1883, 1883])));
        for extension in EXTENSIONS {
            assert!(passes(ports, &v6(u8::try_from(extension).unwrap(), [0, 0])));
        }
    }
    assert!(passes(&[], &v4(6, 5, 0, [1, 2])) && passes(&[], &v6(17, [1, 2])));
    let arp = [0, 1, 8, 0, 6, 4, 0, 1, 0, 6];
    assert_eq!(run(&program(&[], 100), Packet { protocol: 0x0806, ..Packet::of(&arp) }), 0);
    // The frames by which bridges talk begin with what looks like IPv4.
    let stp = v4(6, 5, 0, [1, 2]);
    assert_eq!(run(&program(&[], 100), Packet { protocol: 4, ..Packet::of(&stp) }), 0);
}

#[test]
fn later_fragments_have_no_ports_and_pass() {
    assert!(passes(&[], &v4(17, 5, 0x2001, [0, 0])));
    assert!(passes(&[1883], &v4(17, 5, 0x2001, [1, 2])));
    assert!(!passes(&[1883], &v4(1, 5, 0x2001, [1, 2])));
    assert!(!passes(&[1883], &v4(17, 5, 0x2000, [1, 2])));
    assert!(passes(&[1883], &v4(17, 5, 0x2000, [1883, 9])));
}

#[test]
fn a_tag_that_the_kernel_left_does_not_hide_the_packet() {
    let (four, six) = (v4(6, 5, 0, [1883, 1]), v6(6, [1, 1883]));
    for protocol in VLANS {
        for bytes in [&four, &six] {
            let packet = Packet { protocol, ..Packet::of(bytes) };
            assert!(run(&program(&[1883], 100), packet) > 0);
            assert_eq!(run(&program(&[1884], 100), packet), 0);
        }
        let other = Packet { protocol, ..Packet::of(&[0x20; 60]) };
        assert_eq!(run(&program(&[], 100), other), 0);
    }
}

#[test]
fn a_packet_on_loopback_is_copied_once() {
    let bytes = v4(6, 5, 0, [1883, 1]);
    let program = program(&[1883], 5_000);
    let sent = Packet { hardware: LOOPBACK, kind: OUTGOING, ..Packet::of(&bytes) };
    assert_eq!(run(&program, sent), 5_000 + MAX_HEADERS);
    assert_eq!(run(&program, Packet { kind: 0, ..sent }), COPY_BYTES);
    assert_eq!(run(&program, Packet::of(&bytes)), 5_000 + MAX_HEADERS);
}

#[test]
fn any_packet_ends_the_program_and_many_ports_fit() {
    let ports: Vec<u16> = (0..1_000).map(|number| number * 65).collect();
    let whole = program(&ports, 65_536);
    assert!(whole.len() <= 4_096, "{} instructions", whole.len());
    assert!(run(&whole, Packet::of(&v4(6, 5, 0, [999 * 65, 1]))) > 0);
    assert!(run(&whole, Packet::of(&v6(6, [1, 0]))) > 0);
    assert_eq!(run(&whole, Packet::of(&v4(6, 5, 0, [1, 2]))), 0);
    // The kernel does not compare more: whoever reads the packets does.
    let ports: Vec<u16> = (0..=1_000).collect();
    assert_eq!(program(&ports, 9), program(&[], 9));
    let packet = v4(6, 15, 0, [1, 2]);
    for len in 0..packet.len() {
        run(&whole, Packet::of(&packet[..len]));
    }
}
