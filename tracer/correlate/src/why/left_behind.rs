//! Subscribers that were gone before they had got everything.

use crate::flow::{ClosedBy, ClosedConnection};
use crate::lag::{Lag, LagHolder};
use wirelap_events::{Nanos, Pid, Saturate};

/// Messages that subscribers had not got when their connections were closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftMessages {
    /// On how many topics of subscribers.
    pub times: u64,
    /// Number of messages in all.
    pub messages: u64,
    /// The subscriber and topic with the most of them.
    pub most: Option<MostLeft>,
}

/// Messages that one subscriber had not got of a topic when its connection was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostLeft {
    /// The process that read from the connection.
    pub pid: Option<Pid>,
    /// Number of messages.
    pub messages: u64,
    /// Time since the oldest of them had been published.
    pub oldest: Nanos,
    /// The holder of these messages: broker, network or subscriber.
    pub holder: LagHolder,
    /// The protocol's farewell had not been said.
    pub is_abrupt: bool,
    /// The end that closed the connection.
    pub by: ClosedBy,
}

impl MostLeft {
    /// True if the subscriber closed the connection itself, with its protocol's farewell.
    pub fn meant_to_go(&self) -> bool {
        self.by == ClosedBy::Reader && !self.is_abrupt
    }
}

impl LeftMessages {
    /// Adds what one had not got when its connection was closed.
    pub fn count(&mut self, lag: Lag, closed: ClosedConnection) {
        let one = MostLeft {
            pid: closed.pid,
            messages: lag.messages(),
            oldest: lag.oldest,
            holder: lag.holder,
            is_abrupt: closed.is_abrupt,
            by: closed.by,
        };
        self.add(&LeftMessages { times: 1, messages: one.messages, most: Some(one) });
    }

    /// Adds another's.
    pub fn add(&mut self, other: &LeftMessages) {
        self.times.grow(other.times);
        self.messages.grow(other.messages);
        let both = [self.most, other.most].into_iter().flatten();
        self.most = both.max_by_key(|one| (!one.meant_to_go(), one.messages));
    }
}
