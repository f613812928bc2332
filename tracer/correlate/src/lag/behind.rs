//! A subscriber that is behind.

use super::view::Lag;
use crate::ids::Direction;
use std::net::SocketAddr;
use wirelap_events::{GroupId, Nanos, Pid, TopicId};

/// A subscriber that is or was behind on a topic. Its names are numbers, because the connection may be gone.
#[derive(Clone, Copy, Debug)]
pub struct Behind {
    pub group: GroupId,
    pub client: Option<TopicId>,
    /// The group in which it reads.
    pub members: Option<TopicId>,
    pub pid: Option<Pid>,
    pub address: SocketAddr,
    /// The direction on which the subscriber gets its messages.
    pub direction: Direction,
    pub topic: Option<TopicId>,
    pub now: Option<Lag>,
    /// Since when it has been behind without a break.
    pub since: Option<Nanos>,
    pub most: Lag,
    pub most_at: Nanos,
}

impl Behind {
    /// By how much it is behind when its connection is closed; `None` if it is not. Who reads the rest of what is in its socket is held
    /// up by nothing any more: what held up most since it has been behind is told.
    pub fn at_close(&self) -> Option<Lag> {
        let is_same = self.since.is_some_and(|since| self.most_at >= since);
        let now = self.now?;
        Some(if is_same { Lag { holder: self.most.holder, ..now } } else { now })
    }
}
