//! Hosts that send in windows.

use super::MergedHosts;
use crate::host::Host;
use crate::stream::Question;
use crate::windows::{BEHIND, HostSampling, SharedWindows, WindowEdge};
use wirelap_events::{Event, HostStatus, Nanos};

impl MergedHosts {
    /// Has all hosts send in windows from now on.
    pub fn sample(&mut self, sampling: HostSampling) {
        let now = (self.now)();
        self.windows = Some(SharedWindows::new(sampling, now));
        self.close_windows(None);
    }

    /// Has a host that begins, or all, send nothing but in windows of which they are told.
    pub(super) fn close_windows(&mut self, index: Option<usize>) {
        let Some(windows) = &mut self.windows else { return };
        if index.is_some() {
            windows.cut((self.now)());
        }
        let question = Question::Window { at: Nanos(0), open: false };
        for (at, connection) in self.connections.iter().enumerate() {
            if index.is_none_or(|index| index == at) {
                connection.ask(question);
            }
        }
    }

    /// Ends the present window, because one host does not have all of it.
    pub(super) fn cut_window(&mut self) {
        if let Some(windows) = &mut self.windows {
            windows.cut((self.now)());
        }
    }

    /// Tells the hosts of the next window when it is time.
    pub(super) fn keep_windows(&mut self, now: Nanos) {
        let Some(windows) = &mut self.windows else { return };
        let active = || self.hosts.iter().filter(|host| host.is_up && !host.rests);
        let bytes: Vec<u64> = self.hosts.iter().map(|host| host.state.bytes).collect();
        let reached = |host: &Host| self.clocks.to_reference(host.clock(), host.frontier?);
        let is_behind = |host: &Host| {
            matches!(host.state.status, HostStatus::Behind(_))
                || reached(host).is_some_and(|at| at + BEHIND < now)
        };
        windows.measure(now, &bytes, active().any(is_behind));
        // A host that cannot be told when would have another part of the messages than the others.
        let is_known = |host: &Host| self.clocks.to_reference(host.clock(), Nanos(0)).is_some();
        if active().next().is_none() || !active().all(is_known) {
            return windows.put_off(now);
        }
        for (at, edge) in windows.due(now) {
            for (host, connection) in self.hosts.iter().zip(&self.connections) {
                if let Some(at) = self.clocks.from_reference(host.clock(), at) {
                    connection.ask(Question::Window { at, open: edge == WindowEdge::Open });
                }
            }
        }
    }

    /// Hands out the beginnings and ends of windows up to a time. Returns true if events of then are wanted.
    pub(super) fn pass_windows(&mut self, until: Nanos, sink: &mut dyn FnMut(&Event<'_>)) -> bool {
        let newest = &mut self.newest;
        self.windows.as_mut().is_none_or(|windows| windows.pass(until, newest, sink))
    }
}
