//! Subscribers that are behind, as a snapshot has them.

use std::net::SocketAddr;
use wirelap_events::{GroupId, Nanos};

/// The part of the way that holds up the messages that a subscriber has not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LagHolder {
    /// The broker: it has not sent them, and nothing hinders it.
    Broker,
    /// The network: they were sent, or what was sent before them, and have not arrived.
    Network,
    /// The subscriber: they lie in its socket, or there is no room in it, or it has not asked for more.
    Subscriber,
}

/// By how much a subscriber is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lag {
    /// Messages that were published and not sent to it: the broker has them, or has dropped them, or they are in its socket.
    pub unsent: u64,
    /// Messages that were sent to it and have not arrived.
    pub in_network: u64,
    /// Messages that are in its socket, unread.
    pub unread: u64,
    /// Time since the oldest of them was published, or a longer one.
    pub oldest: Nanos,
    /// The holder of these messages: broker, network or subscriber.
    pub holder: LagHolder,
}

impl Lag {
    /// All messages that it has not read.
    pub fn messages(&self) -> u64 {
        self.unsent.saturating_add(self.in_network).saturating_add(self.unread)
    }
}

/// A subscriber that is or was behind on a topic.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowSubscriber {
    /// The row that its messages are in.
    pub group: GroupId,
    /// The name that the subscriber gave itself; `None` if it is not known.
    pub client: Option<String>,
    /// The subscriber's process, by name and number; `None` if it is on another host or not known.
    pub process: Option<String>,
    /// The subscriber's address.
    pub address: SocketAddr,
    /// The topic; `None` if it is not known.
    pub topic: Option<String>,
    /// By how much it is behind; `None` if it is not any more.
    pub now: Option<Lag>,
    /// By how much it was behind when it was behind most.
    pub most: Lag,
    /// Time at which the subscriber was behind most.
    pub most_at: Nanos,
}

/// Subscribers that are or were behind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlowSubscribers {
    /// Those that are behind first, and of these those by most messages.
    pub listed: Vec<SlowSubscriber>,
    /// Number of further subscribers, as far as they are kept.
    pub more: u64,
    /// Number of all subscribers that are behind now.
    pub behind: u64,
}
