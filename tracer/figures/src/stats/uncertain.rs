//! Counts of messages that are not followed, or of which it is not certain which they are.

use wirelap_events::Saturate;

/// Counts of messages that are not followed, or of which it is not certain which they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UncertainCounts {
    /// Deliveries whose send call was not seen: their latency begins later.
    pub without_send: u64,
    /// Legs whose reader is on another host or left out by a filter: whether it read is not known.
    pub to_unseen_readers: u64,
    /// Messages that were sent to two readers, as what the first of them read was given to the other: which of them
    /// handled such a message is not known.
    pub read_twice: u64,
    /// Messages that their sender gave up when it had sent a part of them.
    pub cut_short: u64,
    /// Replies that do not reach the application that asked.
    pub superseded: u64,
    /// Messages that are encrypted by their protocol: they are in no other count.
    pub encrypted: u64,
    /// Pairs of a writing and a reading participant that hand messages over in shared memory, where they are not seen.
    pub unseen_pairs: u32,
    /// Participants that had announced themselves before the observation began: if they use shared memory is not known.
    pub unannounced: u32,
    /// Messages whose topic is a number of which it was not seen what it stands for, and whose payload does not tell which they are:
    /// behind a router or broker they may be counted a second time.
    pub nameless: u64,
    /// Deliveries of which it is not known which of several equal messages they brought: their number is right, their times may be
    /// those of each other.
    pub guessed: u64,
    /// Messages that were not seen to be read, while of as many reads of UDP sockets it is not known which datagrams they took: they
    /// may have been delivered.
    pub perhaps_read: u64,
}

impl UncertainCounts {
    /// Adds others of the same domain, whose participants are the same.
    pub fn add(&mut self, other: UncertainCounts) {
        self.without_send.grow(other.without_send);
        self.to_unseen_readers.grow(other.to_unseen_readers);
        self.read_twice.grow(other.read_twice);
        self.cut_short.grow(other.cut_short);
        self.superseded.grow(other.superseded);
        self.encrypted.grow(other.encrypted);
        self.unseen_pairs = self.unseen_pairs.max(other.unseen_pairs);
        self.unannounced = self.unannounced.max(other.unannounced);
        self.nameless.grow(other.nameless);
        self.guessed.grow(other.guessed);
        self.perhaps_read.grow(other.perhaps_read);
    }
}
