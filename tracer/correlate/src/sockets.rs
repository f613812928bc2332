//! Sockets and the processes that own them.

use crate::flow::Way;
use crate::marks::Sending;
use crate::threads::Chain;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use wirelap_events::Saturate;
use wirelap_events::{Comm, Nanos, NetNs, Pid, Socket, SocketId, TaskId, Tid};

/// Datagrams that are remembered as sent or received by one socket, to be joined with its calls.
const DATAGRAMS: usize = 4096;

/// Times that a socket is seen to go to another process. One that several use at once has the first of them.
const HANDED: u8 = 2;

/// Send calls that are remembered of one UDP socket: a datagram may leave the qdisc after its call.
const CALLS: usize = 8;

/// A datagram on its way out.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    pub way: Way,
    pub number: u64,
    pub tid: Tid,
    /// When it was queued, or else handed to the device.
    pub left: Nanos,
}

/// A UDP send call.
#[derive(Clone, Debug)]
pub struct Call {
    pub sending: Sending,
    pub left: Nanos,
    /// How its thread came to make it.
    pub led: Chain,
}

impl Call {
    /// Whether what left at `at` left within it.
    pub fn spans(&self, at: Nanos) -> bool {
        self.sending.entered.is_some_and(|entered| entered <= at) && at <= self.left
    }
}

/// A socket.
#[derive(Debug)]
pub struct Entry {
    /// Its owner; 0 until a thread of it is seen.
    pub pid: Pid,
    pub netns: NetNs,
    /// How often another process has taken it over.
    handed: u8,
    /// What it sends, when it has one peer.
    pub tx: Option<Way>,
    /// UDP: datagrams that are ready to be read.
    pub inbox: VecDeque<(Way, u64)>,
    /// UDP: datagrams that no send call was found for yet.
    pub outbox: VecDeque<Outgoing>,
    /// UDP: the last send calls.
    pub calls: VecDeque<Call>,
    /// When it was closed.
    pub closed: Option<Nanos>,
}

impl Entry {
    pub fn put_in(&mut self, way: Way, number: u64) {
        if self.inbox.len() >= DATAGRAMS {
            self.inbox.pop_front();
        }
        self.inbox.push_back((way, number));
    }

    pub fn put_out(&mut self, outgoing: Outgoing) {
        if self.outbox.len() >= DATAGRAMS {
            self.outbox.pop_front();
        }
        self.outbox.push_back(outgoing);
    }

    pub fn call(&mut self, call: Call) {
        if self.calls.len() >= CALLS {
            self.calls.pop_front();
        }
        self.calls.push_back(call);
    }
}

/// Every socket that came into view.
#[derive(Debug, Default)]
pub struct Sockets {
    entries: FxHashMap<SocketId, Entry>,
    /// Those that were closed, and when.
    gone: VecDeque<(Nanos, SocketId)>,
    names: FxHashMap<Pid, Comm>,
    /// Processes whose name is not known yet.
    nameless: Vec<Pid>,
    /// Counts what was learned about owners.
    pub learned: u64,
}

/// Sockets and names kept at once. Far above any host's traced sockets; reached only by churn that is
/// faster than the sweep.
const LIMIT: usize = 262_144;

impl Sockets {
    pub fn add(&mut self, socket: &Socket, tx: Option<Way>) {
        if self.entries.len() >= LIMIT {
            self.sweep(Nanos(u64::MAX));
        }
        if self.entries.len() >= LIMIT {
            return;
        }
        let pid = socket.task.pid;
        self.entries.insert(
            socket.id,
            Entry {
                pid,
                netns: socket.netns,
                handed: 0,
                tx,
                inbox: VecDeque::new(),
                outbox: VecDeque::new(),
                calls: VecDeque::new(),
                closed: None,
            },
        );
        self.learned.grow(1);
        if pid != Pid(0) && self.names.len() < LIMIT {
            self.names.insert(pid, socket.comm);
        }
    }

    pub fn get(&self, id: SocketId) -> Option<&Entry> {
        self.entries.get(&id)
    }

    pub fn get_mut(&mut self, id: SocketId) -> Option<&mut Entry> {
        self.entries.get_mut(&id)
    }

    /// `task` uses the socket: in softirq its owner was not known, or the owner has handed it to a process that it forked.
    pub fn used_by(&mut self, id: SocketId, task: TaskId) {
        if let Some(entry) = self.entries.get_mut(&id)
            && entry.pid != task.pid
            && task.pid != Pid(0)
            && (entry.pid == Pid(0) || entry.handed < HANDED)
        {
            entry.handed.grow(u8::from(entry.pid != Pid(0)));
            entry.pid = task.pid;
            self.learned.grow(1);
            if !self.names.contains_key(&task.pid) && self.nameless.len() < CALLS * CALLS {
                self.nameless.push(task.pid);
            }
        }
    }

    /// A thread's name, which is its process's if it is the main thread.
    pub fn named(&mut self, tid: Tid, comm: Comm) {
        if !self.nameless.is_empty()
            && let Some(index) = self.nameless.iter().position(|pid| pid.0 == tid.0)
        {
            self.names.insert(self.nameless.swap_remove(index), comm);
        }
    }

    pub fn pid(&self, id: Option<SocketId>) -> Option<Pid> {
        Some(self.entries.get(&id?)?.pid).filter(|&pid| pid != Pid(0))
    }

    pub fn name(&self, pid: Pid) -> Option<&str> {
        self.names.get(&pid).map(Comm::as_str)
    }

    pub fn comm(&self, pid: Pid) -> Option<Comm> {
        self.names.get(&pid).copied()
    }

    /// A socket is closed. Returns what it sends.
    pub fn close(&mut self, id: SocketId, at: Nanos) -> Option<Way> {
        let entry = self.entries.get_mut(&id)?;
        if entry.closed.replace(at).is_none() {
            self.gone.push_back((at, id));
        }
        entry.tx
    }

    /// Forgets sockets that were closed before `limit`.
    pub fn sweep(&mut self, limit: Nanos) {
        while let Some(&(at, id)) = self.gone.front()
            && at < limit
        {
            self.gone.pop_front();
            if self.entries.get(&id).is_some_and(|entry| entry.closed.is_some()) {
                self.entries.remove(&id);
            }
        }
    }
}
