//! Feeds a [`Stream`] anything: gaps, overlaps, repeated and missing bytes, and a decoder that says
//! the worst that the traits allow.

use wirelap_events::{ByteRange, Frame, FrameClass, Offset};
use wirelap_protocols::connection::KEPT_BYTES;
use wirelap_protocols::stream::Stream;
use wirelap_protocols::{Connection, FrameSink, Pdu, PduLen, Reader, Side};

/// PDUs of `kind, length, length − 2 bytes`; the lowest kinds are lies. One of kind 9 starts something
/// of 100 bytes that comes in pieces.
#[derive(Default)]
struct Worst {
    open: u64,
}

impl Connection for Worst {
    fn pdu_len(&self, _: Side, head: &[u8]) -> PduLen {
        match *head {
            [] => PduLen::Need(0),
            [0, ..] => PduLen::Invalid,
            [1, ..] => PduLen::Known(0),
            [2, ..] => PduLen::Known(u64::MAX),
            [3, ..] => PduLen::Need(usize::MAX),
            [4, ..] => PduLen::Need(head.len()),
            [5, ..] => PduLen::Need(head.len() + 40),
            [6, ..] => PduLen::Known(1),
            [7, ..] => PduLen::Known(KEPT_BYTES as u64 + 3),
            [8, ..] if head.len() < 5 => PduLen::Need(5),
            [8, ..] => PduLen::Known(3),
            [_] => PduLen::Need(2),
            [_, len, ..] => PduLen::Known(u64::from(len).max(2)),
        }
    }

    fn pdu(&mut self, _: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        assert!(pdu.bytes.len() as u64 <= pdu.range.len() && !pdu.range.is_empty());
        assert!(pdu.bytes.len() <= KEPT_BYTES.max(usize::from(u8::MAX)) || !pdu.is_truncated());
        let (range, name, class) = (pdu.range, "PDU", FrameClass::Other);
        out.frame(&Frame { range, name, class, payload_bytes: 0, data: None });
        self.open = match (self.open, pdu.bytes) {
            (0, [9, ..]) => 100,
            (open, _) => open.saturating_sub(range.len()),
        };
    }

    fn open_bytes(&self, _: Side) -> u64 {
        self.open
    }

    fn gap(&mut self, _: Side) {
        self.open = 0;
    }
}

/// Plays `script`: `operation u8, shift i8, length u8, bytes` each, and checks that every byte of the
/// flow is accounted for after each step.
pub fn play(script: &[u8]) {
    let mut reader = Reader::new(script);
    let mid_stream = reader.u8().is_some_and(|b| b & 1 != 0);
    let mut stream = Stream::new(Side::A, mid_stream);
    let mut worst = Worst::default();
    let mut seen = ByteRange::new(Offset::START, 0);
    let (mut framed, mut last) = (0, Offset::START);
    while let (Some(operation), Some(shift), Some(len)) = (reader.u8(), reader.u8(), reader.u8()) {
        // The first packet says where the flow starts.
        let shift = if seen.is_empty() { 0 } else { shift.cast_signed() };
        let at = Offset(seen.end.0.saturating_add_signed(shift.into())).max(seen.start);
        let mut sink = |frame: &Frame<'_>| {
            assert!(frame.range.start >= last, "frames overlap");
            last = frame.range.end;
            framed += frame.range.len();
        };
        let (bytes, missing) = match operation & 3 {
            0 => (reader.take_up_to(len.into()), 0),
            1 => (reader.take_up_to(len.into()), u64::from(operation >> 2)),
            2 => (&[][..], u64::from(len)),
            _ => (&[][..], u64::from(len) << 12),
        };
        if operation & 2 == 0 {
            stream.feed(at, bytes, missing, &mut worst, &mut sink);
        } else {
            stream.gap(at, missing, &mut worst, &mut sink);
        }
        seen.end = seen.end.max(at.plus(bytes.len() as u64 + missing));
        let accounted = framed + stream.undecoded_bytes() + stream.pending_bytes();
        assert_eq!(accounted, seen.len(), "after {operation} at {at:?} of {} bytes", bytes.len());
        assert!(last <= seen.end);
    }
    stream.finish(&mut worst);
    assert_eq!(framed + stream.undecoded_bytes(), seen.len());
}
