//! Permits for a broker to deliver: acknowledgements, as it delivers only so many messages on a channel before one comes
//! (`basic.qos`, AMQP 0-9-1 §1.8.3.1), and requests for single messages (`basic.get`).

use super::method::{AmqpAcknowledgement, AmqpDelivery};
use crate::in_flight::InFlight;
use crate::{FrameNote, FrameSink};
use rustc_hash::FxHashMap;
use wirelap_events::{Nanos, Offset, RequestLimits, Size};

/// The most channels of a connection that are kept.
const MOST_CHANNELS: usize = 1024;

/// The channels of one connection.
#[derive(Debug, Default)]
pub(super) struct Permits {
    /// Messages that are not acknowledged, by channel.
    channels: FxHashMap<u16, InFlight>,
    /// Bytes of memory that these use, beside their places: asked for with each packet.
    held: Size,
}

/// The line of a channel on which messages are asked for one by one.
const ASKED: u64 = 1 << 16;

/// Returns a number for the channel and for what its messages wait for: acknowledgements, or to be asked for.
fn line(channel: u16, is_asked: bool) -> u64 {
    u64::from(channel) | if is_asked { ASKED } else { 0 }
}

impl Permits {
    /// A message is delivered on a channel, by a method that ends before `end`.
    pub fn delivered(&mut self, channel: u16, delivery: AmqpDelivery, end: Offset) {
        if self.channels.len() < MOST_CHANNELS || self.channels.contains_key(&channel) {
            let open = self.channels.entry(channel).or_default();
            let before = open.held_bytes();
            open.sent(delivery.tag, end);
            self.held -= before;
            self.held += open.held_bytes();
        }
    }

    /// The client acknowledges on a channel.
    pub fn acknowledged(
        &mut self,
        channel: u16,
        acknowledgement: AmqpAcknowledgement,
        out: &mut dyn FrameSink,
    ) {
        let Some(open) = self.channels.get_mut(&channel) else { return };
        let before = open.held_bytes();
        let room = match acknowledgement {
            AmqpAcknowledgement::One(tag) => open.acknowledged(tag),
            // 0 is all of them.
            AmqpAcknowledgement::UpTo(0) => open.acknowledged_up_to(u64::MAX),
            AmqpAcknowledgement::UpTo(tag) => open.acknowledged_up_to(tag),
        };
        self.held -= before;
        self.held += open.held_bytes();
        if let Some(room) = room {
            out.note(FrameNote::Line(line(channel, false)));
            out.permits_more(room.message(), room.full_with());
        }
    }

    /// The client asks for a message on a channel.
    pub fn asks(channel: u16, out: &mut dyn FrameSink) {
        out.note(FrameNote::Line(line(channel, true)));
        // It is answered at once, if only by there being no message.
        out.note(FrameNote::Asks(RequestLimits { longest: Nanos(u64::MAX), least_bytes: 1 }));
    }

    /// The server answers a request for a message on a channel.
    pub fn answers(channel: u16, out: &mut dyn FrameSink) {
        out.note(FrameNote::Line(line(channel, true)));
        out.note(FrameNote::Answers);
    }

    /// Tells what the next message on a channel may have waited for; `was_asked` if it is the answer to a request.
    pub fn tell(channel: u16, was_asked: bool, out: &mut dyn FrameSink) {
        out.note(FrameNote::Line(line(channel, was_asked)));
    }

    /// Something was missed.
    pub fn forget(&mut self) {
        self.channels.values_mut().for_each(InFlight::forget);
        self.held = Size::sum(self.channels.values().map(InFlight::held_bytes));
    }

    /// A channel is closed, or opened anew.
    pub fn end(&mut self, channel: u16) {
        if let Some(open) = self.channels.remove(&channel) {
            self.held -= open.held_bytes();
        }
    }

    /// Bytes of memory that they use.
    pub fn held_bytes(&self) -> Size {
        const ENTRY: usize = size_of::<(u16, InFlight)>() + 1;
        self.held + Size(ENTRY) * self.channels.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::Frame;

    #[test]
    fn what_is_held_is_the_sum_of_all_channels() {
        let mut permits = Permits::default();
        let sum = |all: &Permits| all.channels.values().map(InFlight::held_bytes).sum::<Size>();
        for n in 0..20_000_u64 {
            let channel = u16::try_from(n % 7).unwrap();
            // On one of them nothing is ever acknowledged.
            permits.delivered(channel, AmqpDelivery { tag: n }, Offset(n));
            if channel != 3 {
                permits.acknowledged(
                    channel,
                    AmqpAcknowledgement::UpTo(n),
                    &mut |_: &Frame<'_>| {},
                );
            }
            match n % 1_000 {
                0 => permits.end(channel),
                500 => permits.forget(),
                _ => {}
            }
            assert_eq!(permits.held, sum(&permits), "after {n}");
        }
    }
}
