//! What is seen of this host: its threads, its processes, where they run, and their CPU quotas.

use crate::containers::Places;
use crate::threads::{ProcessStates, Processes, Quotas, Schedules, Threads};
use wirelap_events::{Cpu, Nanos, Quota, ThreadState, Wake};

/// The threads and processes that touch traced sockets.
#[derive(Debug)]
pub struct HostState {
    threads: Threads,
    processes: Processes,
    /// What processes were doing when they were looked at last.
    states: ProcessStates,
    /// CPU quotas that were used up.
    quotas: Quotas,
    /// Where processes run.
    places: Places,
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
        }
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

    /// When threads were woken, and by whom.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// How the threads of each process were scheduled.
    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// What processes were doing when they were looked at last.
    pub fn states(&self) -> &ProcessStates {
        &self.states
    }

    /// CPU quotas that were used up.
    pub fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    /// Where processes run.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Where processes run, to be completed.
    pub fn places_mut(&mut self) -> &mut Places {
        &mut self.places
    }

    /// What threads did, and when their processes had no CPU quota.
    pub fn schedules(&self) -> Schedules<'_> {
        Schedules { threads: &self.threads, processes: &self.processes }
    }
}
