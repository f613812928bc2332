//! Connections that were closed, and whether their protocol's farewell had been said.

use crate::ids::Direction;
use std::collections::VecDeque;
use wirelap_events::Pid;

/// Connections that are remembered.
const LIMIT: usize = 256;

/// A connection was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosedConnection {
    /// The process that had read from it.
    pub pid: Option<Pid>,
    /// Its protocol has a farewell, and none had been seen.
    pub is_abrupt: bool,
}

/// The last connections that were closed.
#[derive(Debug, Default)]
pub struct ClosedConnections(VecDeque<(usize, u64, bool)>);

impl ClosedConnections {
    /// The conversation of `direction` ends.
    pub fn note(&mut self, direction: Direction, is_abrupt: bool) {
        if self.0.len() >= LIMIT {
            self.0.pop_front();
        }
        self.0.push_back((direction.index, direction.serial, is_abrupt));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How the connection that a process read from was closed; `None` if it was not, or too long ago.
    pub fn of(&self, (direction, pid): (Direction, Option<Pid>)) -> Option<ClosedConnection> {
        let mut last = self.0.iter().rev();
        let found = last
            .find(|(index, serial, _)| (*index, *serial) == (direction.index, direction.serial));
        found.map(|&(_, _, is_abrupt)| ClosedConnection { pid, is_abrupt })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_protocols::Side;

    #[test]
    fn a_connection_is_found_by_either_way() {
        let direction = |serial, side| Direction { index: 1, serial, side };
        let mut closed = ClosedConnections::default();
        let connection = ClosedConnection { pid: Some(Pid(7)), is_abrupt: true };
        closed.note(direction(3, Side::A), true);
        assert_eq!(closed.of((direction(3, Side::B), Some(Pid(7)))), Some(connection));
        assert_eq!(closed.of((direction(4, Side::A), None)), None);
        (10..1_000).for_each(|serial| closed.note(direction(serial, Side::A), false));
        assert_eq!((closed.of((direction(3, Side::B), None)), closed.0.len()), (None, LIMIT));
    }
}
