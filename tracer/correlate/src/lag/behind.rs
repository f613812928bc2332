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
    /// What is sent to it.
    pub direction: Direction,
    pub topic: Option<TopicId>,
    pub now: Option<Lag>,
    pub most: Lag,
    pub most_at: Nanos,
}
