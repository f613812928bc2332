//! Queues that held no message, as their server said on any connection: who consumes a queue need not have declared it. A queue of which it is not
//! known on a connection which one it is counts there alone.

use super::super::recent::RecentMap;
use crate::join::Receiver;
use wirelap_events::Nanos;

/// The most queues that are remembered.
const MAX_QUEUES: usize = 4096;

/// Times at which queues held no message, by server and the number of the queue.
#[derive(Debug, Default)]
pub struct EmptyQueues(RecentMap<(Receiver, u32), Nanos, MAX_QUEUES>);

impl EmptyQueues {
    /// A server said at `at` that a queue holds no message.
    pub fn note(&mut self, server: Receiver, queue: u32, at: Nanos) {
        self.0.insert((server, queue), at);
    }

    /// The last time at which a server said that a queue holds no message.
    pub fn was_empty(&self, server: Receiver, queue: u32) -> Option<Nanos> {
        self.0.get(&(server, queue)).copied()
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
