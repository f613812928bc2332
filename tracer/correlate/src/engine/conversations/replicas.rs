//! Servers that copy the log of another one. That one tells nobody that a message is stored, and hands none out, before they have it.
//!
//! ```text
//! leader     ─ messages ┐                     ┌ its consumers get them ─▶
//! follower              └ has them │ asks again ┘
//!                                  ▲ late: a time without a request
//! ```

use super::Conversations;
use wirelap_events::{Nanos, Pid, ReplicaWait, TaskId, Tid};
use wirelap_flow::Direction;
use wirelap_limits::causes::{LATE_COPY_DIVISOR, LONGEST_HANDING_ON};

/// Connections of servers that copy which are remembered: of more, those that were seen first are forgotten.
const FOLLOWERS: usize = 64;

impl Conversations {
    /// Notes who asks in this direction, if it is a server that copies what it asks for.
    pub(super) fn note_follower(&mut self, direction: Direction) {
        let copies = self.flows.get(direction).is_some_and(wirelap_flow::Conversation::copies_log);
        if !copies || self.followers.contains(&direction) {
            return;
        }
        if self.followers.len() >= FOLLOWERS {
            self.followers.pop_front();
        }
        self.followers.push_back(direction);
    }

    /// The server that had not asked `leader` for more for the longest time between two moments, if that is much of it: else what was awaited
    /// is something else, and the server copies other partitions.
    pub fn replica_awaited(&self, leader: Pid, from: Nanos, to: Nanos) -> Option<ReplicaWait> {
        if to < from + LONGEST_HANDING_ON {
            return None;
        }
        let waits = self.followers.iter().filter_map(|&direction| {
            let flow = self.flows.flow(direction)?;
            let is_its = self.sockets.pid(flow.receiver) == Some(leader);
            let time = flow.control().unasked_time(from, to);
            let pid = self.sockets.pid(flow.sender);
            let server = pid.map(|pid| TaskId { pid, tid: Tid(pid.0) });
            let is_long =
                time >= LONGEST_HANDING_ON && time > Nanos((to - from).0 / LATE_COPY_DIVISOR);
            (is_its && is_long).then_some(ReplicaWait { time, server })
        });
        waits.max_by_key(|wait| wait.time)
    }
}
