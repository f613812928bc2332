//! Sockets, and the calls that send, read and wait at them.

use crate::support::{Record, TASK, addresses, socket};
use wirelap_ebpf::layout::{self as l, wl_flow, wl_head};
use wirelap_events::{
    Body, Nagle, Nanos, NetNs, PacketId, ReadKind, ReadyKind, SendKind, Seq, SocketId,
    SocketOrigin, TxState,
};

#[test]
fn a_socket() {
    let record = socket();
    let Body::Socket(socket) = record.body() else { panic!() };
    let (local, remote) = addresses();
    assert_eq!((socket.id, socket.netns, socket.task), (SocketId(42), NetNs(9), TASK));
    assert_eq!((socket.local, socket.remote), (local, Some(remote)));
    assert_eq!((socket.comm.as_str(), socket.origin), ("mosquitto", SocketOrigin::Accepted));
    assert_eq!((socket.tx_next, socket.rx_next), (Some(Seq(7)), Some(Seq(8))));
    assert!(!socket.is_subflow);
}

#[test]
fn a_socket_of_an_mptcp_connection() {
    let mut record = socket();
    record.put(wl_head::FLAGS, &[u8::try_from(l::WL_HAS_SEQ | l::WL_SUBFLOW).unwrap()]);
    let Body::Socket(socket) = record.body() else { panic!() };
    assert!(socket.is_subflow);
    assert_eq!((socket.tx_next, socket.rx_next), (Some(Seq(7)), Some(Seq(8))));
}

#[test]
fn a_socket_without_peer_or_sequence_numbers() {
    let mut record = socket();
    record.put(wl_head::FLAGS, &[0]);
    record.put(l::wl_socket::FLOW + wl_flow::DPORT, &[0, 0]);
    let Body::Socket(socket) = record.body() else { panic!() };
    assert_eq!((socket.remote, socket.tx_next, socket.rx_next), (None, None, None));
}

#[test]
fn sends_and_reads() {
    let mut send = Record::new(l::WL_SEND_STREAM, l::wl_send::SIZE);
    send.u64(l::wl_send::COOKIE, 42).task(l::wl_send::TASK);
    send.u32(l::wl_send::START, 100).u32(l::wl_send::LEN, 64).u64(l::wl_send::ENTERED, 99);
    let Body::Send(found) = send.body() else { panic!() };
    assert_eq!((found.socket, found.task), (SocketId(42), TASK));
    let SendKind::Stream { start, len, state: Some(state) } = found.kind else { panic!() };
    assert_eq!((start, len, state), (Seq(100), 64, TxState::default()));

    send.put(wl_head::KIND, &[u8::try_from(l::WL_SEND_DATAGRAM).unwrap()]);
    let Body::Send(found) = send.body() else { panic!() };
    assert_eq!(found.kind, SendKind::Datagram { len: 64, entered: Some(Nanos(99)) });

    let mut read = Record::new(l::WL_READ_STREAM, l::wl_read::SIZE);
    read.u64(l::wl_read::COOKIE, 42).task(l::wl_read::TASK).u64(l::wl_read::PACKET, 0xabc);
    read.u32(l::wl_read::END, 164).u32(l::wl_read::LEN, 64);
    let Body::Read(found) = read.body() else { panic!() };
    assert_eq!(found.kind, ReadKind::Stream { end: Seq(164), len: 64 });

    read.put(wl_head::KIND, &[u8::try_from(l::WL_READ_DATAGRAM).unwrap()]);
    read.u64(l::wl_read::SEEN, 77);
    let Body::Read(found) = read.body() else { panic!() };
    let (packet, seen) = (Some(PacketId(0xabc)), Some(Nanos(77)));
    assert_eq!(found.kind, ReadKind::Datagram { packet, seen, flow: None, len: 64 });
}

#[test]
fn what_tcp_knew_at_a_send() {
    use l::wl_tx as f;
    let tx = l::wl_send::TX;
    let mut send = Record::new(l::WL_SEND_STREAM, l::wl_send::SIZE);
    send.u32(tx + f::IN_FLIGHT, 1).u32(tx + f::UNSENT, 2).u32(tx + f::WINDOW, 3);
    send.u32(tx + f::MSS, 4).u32(tx + f::CWND, 5).u32(tx + f::SEGMENTS_OUT, 6);
    send.u32(tx + f::SEND_BUFFER, 7).u64(tx + f::PACING, 1 << 40).u32(tx + f::MIN_RTT, 8);
    for (number, nagle) in [
        (l::WL_NAGLE_ON, Nagle::On),
        (l::WL_NAGLE_OFF, Nagle::Off),
        (l::WL_NAGLE_CORKED, Nagle::Corked),
    ] {
        send.u32(tx + f::NAGLE, number);
        let Body::Send(found) = send.body() else { panic!() };
        let SendKind::Stream { state: Some(found), .. } = found.kind else { panic!() };
        let expected = TxState {
            in_flight: 1,
            unsent: 2,
            window: 3,
            mss: 4,
            cwnd: 5,
            segments_out: 6,
            nagle,
            send_buffer: 7,
            pacing: 1 << 40,
            min_rtt: 8,
        };
        assert_eq!(found, expected);
    }
}

#[test]
fn readiness() {
    let mut ready = Record::new(l::WL_READY_STREAM, l::wl_ready::SIZE);
    ready.u64(l::wl_ready::COOKIE, 42).u32(l::wl_ready::RCV_NXT, 164);
    let Body::Ready(found) = ready.body() else { panic!() };
    assert_eq!((found.socket, found.kind), (SocketId(42), ReadyKind::Stream(Seq(164))));
    ready.put(wl_head::KIND, &[u8::try_from(l::WL_READY_DATAGRAM).unwrap()]);
    let Body::Ready(found) = ready.body() else { panic!() };
    assert_eq!(found.kind, ReadyKind::Datagram { packet: None, seen: None });
    ready.u64(l::wl_ready::PACKET, 0xabc).u64(l::wl_ready::SEEN, 77);
    let Body::Ready(found) = ready.body() else { panic!() };
    let (packet, seen) = (Some(PacketId(0xabc)), Some(Nanos(77)));
    assert_eq!(found.kind, ReadyKind::Datagram { packet, seen });
}
