//! Connections that a server closed because a client with the same name connected.
//!
//! ```text
//! client 1   CONNECT "x" ──▶ server
//! client 2   CONNECT "x" ──▶ server ──▶ closes the connection of client 1, which has done nothing to that end
//! client 1   CONNECT "x" ──▶ server ──▶ closes the connection of client 2: client 1 has taken the name back
//! ```
//!
//! Before version 5 of MQTT, only this order tells of it (MQTT 3.1.1, MQTT-3.1.4-2).

use super::outages::{ClientOf, ServerAt};
use crate::ids::Direction;
use arrayvec::ArrayVec;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use wirelap_events::{GroupId, Nanos, Pid, Saturate, TopicId};
use wirelap_limits::network::CLOSES_NAMESAKE;

/// Names whose connections are remembered.
const MAX_NAMES: usize = 65_536;

/// Open connections of one name: several servers may have a client of that name.
const MAX_NAMESAKES: usize = 4;

/// Connections that are perhaps closed soon, and names that were taken over.
const LIMIT: usize = 256;

/// Clients of a name that are told of.
const MAX_CLIENTS: usize = 4;

/// A connection of a client with a name.
#[derive(Clone, Copy, Debug)]
pub struct NamedConnection {
    /// The direction in which the client sends.
    pub direction: Direction,
    /// The server.
    pub server: ServerAt,
    /// The server's process, if it is known.
    pub pid: Option<Pid>,
    /// The client.
    pub client: ClientOf,
    /// True if it has subscribed or was sent a message.
    pub subscribes: bool,
}

impl NamedConnection {
    fn has_server_of(&self, other: &NamedConnection) -> bool {
        match (self.pid, other.pid) {
            (Some(one), Some(other)) => one == other,
            _ => self.server == other.server,
        }
    }
}

/// A name that several connections have had at the same time, of which the server closed the older one each time.
#[derive(Clone, Debug, PartialEq)]
pub struct Takeover {
    /// The client's name.
    pub name: TopicId,
    /// Address of the server.
    pub server: ServerAt,
    /// The row that its connections are of.
    pub row: Option<GroupId>,
    /// Number of connections that were closed.
    pub times: u64,
    /// Number of times that a client which had lost the name took it back.
    pub taken_back: u64,
    /// The first clients that had such connections, each once.
    pub clients: ArrayVec<ClientOf, MAX_CLIENTS>,
    /// True if a client of the name subscribes, and so misses messages or gets them later.
    pub subscribes: bool,
    /// Time at which the first connection was closed.
    pub first: Nanos,
    /// Time at which the last connection was closed.
    pub last: Nanos,
    /// Clients that have lost the name.
    losers: ArrayVec<ClientOf, MAX_CLIENTS>,
}

/// The last names that were taken over, and the connections of which that is known sooner or later.
#[derive(Debug, Default)]
pub struct Takeovers {
    open: FxHashMap<TopicId, ArrayVec<Direction, MAX_NAMESAKES>>,
    /// Connections whose name another one has since that time.
    rivals: VecDeque<(Nanos, [Direction; 2])>,
    all: VecDeque<Takeover>,
}

impl Takeovers {
    /// A client says its name on a connection.
    pub fn connect(&mut self, at: Nanos, name: TopicId, direction: Direction) {
        if self.open.len() >= MAX_NAMES && !self.open.contains_key(&name) {
            return;
        }
        let open = self.open.entry(name).or_default();
        if open.contains(&direction) {
            return;
        }
        for &older in open.iter() {
            if self.rivals.len() >= LIMIT {
                self.rivals.pop_front();
            }
            self.rivals.push_back((at, [older, direction]));
        }
        if open.is_full() {
            open.remove(0);
        }
        open.push(direction);
    }

    /// A connection of a client with this name ends. Returns the connections that may have taken the name from it, if its `server` closed it.
    pub fn end(
        &mut self,
        at: Nanos,
        name: TopicId,
        direction: Direction,
        is_by_server: bool,
    ) -> ArrayVec<Direction, MAX_NAMESAKES> {
        if let Some(open) = self.open.get_mut(&name) {
            open.retain(|one| *one != direction);
            if open.is_empty() {
                self.open.remove(&name);
            }
        }
        let mut takers = ArrayVec::new();
        self.rivals.retain(|(since, [older, newer])| {
            if *older == direction && is_by_server && at <= *since + CLOSES_NAMESAKE {
                // The first ones are enough.
                let _ = takers.try_push(*newer);
            }
            ![older, newer].contains(&&direction) && at <= *since + CLOSES_NAMESAKE
        });
        takers
    }

    /// The connection `old` was closed at `at` while `new` had the same name.
    pub fn take(
        &mut self,
        at: Nanos,
        (name, row): (TopicId, Option<GroupId>),
        old: &NamedConnection,
        new: &NamedConnection,
    ) {
        if !old.has_server_of(new) {
            return;
        }
        let known = self.all.iter().position(|one| (one.name, one.server) == (name, old.server));
        let index = known.unwrap_or_else(|| {
            if self.all.len() >= LIMIT {
                self.all.pop_front();
            }
            self.all.push_back(Takeover {
                name,
                server: old.server,
                row,
                times: 0,
                taken_back: 0,
                clients: ArrayVec::new(),
                subscribes: false,
                first: at,
                last: at,
                losers: ArrayVec::new(),
            });
            self.all.len().saturating_sub(1)
        });
        let one = &mut self.all[index];
        one.row = row.or(one.row);
        one.times.grow(1);
        one.last = at;
        one.subscribes |= old.subscribes || new.subscribes;
        one.taken_back.grow(u64::from(one.losers.contains(&new.client)));
        push_once(&mut one.losers, old.client);
        push_once(&mut one.clients, old.client);
        push_once(&mut one.clients, new.client);
    }

    /// The names that were taken over.
    pub fn iter(&self) -> impl Iterator<Item = &Takeover> {
        self.all.iter()
    }
}

/// Adds a client that is not among the first ones yet, which are enough.
fn push_once(clients: &mut ArrayVec<ClientOf, MAX_CLIENTS>, client: ClientOf) {
    if !clients.contains(&client) {
        let _ = clients.try_push(client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::NetNs;
    use wirelap_protocols::Side;

    const NAME: TopicId = TopicId(7);

    fn way(serial: u64) -> Direction {
        Direction { index: 1, serial, side: Side::A }
    }

    fn connection(serial: u64, client: u32, server: u32) -> NamedConnection {
        NamedConnection {
            direction: way(serial),
            server: (([127, 0, 0, 1], 1883).into(), NetNs(1)),
            pid: Some(Pid(server)),
            client: ClientOf::Process(Pid(client)),
            subscribes: true,
        }
    }

    /// Two clients, 20 and 21, of which each takes the name from the other one so often.
    fn flapping(times: u64) -> Takeovers {
        let mut all = Takeovers::default();
        for n in 0..=times {
            let at = Nanos::from_millis(1_000 * n);
            all.connect(at, NAME, way(n));
            let Some(before) = n.checked_sub(1) else { continue };
            let closed = at + Nanos::from_millis(1);
            let takers = all.end(closed, NAME, way(before), true);
            assert_eq!(takers[..], [way(n)]);
            let client = |n: u64| 20 + u32::try_from(n % 2).unwrap();
            let (old, new) = (connection(before, client(before), 10), connection(n, client(n), 10));
            all.take(closed, (NAME, None), &old, &new);
        }
        all
    }

    #[test]
    fn clients_that_take_a_name_from_each_other_are_told_together() {
        let all = flapping(5);
        let [one] = all.iter().collect::<Vec<_>>()[..] else { panic!() };
        assert_eq!((one.times, one.taken_back), (5, 4));
        assert_eq!(one.clients[..], [20, 21].map(|pid| ClientOf::Process(Pid(pid))));
        assert_eq!((one.first, one.last), (Nanos(1_001_000_000), Nanos(5_001_000_000)));
        assert_eq!(flapping(1).iter().map(|one| one.taken_back).sum::<u64>(), 0);
    }

    #[test]
    fn what_its_client_or_time_has_closed_was_taken_by_nobody() {
        let ends = |at: u64, by_server: bool| {
            let mut all = Takeovers::default();
            all.connect(Nanos(0), NAME, way(1));
            all.connect(Nanos(1), NAME, way(2));
            all.end(Nanos::from_millis(at), NAME, way(1), by_server).len()
        };
        assert_eq!([ends(1, true), ends(1, false), ends(2_000, true)], [1, 0, 0]);
        let mut all = Takeovers::default();
        all.connect(Nanos(0), NAME, way(1));
        all.end(Nanos(1), NAME, way(1), true);
        all.connect(Nanos(2), NAME, way(2));
        assert!(all.end(Nanos(3), NAME, way(2), true).is_empty(), "the first one was gone");
    }

    #[test]
    fn a_name_at_another_server_is_another_one() {
        let mut all = Takeovers::default();
        all.take(Nanos(1), (NAME, None), &connection(1, 20, 10), &connection(2, 21, 11));
        assert_eq!(all.iter().count(), 0);
    }

    #[test]
    fn memory_is_bounded() {
        let mut all = Takeovers::default();
        for n in 0..100_000_u32 {
            let at = Nanos(n.into());
            all.connect(at, TopicId(n / 8), way(n.into()));
            let (old, new) = (connection(1, n, 10), connection(2, n + 1, 10));
            all.take(at, (TopicId(n), None), &old, &new);
        }
        assert!(all.open.len() <= MAX_NAMES && all.rivals.len() <= LIMIT && all.all.len() <= LIMIT);
    }
}
