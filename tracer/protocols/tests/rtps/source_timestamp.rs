//! The source timestamp: when the application wrote a sample.

use wirelap_events::{ByteRange, Frame, Offset, Transport};
use wirelap_protocols::rtps::PROTOCOL;
use wirelap_protocols::{FrameNote, FrameSink, Pdu, Protocol, Side};
use wirelap_test_support::compose::rtps::{Cut, Message, USER_WRITER, structure};

/// The source timestamps of samples, in their order.
#[derive(Default)]
struct SourceTimestamps(Vec<Option<u64>>);

impl FrameSink for SourceTimestamps {
    fn frame(&mut self, _frame: &Frame<'_>) {}

    fn note(&mut self, note: FrameNote<'_>) {
        if let FrameNote::Fragments(fragments) = note {
            self.0.push(fragments.source_timestamp);
        }
    }
}

fn source_timestamps(message: &Message) -> Vec<Option<u64>> {
    let mut timestamps = SourceTimestamps::default();
    let range = ByteRange::new(Offset::START, message.bytes.len() as u64);
    let mut connection = PROTOCOL.connection(Transport::Udp);
    connection.pdu(Side::A, Pdu { range, bytes: &message.bytes }, &mut timestamps);
    timestamps.0
}

fn stamped(message: Message, flags: u8, seconds: u32, fraction: u32) -> Message {
    let body = [message.u32(seconds), message.u32(fraction)].concat();
    message.sub(0x09, flags, &body)
}

fn sample(message: Message, number: u64) -> Message {
    message.data(USER_WRITER, number, &structure(true, &[1, 2, 3, 4, 5, 6, 7, 8]))
}

#[test]
fn a_timestamp_holds_for_what_follows_it() {
    for little in [false, true] {
        let message = sample(Message::new(little), 1);
        let message = sample(sample(stamped(message, 0, 1_700_000_000, 0x8000_0000), 2), 3);
        let cut = Cut { first: 1, count: 1, each: 100, sample: 150 };
        let message = stamped(message, 0, 5, 0xffff_ffff);
        let message = message.data_frag(USER_WRITER, 4, cut, &[0; 100]);
        let half = Some(1_700_000_000_500_000_000);
        assert_eq!(source_timestamps(&message), [None, half, half, Some(6_000_000_000)]);
    }
}

#[test]
fn none_is_told_by_a_flag_or_by_a_value() {
    for (flags, seconds, fraction) in
        [(2, 5, 0), (0, u32::MAX, u32::MAX), (0, 0x7fff_ffff, u32::MAX)]
    {
        let before = stamped(Message::new(true), 0, 7, 0);
        assert_eq!(
            source_timestamps(&sample(stamped(before, flags, seconds, fraction), 1)),
            [None]
        );
    }
}

#[test]
fn another_source_has_another_time() {
    let message = stamped(Message::new(true), 0, 7, 0).sub(0x0c, 0, &[3; 20]);
    assert_eq!(source_timestamps(&sample(message, 1)), [None]);
}
