//! Agents that share a kernel: each sees all of it, so one observes, and the others rest until it ends.

use super::{LISTENING, MergedHosts};
use crate::host::Host;
use crate::stream::{Hello, Question};
use wirelap_events::{HostStatus, Nanos};

impl MergedHosts {
    /// Finds out which kernel a host's agent runs on. Every agent of a kernel sees all of it, so one is enough.
    pub(super) fn place(&mut self, index: usize, hello: &Hello) {
        if !hello.listening.is_empty() {
            let text = serde_json::to_string(&hello.listening).unwrap_or_default();
            self.notes.push((1, (LISTENING.to_owned(), text)));
        }
        let is_here = hello.boot == self.own_boot;
        let same = |(other, host): &(usize, &Host)| {
            *other != index && host.is_up && !host.rests && host.boot == hello.boot
        };
        let active = self.hosts.iter().enumerate().find(same).map(|(other, _)| other);
        // At first, the first in the list observes: this host, which sees more than a container does.
        let active = active.filter(|active| self.newest > Nanos(0) || *active < index);
        let kernel = active.and_then(|active| self.hosts.get(active)).map(|host| host.kernel);
        let Some(host) = self.hosts.get_mut(index) else { return };
        let kernel = kernel.unwrap_or(if is_here { 1 } else { host.state.number });
        (host.kernel, host.rests) = (kernel, false);
        let observer = active.unwrap_or(index);
        let Some(observed_by) = self.hosts.get(observer).map(|host| host.state.name.clone()) else {
            return;
        };
        let mut resting = Vec::new();
        for (other, host) in self.hosts.iter_mut().enumerate() {
            let is_same = other == index || host.is_up && host.boot == hello.boot;
            if other == observer || !is_same {
                continue;
            }
            // One that rests already learns who observes now.
            host.state.status = HostStatus::SameKernel { observed_by: observed_by.clone() };
            if std::mem::replace(&mut host.rests, true) {
                continue;
            }
            // Events of one that begins again, from before it ended, are still to come.
            if other != index {
                host.forget_waiting();
            }
            resting.push(other);
        }
        for other in resting {
            self.ask_host(other, Question::Rest(true));
        }
    }

    /// An agent has ended: another one of its kernel goes on, if there is one.
    pub(super) fn hand_over(&mut self, index: usize) {
        let Some(host) = self.hosts.get_mut(index).filter(|host| !host.rests) else { return };
        let boot = host.boot.clone();
        let resting = |host: &Host| host.is_up && host.rests && host.boot == boot;
        let Some(next) = self.hosts.iter().position(resting) else { return };
        if let Some(host) = self.hosts.get_mut(index) {
            host.is_leaving = false;
        }
        let Some(next_host) = self.hosts.get_mut(next) else { return };
        next_host.rests = false;
        next_host.state.status = HostStatus::Connected;
        let observed_by = next_host.state.name.clone();
        for (at, host) in self.hosts.iter_mut().enumerate() {
            if at != next && host.is_up && host.rests && host.boot == boot {
                let observed_by = observed_by.clone();
                host.state.status = HostStatus::SameKernel { observed_by };
            }
        }
        self.ask_host(next, Question::Rest(false));
    }
}
