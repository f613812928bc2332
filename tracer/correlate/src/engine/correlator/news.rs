//! News from the caller beside events: which rows it wants and how they are called, and where processes run.

use super::Correlator;
use wirelap_containers::{CgroupRead, ContainerNames};
use wirelap_events::{Comm, HostBounds, Nanos, NetNs, Pid};
use wirelap_figures::{BreakdownQuery, Dimension};
use wirelap_flow::Label;

impl Correlator {
    /// Asks for other rows of [`Snapshot::breakdown`], or others of them. Rows by something else count from now on.
    pub fn ask_breakdown(&mut self, query: BreakdownQuery) {
        if query.by.contains(&Dimension::Topic) {
            self.conversations.keep_topics();
        }
        self.accounts.ask(query, self.coverage.now());
    }

    /// At most so many of the processes that came into view since the last calls, with the network namespace of a socket of each. The
    /// caller may read where they run.
    pub fn newcomers(&mut self, most: usize) -> Vec<(Pid, NetNs)> {
        self.see_arrivals();
        self.host.places_mut().take_newcomers(most)
    }

    /// Takes the result of reading a process's cgroup, and the names that files give its container and network namespace. True if that
    /// tells something new.
    pub fn locate(&mut self, pid: Pid, read: &CgroupRead, names: &ContainerNames) -> bool {
        self.host.places_mut().put(pid, read, names)
    }

    /// The caller is in this network namespace.
    pub fn note_own_namespace(&mut self, own: NetNs) {
        self.host.places_mut().note_own_namespace(own);
    }

    /// Nothing is seen any more of what happens on a host, from a time on. What it shows when it comes back is taken as that of a host
    /// that joins late.
    pub fn lose_host(&mut self, at: Nanos, host: u8) {
        self.conversations.lose_host(at, host);
    }

    /// Programs listen on these TCP ports, beside those that are known.
    pub fn learn_listening(&mut self, ports: &[u16]) {
        self.conversations.learn_listening(ports);
    }

    /// Takes how exact times between hosts are from now on, where the events are of several hosts and all times are by one clock. Before
    /// the first call, all events are of one host. A message whose ends are on hosts of which no bound is known has no one-way latency.
    pub fn set_host_bounds(&mut self, bounds: HostBounds) {
        self.conversations.set_clock_error(bounds.largest().unwrap_or_default());
        self.deliveries.set_host_bounds(bounds);
    }

    /// The names of several hosts, by their numbers.
    pub fn name_hosts(&mut self, names: impl Iterator<Item = (u8, String)>) {
        self.host.set_names(names);
    }

    /// The names that network namespaces have now.
    pub fn name_namespaces(&mut self, names: impl Iterator<Item = (NetNs, String)>) {
        self.host.places_mut().name_namespaces(names);
    }

    /// Takes in which processes have come into view.
    pub(super) fn see_arrivals(&mut self) {
        for (pid, netns) in self.conversations.sockets_mut().take_arrived() {
            self.host.places_mut().arrive(pid, netns);
        }
    }

    /// Names a row from now on.
    pub fn add_label(&mut self, label: Label) {
        self.accounts.rows.add_label(label);
    }

    /// Takes the name of a process, for one of which [`Correlator::process_name`] knows no name.
    pub fn call(&mut self, pid: Pid, comm: Comm) {
        self.conversations.sockets_mut().call(pid, comm);
    }
}
