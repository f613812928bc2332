//! The view "bytes" as text at three sizes, in every state.

#![allow(missing_docs, reason = "a test")]

mod views;

use crossterm::event::KeyCode;
use views::{SIZES, app, long, press, text, third_row};
use wirelap_correlate::snapshot::{
    Group, Holes, Operation, OperationCost, Overhead, Part, Snapshot, Unseen,
};
use wirelap_test_pipeline::snapshots;
use wirelap_tui::App;

fn check(name: &str, app: &App) {
    for (width, height) in SIZES {
        insta::assert_snapshot!(format!("{name}-{width}x{height}"), text(app, (width, height)));
    }
}

#[test]
fn bytes_of_a_brokered_row() {
    check("normal", &app([snapshots::five(83)], &third_row('7')));
}

#[test]
fn a_row_without_packets_says_why() {
    let group = Group { middleware: "zenoh-p2p".into(), ..Group::default() };
    let snapshot = Snapshot { groups: vec![group], ..snapshots::empty(5) };
    check("empty", &app([snapshot], &[KeyCode::Char('7')]));
}

#[test]
fn bytes_without_a_delivery_are_divided_among_none() {
    let mut snapshot = snapshots::five(83);
    let group = &mut snapshot.groups[0];
    (group.overhead.deliveries, group.messages.delivered) = (0, 0);
    let text = long(&app([snapshot], &[KeyCode::Char('7')]));
    assert!(text.contains("0 messages were delivered"), "{text}");
}

#[test]
fn holes_and_retransmissions() {
    let mut snapshot = snapshots::degraded();
    let group = &mut snapshot.groups[2];
    group.holes = Holes {
        sent: Unseen { packets: 12, bytes: 4_096 },
        received: Unseen { packets: 1, bytes: 64 },
        uncaptured_bytes: 5 << 20,
        undecoded_bytes: 12_345,
        unread_messages: 0,
        unread_packets: 0,
        unfinished_messages: 0,
        encrypted_connections: 0,
    };
    group.overhead.detail.retransmissions = 17;
    group.overhead.detail.legs[2][Part::Retransmitted] = 23_456;
    group.overhead.detail.legs[0][Part::Connection] = 1_234;
    group.overhead.retransmitted = 23_456;
    group.overhead.transport += 1_234;
    let mut app = app([snapshot], &third_row('7'));
    check("degraded", &app);
    press(&mut app, &[KeyCode::PageDown; 40]);
    let end = text(&app, (80, 24));
    assert!(end.contains("could not be decoded"), "the end can be scrolled to: {end}");
}

#[test]
fn huge_numbers_and_long_names() {
    let mut snapshot = snapshots::many(4);
    let mut overhead = Overhead { deliveries: 3, ..Overhead::default() };
    for leg in &mut overhead.detail.legs {
        for part in Part::ALL {
            leg[part] = u64::MAX >> 8;
        }
    }
    overhead.payload = u64::MAX / 2;
    overhead.link = u64::MAX / 3;
    overhead.packets = u64::MAX;
    for operation in Operation::ALL {
        overhead.detail.operations[operation as usize] =
            OperationCost { count: u64::MAX, bytes: u64::MAX };
    }
    snapshot.groups[1].overhead = overhead;
    check("extreme", &app([snapshot], &[KeyCode::Down, KeyCode::Char('7')]));
}
