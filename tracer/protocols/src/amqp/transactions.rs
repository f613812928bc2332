//! Messages that a broker holds until their publisher commits them (AMQP 0-9-1 §1.9, class `tx`).

use crate::FrameSink;
use wirelap_events::Offset;

/// The most channels of a connection whose transactions are followed; few clients have one at all.
const MOST_CHANNELS: usize = 16;

/// A channel, and where the first and the last message begin that were published on it and are not committed.
#[derive(Clone, Copy, Debug)]
struct Transaction {
    channel: u16,
    open: Option<(Offset, Offset)>,
}

/// The channels of a connection that are in transactions.
#[derive(Debug, Default)]
pub(super) struct Transactions(Vec<Transaction>);

impl Transactions {
    /// From now on what is published on a channel waits for a commit.
    pub fn begin(&mut self, channel: u16) {
        if self.on(channel).is_none() && self.0.len() < MOST_CHANNELS {
            self.0.push(Transaction { channel, open: None });
        }
    }

    /// A message that begins here is published on a channel.
    pub fn publish(&mut self, channel: u16, message: Offset) {
        if let Some(one) = self.on(channel) {
            one.open = Some((one.open.map_or(message, |(first, _)| first), message));
        }
    }

    /// Commits, by the next frame, the messages that were published on a channel.
    pub fn commit(&mut self, channel: u16, out: &mut dyn FrameSink) {
        if let Some((first, last)) = self.on(channel).and_then(|one| one.open.take()) {
            out.commits(first, last);
        }
    }

    /// Forgets the messages that were published on a channel: the broker will not pass them on.
    pub fn roll_back(&mut self, channel: u16) {
        if let Some(one) = self.on(channel) {
            one.open = None;
        }
    }

    /// A channel is closed, or opened anew.
    pub fn end(&mut self, channel: u16) {
        self.0.retain(|one| one.channel != channel);
    }

    fn on(&mut self, channel: u16) -> Option<&mut Transaction> {
        self.0.iter_mut().find(|one| one.channel == channel)
    }
}
