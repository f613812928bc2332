//! Records that are cut short, of any bytes, or with impossible values.

use crate::support::{Record, packet, socket};
use wirelap_capture::decode::{Malformed, decode};
use wirelap_ebpf::layout::{self as l, wl_flow, wl_head};
use wirelap_events::{Body, Event};

fn all_kinds() -> Vec<Record> {
    let with_flow = |kind, size, flow| {
        let mut record = Record::new(kind, size);
        record.flow(flow, 17);
        record
    };
    vec![
        socket(),
        Record::new(l::WL_CLOSED, l::wl_closed::SIZE),
        Record::new(l::WL_SEND_STREAM, l::wl_send::SIZE),
        Record::new(l::WL_SEND_DATAGRAM, l::wl_send::SIZE),
        Record::new(l::WL_READ_STREAM, l::wl_read::SIZE),
        Record::new(l::WL_READ_DATAGRAM, l::wl_read::SIZE),
        Record::new(l::WL_READY_STREAM, l::wl_ready::SIZE),
        Record::new(l::WL_READY_DATAGRAM, l::wl_ready::SIZE),
        packet(l::WL_XMIT, 6, b"payload"),
        packet(l::WL_RX, 17, b""),
        Record::new(l::WL_WAKE, l::wl_wake::SIZE),
        Record::new(l::WL_RETRANSMIT, l::wl_retransmit::SIZE),
        with_flow(l::WL_DROP, l::wl_drop::SIZE, l::wl_drop::FLOW),
    ]
}

#[test]
fn every_kind_is_refused_at_every_length_but_its_own() {
    for record in all_kinds() {
        assert!(decode(&record.0).is_ok(), "{:?}", record.0);
        for end in 0..record.0.len() {
            let error = decode(&record.0[..end]).unwrap_err();
            assert!(matches!(error, Malformed::Short { got, .. } if got == end), "{error}");
        }
        // Rings round records up, and packets come in size classes.
        let mut longer = record.0.clone();
        longer.extend_from_slice(&[0xff; 9]);
        assert_eq!(decode(&longer), decode(&record.0));
    }
}

#[test]
fn any_bytes_at_all_are_an_event_or_an_error() {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_le_bytes()[6]
    };
    for len in 0..600 {
        let mut bytes: Vec<u8> = (0..len).map(|_| next()).collect();
        if let Some(kind) = bytes.get_mut(wl_head::KIND) {
            *kind %= 16;
        }
        if let Ok(Event { body: Body::Packet(packet), .. }) = decode(&bytes) {
            assert!(packet.payload.len() < len);
        }
    }
}

#[test]
fn impossible_values_are_named() {
    let with = |at: usize, value: u8| {
        let mut record = socket();
        record.put(at, &[value]);
        decode(&record.0).unwrap_err().to_string()
    };
    let flow = l::wl_socket::FLOW;
    assert_eq!(with(flow + wl_flow::FAMILY, 5), "a record of kind 1 has 5 as its address family");
    assert_eq!(
        with(flow + wl_flow::TRANSPORT, 1),
        "a record of kind 1 has 1 as its transport protocol"
    );
    assert_eq!(with(l::wl_socket::ORIGIN, 9), "a record of kind 1 has 9 as its origin");
    let with = |kind: u32, size: usize, at: usize| {
        let mut record = Record::new(kind, size);
        record.u32(at, 9);
        decode(&record.0).unwrap_err().to_string()
    };
    let nagle = l::wl_send::TX + l::wl_tx::NAGLE;
    assert_eq!(
        with(l::WL_SEND_STREAM, l::wl_send::SIZE, nagle),
        "a record of kind 3 has 9 as its nagle"
    );
    assert_eq!(
        with(l::WL_WAKE, l::wl_wake::SIZE, l::wl_wake::OFF_CPU),
        "a record of kind 11 has 9 as its rest"
    );
    let mut record = Record::new(l::WL_DROP, l::wl_drop::SIZE);
    record.flow(l::wl_drop::FLOW, 17).u32(l::wl_drop::CAUSE, 9);
    let error = decode(&record.0).unwrap_err().to_string();
    assert_eq!(error, "a record of kind 13 has 9 as its cause");
    assert_eq!(decode(&Record::new(99, 64).0), Err(Malformed::Kind(99)));
}
