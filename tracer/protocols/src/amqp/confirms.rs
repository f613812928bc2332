//! Publisher confirms (`RabbitMQ`'s extension `confirm.select`): after it, the messages that a client publishes on a channel are numbered from
//! 1, and the server acknowledges these numbers (<https://www.rabbitmq.com/docs/confirms#publisher-confirms>).

use super::method::AmqpAcknowledgement;
use crate::{FrameNote, FrameSink};
use rustc_hash::FxHashMap;
use wirelap_events::{ByteRange, Saturate};

/// The most channels of one connection.
const MAX_CHANNELS: usize = 1024;

/// The most messages that one acknowledgement tells of: no more requests of a connection are kept.
const MAX_CONFIRMED: u64 = 1024;

/// The channels on which the server confirms what is published.
#[derive(Debug, Default)]
pub(super) struct Confirms {
    channels: FxHashMap<u16, Confirmed>,
}

/// The numbers of one channel.
#[derive(Debug, Default)]
struct Confirmed {
    /// The last message that was published.
    published: u64,
    /// All up to this one are confirmed.
    confirmed: u64,
}

impl Confirms {
    /// From now on, the messages of a channel are numbered.
    pub fn begin(&mut self, channel: u16) {
        if self.channels.len() < MAX_CHANNELS {
            self.channels.entry(channel).or_default();
        }
    }

    /// A channel ends.
    pub fn end(&mut self, channel: u16) {
        self.channels.remove(&channel);
    }

    /// Bytes of a client are missing, and perhaps messages among them.
    pub fn forget(&mut self) {
        self.channels.clear();
    }

    /// A message begins.
    pub fn publish(&mut self, channel: u16) {
        if let Some(confirmed) = self.channels.get_mut(&channel) {
            confirmed.published.grow(1);
        }
    }

    /// The message that began last on a channel is complete.
    pub fn published(&self, channel: u16, extent: ByteRange, out: &mut dyn FrameSink) {
        if let Some(confirmed) = self.channels.get(&channel) {
            out.requests(number(channel, confirmed.published), extent);
        }
    }

    /// The server acknowledges what was published on a channel.
    pub fn confirm(
        &mut self,
        channel: u16,
        acknowledgement: AmqpAcknowledgement,
        extent: ByteRange,
        out: &mut dyn FrameSink,
    ) {
        let Some(confirmed) = self.channels.get_mut(&channel) else { return };
        let next = confirmed.confirmed.saturating_add(1);
        let (first, last) = match acknowledgement {
            AmqpAcknowledgement::One(tag) => (tag, tag),
            AmqpAcknowledgement::UpTo(0) => (next, confirmed.published),
            AmqpAcknowledgement::UpTo(tag) => (next, tag),
        };
        let last = last.min(confirmed.published);
        if first <= next {
            confirmed.confirmed = confirmed.confirmed.max(last);
        }
        for tag in first.max(last.saturating_sub(MAX_CONFIRMED))..=last {
            out.note(FrameNote::Reply { number: number(channel, tag), extent });
        }
    }
}

/// The number of a message in its connection.
fn number(channel: u16, tag: u64) -> u64 {
    (u64::from(channel) << 48) | (tag & 0xffff_ffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameNote;
    use wirelap_events::{Frame, Offset};

    #[derive(Default)]
    struct Exchanges(Vec<(bool, u64)>);

    impl FrameSink for Exchanges {
        fn frame(&mut self, _: &Frame<'_>) {}

        fn note(&mut self, note: FrameNote<'_>) {
            match note {
                FrameNote::Request { number, .. } => self.0.push((false, number)),
                FrameNote::Reply { number, .. } => self.0.push((true, number)),
                _ => {}
            }
        }
    }

    #[test]
    fn messages_are_answered_by_their_numbers_one_by_one_and_together() {
        let (mut confirms, mut seen) = (Confirms::default(), Exchanges::default());
        let extent = ByteRange::new(Offset(0), 1);
        let publish = |confirms: &mut Confirms, seen: &mut Exchanges| {
            confirms.publish(1);
            confirms.published(1, extent, seen);
        };
        publish(&mut confirms, &mut seen);
        confirms.begin(1);
        (0..4).for_each(|_| publish(&mut confirms, &mut seen));
        let at = |tag| number(1, tag);
        assert_eq!(seen.0, [1, 2, 3, 4].map(|tag| (false, at(tag))));
        seen.0.clear();
        confirms.confirm(1, AmqpAcknowledgement::One(2), extent, &mut seen);
        confirms.confirm(1, AmqpAcknowledgement::UpTo(3), extent, &mut seen);
        confirms.confirm(1, AmqpAcknowledgement::UpTo(u64::MAX), extent, &mut seen);
        confirms.confirm(2, AmqpAcknowledgement::One(1), extent, &mut seen);
        // What was answered before is so again, which nobody waits for.
        assert_eq!(seen.0, [2, 1, 2, 3, 4].map(|tag| (true, at(tag))));
    }
}
