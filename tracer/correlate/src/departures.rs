//! Who left: connections that were closed, and whether their protocol's farewell had been said.

use crate::flow::Way;
use std::collections::VecDeque;
use wirelap_events::Pid;

/// Connections that are remembered.
const LIMIT: usize = 256;

/// A connection was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The process that had read from it.
    pub pid: Option<Pid>,
    /// Its protocol has a farewell, and none had been seen.
    pub is_abrupt: bool,
}

/// The last connections that were closed.
#[derive(Debug, Default)]
pub struct Departures(VecDeque<(usize, u64, bool)>);

impl Departures {
    /// The conversation of `way` ends.
    pub fn note(&mut self, way: Way, is_abrupt: bool) {
        if self.0.len() >= LIMIT {
            self.0.pop_front();
        }
        self.0.push_back((way.index, way.serial, is_abrupt));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How the connection that a process read from was closed; `None` if it was not, or too long ago.
    pub fn of(&self, (way, pid): (Way, Option<Pid>)) -> Option<Departure> {
        let mut last = self.0.iter().rev();
        let found = last.find(|(index, serial, _)| (*index, *serial) == (way.index, way.serial));
        found.map(|&(_, _, is_abrupt)| Departure { pid, is_abrupt })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_protocols::Side;

    #[test]
    fn a_connection_is_found_by_either_way() {
        let way = |serial, side| Way { index: 1, serial, side };
        let mut departures = Departures::default();
        let departure = Departure { pid: Some(Pid(7)), is_abrupt: true };
        departures.note(way(3, Side::A), true);
        assert_eq!(departures.of((way(3, Side::B), Some(Pid(7)))), Some(departure));
        assert_eq!(departures.of((way(4, Side::A), None)), None);
        (10..1_000).for_each(|serial| departures.note(way(serial, Side::A), false));
        assert_eq!((departures.of((way(3, Side::B), None)), departures.0.len()), (None, LIMIT));
    }
}
