//! Connections that were closed, by which end, and whether their protocol's farewell had been said.

use crate::ids::Direction;
use std::collections::VecDeque;
use wirelap_events::{Nanos, Pid};
use wirelap_protocols::Side;

/// Connections that are remembered.
const LIMIT: usize = 256;

/// The end of a connection that closed it. Where several were closed, the last one in this order is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClosedBy {
    /// The end that reads from it: a subscriber.
    #[default]
    Reader,
    /// The other end: a subscriber's broker, which goes on as far as is known.
    Server,
    /// The other end, which was gone itself: nobody listened at its address then, or another process has served there since.
    EndOfServer,
    /// Neither end: it was reset for the other one, while the socket that reads from it is open.
    Between,
}

/// A connection was closed, or its reader unsubscribed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosedConnection {
    /// The process that had read from it.
    pub pid: Option<Pid>,
    /// True if the protocol has a farewell, and none had been seen.
    pub is_abrupt: bool,
    /// The end that closed the connection.
    pub by: ClosedBy,
    /// Time at which the process had last unsubscribed from something.
    pub unsubscribed: Option<Nanos>,
    /// The time until which the server keeps what comes for its client in a session, if it does.
    pub session_until: Option<Nanos>,
}

impl ClosedConnection {
    /// True if the server goes on with the session of whoever read from the connection, and keeps messages in it at `now`.
    pub fn keeps_session(&self, now: Nanos) -> bool {
        self.session_until.is_some_and(|until| now < until)
            && self.unsubscribed.is_none()
            && self.by != ClosedBy::EndOfServer
    }
}

/// The last connections that were closed.
#[derive(Debug, Default)]
pub struct ClosedConnections(VecDeque<Closing>);

/// The end of a conversation.
#[derive(Clone, Copy, Debug)]
struct Closing {
    index: usize,
    serial: u64,
    is_abrupt: bool,
    /// The side that closed it.
    by: Side,
    /// Times at which each side had last unsubscribed from something.
    unsubscribed: [Option<Nanos>; 2],
    /// The time until which the server keeps what comes for its client.
    session_until: Option<Nanos>,
}

impl ClosedConnections {
    /// The conversation of `direction` ends, and its sender closed it. Each side had unsubscribed from something then, and the server goes
    /// on with its client's session for some time or not.
    pub fn note(
        &mut self,
        direction: Direction,
        is_abrupt: bool,
        unsubscribed: [Option<Nanos>; 2],
        session_until: Option<Nanos>,
    ) {
        if self.0.len() >= LIMIT {
            self.0.pop_front();
        }
        let Direction { index, serial, side: by } = direction;
        self.0.push_back(Closing { index, serial, is_abrupt, by, unsubscribed, session_until });
    }

    /// True if no connection is remembered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The way in which the connection that a process read from was closed; `None` if it was not, or too long ago. It does not tell
    /// whether a server that closed it was gone.
    pub fn of(&self, (direction, pid): (Direction, Option<Pid>)) -> Option<ClosedConnection> {
        let mut last = self.0.iter().rev();
        let found =
            last.find(|one| (one.index, one.serial) == (direction.index, direction.serial))?;
        let by = if found.by == direction.side { ClosedBy::Server } else { ClosedBy::Reader };
        let (is_abrupt, unsubscribed) =
            (found.is_abrupt, found.unsubscribed[direction.back().side as usize]);
        let session_until = found.session_until;
        Some(ClosedConnection { pid, is_abrupt, by, unsubscribed, session_until })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_found_by_either_way() {
        let direction = |serial, side| Direction { index: 1, serial, side };
        let mut closed = ClosedConnections::default();
        let closed_by = |by, unsubscribed| {
            let (pid, session_until) = (Some(Pid(7)), Some(Nanos(9)));
            Some(ClosedConnection { pid, is_abrupt: true, by, unsubscribed, session_until })
        };
        closed.note(direction(3, Side::A), true, [None, Some(Nanos(2))], Some(Nanos(9)));
        let of = |side| closed.of((direction(3, side), Some(Pid(7))));
        assert_eq!(of(Side::B), closed_by(ClosedBy::Reader, None));
        assert_eq!(of(Side::A), closed_by(ClosedBy::Server, Some(Nanos(2))));
        assert_eq!(closed.of((direction(4, Side::A), None)), None);
        (10..1_000)
            .for_each(|serial| closed.note(direction(serial, Side::A), false, [None; 2], None));
        assert_eq!((closed.of((direction(3, Side::B), None)), closed.0.len()), (None, LIMIT));
    }

    #[test]
    fn a_session_lasts_until_its_time_or_its_server_ends() {
        let keeps = |by, unsubscribed, now| {
            let session_until = Some(Nanos(9));
            ClosedConnection { pid: None, is_abrupt: true, by, unsubscribed, session_until }
                .keeps_session(now)
        };
        assert!(keeps(ClosedBy::Reader, None, Nanos(8)));
        assert!(keeps(ClosedBy::Server, None, Nanos(8)));
        assert!(!keeps(ClosedBy::EndOfServer, None, Nanos(8)));
        assert!(!keeps(ClosedBy::Reader, None, Nanos(9)));
        assert!(!keeps(ClosedBy::Reader, Some(Nanos(1)), Nanos(8)));
    }
}
