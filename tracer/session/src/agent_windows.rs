//! The windows in which an agent sends, as its collector names them.

use std::collections::VecDeque;
use wirelap_events::{Event, Nanos};
use wirelap_hosts::merged::is_sent_always;

/// Time after which an edge is not needed any more: events of other CPUs are not older.
const KEPT: Nanos = Nanos::from_millis(2_000);

/// The most edges that are remembered.
const MAX_EDGES: usize = 64;

/// Beginnings and ends of windows; without any, everything is sent.
#[derive(Debug, Default)]
pub struct AgentWindows {
    /// Times from which on everything is sent, or only what is known of sockets, in order.
    edges: VecDeque<(Nanos, bool)>,
    /// Up to this time, events were taken.
    taken: Nanos,
}

impl AgentWindows {
    /// A window begins or ends at a time, 0 for now. Returns false if one has begun without notice, so that a part of it is missing.
    pub fn note(&mut self, at: Nanos, open: bool) -> bool {
        let in_time = !open || at > self.taken || self.is_open(self.taken);
        let at = at.max(self.taken);
        let later = self.edges.partition_point(|(time, _)| *time <= at);
        self.edges.insert(later, (at, open));
        if self.edges.len() > MAX_EDGES {
            self.edges.pop_front();
        }
        in_time
    }

    /// All events up to a time were taken.
    pub fn reach(&mut self, until: Nanos) {
        self.taken = self.taken.max(until);
        while self.edges.get(1).is_some_and(|(at, _)| *at + KEPT < self.taken) {
            self.edges.pop_front();
        }
    }

    /// True if an event is sent.
    pub fn sends(&self, event: &Event<'_>) -> bool {
        self.edges.is_empty() || self.is_open(event.at) || is_sent_always(&event.body)
    }

    fn is_open(&self, at: Nanos) -> bool {
        self.edges.iter().rev().find(|(edge, _)| *edge <= at).is_none_or(|(_, open)| *open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{Body, Cpu, ProcessEnd, SocketId};

    fn sent(windows: &AgentWindows, times: &[u64]) -> Vec<u64> {
        let event = |at: &u64| Event {
            at: Nanos(*at),
            cpu: Cpu(0),
            body: Body::Ended(ProcessEnd::default()),
        };
        times.iter().copied().filter(|at| windows.sends(&event(at))).collect()
    }

    #[test]
    fn events_are_sent_in_windows_alone() {
        let mut windows = AgentWindows::default();
        assert_eq!(sent(&windows, &[5]), [5]);
        windows.reach(Nanos(10));
        assert!(
            windows.note(Nanos(0), false)
                && windows.note(Nanos(20), true)
                && windows.note(Nanos(30), false)
        );
        assert_eq!(sent(&windows, &[9, 10, 19, 20, 29, 30, 31]), [9, 20, 29]);
        let closed = Event { at: Nanos(15), cpu: Cpu(0), body: Body::Closed(SocketId(1)) };
        assert!(windows.sends(&closed), "what is known of sockets is always sent");
    }

    #[test]
    fn a_window_that_has_begun_without_notice_is_said() {
        let mut windows = AgentWindows::default();
        windows.note(Nanos(0), false);
        windows.reach(Nanos(100));
        assert!(!windows.note(Nanos(90), true));
        assert_eq!(sent(&windows, &[99, 100]), [100], "nothing that was left out comes back");
        assert!(windows.note(Nanos(100), true), "it is open already");
        windows.reach(KEPT * 2);
        assert_eq!(windows.edges.len(), 1);
        assert_eq!(sent(&windows, &[1_000]), [1_000]);
    }
}
