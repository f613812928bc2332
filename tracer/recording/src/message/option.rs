//! The report of a message's life as an option for programs. Its layout is in docs/recording.md.

use super::in_packet::LegInPacket;
use crate::pcapng::ByteOrder;
use crate::pcapng::custom::{ENTERPRISE, MESSAGE_TAG};
use crate::wire::{Signed, WireValue, put_unsigned};
use wirelap_events::Stage;

/// In place of a queue's number, which has 16 bits, if it is not known.
const NO_QUEUE: u32 = 1 << 16;

/// True if this is the value of an option of wirelap's about a message, of any version. `value` is a custom option's.
pub fn is_message(value: &[u8]) -> bool {
    let tag = ENTERPRISE.to_le_bytes().into_iter().chain(MESSAGE_TAG[..2].iter().copied());
    value.iter().copied().take(6).eq(tag)
}

impl LegInPacket<'_> {
    /// Appends the value of the option.
    pub fn put_option(&self, order: ByteOrder, out: &mut Vec<u8>) {
        let leg = self.leg;
        out.extend(order.u32_bytes(ENTERPRISE));
        out.extend(MESSAGE_TAG);
        let (from, to) = self.bytes_in_packet();
        let all = leg.range.range.len();
        leg.message.0.put(out);
        leg.leg.put(out);
        leg.legs.put(out);
        out.push(leg.status as u8);
        for number in [u64::from(leg.readers), leg.payload_len, from, to, all] {
            number.put(out);
        }
        leg.one_way.put(out);
        for stage in Stage::ALL {
            leg.since_began(stage).map(Signed).put(out);
        }
        for end in [leg.sender, leg.reader] {
            end.pid.put(out);
            end.tid.put(out);
            end.name.put(out);
        }
        self.queue.map_or(NO_QUEUE, u32::from).put(out);
        leg.delay_cause.is_some().put(out);
        if let Some(delay) = leg.delay_cause {
            put_text(out, delay.cause.as_bytes());
            delay.leg.put(out);
            (delay.segment as u8).put(out);
            delay.time.put(out);
        }
        for frame in leg.frames.iter().take(usize::from(leg.legs)) {
            frame.put(out);
        }
        put_text(out, leg.row.middleware.as_bytes());
        put_text(out, leg.row.broker.as_deref().unwrap_or_default().as_bytes());
        put_text(out, leg.shown_topic());
        if let Some((leg, stage)) = leg.last_seen {
            leg.put(out);
            (stage as u8).put(out);
        }
    }
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put_unsigned(out, text.len() as u64);
    out.extend_from_slice(text);
}
