//! Packets and their payload.

use crate::support::{TASK, key, packet};
use wirelap_ebpf::layout::{self as l, wl_head};
use wirelap_events::{Body, Nanos, PacketHook, PacketId, Seq, SocketId, Transport};

#[test]
fn a_packet_and_its_payload() {
    let record = packet(l::WL_XMIT, 6, b"payload");
    let Body::Packet(packet) = record.body() else { panic!() };
    assert_eq!((packet.hook, packet.flow), (PacketHook::Xmit, key(Transport::Tcp)));
    assert_eq!((packet.id, packet.socket), (PacketId(0xabc), Some(SocketId(42))));
    assert_eq!((packet.task, packet.queued), (TASK, Some(Nanos(1_200))));
    assert_eq!((packet.device.0, packet.queue, packet.segments), (2, 3, 1));
    assert_eq!((packet.link_header, packet.ip_header, packet.transport_header), (14, 20, 32));
    let tcp = packet.tcp.unwrap();
    assert_eq!((tcp.seq, tcp.ack, tcp.flags, tcp.window), (Seq(11), Seq(12), 0x18, 500));
    assert_eq!((packet.payload, packet.uncaptured()), (&b"payload"[..], 93));
    assert!(!packet.deferred);
}

#[test]
fn a_packet_has_no_more_payload_than_bytes() {
    let mut record = packet(l::WL_XMIT, 6, b"payload");
    record.u32(l::wl_packet::PAYLOAD_LEN, 65_515).u32(l::wl_packet::WIRE_BYTES, 70);
    let Body::Packet(found) = record.body() else { panic!() };
    assert_eq!((found.payload_len, found.payload), (70, &b"payload"[..]));
    record.u32(l::wl_packet::PAYLOAD_LEN, 3);
    let Body::Packet(found) = record.body() else { panic!() };
    assert_eq!((found.payload_len, found.payload), (3, &b"pay"[..]));
}

#[test]
fn a_datagram_on_its_way_in() {
    let mut record = packet(l::WL_RX, 17, b"");
    record.u64(l::wl_packet::COOKIE, 0).u64(l::wl_packet::QUEUED, 0);
    let Body::Packet(packet) = record.body() else { panic!() };
    assert_eq!((packet.hook, packet.flow), (PacketHook::Rx, key(Transport::Udp)));
    assert_eq!((packet.socket, packet.queued, packet.tcp), (None, None, None));
    record.put(wl_head::FLAGS, &[u8::try_from(l::WL_DEFERRED).unwrap()]);
    let Body::Packet(packet) = record.body() else { panic!() };
    assert!(packet.deferred);
}
