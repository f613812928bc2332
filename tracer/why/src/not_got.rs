//! Messages that subscribers have not got, and will not get as far as is known.

use crate::lag::{GapCount, Lag};
use wirelap_events::{Nanos, Pid, Saturate};
use wirelap_flow::{ClosedBy, ClosedConnection};

/// Messages that subscribers have not got for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotGot<T> {
    /// On how many topics of subscribers.
    times: u64,
    /// Number of messages in all.
    pub messages: u64,
    /// The subscriber and topic that is told: the one with the most of them.
    pub most: Option<T>,
}

/// Messages of a topic that one subscriber did not get, while it got those before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissedBy {
    /// The subscriber's process.
    pub pid: Option<Pid>,
    /// The topic, if it is known.
    pub topic: Option<String>,
    /// The number of them.
    pub count: GapCount,
    /// Time after the observation's beginning at which the first was found to be missing.
    pub from: Nanos,
}

/// Messages that one subscriber had not got of a topic when its connection was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostLeft {
    /// By how much it was behind.
    pub lag: Lag,
    /// The way in which its connection was closed.
    pub closed: ClosedConnection,
}

impl MostLeft {
    /// True if the subscriber closed the connection itself, with its protocol's farewell.
    pub fn meant_to_go(&self) -> bool {
        self.closed.by == ClosedBy::Reader && !self.closed.is_abrupt
    }
}

/// One subscriber's part, which is told rather than one of a lower rank.
pub trait Ranked {
    /// True if it is told rather than a part with more messages of which that is false; and its messages.
    fn rank(&self) -> (bool, u64);
}

impl Ranked for MissedBy {
    fn rank(&self) -> (bool, u64) {
        (self.count.others_got && self.count.is_sure, self.count.messages)
    }
}

impl Ranked for MostLeft {
    fn rank(&self) -> (bool, u64) {
        (!self.meant_to_go(), self.lag.messages())
    }
}

impl<T> Default for NotGot<T> {
    fn default() -> NotGot<T> {
        NotGot { times: 0, messages: 0, most: None }
    }
}

impl<T: Ranked> NotGot<T> {
    /// Adds one subscriber's.
    pub fn count(&mut self, one: T) {
        self.add(NotGot { times: 1, messages: one.rank().1, most: Some(one) });
    }

    /// Adds those of another repetition.
    pub fn add(&mut self, other: NotGot<T>) {
        self.times.grow(other.times);
        self.messages.grow(other.messages);
        self.most = self.most.take().into_iter().chain(other.most).max_by_key(T::rank);
    }

    /// On how many other topics of subscribers messages were not got either, and how many.
    pub fn others(&self) -> (u64, u64) {
        let told = self.most.as_ref().map_or(0, |most| most.rank().1);
        (self.times.saturating_sub(1), self.messages.saturating_sub(told))
    }
}
