//! Who left: connections that were closed, and whether their protocol's farewell had been said.

use crate::flow::Way;
use std::collections::VecDeque;
use wirelap_events::Pid;

/// Connections that are remembered.
const LIMIT: usize = 256;

/// A connection was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The process that closed it, or was ended.
    pub pid: Option<Pid>,
    /// Its protocol has a farewell, and none had been seen.
    pub is_abrupt: bool,
}

/// The last connections that were closed.
#[derive(Debug, Default)]
pub struct Departures(VecDeque<(usize, u64, Departure)>);

impl Departures {
    pub fn note(&mut self, way: Way, departure: Departure) {
        if self.0.len() >= LIMIT {
            self.0.pop_front();
        }
        self.0.push_back((way.index, way.serial, departure));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How the connection that `way` is of was closed; `None` if it was not, or too long ago.
    pub fn of(&self, way: Way) -> Option<Departure> {
        let mut last = self.0.iter().rev();
        last.find(|(index, serial, _)| (*index, *serial) == (way.index, way.serial)).map(|of| of.2)
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
        departures.note(way(3, Side::A), departure);
        assert_eq!(departures.of(way(3, Side::B)), Some(departure));
        assert_eq!(departures.of(way(4, Side::A)), None);
        (10..1_000).for_each(|serial| departures.note(way(serial, Side::A), departure));
        assert_eq!((departures.of(way(3, Side::B)), departures.0.len()), (None, LIMIT));
    }
}
