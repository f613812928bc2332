//! Retransmissions, drops, and sockets that are closed.

use crate::support::{Record, key};
use wirelap_ebpf::layout::{self as l, wl_head};
use wirelap_events::{Body, DropCause, Nanos, Recovery, Seq, SocketId, Transport};

#[test]
fn retransmissions_drops_and_ends() {
    let mut record = Record::new(l::WL_RETRANSMIT, l::wl_retransmit::SIZE);
    record.u64(l::wl_retransmit::COOKIE, 42);
    record.u32(l::wl_retransmit::START, 5).u32(l::wl_retransmit::LEN, 6);
    let Body::Retransmit(found) = record.body() else { panic!() };
    assert_eq!((found.socket, found.start, found.len), (SocketId(42), Seq(5), 6));
    for (state, recovery) in [
        (l::WL_CA_LOSS, Recovery::Timeout),
        (l::WL_CA_RECOVERY, Recovery::Fast),
        (l::WL_CA_OPEN, Recovery::TailProbe),
        (l::WL_CA_DISORDER, Recovery::TailProbe),
    ] {
        record.u32(l::wl_retransmit::STATE, state);
        let Body::Retransmit(found) = record.body() else { panic!() };
        assert_eq!(found.recovery, Some(recovery));
    }

    let mut record = Record::new(l::WL_DROP, l::wl_drop::SIZE);
    record.flow(l::wl_drop::FLOW, 17).u32(l::wl_drop::REASON, 3).u32(l::wl_drop::LEN, 10);
    let Body::Drop(found) = record.body() else { panic!() };
    assert_eq!((found.flow, found.reason, found.len), (key(Transport::Udp), 3, 10));
    for (number, cause) in [
        (l::WL_CAUSE_OTHER, DropCause::Other),
        (l::WL_CAUSE_SOCKET_BUFFER, DropCause::SocketBuffer),
        (l::WL_CAUSE_QUEUE, DropCause::Queue),
        (l::WL_CAUSE_NO_SOCKET, DropCause::NoSocket),
        (l::WL_CAUSE_FILTER, DropCause::Filter),
        (l::WL_CAUSE_DUPLICATE, DropCause::Duplicate),
        (l::WL_CAUSE_TOO_BIG, DropCause::TooBig),
    ] {
        record.u32(l::wl_drop::CAUSE, number);
        let Body::Drop(found) = record.body() else { panic!() };
        assert_eq!(
            (found.cause, found.tcp, found.outward, found.queued),
            (cause, None, false, None)
        );
    }

    let mut record = Record::new(l::WL_DROP, l::wl_drop::SIZE);
    record.flow(l::wl_drop::FLOW, 6).u32(l::wl_drop::SEQ, 7).u32(l::wl_drop::ACK, 8);
    record.u64(l::wl_drop::QUEUED, 9).u32(l::wl_drop::MTU, 1450);
    record.put(wl_head::FLAGS, &[u8::try_from(l::WL_OUTWARD).unwrap()]);
    let Body::Drop(found) = record.body() else { panic!() };
    assert_eq!((found.outward, found.queued, found.mtu), (true, Some(Nanos(9)), 1450));
    assert_eq!(found.tcp.map(|tcp| (tcp.seq, tcp.ack)), Some((Seq(7), Seq(8))));

    let mut record = Record::new(l::WL_CLOSED, l::wl_closed::SIZE);
    record.u64(l::wl_closed::COOKIE, 42);
    assert_eq!(record.body(), Body::Closed(SocketId(42)));
}
