//! Messages that a broker holds until their publisher commits them (AMQP 0-9-1 §1.9, class `tx`).
//!
//! A channel is in transactions from `tx.select` on. On a connection that is joined in its middle that was not seen: there, the first
//! `tx.commit` or `tx.rollback` of a channel tells that all it has published since then was in a transaction.

use crate::{Discard, FrameSink};
use wirelap_events::{Offset, Saturate};

/// The most channels of a connection whose transactions are followed; few clients have one at all.
const MOST_CHANNELS: usize = 16;

/// A channel, and what was published on it and is not committed.
#[derive(Clone, Copy, Debug)]
struct Transaction {
    channel: u16,
    /// False if it is not known whether the channel is in transactions.
    is_certain: bool,
    /// Start of the first message and of the last.
    open: Option<(Offset, Offset)>,
    messages: u64,
}

impl Transaction {
    fn take(&mut self) -> Option<(Offset, Offset)> {
        self.messages = 0;
        self.open.take()
    }

    /// Number of messages that are known to be lost if the channel ends.
    fn uncommitted(&self) -> u64 {
        if self.is_certain { self.messages } else { 0 }
    }
}

/// The channels of a connection that are in transactions.
#[derive(Debug, Default)]
pub(super) struct Transactions {
    channels: Vec<Transaction>,
    /// The connection was seen to open, and with it every `tx.select`.
    is_whole: bool,
}

impl Transactions {
    /// The connection opens.
    pub fn note_opening(&mut self) {
        self.is_whole = true;
    }

    /// From now on what is published on a channel waits for a commit.
    pub fn begin(&mut self, channel: u16) {
        if let Some(one) = self.on(channel, true) {
            *one = Transaction { channel, is_certain: true, open: None, messages: 0 };
        }
    }

    /// A message that begins here is published on a channel.
    pub fn publish(&mut self, channel: u16, message: Offset) {
        let may_begin = !self.is_whole;
        if let Some(one) = self.on(channel, may_begin) {
            one.open = Some((one.open.map_or(message, |(first, _)| first), message));
            one.messages.grow(1);
        }
    }

    /// True if what is published on a channel is known to wait for a commit.
    pub fn is_in_one(&self, channel: u16) -> bool {
        self.channels.iter().any(|one| one.channel == channel && one.is_certain)
    }

    /// Commits, by the next frame, the messages that were published on a channel.
    pub fn commit(&mut self, channel: u16, out: &mut dyn FrameSink) {
        let Some(one) = self.on(channel, true) else { return };
        one.is_certain = true;
        if let Some((first, last)) = one.take() {
            out.commits(first, last);
        }
    }

    /// Forgets the messages that were published on a channel: the broker will not pass them on.
    pub fn roll_back(&mut self, channel: u16, out: &mut dyn FrameSink) {
        let Some(one) = self.on(channel, true) else { return };
        one.is_certain = true;
        out.discards(Discard::RolledBack(one.uncommitted()));
        one.take();
    }

    /// A channel is closed, or opened anew.
    pub fn end(&mut self, channel: u16, out: &mut dyn FrameSink) {
        self.channels.retain(|one| {
            let stays = one.channel != channel;
            let lost = if stays { 0 } else { one.uncommitted() };
            out.discards(Discard::RolledBack(lost));
            stays
        });
    }

    /// All channels are closed.
    pub fn end_all(&mut self, out: &mut dyn FrameSink) {
        out.discards(Discard::RolledBack(self.uncommitted()));
        self.channels.clear();
    }

    /// The server confirms what is published on a channel: it is in no transaction.
    pub fn forget(&mut self, channel: u16) {
        self.channels.retain(|one| one.channel != channel);
    }

    /// Number of messages that are lost if the connection ends.
    pub fn uncommitted(&self) -> u64 {
        self.channels.iter().fold(0, |sum, one| sum.saturating_add(one.uncommitted()))
    }

    fn on(&mut self, channel: u16, may_begin: bool) -> Option<&mut Transaction> {
        let known = self.channels.iter().position(|one| one.channel == channel);
        if known.is_none() && may_begin && self.channels.len() < MOST_CHANNELS {
            let is_certain = false;
            self.channels.push(Transaction { channel, is_certain, open: None, messages: 0 });
            return self.channels.last_mut();
        }
        self.channels.get_mut(known?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameNote;
    use wirelap_events::Frame;

    /// Messages that are released, from the first to the last, and numbers of those that are rolled back.
    #[derive(Default)]
    struct Told(Vec<(u64, u64)>, Vec<u64>);

    impl FrameSink for Told {
        fn frame(&mut self, _: &Frame<'_>) {}

        fn note(&mut self, note: FrameNote<'_>) {
            match note {
                FrameNote::Releases { first, message, .. } => self.0.push((first.0, message.0)),
                FrameNote::Discards(Discard::RolledBack(messages)) => self.1.push(messages),
                _ => {}
            }
        }
    }

    #[test]
    fn a_commit_tells_of_the_transaction_whose_beginning_was_not_seen() {
        let (mut all, mut told) = (Transactions::default(), Told::default());
        (1..=3).for_each(|n| all.publish(7, Offset(n)));
        all.publish(8, Offset(4));
        assert_eq!([7, 8, 9].map(|channel| all.is_in_one(channel)), [false; 3]);
        assert_eq!(all.uncommitted(), 0, "nothing is known of them");
        all.commit(7, &mut told);
        (5..=6).for_each(|n| all.publish(7, Offset(n)));
        assert_eq!([7, 8, 9].map(|channel| all.is_in_one(channel)), [true, false, false]);
        assert_eq!(all.uncommitted(), 2);
        all.roll_back(7, &mut told);
        all.publish(7, Offset(7));
        all.end(7, &mut told);
        all.end(8, &mut told);
        assert_eq!((told.0, told.1), (vec![(1, 3)], vec![2, 1]));
    }

    #[test]
    fn on_a_connection_that_was_seen_to_open_only_a_select_begins_one() {
        let (mut all, mut told) = (Transactions::default(), Told::default());
        all.note_opening();
        all.publish(1, Offset(1));
        assert!(all.channels.is_empty());
        all.begin(1);
        all.publish(1, Offset(2));
        all.commit(1, &mut told);
        all.publish(1, Offset(3));
        all.end_all(&mut told);
        assert_eq!((told.0, told.1), (vec![(2, 2)], vec![1]));
    }

    #[test]
    fn many_channels_are_not_kept() {
        let mut all = Transactions::default();
        (0..1_000).for_each(|n| all.publish(n, Offset(n.into())));
        assert_eq!(all.channels.len(), MOST_CHANNELS);
        (0..1_000).for_each(|n| all.forget(n));
        assert!(all.channels.is_empty());
    }
}
