//! Queues that held no message, as their server said on any connection: who consumes a queue need not have declared it. A queue of which it is not
//! known on a connection which one it is counts there alone.

use super::super::recent::RecentMap;
use super::Conversations;
use crate::join::Receiver;
use wirelap_events::Nanos;
use wirelap_flow::{Direction, SubscriptionChange};

/// The most queues that are remembered.
const MAX_QUEUES: usize = 4096;

/// Times at which queues held no message, by server and the number of the queue.
#[derive(Debug, Default)]
pub struct EmptyQueues(RecentMap<(Receiver, u32), Nanos, MAX_QUEUES>);

impl EmptyQueues {
    /// A server said at `at` that a queue holds no message.
    fn note(&mut self, server: Receiver, queue: u32, at: Nanos) {
        self.0.insert((server, queue), at);
    }

    /// The last time at which a server said that a queue holds no message.
    fn was_empty(&self, server: Receiver, queue: u32) -> Option<Nanos> {
        self.0.get(&(server, queue)).copied()
    }
}

impl Conversations {
    /// Takes in a change of the subscriptions of who sends in a direction. Returns the queue that a subscription reads, and when that held no
    /// message, if its server has said so of a queue that it is known to be.
    pub fn note_queue(
        &mut self,
        at: Nanos,
        direction: Direction,
        change: SubscriptionChange,
    ) -> Option<(u32, Nanos)> {
        let server = || Some(Receiver::at(&self.node(direction.back())?));
        match change {
            SubscriptionChange::QueueIsEmpty { queue, is_server_wide: true } => {
                let server = server()?;
                self.empty_queues.note(server, queue, at);
                None
            }
            SubscriptionChange::Begins { queue, .. } if queue != 0 => {
                Some((queue, self.empty_queues.was_empty(server()?, queue)?))
            }
            SubscriptionChange::QueueIsEmpty { .. }
            | SubscriptionChange::Begins { .. }
            | SubscriptionChange::Renumbered { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::Pid;

    #[test]
    fn queues_of_two_servers_are_two_and_the_last_ones_are_remembered() {
        let [one, other] = [1, 2].map(|pid| Receiver::Process(Pid(pid)));
        let mut all = EmptyQueues::default();
        all.note(one, 7, Nanos(10));
        all.note(one, 7, Nanos(20));
        assert_eq!((all.was_empty(one, 7), all.was_empty(other, 7)), (Some(Nanos(20)), None));
        for queue in 0..10_000 {
            all.note(one, queue, Nanos(30));
            assert_eq!(all.was_empty(one, queue.saturating_sub(1_000)), Some(Nanos(30)));
        }
    }
}
