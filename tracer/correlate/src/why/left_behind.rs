//! Subscribers that were gone before they had got everything.

use crate::flow::ClosedConnection;
use crate::lag::{Lag, LagHolder};
use wirelap_events::{Nanos, Pid, Saturate};

/// What subscribers had not got when their connections were closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftMessages {
    /// On how many topics of subscribers.
    pub times: u64,
    /// How many messages that were in all.
    pub messages: u64,
    /// Where that were most.
    pub most: Option<MostLeft>,
}

/// What one subscriber had not got of a topic when its connection was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostLeft {
    /// The process that read from the connection.
    pub pid: Option<Pid>,
    /// How many messages.
    pub messages: u64,
    /// How long ago the oldest of them had been published.
    pub oldest: Nanos,
    /// What held them up.
    pub holder: LagHolder,
    /// It had not said its protocol's farewell.
    pub is_abrupt: bool,
    /// The broker closed the connection.
    pub by_broker: bool,
    /// It did so because it ended: nobody listened at its address then, or another process has served there since.
    pub broker_gone: bool,
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
            by_broker: closed.by_server,
            broker_gone: closed.server_gone,
        };
        self.add(&LeftMessages { times: 1, messages: one.messages, most: Some(one) });
    }

    /// Adds another's.
    pub fn add(&mut self, other: &LeftMessages) {
        self.times.grow(other.times);
        self.messages.grow(other.messages);
        let both = [self.most, other.most].into_iter().flatten();
        self.most = both.max_by_key(|one| (one.is_abrupt || one.by_broker, one.messages));
    }
}
