//! The names of processes and threads.

use rustc_hash::FxHashMap;
use wirelap_events::{Body, Comm, Event, Pid, TaskId, Tid};

/// Number of names that are kept.
const LIMIT: usize = 65_536;

/// The names of processes and threads, taken from events.
#[derive(Debug, Default)]
pub struct TaskNames {
    processes: FxHashMap<Pid, Comm>,
    threads: FxHashMap<Tid, Comm>,
}

impl TaskNames {
    /// Stores the names in an event.
    pub fn learn(&mut self, event: &Event<'_>) {
        match &event.body {
            Body::Socket(socket) if socket.task.pid != Pid(0) => {
                put(&mut self.processes, socket.task.pid, socket.comm);
            }
            Body::Wake(wake) if wake.holder.task.tid != Tid(0) => {
                put(&mut self.threads, wake.holder.task.tid, wake.holder.comm);
            }
            _ => {}
        }
    }

    pub fn process(&self, pid: Pid) -> Option<String> {
        let main = self.threads.get(&Tid(pid.0));
        main.or(self.processes.get(&pid)).map(|comm| comm.as_str().to_owned())
    }

    /// A thread's name without its number, which viewers add.
    pub fn thread(&self, task: TaskId) -> String {
        let own = self.threads.get(&task.tid).map(|comm| comm.as_str().to_owned());
        let main = || self.process(task.pid).filter(|_| task.tid.0 == task.pid.0);
        own.or_else(main).unwrap_or_else(|| "thread".into())
    }
}

fn put<K: Eq + std::hash::Hash>(names: &mut FxHashMap<K, Comm>, key: K, name: Comm) {
    if name.0[0] != 0 && (names.len() < LIMIT || names.contains_key(&key)) {
        names.insert(key, name);
    }
}
