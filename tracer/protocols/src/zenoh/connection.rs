//! The decoder of one Zenoh conversation.

use super::batch::BatchReader;
use super::session::{ZenohSession, index};
use super::survey;
use super::wire::id;
use crate::{Connection, FrameSink, Party, Pdu, PduLen, Side};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use wirelap_events::{Size, Total};

impl Connection for ZenohSession {
    fn held_bytes(&self) -> Size {
        let sides = self.sides.iter().map(|end| {
            end.keys.held_bytes() + end.queries.held_bytes() + end.fragments.held_bytes()
        });
        Size::sum(sides) + self.unpacked.held_bytes()
    }

    fn pdu_len(&self, side: Side, head: &[u8]) -> PduLen {
        let prefix = self.prefix(side, head);
        let len = match (prefix, head) {
            // The third byte tells a length of two bytes from one of four.
            (2, &[a, b]) if self.terms.is_none() && (a, b) != (0, 0) => return PduLen::Need(3),
            (2, &[a, b, ..]) => u32::from(u16::from_le_bytes([a, b])),
            (4, &[a, b, c, d, ..]) => u32::from_le_bytes([a, b, c, d]),
            _ => return PduLen::Need(prefix.max(2)),
        };
        let first = head.get(prefix).copied().map_or(0, id);
        let is_alone = prefix == 4 || self.terms.is_some_and(|terms| terms.low_latency);
        let is_network = first >= 0x19;
        let possible = match prefix {
            2 => first <= 7 || is_alone && is_network,
            _ => is_network || matches!(first, 3 | 4),
        };
        match len {
            0 if prefix == 2 && may_be_empty(head) => PduLen::Known(2),
            0 => PduLen::Invalid,
            _ if head.len() > prefix && !possible => PduLen::Invalid,
            len => PduLen::Known(u64::from(len).saturating_add(prefix as u64)),
        }
    }

    fn resync(&self, side: Side, head: &[u8]) -> bool {
        if self.prefix(side, head) != 2 {
            return survey::resync_low_latency(head);
        }
        survey::resync(head, self.terms.is_some_and(|terms| terms.compression))
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let prefix = self.prefix(side, pdu.bytes) as u64;
        BatchReader::new(self, side, out).read(pdu, prefix);
    }

    fn unfinished(&self) -> u64 {
        self.sides.iter().map(|end| end.fragments.unfinished()).total()
    }

    fn party(&self, side: Side) -> Option<Party> {
        let who = self.sides[index(side)].who?;
        let mut id = FxHasher::default();
        who.zid.0.hash(&mut id);
        let folded = id.finish() >> u32::BITS;
        let id = u32::try_from(folded).unwrap_or(u32::MAX);
        Some(Party { id, is_router: who.is_router })
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        survey::stands_out(head)
    }

    fn gap(&mut self, side: Side) {
        self.sides[index(side)].fragments.gap();
    }
}

/// Tells by the bytes after it if a batch without messages may start here. A sender that gives up a message in the middle means to
/// say so in a fragment, which zenoh-transport 1.10 does not write into the batch (`push_network_message` in
/// `src/common/pipeline.rs`).
fn may_be_empty(head: &[u8]) -> bool {
    match head {
        [_, _, 0, 0, ..] => false,
        [_, _, _, _, header, ..] => id(*header) <= 7,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameNote;
    use wirelap_events::{ByteRange, Frame, Offset};

    /// Counts the messages, and those of which it was told that they are passed on.
    #[derive(Default)]
    struct Counts {
        messages: u32,
        passed_on: u32,
    }

    impl FrameSink for Counts {
        fn frame(&mut self, frame: &Frame<'_>) {
            self.messages += u32::from(frame.data.is_some());
        }

        fn note(&mut self, note: FrameNote<'_>) {
            self.passed_on += u32::from(note == FrameNote::PassedOn);
        }
    }

    fn read(session: &mut ZenohSession, side: Side, batch: &[u8], out: &mut dyn FrameSink) {
        let len = u16::try_from(batch.len()).unwrap().to_le_bytes();
        let bytes = [&len[..], batch].concat();
        let range = ByteRange::new(Offset(0), bytes.len() as u64);
        session.pdu(side, Pdu { range, bytes: &bytes }, out);
    }

    /// A session whose ends have these roles, with the IDs 0xa1 and 0xa2.
    fn session(roles: [u8; 2]) -> ZenohSession {
        let (mut session, mut out) = (ZenohSession::new(true), Counts::default());
        let [a, b] = roles;
        read(&mut session, Side::A, &[0x01, 9, a, 0xa1], &mut out);
        read(&mut session, Side::B, &[0x21, 9, b, 0xa2, 1, 7], &mut out);
        session
    }

    #[test]
    fn a_batch_may_be_empty_where_another_one_can_follow() {
        let len = |head: &[u8]| ZenohSession::new(true).pdu_len(Side::A, head);
        for head in [&[0, 0][..], &[0, 0, 9], &[0, 0, 9, 0, 0x25, 1]] {
            assert_eq!(len(head), PduLen::Known(2), "{head:?}");
        }
        for head in [&[0, 0, 0, 0][..], &[0, 0, 9, 0, 0x78, 1]] {
            assert_eq!(len(head), PduLen::Invalid, "{head:?}");
        }
    }

    #[test]
    fn the_length_of_a_batch_does_not_depend_on_packets() {
        let low_latency = [9, 0, 0, 0, 0x7D, 0];
        let len = |session: &ZenohSession, head: &[u8]| {
            let mut bytes = 2;
            while let PduLen::Need(more) = session.pdu_len(Side::A, &head[..bytes]) {
                bytes = more;
            }
            session.pdu_len(Side::A, &head[..bytes])
        };
        let unknown = ZenohSession::new(true);
        assert_eq!(len(&unknown, &low_latency), PduLen::Known(13));
        assert_eq!(len(&unknown, &[9, 0, 0x25, 0]), PduLen::Known(11));
        let agreed = session([2, 0]);
        assert_eq!(agreed.pdu_len(Side::A, &[9, 0]), PduLen::Known(11));
    }

    #[test]
    fn the_ends_say_who_they_are() {
        let session = session([2, 0]);
        let (a, b) = (session.party(Side::A).unwrap(), session.party(Side::B).unwrap());
        assert!(!a.is_router && b.is_router && a.id != b.id);
        assert_eq!(ZenohSession::new(true).party(Side::A), None);
    }

    #[test]
    fn a_router_that_passes_on_is_told_by_the_origin_or_the_time() {
        const PUSH: &[u8] = b"\x25\x01\x3d\x00\x01k";
        let by_clock = |id: u8| [PUSH, &[0x21, 7, 1, id, 1, 9]].concat();
        // Source info: length, flags with the ID's size, ID, entity, number.
        let by_origin = |id: u8| [PUSH, &[0x81, 0x41, 4, 0, id, 1, 1, 1, 9]].concat();
        let reply = [&b"\x25\x01\x3b\x01\x00\x01k\x04"[..], &[0x21, 7, 1, 0xa9, 1, 9]].concat();
        for (batch, roles, passed_on) in [
            (by_clock(0xa2), [2, 0], 0),
            (by_clock(0xa9), [2, 0], 1),
            (by_clock(0xa9), [2, 1], 0),
            (by_origin(0xa2), [2, 0], 0),
            (by_origin(0xa9), [2, 0], 1),
            (by_origin(0xa9), [0, 2], 0),
            (reply, [2, 0], 0),
        ] {
            let mut out = Counts::default();
            read(&mut session(roles), Side::B, &batch, &mut out);
            assert_eq!((out.messages, out.passed_on), (1, passed_on), "{batch:x?} {roles:?}");
        }
        let mut out = Counts::default();
        read(&mut ZenohSession::new(true), Side::B, &by_clock(0xa9), &mut out);
        assert_eq!((out.messages, out.passed_on), (1, 0), "nobody said who they are");
    }
}
