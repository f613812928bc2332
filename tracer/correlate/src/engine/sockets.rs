//! Sockets and the processes that own them.

use super::coverage::Reported;
use arrayvec::ArrayVec;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use wirelap_events::{Comm, Nanos, NetNs, Pid, Saturate, Socket, SocketId, TaskId, Tid, Transport};
use wirelap_flow::{Chain, Direction, Sending};

/// Datagrams that are remembered as sent or received by one socket, to be joined with its calls.
const DATAGRAMS: usize = 4096;

/// Times that a socket is seen to go to another process. One that several use at once has the first of them.
const HANDED: u8 = 2;

/// Sockets at one port that are told apart; with more, as with two, it is not known for which a datagram is.
const SHARERS: usize = 4;

/// Send calls that are remembered of one UDP socket: a datagram may leave the qdisc after its call.
const CALLS: usize = 8;

/// The newest datagrams of a socket, among which one is that came in and is ready now.
const NEWEST: usize = 64;

/// Processes that came into view between two ticks; where those beyond run is not read.
const ARRIVED: usize = 4096;

/// A read of which it is not known what it took.
#[derive(Clone, Debug)]
pub struct UnresolvedRead {
    pub at: Nanos,
    pub task: TaskId,
    pub len: u32,
    /// Wakeups that led to the read.
    pub led: Chain,
    /// Time at which the queue was empty before, or 0.
    pub since: Nanos,
}

/// A datagram on its way out.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    pub direction: Direction,
    pub number: u64,
    pub tid: Tid,
    /// Time at which it was queued, or else handed to the device.
    pub left: Nanos,
}

/// A UDP send call.
#[derive(Clone, Debug)]
pub struct Call {
    pub sending: Sending,
    pub left: Nanos,
    /// Wakeups that led to the call.
    pub led: Chain,
}

impl Call {
    /// True if a packet that left at `at` left within the call.
    pub fn spans(&self, at: Nanos) -> bool {
        self.sending.entered.is_some_and(|entered| entered <= at) && at <= self.left
    }
}

/// A socket.
#[derive(Debug)]
pub struct SocketEntry {
    /// The socket's owner; 0 until a thread of it is seen.
    pub pid: Pid,
    pub netns: NetNs,
    /// Number of times that another process has taken it over.
    handed: u8,
    /// The direction in which it sends, when it has one peer.
    pub tx: Option<Direction>,
    /// UDP: its port, and what was sent and came in there.
    udp: Option<Box<Datagrams>>,
    /// Time at which it was closed.
    pub closed: Option<Nanos>,
    /// Until then what it does is not looked at, because the user has muted the rows that it is of.
    pub muted_until: Nanos,
}

impl SocketEntry {
    /// The datagrams that were sent and came in, for UDP, if there were any.
    pub fn udp(&self) -> Option<&Datagrams> {
        self.udp.as_deref()
    }

    /// The datagrams that were sent and came in, for UDP, to be changed.
    pub fn datagrams(&mut self) -> &mut Datagrams {
        self.udp.get_or_insert_default()
    }
}

/// Datagrams of a UDP socket that are remembered.
#[derive(Debug, Default)]
pub struct Datagrams {
    port: u16,
    /// Datagrams that came for it and were not seen to be read.
    pub inbox: VecDeque<(Direction, u64)>,
    /// Datagrams that no send call was found for yet.
    pub outbox: VecDeque<Outgoing>,
    /// The last send calls.
    pub calls: VecDeque<Call>,
    /// Reads of which it is not known yet what they took.
    pub unresolved: VecDeque<UnresolvedRead>,
    /// Whatever it may read next came while this held, and is in `inbox`.
    pub complete: Option<Reported>,
    /// Time at which the queue was seen to be empty, or 0.
    pub emptied: Nanos,
    /// True if it was alone at its port when it was closed.
    was_alone: bool,
}

impl Datagrams {
    pub fn put_in(&mut self, direction: Direction, number: u64) {
        if self.inbox.iter().rev().take(NEWEST).any(|&known| known == (direction, number)) {
            return;
        }
        if self.inbox.len() >= DATAGRAMS {
            self.inbox.pop_front();
            // It may be what is read next.
            self.complete = None;
        }
        self.inbox.push_back((direction, number));
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
    entries: FxHashMap<SocketId, SocketEntry>,
    /// Sockets that were closed, and when.
    gone: VecDeque<(Nanos, SocketId)>,
    /// Number of sockets that each process has open.
    open: FxHashMap<Pid, u32>,
    /// Open UDP sockets by port.
    ports: FxHashMap<(NetNs, u16), ArrayVec<SocketId, SHARERS>>,
    names: FxHashMap<Pid, Comm>,
    /// Processes whose name is not known yet.
    nameless: Vec<Pid>,
    /// Processes that came into view, with the namespace of their socket, since these were taken.
    arrived: Vec<(Pid, NetNs)>,
    /// Counts what was learned about owners.
    pub learned: u64,
    /// Sockets that were forgotten.
    forgotten: u64,
}

/// Sockets and names kept at once. Far above any host's traced sockets; reached only by churn that is
/// faster than the sweep.
const LIMIT: usize = 262_144;

impl Sockets {
    pub fn add(&mut self, socket: &Socket, tx: Option<Direction>) {
        if self.entries.len() >= LIMIT {
            self.sweep(Nanos(u64::MAX));
        }
        if self.entries.len() >= LIMIT {
            return;
        }
        let pid = socket.task.pid;
        let udp = (socket.transport == Transport::Udp)
            .then(|| Box::new(Datagrams { port: socket.local.port(), ..Datagrams::default() }));
        let entry = SocketEntry {
            pid,
            netns: socket.netns,
            handed: 0,
            tx,
            udp,
            closed: None,
            muted_until: Nanos(0),
        };
        let before = self.entries.insert(socket.id, entry).filter(|one| one.closed.is_none());
        self.count_move(before.map(|before| before.pid), Some(pid));
        if socket.transport == Transport::Udp {
            let at = self.ports.entry((socket.netns, socket.local.port())).or_default();
            if !at.is_full() && !at.contains(&socket.id) {
                at.push(socket.id);
            }
        }
        self.learned.grow(1);
        if pid != Pid(0) && self.names.len() < LIMIT {
            // A process of another name has the number of one that has ended, or has begun another program.
            if self.names.insert(pid, socket.comm) != Some(socket.comm) {
                self.arrive(pid, socket.netns);
            }
        }
    }

    /// An open socket is not of one process any more, and of another one from now on.
    fn count_move(&mut self, from: Option<Pid>, to: Option<Pid>) {
        let is_known = |pid: &Pid| *pid != Pid(0);
        if let Some(from) = from.filter(is_known)
            && let Some(count) = self.open.get_mut(&from)
        {
            count.shrink(1);
            if *count == 0 {
                self.open.remove(&from);
            }
        }
        if let Some(to) = to.filter(is_known) {
            self.open.entry(to).or_default().grow(1);
        }
    }

    /// True if a process has an open socket here.
    pub fn has_open(&self, pid: Pid) -> bool {
        self.open.contains_key(&pid)
    }

    fn arrive(&mut self, pid: Pid, netns: NetNs) {
        if self.arrived.len() < ARRIVED {
            self.arrived.push((pid, netns));
        }
    }

    /// The processes that came into view since the last call, with the namespace of a socket of each.
    pub fn take_arrived(&mut self) -> Vec<(Pid, NetNs)> {
        std::mem::take(&mut self.arrived)
    }

    /// True if this socket is known and open: what announces it once more says nothing new.
    pub fn is_open(&self, id: SocketId) -> bool {
        self.entries.get(&id).is_some_and(|entry| entry.closed.is_none())
    }

    /// Grows when anything may be known of a socket that was not, or the other way round.
    pub fn version(&self) -> u64 {
        self.learned.saturating_add(self.forgotten)
    }

    pub fn get(&self, id: SocketId) -> Option<&SocketEntry> {
        self.entries.get(&id)
    }

    pub fn get_mut(&mut self, id: SocketId) -> Option<&mut SocketEntry> {
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
            let before = std::mem::replace(&mut entry.pid, task.pid);
            let (netns, is_open) = (entry.netns, entry.closed.is_none());
            self.learned.grow(1);
            if is_open {
                self.count_move(Some(before), Some(task.pid));
            }
            if !self.names.contains_key(&task.pid) {
                self.arrive(task.pid, netns);
                if self.nameless.len() < CALLS * CALLS {
                    self.nameless.push(task.pid);
                }
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

    /// True if a socket went from one process to another.
    pub fn was_handed_over(&self, id: SocketId) -> bool {
        self.entries.get(&id).is_some_and(|entry| entry.handed > 0)
    }

    /// The name of a process of which no socket and no thread has told it. Its main thread may sleep for ever.
    pub fn call(&mut self, pid: Pid, comm: Comm) {
        self.nameless.retain(|&nameless| nameless != pid);
        if self.names.len() < LIMIT {
            self.names.entry(pid).or_insert(comm);
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

    /// The UDP socket that all datagrams to a port are for: there is no other.
    pub fn only_at(&self, netns: NetNs, port: u16) -> Option<SocketId> {
        match self.ports.get(&(netns, port))?.as_slice() {
            &[only] => Some(only),
            _ => None,
        }
    }

    /// True if all datagrams to its port are for this socket, or were until it was closed.
    pub fn has_port_alone(&self, id: SocketId) -> bool {
        self.get(id).is_some_and(|entry| match &entry.udp {
            Some(udp) if entry.closed.is_some() => udp.was_alone,
            Some(udp) => self.only_at(entry.netns, udp.port) == Some(id),
            None => false,
        })
    }

    /// A socket is closed. Returns what it sends.
    pub fn close(&mut self, id: SocketId, at: Nanos) -> Option<Direction> {
        let is_alone = self.has_port_alone(id);
        let entry = self.entries.get_mut(&id)?;
        if let Some(udp) = &mut entry.udp {
            udp.was_alone = is_alone;
        }
        let place = entry.udp.as_ref().map(|udp| (entry.netns, udp.port));
        if let Some(place) = place
            && let Some(sharers) = self.ports.get_mut(&place)
        {
            sharers.retain(|&mut sharer| sharer != id);
            if sharers.is_empty() {
                self.ports.remove(&place);
            }
        }
        let (tx, pid) = (entry.tx, entry.pid);
        if entry.closed.replace(at).is_none() {
            self.gone.push_back((at, id));
            self.count_move(Some(pid), None);
        }
        tx
    }

    /// Forgets what is open on a host of which nothing is seen any more.
    pub fn lose_host(&mut self, at: Nanos, host: u8) {
        let there = self.entries.keys().filter(|id| id.host() == host);
        let there: Vec<SocketId> = there.copied().collect();
        for id in there {
            self.close(id, at);
        }
    }

    /// Stops looking at these sockets.
    pub fn mute(&mut self, sockets: &[SocketId]) {
        for socket in sockets {
            if let Some(entry) = self.entries.get_mut(socket) {
                entry.muted_until = Nanos(u64::MAX);
            }
        }
    }

    /// True if a socket is not looked at at the time `at`, because the user has muted the rows that it is of.
    pub fn is_muted(&self, id: SocketId, at: Nanos) -> bool {
        self.get(id).is_some_and(|entry| at < entry.muted_until)
    }

    /// Looks at sockets again from `at` on, except those in `still`. The datagrams in their queues by then are not known.
    pub fn unmute_except(&mut self, still: &FxHashSet<SocketId>, at: Nanos) {
        let muted = self
            .entries
            .iter_mut()
            .filter(|(id, entry)| entry.muted_until == Nanos(u64::MAX) && !still.contains(id));
        for (_, entry) in muted {
            entry.muted_until = at;
            if let Some(udp) = &mut entry.udp {
                **udp =
                    Datagrams { port: udp.port, was_alone: udp.was_alone, ..Datagrams::default() };
            }
        }
    }

    /// Forgets sockets that were closed before `limit`.
    pub fn sweep(&mut self, limit: Nanos) {
        while let Some(&(at, id)) = self.gone.front()
            && at < limit
        {
            self.gone.pop_front();
            if self.entries.get(&id).is_some_and(|entry| entry.closed.is_some()) {
                self.entries.remove(&id);
                self.forgotten.grow(1);
            }
        }
    }
}
