//! Times in which a server was gone: nobody listened at its address, or its process had ended and another one serves there since.

use arrayvec::ArrayVec;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use wirelap_events::{GroupId, Nanos, NetNs, Pid, ProcessEnd, Saturate};
use wirelap_limits::network::{CLOSES_WITH_PROCESS, LONGEST_RECONNECT_PAUSE};

/// Connections that servers closed, and outages, that are remembered.
const LIMIT: usize = 256;

/// Clients of a server that is gone that are named.
const NAMED_CLIENTS: usize = 4;

/// A server, by its address and the namespace that this is told by.
pub type ServerAt = (SocketAddr, NetNs);

/// A client: its process, or the host of one that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientOf {
    /// A process of this host.
    Process(Pid),
    /// A host.
    Host(IpAddr),
}

/// A connection that its server closed.
#[derive(Clone, Copy, Debug)]
pub struct ClosedByServer {
    /// The serial number of its conversation.
    pub serial: u64,
    /// The server that closed it.
    pub server: ServerAt,
    /// The server's process, if it is known.
    pub pid: Option<Pid>,
    /// The client at the other end.
    pub client: ClientOf,
    /// The row that it was of.
    pub row: Option<GroupId>,
}

/// A server that went while clients were connected to it.
#[derive(Clone, Debug, PartialEq)]
pub struct GoneServer {
    /// Time at which its process ended, or at which it had closed the last connection.
    pub at: Nanos,
    /// Address of the server.
    pub server: ServerAt,
    /// The row that its connections were of.
    pub row: Option<GroupId>,
    /// Process of the server, if it is known.
    pub pid: Option<Pid>,
    /// End of that process, if it was seen.
    pub end: Option<ProcessEnd>,
    /// The connections that ended with it.
    pub connections: u64,
    /// The clients of the first of these, each once.
    pub clients: ArrayVec<ClientOf, NAMED_CLIENTS>,
    /// Attempts to connect since that were refused.
    pub refused: u64,
    /// Time at which another process accepted a connection there, and that process.
    pub again: Option<(Nanos, Pid)>,
}

impl GoneServer {
    fn of(at: Nanos, closed: &ClosedByServer, end: Option<ProcessEnd>) -> GoneServer {
        GoneServer {
            at,
            server: closed.server,
            row: None,
            pid: closed.pid,
            end,
            connections: 0,
            clients: ArrayVec::new(),
            refused: 0,
            again: None,
        }
    }

    /// A connection ended with it.
    fn lose(&mut self, closed: &ClosedByServer) {
        self.connections.grow(1);
        self.row = self.row.or(closed.row);
        if !self.clients.contains(&closed.client) {
            // The first ones are enough.
            let _ = self.clients.try_push(closed.client);
        }
    }
}

/// A server was gone.
#[derive(Clone, Copy, Debug)]
struct Outage {
    server: ServerAt,
    from: Nanos,
    /// Time at which the first connection was opened again; `None` while there was none.
    until: Option<Nanos>,
}

/// The last outages, and the connections that ended with them.
#[derive(Debug, Default)]
pub struct Outages {
    /// Connections that servers closed, of which it is not known yet whether the server was gone.
    closed: VecDeque<(Nanos, ClosedByServer)>,
    all: VecDeque<Outage>,
    /// Processes that have had connections with clients of a server, and since when.
    serving: VecDeque<(Nanos, ServerAt, Pid)>,
    /// Connections that ended with an outage, and when that began.
    lost: VecDeque<(Nanos, ClosedByServer)>,
    /// The last processes that ended.
    ended: VecDeque<(Nanos, ProcessEnd)>,
    /// The servers that went while clients were connected to them.
    gone: VecDeque<GoneServer>,
}

impl Outages {
    /// True if no server was ever gone.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && self.gone.is_empty()
    }

    /// A server closed a connection. The kernel does so for a process that has ended.
    pub fn close(&mut self, at: Nanos, closed: ClosedByServer) {
        push(&mut self.closed, (at, closed));
        let ended = self.ended.iter().rev().find(|(_, end)| Some(end.task.pid) == closed.pid);
        if let Some(&(ended, end)) = ended.filter(|(ended, _)| at <= *ended + CLOSES_WITH_PROCESS) {
            self.gone_at(ended, &closed, Some(end)).lose(&closed);
        }
    }

    /// A process ends. One that closes its connections itself does so just before.
    pub fn end(&mut self, at: Nanos, end: ProcessEnd) {
        if self.has_ended_by(end.task.pid, at) {
            return;
        }
        push(&mut self.ended, (at, end));
        let its = |(closed, one): &&(Nanos, ClosedByServer)| {
            one.pid == Some(end.task.pid) && *closed + CLOSES_WITH_PROCESS >= at
        };
        let its: Vec<_> = self.closed.iter().filter(its).map(|(_, one)| *one).collect();
        for one in its {
            self.gone_at(at, &one, Some(end)).lose(&one);
        }
    }

    /// True if a process has ended by then.
    pub fn has_ended_by(&self, pid: Pid, at: Nanos) -> bool {
        self.ended.iter().any(|(ended, end)| end.task.pid == pid && *ended <= at)
    }

    /// The servers that went while clients were connected to them.
    pub fn gone(&self) -> impl Iterator<Item = &GoneServer> {
        self.gone.iter()
    }

    /// The server that closed this connection as one that is gone since `at`.
    fn gone_at(
        &mut self,
        at: Nanos,
        closed: &ClosedByServer,
        end: Option<ProcessEnd>,
    ) -> &mut GoneServer {
        let is_it =
            |one: &GoneServer| (one.server, one.pid, one.at) == (closed.server, closed.pid, at);
        let index = self.gone.iter().position(is_it).unwrap_or_else(|| {
            push(&mut self.gone, GoneServer::of(at, closed, end));
            self.gone.len().saturating_sub(1)
        });
        &mut self.gone[index]
    }

    /// The last time that a server at this address went.
    fn find_last_gone(&mut self, server: ServerAt) -> Option<&mut GoneServer> {
        self.gone.iter_mut().rev().find(|one| one.server == server)
    }

    /// Nobody listens at an address: an attempt to connect was refused.
    pub fn refuse(&mut self, server: ServerAt) {
        if self.open_at(server).is_none() {
            self.begin(server, |_| true);
            self.miss(server);
        }
        if let Some(gone) = self.find_last_gone(server).filter(|gone| gone.again.is_none()) {
            gone.refused.grow(1);
        }
    }

    /// A server that is gone since the last outage began, of whose process no end was seen.
    fn miss(&mut self, server: ServerAt) {
        let Some(from) = self.open_at(server).map(|outage| outage.from) else { return };
        if self.find_last_gone(server).is_some_and(|gone| gone.at + CLOSES_WITH_PROCESS >= from) {
            return;
        }
        let its: Vec<_> = self
            .lost
            .iter()
            .filter(|(began, one)| *began == from && one.server == server)
            .copied()
            .collect();
        for (_, one) in its {
            self.gone_at(from, &ClosedByServer { pid: None, ..one }, None).lose(&one);
        }
    }

    /// A connection with a server was opened at `at`, or before that is known, which this process has. `has_ended` tells which
    /// processes have no connection any more.
    pub fn accept(
        &mut self,
        at: Nanos,
        server: ServerAt,
        pid: Option<Pid>,
        has_ended: impl Fn(Pid) -> bool,
    ) {
        if let Some(pid) = pid
            && let Some(gone) = self.find_last_gone(server)
            && at > gone.at
            && gone.pid != Some(pid)
        {
            gone.again.get_or_insert((at, pid));
        }
        let began = pid.map(|pid| self.serves_since(at, server, pid));
        if let Some((began, pid)) = began.zip(pid)
            && self.open_at(server).is_none()
        {
            // Of several processes at one address, each may end while the others serve on.
            let mut before = self.serving.iter().filter(|one| one.1 == server && one.0 < began);
            if before.all(|one| has_ended(one.2)) {
                let is_other =
                    |old: Option<Pid>| old.is_some_and(|old| old != pid && has_ended(old));
                self.begin(server, |(closed, one)| closed < began && is_other(one.pid));
            }
        }
        if let Some(outage) = self.open_at(server)
            && at >= outage.from
        {
            outage.until = Some(at);
        }
        self.closed.retain(|(closed, one)| one.server != server || *closed >= at);
    }

    /// Since when a process has had a connection with clients of a server, with one that was opened at `at`.
    fn serves_since(&mut self, at: Nanos, server: ServerAt, pid: Pid) -> Nanos {
        let mut known = self.serving.iter_mut();
        if let Some(known) = known.find(|one| (one.1, one.2) == (server, pid)) {
            known.0 = known.0.min(at);
            return known.0;
        }
        push(&mut self.serving, (at, server, pid));
        at
    }

    /// A server that is gone, if it is known to be.
    fn open_at(&mut self, server: ServerAt) -> Option<&mut Outage> {
        self.all.iter_mut().rev().find(|one| one.server == server && one.until.is_none())
    }

    /// A server turns out to be gone, if it closed connections that `were_its_last`: since the last of these.
    fn begin(
        &mut self,
        server: ServerAt,
        were_its_last: impl Fn((Nanos, &ClosedByServer)) -> bool,
    ) {
        let is_its =
            |(at, one): &(Nanos, ClosedByServer)| one.server == server && were_its_last((*at, one));
        let its = self.closed.iter().filter(|one| is_its(one));
        let Some(from) = its.map(|(at, _)| *at).max() else { return };
        let is_lost =
            |one: &&(Nanos, ClosedByServer)| is_its(one) && one.0 + CLOSES_WITH_PROCESS >= from;
        let lost: Vec<_> = self.closed.iter().filter(is_lost).map(|(_, one)| *one).collect();
        for one in lost {
            push(&mut self.lost, (from, one));
        }
        self.closed.retain(|(at, one)| one.server != server || *at > from);
        push(&mut self.all, Outage { server, from, until: None });
    }

    /// True if the conversation with this serial number ended because its server was gone.
    pub fn has_ended(&self, serial: u64) -> bool {
        self.lost.iter().any(|(_, one)| one.serial == serial)
    }

    /// True if a client that connected at `at` came back then to a server whose end had closed its connection.
    pub fn has_returned(&self, at: Nanos, server: ServerAt, client: ClientOf) -> bool {
        let before = |one: &&Outage| one.server == server && one.from < at;
        let Some(outage) = self.all.iter().rev().find(before) else { return false };
        let is_soon = outage
            .until
            .is_none_or(|until| at <= until + LONGEST_RECONNECT_PAUSE.max(until - outage.from));
        let was_there = |(from, one): &(Nanos, ClosedByServer)| {
            *from == outage.from && one.server == server && one.client == client
        };
        is_soon && self.lost.iter().any(was_there)
    }

    /// True if a client that connected to a server at `at` had come from another one, which was gone and served nobody again until then: in a
    /// cluster, others do the work of one that is gone.
    pub fn has_moved(&self, at: Nanos, server: ServerAt, client: ClientOf) -> bool {
        self.gone.iter().any(|one| {
            let is_over = one.again.is_some_and(|(again, _)| again < at);
            let is_soon = one.at < at && at <= one.at + LONGEST_RECONNECT_PAUSE;
            one.server != server && is_soon && !is_over && one.clients.contains(&client)
        })
    }
}

/// Adds one in place of the oldest, if there are many.
fn push<T>(all: &mut VecDeque<T>, one: T) {
    if all.len() >= LIMIT {
        all.pop_front();
    }
    all.push_back(one);
}

#[cfg(test)]
mod tests;
