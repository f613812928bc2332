//! Queues that held no message, as their server said on any connection: who consumes a queue need not have declared it. A queue of which it is not
//! known on a connection which one it is counts there alone. The number of a queue is of its name and its virtual host.

use super::super::recent::RecentMap;
use crate::join::Receiver;
use wirelap_events::Nanos;
use wirelap_flow::Node;

/// The most queues that are remembered.
const MAX_QUEUES: usize = 4096;

/// A server that has queues of its own: a process may be several, each at a port of its own, and each of them serves at all addresses of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueueServer {
    process: Receiver,
    port: u16,
}

impl QueueServer {
    /// The server at an end of a conversation.
    pub fn at(node: &Node) -> QueueServer {
        QueueServer { process: Receiver::at(node), port: node.addr.port() }
    }
}

/// Times at which queues held no message, by server and the number of the queue.
#[derive(Debug, Default)]
pub struct EmptyQueues(RecentMap<(QueueServer, u32), Nanos, MAX_QUEUES>);

impl EmptyQueues {
    /// A server said at `at` that a queue holds no message.
    pub fn note(&mut self, server: QueueServer, queue: u32, at: Nanos) {
        self.0.insert((server, queue), at);
    }

    /// The last time at which a server said that a queue holds no message.
    pub fn was_empty(&self, server: QueueServer, queue: u32) -> Option<Nanos> {
        self.0.get(&(server, queue)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{NetNs, Pid};

    /// The server of a process, if that is known, at an address.
    fn server(pid: Option<u32>, addr: &str) -> QueueServer {
        let addr = addr.parse().unwrap();
        let pid = pid.map(Pid);
        QueueServer::at(&Node { pid, addr, scope: NetNs(0), netns: None, party: None })
    }

    #[test]
    fn queues_of_two_servers_are_two_and_the_last_ones_are_remembered() {
        let [one, other] = [1, 2].map(|pid| server(Some(pid), "127.0.0.1:5672"));
        let mut all = EmptyQueues::default();
        all.note(one, 7, Nanos(10));
        all.note(one, 7, Nanos(20));
        assert_eq!((all.was_empty(one, 7), all.was_empty(other, 7)), (Some(Nanos(20)), None));
        for queue in 0..10_000 {
            all.note(one, queue, Nanos(30));
            assert_eq!(all.was_empty(one, queue.saturating_sub(1_000)), Some(Nanos(30)));
        }
    }

    #[test]
    fn a_process_may_be_several_servers_and_a_server_has_several_addresses() {
        let mut all = EmptyQueues::default();
        all.note(server(Some(1), "127.0.0.1:5672"), 7, Nanos(10));
        all.note(server(None, "10.0.0.1:5672"), 7, Nanos(20));
        let was_empty = |pid, addr| all.was_empty(server(pid, addr), 7);
        assert_eq!(was_empty(Some(1), "[::1]:5672"), Some(Nanos(10)));
        assert_eq!(was_empty(Some(1), "127.0.0.1:5673"), None, "another one in the process");
        assert_eq!(was_empty(None, "10.0.0.2:5672"), None, "perhaps another host");
    }
}
