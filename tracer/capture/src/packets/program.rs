//! The filter that the kernel runs for each packet, in classic BPF (`Documentation/networking/filter.rst`).
//!
//! A packet begins with its IP header here, because the socket is of the type `SOCK_DGRAM`. The program lets through what can be TCP or
//! UDP of the wanted ports, and returns how many bytes of it are copied. It decides coarsely where IPv6 has extension headers: whoever
//! reads the headers decides again.

/// An instruction: `struct sock_filter` (`include/uapi/linux/filter.h`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub code: u16,
    /// Number of instructions that are left out if the condition holds.
    pub jt: u8,
    /// The same if it does not.
    pub jf: u8,
    pub k: u32,
}

/// `A = the 32 bits at k`.
const LOAD_WORD: u16 = 0x20;
/// `A = the 16 bits at k`.
const LOAD_HALF: u16 = 0x28;
/// `A = the 8 bits at k`.
const LOAD_BYTE: u16 = 0x30;
/// `A = the 16 bits at X + k`.
const LOAD_HALF_AT: u16 = 0x48;
/// `X = k`.
const SET_INDEX: u16 = 0x01;
/// `X = 4 * (the low 4 bits of the byte at k)`.
const INDEX_HEADER: u16 = 0xb1;
/// `A = A >> k`.
const SHIFT_RIGHT: u16 = 0x74;
/// Leaves out k instructions.
const JUMP: u16 = 0x05;
/// Tests if A is k.
const IS: u16 = 0x15;
/// Tests if A and k have a bit in common.
const HAS_BIT: u16 = 0x45;
/// Copies k bytes of the packet; 0 drops it.
const RETURN: u16 = 0x06;

/// Offset of what the kernel knows of a packet beside its bytes (`SKF_AD_OFF`; each field is a number of bytes further).
const ANCILLARY: u32 = 0xffff_f000;
const PROTOCOL: u32 = ANCILLARY;
const PACKET_TYPE: u32 = ANCILLARY + 4;
const HARDWARE_TYPE: u32 = ANCILLARY + 28;

/// `ARPHRD_LOOPBACK` (`include/uapi/linux/if_arp.h`).
pub const LOOPBACK: u16 = 772;
/// `PACKET_OUTGOING` (`include/uapi/linux/if_packet.h`).
pub const OUTGOING: u8 = 4;

/// Protocols behind the link header (`include/uapi/linux/if_ether.h`).
pub const IPV4: u16 = 0x0800;
pub const IPV6: u16 = 0x86dd;
/// VLAN tags that the kernel has not taken out of the packet; it begins with its IP header all the same.
pub const VLANS: [u16; 2] = [0x8100, 0x88a8];

const TCP: u32 = 6;
const UDP: u32 = 17;
/// IPv6's extension headers before TCP and UDP: hop-by-hop, routing, fragment, destination (RFC 8200 §4.1).
const EXTENSIONS: [u32; 4] = [0, 43, 44, 60];
const IPV6_HEADER: u32 = 40;

/// The longest headers: IP with options or extensions, and TCP with options.
const MAX_HEADERS: u32 = 160;

/// The bytes that are copied of a packet which the loopback device hands up: it has been copied when it was sent.
pub const COPY_BYTES: u32 = 256;

/// The most ports that the kernel compares. A program has at most 4,096 instructions (`BPF_MAXINSNS`); four are for each port.
pub const MAX_PORTS: usize = 1_000;

/// A place in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FilterLabel {
    Version,
    Version4,
    Version6,
    Ports4,
    Ports6,
    Ports,
    Accept,
    Loopback,
    Whole,
    Drop,
}

/// A line of the program.
#[derive(Clone, Copy, Debug)]
enum FilterLine {
    Do(u16, u32),
    GoTo(FilterLabel),
    /// Goes to the label if the condition holds, and on if not.
    If(u16, u32, FilterLabel),
    At(FilterLabel),
}

use FilterLabel::{
    Accept, Drop, Loopback, Ports, Ports4, Ports6, Version, Version4, Version6, Whole,
};
use FilterLine::{At, Do, GoTo, If};

impl FilterLine {
    /// Returns the number of instructions that the line becomes.
    fn len(self) -> usize {
        match self {
            At(_) => 0,
            Do(..) | GoTo(_) => 1,
            If(..) => 2,
        }
    }
}

/// The program for these ports, local or remote; for all if there are none, or more than [`MAX_PORTS`]. `snap` is how many bytes of
/// payload are copied.
pub fn program(ports: &[u16], snap: u32) -> Vec<Instruction> {
    let has_ports = !ports.is_empty() && ports.len() <= MAX_PORTS;
    let (found4, found6) = if has_ports { (Ports4, Ports6) } else { (Accept, Accept) };
    let mut lines = vec![
        Do(LOAD_WORD, PROTOCOL),
        If(IS, IPV4.into(), Version4),
        If(IS, IPV6.into(), Version6),
        If(IS, VLANS[0].into(), Version),
        If(IS, VLANS[1].into(), Version),
        GoTo(Drop),
        // Behind a tag, the first four bits tell what the packet is.
        At(Version),
        Do(LOAD_BYTE, 0),
        Do(SHIFT_RIGHT, 4),
        If(IS, 4, Version4),
        If(IS, 6, Version6),
        GoTo(Drop),
        // RFC 791 §3.1.
        At(Version4),
        Do(LOAD_BYTE, 9),
        If(IS, TCP, found4),
        If(IS, UDP, found4),
        GoTo(Drop),
        // RFC 8200 §3.
        At(Version6),
        Do(LOAD_BYTE, 6),
        If(IS, TCP, found6),
        If(IS, UDP, found6),
    ];
    lines.extend(EXTENSIONS.map(|extension| If(IS, extension, Accept)));
    lines.push(GoTo(Drop));
    if has_ports {
        lines.extend([
            At(Ports6),
            Do(SET_INDEX, IPV6_HEADER),
            GoTo(Ports),
            At(Ports4),
            // Only the first fragment has ports: the others are put together with it.
            Do(LOAD_HALF, 6),
            If(HAS_BIT, 0x1fff, Accept),
            Do(INDEX_HEADER, 0),
            At(Ports),
        ]);
        for place in [0, 2] {
            lines.push(Do(LOAD_HALF_AT, place));
            lines.extend(ports.iter().map(|&port| If(IS, port.into(), Accept)));
        }
        lines.push(GoTo(Drop));
    }
    lines.extend([
        At(Accept),
        Do(LOAD_WORD, HARDWARE_TYPE),
        If(IS, LOOPBACK.into(), Loopback),
        GoTo(Whole),
        At(Loopback),
        Do(LOAD_WORD, PACKET_TYPE),
        If(IS, OUTGOING.into(), Whole),
        Do(RETURN, COPY_BYTES),
        At(Whole),
        Do(RETURN, snap.saturating_add(MAX_HEADERS).max(COPY_BYTES)),
        At(Drop),
        Do(RETURN, 0),
    ]);
    assemble(&lines)
}

fn assemble(lines: &[FilterLine]) -> Vec<Instruction> {
    let place = |label: FilterLabel| {
        let before = lines.iter().take_while(|line| !matches!(line, At(at) if *at == label));
        before.map(|line| line.len()).fold(0, usize::saturating_add)
    };
    let mut out: Vec<Instruction> = Vec::new();
    for line in lines {
        match *line {
            At(_) => {}
            Do(code, k) => out.push(Instruction { code, jt: 0, jf: 0, k }),
            GoTo(label) => out.push(jump(out.len(), place(label))),
            If(code, k, label) => {
                out.push(Instruction { code, jt: 0, jf: 1, k });
                out.push(jump(out.len(), place(label)));
            }
        }
    }
    out
}

/// A jump from one instruction to a later one: the kernel refuses programs that jump back.
fn jump(from: usize, to: usize) -> Instruction {
    let distance = to.saturating_sub(from + 1);
    Instruction { code: JUMP, jt: 0, jf: 0, k: u32::try_from(distance).unwrap_or(u32::MAX) }
}

#[cfg(test)]
mod tests;
