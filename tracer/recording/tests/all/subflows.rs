//! Connections of Multipath TCP that others captured.

use crate::packets::classic;
use wirelap_events::{Body, Seq, tcp_flags};
use wirelap_recording::{Entry, Recording};

/// The client's ends: its first subflow, and another one.
const FIRST: u8 = 1;
const OTHER: u8 = 2;

/// The option with these bytes behind kind and length.
fn option(value: &[u8]) -> Vec<u8> {
    let mut option = [&[30, u8::try_from(value.len() + 2).unwrap()][..], value].concat();
    option.resize(option.len().next_multiple_of(4), 1);
    option
}

/// A packet of the client's to the server, or back.
fn packet(host: u8, is_back: bool, (seq, flags): (u32, u8), option: &[u8], data: &[u8]) -> Vec<u8> {
    let len = u8::try_from(40 + option.len() + data.len()).unwrap();
    let (client, server) = ([10, 0, 0, host], [10, 0, 0, 9]);
    let ports = [[0x9C, 0x40 + host], [0x07, 0x5B]];
    let mut bytes = vec![0x45, 0, 0, len, 0, 0, 0x40, 0, 64, 6, 0, 0];
    let [ends, ports] = if is_back {
        [[server, client].concat(), [ports[1], ports[0]].concat()]
    } else {
        [[client, server].concat(), [ports[0], ports[1]].concat()]
    };
    bytes.extend([ends, ports].concat());
    bytes.extend(seq.to_be_bytes());
    bytes.extend([
        0,
        0,
        0,
        7,
        0x50 + ((u8::try_from(option.len()).unwrap() / 4) << 4),
        flags,
        1,
        0,
    ]);
    bytes.extend([0; 4]);
    bytes.extend([option, data].concat());
    bytes
}

/// A mapping of bytes, whose number has 64 or 32 bits, to those of a subflow.
fn dss(data: u64, is_narrow: bool, subflow: u32, len: u16) -> Vec<u8> {
    let flags = if is_narrow { 0x04 } else { 0x0C };
    let data = data.to_be_bytes();
    let data = if is_narrow { &data[4..] } else { &data[..] };
    option(
        &[&[0x20, flags][..], data, &subflow.to_be_bytes(), &len.to_be_bytes(), &[0, 0]].concat(),
    )
}

/// Port of the client, sequence number, and payload of each packet that has some, and how many subflows are not known.
fn payloads(packets: &[Vec<u8>]) -> (Vec<(u16, u32, Vec<u8>)>, u64) {
    let file = classic(packets, 0xA1B2_C3D4, false, 101);
    let mut recording = Recording::new(&file[..]).unwrap();
    let mut all = Vec::new();
    while let Some(entry) = recording.next() {
        let Entry::Event(event) = entry else { panic!("{entry:?}") };
        let Body::Packet(packet) = event.body else { panic!("{event:?}") };
        if packet.payload_len > 0 {
            let Seq(seq) = packet.tcp.unwrap().seq;
            all.push((packet.flow.src.port(), seq, packet.payload.to_vec()));
        }
    }
    (all, recording.counts().split_subflows.0)
}

const DATA: u64 = 0x0123_4567_FFFF_FFF0;

/// A client's bytes `0…30` on two subflows, ten in each packet.
fn conversation(is_narrow: bool, begins: bool) -> Vec<Vec<u8>> {
    let bytes: Vec<u8> = (0..30).collect();
    let map = |at: u64, subflow| dss(DATA + at, is_narrow, subflow, 10);
    let [first, other] = [1000, u32::MAX - 3];
    let data = |host, seq, option: &[u8], at: usize| {
        packet(host, false, (seq, tcp_flags::PSH | tcp_flags::ACK), option, &bytes[at..at + 10])
    };
    let opening = [
        packet(FIRST, false, (first, tcp_flags::SYN), &option(&[0x01, 0x81]), &[]),
        packet(FIRST, true, (50, tcp_flags::SYN | tcp_flags::ACK), &option(&[0x01, 0x81]), &[]),
    ];
    let joining = packet(OTHER, false, (other, tcp_flags::SYN), &option(&[0x10; 10]), &[]);
    let rest = [
        data(FIRST, first + 1, &map(0, 1), 0),
        joining,
        data(OTHER, other.wrapping_add(1), &map(10, 1), 10),
        packet(OTHER, true, (70, tcp_flags::ACK), &[], &[]),
        data(FIRST, first + 11, &map(20, 11), 20),
    ];
    opening.into_iter().filter(|_| begins).chain(rest).collect()
}

#[test]
fn subflows_are_put_together() {
    let port = 0x9C41;
    let bytes: Vec<u8> = (0..30).collect();
    for is_narrow in [false, true] {
        for begins in [false, true] {
            let (found, unknown) = payloads(&conversation(is_narrow, begins));
            let expected = [0, 10, 20]
                .map(|at| (port, 1001 + u32::try_from(at).unwrap(), bytes[at..at + 10].to_vec()))
                .to_vec();
            assert_eq!((found, unknown), (expected, 0), "narrow: {is_narrow}, begins: {begins}");
        }
    }
}

#[test]
fn one_whose_connection_was_not_captured_is_counted() {
    let all = conversation(false, true);
    // Only the subflow that has joined.
    let (found, unknown) = payloads(&all[3..6]);
    assert_eq!((found.len(), unknown), (1, 1));
    // Only the first one: some of its bytes pass elsewhere.
    let first: Vec<_> = [&all[..3], &all[6..]].concat();
    let (found, unknown) = payloads(&first);
    assert_eq!((found[1].1, unknown), (1021, 1));
}
