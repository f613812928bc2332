//! The decoder of one Zenoh conversation.

use super::batch::BatchReader;
use super::session::{ZenohSession, index};
use super::survey;
use super::wire::id;
use crate::{Connection, FrameSink, Pdu, PduLen, Side};
use wirelap_events::Total;

impl Connection for ZenohSession {
    fn held_bytes(&self) -> usize {
        self.sides
            .iter()
            .map(|end| end.keys.held_bytes().saturating_add(end.fragments.held_bytes()))
            .total()
    }

    fn pdu_len(&self, side: Side, head: &[u8]) -> PduLen {
        let prefix = self.prefix(side, head);
        let len = match (prefix, head) {
            (2, &[a, b, ..]) => u32::from(u16::from_le_bytes([a, b])),
            (4, &[a, b, c, d, ..]) => u32::from_le_bytes([a, b, c, d]),
            _ => return PduLen::Need(prefix.max(2)),
        };
        let first = head.get(prefix).copied().map_or(0, id);
        let possible =
            if prefix == 2 { first <= 7 } else { first >= 0x19 || matches!(first, 3 | 4) };
        match len {
            0 => PduLen::Invalid,
            _ if head.len() > prefix && !possible => PduLen::Invalid,
            len => PduLen::Known(u64::from(len).saturating_add(prefix as u64)),
        }
    }

    fn resync(&self, side: Side, head: &[u8]) -> bool {
        if self.prefix(side, head) != 2 {
            return matches!(self.pdu_len(side, head), PduLen::Known(_));
        }
        survey::resync(head, self.terms.is_some_and(|terms| terms.compression))
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let prefix = self.prefix(side, pdu.bytes) as u64;
        BatchReader::new(self, side, out).read(pdu, prefix);
    }

    fn gap(&mut self, side: Side) {
        self.sides[index(side)].fragments.gap();
    }
}
