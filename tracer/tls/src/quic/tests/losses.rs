//! Packets that are missing or cannot be read: each is told.

use super::*;

fn settled(made: &mut Made) -> Vec<String> {
    let found = &mut made.found;
    made.session.give_up_packets(None, &mut |one| found.push(format!("{one:?}")));
    made.take()
}

#[test]
fn a_packet_that_was_acknowledged_and_did_not_come_is_told() {
    let mut made = Made::new(0x1301);
    for text in [&b"one"[..], b"two", b"six"] {
        let packet = made.says(0, text);
        if text != b"two" {
            made.feed(TlsRole::Client, &packet);
        }
    }
    assert_eq!(made.session.first_missing(TlsRole::Client), Some(1));
    let ack = made.ends[1].packet(&[2, 2, 0, 0, 2]);
    made.feed(TlsRole::Server, &ack);
    assert_eq!(made.take(), ["0@0 one", "0@0 six", "1 of Client"]);
    assert_eq!(made.session.first_missing(TlsRole::Client), None);
    assert_eq!(settled(&mut made), Vec::<String>::new());
}

#[test]
fn a_packet_that_nobody_got_is_none_that_is_missing() {
    let mut made = Made::new(0x1301);
    for number in 0..3 {
        let packet = made.says(0, b"text");
        if number != 1 {
            made.feed(TlsRole::Client, &packet);
        }
    }
    // 2, not 1, and 0.
    let ack = made.ends[1].packet(&[2, 2, 0, 1, 0, 0, 0]);
    made.feed(TlsRole::Server, &ack);
    assert_eq!(made.take(), ["0@0 text", "0@0 text"]);
    assert_eq!(settled(&mut made), Vec::<String>::new());
}

#[test]
fn a_packet_of_which_nothing_is_known_may_be_missing() {
    let mut made = Made::new(0x1301);
    for lost in [0, 3] {
        made.ends[0].number += lost;
        let packet = made.says(0, b"text");
        made.feed(TlsRole::Client, &packet);
    }
    assert!(made.session.is_waiting());
    assert_eq!(settled(&mut made)[2..], ["Missing { from: Client, packets: 3 }"]);
    assert!(!made.session.is_waiting());
}

#[test]
fn a_packet_that_came_and_was_not_read_is_told_once() {
    let mut made = Made::new(0x1301);
    let mut packet = made.says(0, b"text");
    packet[12] ^= 1;
    made.feed(TlsRole::Client, &packet);
    let packet = made.says(0, b"text");
    made.feed(TlsRole::Client, &packet);
    assert_eq!(made.take(), ["Unread", "0@0 text"]);
    assert_eq!(settled(&mut made), Vec::<String>::new());
}

#[test]
fn early_data_and_frames_that_are_not_known_are_told() {
    let mut made = Made::new(0x1301);
    let early = [&[0xD0, 0, 0, 0, 1, 6][..], SERVER_ID, &[0, 30], &[9; 30]].concat();
    made.feed(TlsRole::Client, &early);
    let packet = made.ends[0].packet(&[&stream(0, 0, b"text")[..], &[0x40, 0x77]].concat());
    made.feed(TlsRole::Client, &packet);
    assert_eq!(made.take(), ["Unread", "0@0 text", "Unread"]);
}

#[test]
fn the_ends_of_streams_are_told() {
    let mut made = Made::new(0x1301);
    let packet = made.ends[0].packet(&[&[0x0F, 0, 0, 3][..], b"end", &[4, 8, 0, 9]].concat());
    made.feed(TlsRole::Client, &packet);
    assert_eq!(made.take(), ["0@0 end.", "8 reset"]);
}
