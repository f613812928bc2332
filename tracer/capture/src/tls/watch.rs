//! Programs that open a socket while observation goes on: a thread looks at their files, with the rights for that.

use super::access::TlsAccess;
use super::attacher::Attacher;
use super::files::ProcessCode;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use wirelap_events::Pid;
use wirelap_process::rights;

/// Processes that wait to be looked at. What comes while so many wait is looked at when it opens its next socket.
const WAITING: usize = 1024;

/// A process is looked at no more often, since it may open many sockets.
const AGAIN: Duration = Duration::from_secs(1);

/// Processes that are remembered.
const PROCESSES: usize = 4096;

/// Result of looking at a process, and the time of it.
#[derive(Clone, Debug)]
struct Looked {
    at: Instant,
    access: TlsAccess,
}

type WatchedProcesses = Arc<Mutex<BTreeMap<Pid, Looked>>>;

/// The thread. Dropping it ends the thread and detaches the probes.
pub(crate) struct TlsWatch {
    /// `None` only while it is dropped.
    sockets: Option<SyncSender<Pid>>,
    processes: WatchedProcesses,
    thread: Option<JoinHandle<()>>,
}

impl TlsWatch {
    /// Starts the thread, which keeps the rights to attach.
    ///
    /// # Errors
    /// The kernel cannot start a thread.
    pub fn start(attacher: Attacher) -> std::io::Result<TlsWatch> {
        let (sockets, receiver) = sync_channel(WAITING);
        let processes = WatchedProcesses::default();
        let shared = Arc::clone(&processes);
        let thread = Builder::new().name("tls".into()).spawn(move || {
            rights::keep(rights::ATTACH_TO_PROGRAMS);
            watch(attacher, &receiver, &shared);
        })?;
        Ok(TlsWatch { sockets: Some(sockets), processes, thread: Some(thread) })
    }

    /// A process has a socket.
    pub fn has_socket(&self, pid: Pid) {
        if let Some(sockets) = &self.sockets
            && pid != Pid(0)
        {
            let _ = sockets.try_send(pid);
        }
    }

    /// Tells whether the text of a process's TLS can be read; `None` if that was not looked at.
    pub fn access(&self, pid: Pid) -> Option<TlsAccess> {
        let processes = self.processes.lock().unwrap_or_else(PoisonError::into_inner);
        processes.get(&pid).map(|looked| looked.access.clone())
    }
}

impl Drop for TlsWatch {
    fn drop(&mut self) {
        self.sockets = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(mut attacher: Attacher, sockets: &Receiver<Pid>, processes: &WatchedProcesses) {
    while let Ok(pid) = sockets.recv() {
        let lock = || processes.lock().unwrap_or_else(PoisonError::into_inner);
        if lock().get(&pid).is_some_and(|looked| looked.at.elapsed() < AGAIN) {
            continue;
        }
        let looked = Looked { at: Instant::now(), access: attacher.process(&ProcessCode::of(pid)) };
        let mut known = lock();
        if known.len() >= PROCESSES
            && let Some((&oldest, _)) = known.iter().min_by_key(|(_, looked)| looked.at)
        {
            known.remove(&oldest);
        }
        known.insert(pid, looked);
    }
}
