//! Times in which a server was gone: nobody listened at its address, or its process had ended and another one serves there since.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use wirelap_events::{Nanos, NetNs, Pid};

/// Connections that servers closed, and outages, that are remembered.
const LIMIT: usize = 256;

/// A kernel closes the sockets of a process that has ended within this time.
const TOGETHER: Nanos = Nanos::from_millis(1_000);

/// Clients come back within this time: the longest pause of their libraries between two attempts (librdkafka's
/// `reconnect.backoff.max.ms`). After a long outage it may take as long as that lasted, as the pauses grow with it.
const COME_BACK: Nanos = Nanos::from_millis(10_000);

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
}

impl Outages {
    /// True if no server was ever gone.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A server closed a connection.
    pub fn close(&mut self, at: Nanos, closed: ClosedByServer) {
        push(&mut self.closed, (at, closed));
    }

    /// Nobody listens at an address: an attempt to connect was refused.
    pub fn refuse(&mut self, server: ServerAt) {
        if self.open_at(server).is_none() {
            self.begin(server, |_| true);
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
        let is_lost = |one: &&(Nanos, ClosedByServer)| is_its(one) && one.0 + TOGETHER >= from;
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
        let is_soon =
            outage.until.is_none_or(|until| at <= until + COME_BACK.max(until - outage.from));
        let was_there = |(from, one): &(Nanos, ClosedByServer)| {
            *from == outage.from && one.server == server && one.client == client
        };
        is_soon && self.lost.iter().any(was_there)
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
mod tests {
    use super::*;

    const SERVER: u16 = 1883;

    fn server(port: u16) -> ServerAt {
        (SocketAddr::from(([127, 0, 0, 1], port)), NetNs(1))
    }

    fn closed(serial: u64, pid: u32, client: u32) -> ClosedByServer {
        let (pid, client) = (Some(Pid(pid)), ClientOf::Process(Pid(client)));
        ClosedByServer { serial, server: server(SERVER), pid, client }
    }

    /// A server of process 10 has closed the connections of clients 30 at 1,000 s and 31 at 1,010 s.
    fn two_closed() -> Outages {
        let mut outages = Outages::default();
        outages.close(s(1_000), closed(1, 10, 30));
        outages.close(s(1_010), closed(2, 10, 31));
        outages
    }

    fn s(seconds: u64) -> Nanos {
        Nanos::from_millis(seconds * 1_000)
    }

    fn returned(outages: &Outages, at: u64, client: u32) -> bool {
        outages.has_returned(s(at), server(SERVER), ClientOf::Process(Pid(client)))
    }

    #[test]
    fn a_server_that_refuses_is_gone_with_the_connections_that_ended_then() {
        let mut outages = two_closed();
        outages.refuse(server(80));
        assert!(outages.is_empty(), "another server");
        outages.refuse(server(SERVER));
        assert!(!outages.has_ended(1), "it was closed ten seconds before");
        assert!(outages.has_ended(2));
        outages.accept(s(1_050), server(SERVER), None, |_| false);
        assert!(returned(&outages, 1_050, 31) && returned(&outages, 1_090, 31));
        assert!(!returned(&outages, 1_091, 31), "longer than it was gone");
        assert!(!returned(&outages, 1_050, 30) && !returned(&outages, 1_005, 31));
    }

    #[test]
    fn another_process_serves_once_the_first_has_ended() {
        for (pid, has_ended, is_gone) in [
            (Some(11), true, true),
            (Some(11), false, false),
            (Some(10), true, false),
            (None, true, false),
        ] {
            let mut outages = two_closed();
            outages.accept(s(1_011), server(SERVER), pid.map(Pid), |_| has_ended);
            assert_eq!(outages.has_ended(2), is_gone, "{pid:?}");
            assert_eq!(returned(&outages, 1_012, 31), is_gone, "{pid:?}");
        }
    }

    #[test]
    fn of_several_processes_one_may_end_and_be_replaced() {
        for (others_end, is_gone) in [(false, false), (true, true)] {
            let mut outages = Outages::default();
            let has_ended = |pid: Pid| pid == Pid(10) || others_end && pid == Pid(11);
            outages.accept(s(1), server(SERVER), Some(Pid(10)), has_ended);
            outages.accept(s(2), server(SERVER), Some(Pid(11)), has_ended);
            outages.close(s(3), closed(1, 10, 30));
            outages.accept(s(4), server(SERVER), Some(Pid(12)), has_ended);
            assert_eq!(outages.has_ended(1), is_gone);
        }
        // One that had served before the other ended.
        let mut outages = Outages::default();
        outages.accept(s(2), server(SERVER), Some(Pid(11)), |_| false);
        outages.close(s(3), closed(1, 10, 30));
        outages.accept(s(4), server(SERVER), Some(Pid(11)), |pid| pid == Pid(10));
        assert!(outages.is_empty());
    }

    #[test]
    fn who_is_refused_a_server_that_closed_nothing_says_nothing() {
        let mut outages = Outages::default();
        outages.refuse(server(SERVER));
        outages.accept(s(1), server(SERVER), Some(Pid(10)), |_| true);
        assert!(outages.is_empty());
    }

    #[test]
    fn what_was_closed_before_a_sign_of_life_was_closed_for_itself() {
        let mut outages = two_closed();
        outages.accept(s(1_020), server(SERVER), Some(Pid(10)), |_| false);
        outages.refuse(server(SERVER));
        assert!(outages.is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let mut outages = Outages::default();
        for n in 0..10_000 {
            outages.close(s(n), closed(n, 10, 30));
            if n % 3 == 0 {
                outages.refuse(server(SERVER));
                outages.accept(s(n), server(SERVER), Some(Pid(10)), |_| false);
            }
        }
        let most = outages.all.len().max(outages.closed.len()).max(outages.lost.len());
        let most = most.max(outages.serving.len());
        assert!(most <= LIMIT, "{most}");
    }
}
