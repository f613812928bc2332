//! The order of events of several hosts: the next one, and the time up to which all have come.

use super::{MAX_NOTES, MergedHosts, PATIENCE, WINDOW_MISSED};
use crate::host::{AgentNote, Host};
use wirelap_events::{HostClock, HostStatus, Nanos};

impl MergedHosts {
    /// The time that every host has reached which is waited for.
    pub(super) fn limit(&mut self) -> Nanos {
        let now = (self.now)();
        let is_settled = |host: &Host| host.state.status != HostStatus::Connecting;
        if now < self.began + PATIENCE && !self.hosts.iter().all(is_settled) {
            return Nanos(0);
        }
        let clocks = &self.clocks;
        let reached = |host: &Host| {
            let checked = clocks.checked(host.clock()).unwrap_or(Nanos(u64::MAX));
            clocks.to_reference(host.clock(), host.frontier?.min(checked))
        };
        let is_waited_for = |host: &Host| host.is_up && !host.rests;
        let waited_for = self.hosts.iter().filter(|host| is_waited_for(host));
        let newest = waited_for.filter_map(reached).max();
        // Without any host, time goes on, but leaves one that comes back its time.
        let Some(newest) = newest else { return now - PATIENCE };
        // A host that has just begun tells soon what it has seen, and what its clock is.
        let is_new = |host: &Host| reached(host).is_none() && now < host.begun + PATIENCE;
        // A clock that was set is known again soon.
        let is_stepped = |host: &Host| matches!(host.state.clock, HostClock::Stepped(step) if now < step.at + PATIENCE);
        let is_soon_known = |host: &Host| is_new(host) || is_stepped(host);
        if self.hosts.iter().any(|host| is_waited_for(host) && is_soon_known(host)) {
            return Nanos(0);
        }
        let mut limit = newest;
        for host in self.hosts.iter_mut().filter(|host| is_waited_for(host)) {
            let Some(at) = reached(host) else { continue };
            if at + PATIENCE >= newest {
                limit = limit.min(at);
            }
            let behind = now - at;
            host.state.status =
                if behind > PATIENCE { HostStatus::Behind(behind) } else { HostStatus::Connected };
        }
        limit
    }

    /// The host with the oldest event up to a time, and the event's time.
    pub(super) fn oldest(&mut self, limit: Nanos) -> Option<(usize, Nanos)> {
        let (clocks, notes) = (&self.clocks, &mut self.notes);
        let mut is_missed = false;
        let mut note = |number, text: AgentNote| {
            is_missed |= text.0 == WINDOW_MISSED;
            if notes.len() < MAX_NOTES {
                notes.push((number, text));
            }
        };
        let mut oldest: Option<(usize, Nanos)> = None;
        for (index, host) in self.hosts.iter_mut().enumerate() {
            if host.next.is_none() {
                let (clock, begins) = (host.clock(), clocks.begins(host.clock()));
                let own = host.next_own_from(begins, &mut note);
                host.next = own.and_then(|at| clocks.to_reference(clock, at));
            }
            let Some(at) = host.next.filter(|at| *at <= limit) else { continue };
            if oldest.is_none_or(|(_, before)| at < before) {
                oldest = Some((index, at));
            }
        }
        if is_missed {
            self.cut_window();
        }
        oldest
    }
}
