//! The places of messages that ought to have arrived by now.

use wirelap_events::{Comm, Nanos, TaskId, ThreadActivity};

/// The place of messages that have not arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Whereabouts {
    /// On the way to the receiver's socket.
    Network,
    /// In the broker's receive queue.
    BrokerQueue,
    /// There, and the broker said that it does not read it for a time.
    Throttled,
    /// There, and the broker reads what others send.
    LeftUnread,
    /// The broker has read them and has not passed them on.
    Broker,
    /// The broker has them, and nobody has asked for them.
    Unasked,
    /// The broker has them, and may send their reader no more before it acknowledges others.
    Unacknowledged,
    /// In a reader's receive queue.
    ReaderQueue,
}

impl Whereabouts {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Whereabouts::Network => "network",
            Whereabouts::BrokerQueue => "broker_receive_queue",
            Whereabouts::Throttled => "throttled",
            Whereabouts::LeftUnread => "broker_left_unread",
            Whereabouts::Broker => "broker",
            Whereabouts::Unasked => "broker_unasked",
            Whereabouts::Unacknowledged => "broker_unacknowledged",
            Whereabouts::ReaderQueue => "reader_receive_queue",
        }
    }
}

/// Messages that ought to have arrived by now, in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdue {
    /// Number of messages.
    pub messages: u64,
    /// Time since the oldest of them was sent.
    pub oldest: Nanos,
    /// The place where they are.
    pub place: Whereabouts,
    /// On which leg, 1 for the first.
    pub leg: u8,
    /// The process that has them, or that sent them where they are on the network; `None` if it is not known.
    pub process: Option<(TaskId, Comm)>,
    /// True if they were seen to be there. Otherwise they may be on the way to the socket, which nobody observes.
    pub are_seen_there: bool,
    /// True if all of them are of topics, or for readers, of which other messages lie unread in a reader's receive queue.
    pub is_for_busy_readers: bool,
    /// The activity of that process a moment ago; `None` if nobody looked.
    pub activity: Option<ThreadActivity>,
}
