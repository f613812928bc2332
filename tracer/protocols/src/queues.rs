//! Messages that nobody has taken from a queue: its server puts them back, discards them, or keeps them by their publisher's wish.

use wirelap_events::{Nanos, Saturate};

/// Why a server puts messages back into their queues that a client was sent and has not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutBack {
    /// The client has refused them, and wants them sent again.
    Refused,
    /// The client has closed its channel.
    ChannelClosed,
    /// The server has closed the channel or the connection.
    ClosedByServer,
    /// The connection is closed by the client, or broke.
    ConnectionEnded,
    /// The client has not answered them within the time that the server waits for that.
    NotInTime,
}

impl PutBack {
    /// All reasons, in the order in which their numbers count.
    pub const ALL: [PutBack; 5] = [
        PutBack::Refused,
        PutBack::ChannelClosed,
        PutBack::ClosedByServer,
        PutBack::ConnectionEnded,
        PutBack::NotInTime,
    ];
}

/// Why a server that has a message does not pass it on yet, by its publisher's wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withheld {
    /// The publisher has asked for a delay, before which no queue has the message. How long that is is not awaited.
    ForDelay,
    /// The publisher has not committed the transaction of the message, which comes into queues only then.
    UntilCommit,
}

/// Limits beyond which a queue of a server gives messages up, as far as it has any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLimits {
    /// The longest time that a message waits.
    pub longest: Option<Nanos>,
    /// The most messages that wait.
    pub most: Option<u64>,
    /// The most bytes of messages that wait.
    pub most_bytes: Option<u64>,
}

impl QueueLimits {
    /// Takes in the limits of another queue: the narrowest count.
    pub fn add(&mut self, other: QueueLimits) {
        fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.into_iter().chain(other).min()
        }
        self.longest = least(self.longest, other.longest);
        self.most = least(self.most, other.most);
        self.most_bytes = least(self.most_bytes, other.most_bytes);
    }
}

/// Messages that a server discards, or will.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// Messages of transactions that their publisher rolled back, or that ended without a commit.
    RolledBack(u64),
    /// A message that the server gives back to its publisher, as there is no queue for it.
    Returned,
    /// The message in the next frame, once it has waited in a queue for so long.
    After(Nanos),
    /// Messages in a queue beyond its limits.
    Beyond(QueueLimits),
}

impl Discard {
    /// True unless nothing is discarded.
    pub fn is_any(self) -> bool {
        self != Discard::RolledBack(0) && self != Discard::Beyond(QueueLimits::default())
    }
}

/// Messages that servers discard by the clients' word, and what they may discard others for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiscardedMessages {
    /// Messages of transactions that were rolled back.
    pub rolled_back: u64,
    /// Messages that were given back to their publishers.
    pub returned: u64,
    /// Messages that are given up once they have waited in a queue.
    pub expiring: u64,
    /// The longest time for which they wait.
    pub longest: Nanos,
    /// Limits of queues.
    pub limits: QueueLimits,
}

impl DiscardedMessages {
    /// Takes in what a decoder told.
    pub fn note(&mut self, what: Discard) {
        match what {
            Discard::RolledBack(messages) => self.rolled_back.grow(messages),
            Discard::Returned => self.returned.grow(1),
            Discard::After(longest) => {
                self.expiring.grow(1);
                self.longest = self.longest.max(longest);
            }
            Discard::Beyond(limits) => self.limits.add(limits),
        }
    }

    /// Adds another's.
    pub fn add(&mut self, more: &DiscardedMessages) {
        self.rolled_back.grow(more.rolled_back);
        self.returned.grow(more.returned);
        self.expiring.grow(more.expiring);
        self.longest = self.longest.max(more.longest);
        self.limits.add(more.limits);
    }
}
