//! Messages that ought to have arrived by now.

use wirelap_events::Nanos;

/// Where messages are that have not arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Whereabouts {
    /// In the sender's socket or on the way to the receiver's.
    Network,
    /// In the broker's receive queue.
    BrokerQueue,
    /// The broker has read them and has not passed them on.
    Broker,
    /// In a reader's receive queue.
    ReaderQueue,
}

impl Whereabouts {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Whereabouts::Network => "network",
            Whereabouts::BrokerQueue => "broker_receive_queue",
            Whereabouts::Broker => "broker",
            Whereabouts::ReaderQueue => "reader_receive_queue",
        }
    }
}

/// Messages that ought to have arrived by now, in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdue {
    /// How many.
    pub messages: u64,
    /// How long ago the oldest of them was sent.
    pub oldest: Nanos,
    /// Where they are.
    pub place: Whereabouts,
}
