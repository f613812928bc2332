//! Places of messages that have not arrived, in words.

use wirelap_correlate::Whereabouts;

/// In words, after the number of messages: `in the broker's receive queue`.
pub const fn place(place: Whereabouts) -> &'static str {
    match place {
        Whereabouts::Network => "on the way to the receiver's socket",
        Whereabouts::BrokerQueue => "unread in the broker's receive queue",
        Whereabouts::Throttled => {
            "unread in the broker's receive queue, and the broker said that it does not read it for a time"
        }
        Whereabouts::LeftUnread => {
            "unread in the broker's receive queue, while the broker reads other connections"
        }
        Whereabouts::Broker => "read by the broker and not passed on",
        Whereabouts::Unasked => "in the broker, and no reader has asked since they came",
        Whereabouts::Unacknowledged => {
            "in the broker, which may send their reader no more before it acknowledges earlier ones"
        }
        Whereabouts::ReaderQueue => "unread in the reader's receive queue",
    }
}
