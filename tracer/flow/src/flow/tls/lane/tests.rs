//! Places of texts in the flow.

use super::*;
use wirelap_events::{Seq, SocketId, TaskId, TextPlace};

fn plain(text_start: u32, text: &[u8]) -> PlainText<'_> {
    PlainText {
        socket: SocketId(1),
        task: TaskId::default(),
        place: TextPlace::Sent { start: Seq(0), record_len: 0 },
        text_start,
        len: u32::try_from(text.len()).unwrap(),
        text,
    }
}

fn at(offset: u64) -> Offset {
    Offset::START.plus(offset)
}

fn send(lane: &mut Lane, start: u64, text_start: u32, text: &[u8]) {
    let plain = plain(text_start, text);
    lane.sent(at(start), plain.len + 22, &plain);
}

fn lane() -> Lane {
    let mut lane = Lane::default();
    send(&mut lane, 100, 0, b"0123456789");
    send(&mut lane, 132, 10, b"abcde");
    lane
}

/// The start and end in the flow of bytes of the text.
fn place(lane: &Lane, start: u64, len: u64) -> (u64, u64) {
    let range = lane.range(ByteRange::new(at(start), len));
    (range.start.0 - at(0).0, range.end.0 - at(0).0)
}

#[test]
fn a_record_is_read_when_all_of_it_has_come() {
    let mut lane = lane();
    assert!(lane.take(at(131)).is_none());
    assert_eq!(lane.take(at(140)).unwrap().text, b"0123456789");
    assert!(lane.take(at(158)).is_none());
    let last = lane.take(at(159)).unwrap();
    assert_eq!((last.place.text, lane.waiting_bytes), (ByteRange::new(at(10), 5), 0));
}

#[test]
fn a_message_lies_where_its_records_lie() {
    let mut lane = lane();
    while lane.take(at(1000)).is_some() {}
    assert_eq!(place(&lane, 0, 10), (100, 132), "the whole record");
    assert_eq!(place(&lane, 0, 4), (100, 109), "a part of it");
    assert_eq!(place(&lane, 4, 8), (109, 139), "over two");
    assert_eq!(place(&lane, 12, 3), (139, 159));
}

#[test]
fn a_record_that_is_sent_again_is_one() {
    let mut lane = lane();
    send(&mut lane, 132, 15, b"abcde");
    assert_eq!(lane.waiting.len(), 2);
}

#[test]
fn a_text_that_was_lost_leaves_a_hole() {
    let mut lane = lane();
    send(&mut lane, 300, 35, b"xyz");
    assert_eq!(lane.waiting.back().unwrap().place.text.start, at(35));
}

#[test]
fn what_waits_is_bounded() {
    let mut lane = Lane::default();
    let text = vec![7; 16_384];
    for n in 0..3000_u32 {
        send(&mut lane, u64::from(n) * 17_000, n * 16_384, &text);
    }
    assert!(lane.waiting.len() <= RECORDS && lane.waiting_bytes <= WAITING_BYTES);
}

fn by(end: u64, taken: u32) -> ReadPlace {
    ReadPlace { end: at(end), taken, ahead: false }
}

/// A reader whose library reads a record of ten bytes of text in parts, and then one of five.
fn read_in_parts(lane: &mut Lane) {
    for (end, taken, start, text) in [
        (132, 32, 0, &b"0"[..]),
        (132, 0, 1, b"1"),
        (132, 0, 2, b"23456789"),
        (159, 22, 10, b"abcde"),
    ] {
        let range = lane.read(&by(end, taken), &plain(start, text)).unwrap();
        assert_eq!(range, ByteRange::new(at(start.into()), text.len() as u64));
    }
}

#[test]
fn what_a_reader_reads_in_parts_lies_in_one_record() {
    let mut lane = Lane::default();
    read_in_parts(&mut lane);
    assert_eq!(place(&lane, 0, 10), (100, 132));
    assert_eq!(place(&lane, 0, 2), (100, 107));
    assert_eq!(place(&lane, 10, 5), (132, 159));
}

#[test]
fn a_reader_s_record_begins_where_its_header_stood() {
    let mut lane = Lane::default();
    let mut stream = vec![0x16, 3, 3, 0, 55];
    stream.resize(60, 1);
    stream.extend([0x17, 3, 3, 0, 27]);
    stream.resize(92, 1);
    lane.passes(Piece::Bytes { at: at(40), bytes: &stream, missing: 0 });
    // The call has read the handshake's record, too.
    lane.read(&by(132, 92), &plain(0, b"0123456789"));
    assert_eq!(place(&lane, 0, 10), (100, 132));
}

#[test]
fn a_text_is_taken_from_one_side() {
    let mut lane = lane();
    assert_eq!(lane.read(&by(132, 32), &plain(0, b"0123456789")), None);
    assert_eq!(lane.waiting.len(), 2);
    let mut lane = Lane::default();
    read_in_parts(&mut lane);
    send(&mut lane, 159, 15, b"xyz");
    assert!(lane.waiting.is_empty());
}

#[test]
fn what_goes_on_in_an_unknown_record_is_left_out() {
    assert_eq!(Lane::default().read(&by(132, 0), &plain(3, b"345")), None);
}

/// A library in Go reads three records at once: a session ticket, and two with text.
#[test]
fn what_is_read_ahead_lies_in_the_records_one_after_the_other() {
    let record = |text: u8| {
        let mut record = vec![0x17, 3, 3, 0, text + 17];
        record.resize(usize::from(text) + 22, 1);
        record
    };
    let mut lane = Lane::default();
    let bytes = [record(200), record(10), record(6)].concat();
    lane.passes(Piece::Bytes { at: at(0), bytes: &bytes, missing: 0 });
    let ahead = |taken| ReadPlace { end: at(282), taken, ahead: true };
    for (taken, start, text) in [(282, 0, &b"0123456789"[..]), (0, 10, b"abc"), (0, 13, b"def")] {
        assert!(lane.read(&ahead(taken), &plain(start, text)).is_some());
    }
    assert_eq!(place(&lane, 0, 10), (222, 254));
    assert_eq!(place(&lane, 10, 3), (254, 262));
    assert_eq!(place(&lane, 13, 3), (262, 282));
}
