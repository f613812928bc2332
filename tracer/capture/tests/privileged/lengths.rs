//! Packets whose headers lie about lengths.

use crate::raw::send_frames;
use crate::support::{Seen, everything, in_own_netns, ip};
use std::net::UdpSocket;
use wirelap_capture::{Capture, CaptureConfig};
use wirelap_events::{FlowKey, PacketHook, Transport};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Lengths that a frame claims, and the bytes that there are.
#[derive(Clone, Copy)]
struct Claims {
    /// IPv4: total length; IPv6: payload length.
    ip: u16,
    /// IPv4: the header's length in words.
    ihl: u8,
    transport: u8,
    /// UDP: length; TCP: the header's length in words.
    header: u16,
    /// Bytes behind the transport header.
    payload: usize,
}

fn transport(claims: Claims, port: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(port.to_be_bytes());
    bytes.extend(9_u16.to_be_bytes());
    if claims.transport == UDP {
        bytes.extend(claims.header.to_be_bytes());
        bytes.extend([0, 0]);
    } else {
        bytes.extend([0; 8]);
        bytes.extend([u8::try_from(claims.header).unwrap() << 4, 0x10, 1, 0, 0, 0, 0, 0]);
    }
    bytes.extend(std::iter::repeat_n(7, claims.payload));
    bytes
}

fn v4(claims: Claims, port: u16) -> Vec<u8> {
    let mut frame = vec![0xff; 12];
    frame.extend([0x08, 0x00, 0x40 | claims.ihl, 0]);
    frame.extend(claims.ip.to_be_bytes());
    frame.extend([0, 1, 0, 0, 64, claims.transport, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2]);
    frame.extend(transport(claims, port));
    frame
}

/// `options`: the length field of hop-by-hop options, if there are any (RFC 8200 §4.3).
fn v6(claims: Claims, options: Option<u8>, port: u16) -> Vec<u8> {
    let mut frame = vec![0xff; 12];
    frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
    frame.extend(claims.ip.to_be_bytes());
    frame.extend([if options.is_some() { 0 } else { claims.transport }, 64]);
    frame.extend([0xfd; 16]);
    frame.extend([0xfd; 16]);
    if let Some(length) = options {
        frame.extend([claims.transport, length, 1, 4, 0, 0, 0, 0]);
    }
    frame.extend(transport(claims, port));
    frame
}

/// Frames, and the payload that each has; `None` where it is of no flow.
fn lies() -> Vec<(Vec<u8>, Option<u32>)> {
    let udp = Claims { ip: 38, ihl: 5, transport: UDP, header: 18, payload: 10 };
    let tcp = Claims { ip: 50, ihl: 5, transport: TCP, header: 5, payload: 10 };
    let four = [
        (udp, Some(10)),
        (tcp, Some(10)),
        (Claims { ip: 65_535, ..udp }, Some(10)),
        (Claims { ip: 65_535, ..tcp }, Some(10)),
        (Claims { ip: 0, ..tcp }, Some(10)),
        // Less than there is: the rest is padding.
        (Claims { ip: 34, header: 14, ..udp }, Some(6)),
        (Claims { header: 12, ..udp }, Some(4)),
        (Claims { ip: 19, ..udp }, None),
        (Claims { ip: 24, ..udp }, None),
        (Claims { ip: 39, ..tcp }, None),
        (Claims { ihl: 4, ..udp }, None),
        (Claims { ihl: 15, ..udp }, None),
        (Claims { header: 0, ..udp }, None),
        (Claims { header: 7, ..udp }, None),
        (Claims { header: 19, ..udp }, None),
        (Claims { header: 65_535, ..udp }, None),
        (Claims { header: 4, ..tcp }, None),
        (Claims { header: 8, ..tcp }, None),
        (Claims { header: 15, ..tcp }, None),
    ];
    let (udp, tcp) = (Claims { ip: 18, ..udp }, Claims { ip: 30, ..tcp });
    let six = [
        (udp, None, Some(10)),
        (tcp, None, Some(10)),
        (Claims { ip: 65_535, ..udp }, None, Some(10)),
        (Claims { ip: 65_535, ..tcp }, None, Some(10)),
        (Claims { ip: 26, ..udp }, Some(0), Some(10)),
        (Claims { ip: 65_535, ..udp }, Some(255), None),
        (Claims { ip: 7, ..udp }, None, None),
        (Claims { header: 19, ..udp }, None, None),
        (Claims { header: 15, ..tcp }, None, None),
    ];
    let four =
        four.into_iter().zip(1_000..).map(|((claims, payload), port)| (v4(claims, port), payload));
    let six = six
        .into_iter()
        .zip(2_000..)
        .map(|((claims, options, payload), port)| (v6(claims, options, port), payload));
    four.chain(six).collect()
}

/// A veth pair in this namespace. Returns the sending end.
fn wire() -> u32 {
    ip("link add near type veth peer name far");
    ip("link set near up");
    ip("link set far up");
    let index = std::fs::read_to_string("/sys/class/net/near/ifindex");
    index.map_or_else(|_| index_of("near"), |text| text.trim().parse().unwrap())
}

fn index_of(name: &str) -> u32 {
    let fd =
        rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None);
    rustix::net::netdevice::name_to_index(fd.unwrap(), name).unwrap()
}

/// A datagram after which everything before it has been seen.
fn finish(seen: &mut Seen, capture: &mut Capture, port: u16) {
    ip("link set lo up");
    let socket = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    let at = socket.local_addr().unwrap();
    socket.send_to(&[1], at).unwrap();
    seen.collect(capture, "the last datagram", |seen| {
        seen.packets(PacketHook::Rx).any(|(packet, _)| packet.flow.dst == at)
    });
}

#[test]
fn a_length_that_a_packet_claims_is_not_believed() {
    in_own_netns(|netns| {
        let near = wire();
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let lies = lies();
        send_frames(near, lies.iter().map(|(frame, _)| frame.as_slice()));
        finish(&mut seen, &mut capture, 0);
        for hook in [PacketHook::Xmit, PacketHook::Rx] {
            for (frame, expected) in &lies {
                let at = if frame[12] == 8 { 14 + 20 } else { 14 + 40 };
                let at = if frame[12] != 8 && frame[14 + 6] == 0 { at + 8 } else { at };
                let port = u16::from_be_bytes([frame[at], frame[at + 1]]);
                let found: Vec<_> = seen
                    .packets(hook)
                    .filter(|(packet, _)| packet.flow.src.port() == port)
                    .map(|(packet, payload)| (packet.payload_len, payload.len()))
                    .collect();
                let lens: Vec<_> = found.iter().map(|&(len, _)| len).collect();
                assert_eq!(
                    lens,
                    expected.iter().copied().collect::<Vec<_>>(),
                    "{hook:?} {frame:x?}"
                );
                assert!(found.iter().all(|&(len, captured)| captured <= len as usize));
            }
        }
    });
}

#[test]
fn short_frames_that_claim_to_be_long_leave_room_in_the_ring() {
    const FRAMES: usize = 1_000;
    in_own_netns(|netns| {
        let near = wire();
        let config = CaptureConfig { ring_bytes: 1 << 21, ports: vec![4_000], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let mut seen = Seen::new(netns);
        let claims = Claims { ip: 65_535, ihl: 5, transport: TCP, header: 5, payload: 10 };
        let frame = v4(claims, 4_000);
        // As many as this are 64 MB if each is believed, and nobody reads the ring meanwhile.
        send_frames(near, std::iter::repeat_n(frame.as_slice(), FRAMES));
        finish(&mut seen, &mut capture, 4_000);
        for hook in [PacketHook::Xmit, PacketHook::Rx] {
            let is_its =
                |flow: &FlowKey| flow.transport == Transport::Tcp && flow.src.port() == 4_000;
            let its = seen.packets(hook).filter(|(packet, _)| is_its(&packet.flow));
            assert_eq!(its.count(), FRAMES, "{hook:?}, lost: {:?}", seen.lost);
        }
    });
}
