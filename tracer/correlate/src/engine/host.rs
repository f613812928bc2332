//! The state of this host: its threads, its processes, where they run, and their CPU quotas.

use wirelap_containers::Places;
use wirelap_events::{Cpu, Nanos, Quota, ThreadState, Wake};
use wirelap_flow::{ProcessStates, Processes, Quotas, Schedules, Threads};

/// The threads and processes that touch traced sockets.
#[derive(Debug)]
pub struct HostState {
    threads: Threads,
    processes: Processes,
    /// The activity of processes when they were looked at last.
    states: ProcessStates,
    /// CPU quotas that were used up.
    quotas: Quotas,
    /// The place in which each process runs.
    places: Places,
    /// Names of several hosts, by their numbers.
    names: Vec<(u8, String)>,
}

impl HostState {
    /// Nothing seen yet. So many threads are remembered.
    pub fn new(max_threads: usize) -> HostState {
        HostState {
            threads: Threads::new(max_threads),
            processes: Processes::default(),
            states: ProcessStates::default(),
            quotas: Quotas::default(),
            places: Places::default(),
            names: Vec::new(),
        }
    }

    /// Takes the names of several hosts, by their numbers.
    pub fn set_names(&mut self, names: impl Iterator<Item = (u8, String)>) {
        self.names.clear();
        self.names.extend(names);
    }

    /// The name of one of several hosts.
    pub fn name_of(&self, number: u8) -> String {
        let known = self.names.iter().find(|(known, _)| *known == number);
        known.map_or_else(|| format!("host {number}"), |(_, name)| name.clone())
    }

    /// A thread runs again, on `cpu`.
    pub fn wake(&mut self, at: Nanos, cpu: Cpu, wake: &Wake) {
        self.threads.wake(at, cpu, wake);
        self.processes.wake(at, wake);
    }

    /// A thread was looked at.
    pub fn state(&mut self, at: Nanos, state: &ThreadState) {
        self.states.see(at, state);
    }

    /// A CPU quota was used up.
    pub fn quota(&mut self, quota: &Quota) {
        self.quotas.see(quota);
    }

    /// Wakeups of threads, and by whom.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// Scheduling of the threads of each process.
    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// The activity of processes when they were looked at last.
    pub fn states(&self) -> &ProcessStates {
        &self.states
    }

    /// CPU quotas that were used up.
    pub fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    /// The place in which each process runs.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The place in which each process runs, to be completed.
    pub fn places_mut(&mut self) -> &mut Places {
        &mut self.places
    }

    /// The threads' histories, and the times in which their processes had no CPU quota.
    pub fn schedules(&self) -> Schedules<'_> {
        Schedules { threads: &self.threads, processes: &self.processes }
    }
}
