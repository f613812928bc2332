//! Places in a server's log, which tell equal messages apart.

use crate::ids::LegKey;
use std::collections::VecDeque;
use wirelap_events::Saturate;
use wirelap_protocols::{LogPlace, Side};

/// The most messages of a flow that wait for their places; then the first is forgotten. A Kafka producer has five batches of 1 MB in
/// flight by default.
const MAX_AWAITED: usize = 32_768;

/// The place of a message in a log, as its decoder tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FoundPlace {
    /// Nothing.
    #[default]
    Unknown,
    /// The message has this place.
    At(LogPlace),
    /// The message has this place, and nothing else tells which message it is.
    Only(LogPlace),
    /// The message's receiver will give it a place, and name the message by this number.
    Awaited(u64),
}

impl FoundPlace {
    /// The place, if it is known.
    pub fn known(self) -> Option<LogPlace> {
        match self {
            FoundPlace::At(place) | FoundPlace::Only(place) => Some(place),
            _ => None,
        }
    }
}

/// Successive messages that a server has given places, or not stored.
#[derive(Clone, Copy, Debug)]
pub struct GivenPlaces {
    /// The server's end.
    pub side: Side,
    /// The number of the first message.
    pub first: u64,
    /// Number of messages.
    pub count: u64,
    /// The place of the first one; `None` if they were not stored.
    pub place: Option<LogPlace>,
}

/// The legs of one flow whose messages wait for their places, in the order of their numbers.
#[derive(Debug, Default)]
pub struct AwaitedPlaces(VecDeque<(u64, Option<LegKey>)>);

impl AwaitedPlaces {
    /// Adds the leg of the message with this number.
    pub fn push(&mut self, number: u64, leg: LegKey) {
        if self.0.len() >= MAX_AWAITED {
            self.0.pop_front();
        }
        self.0.push_back((number, Some(leg)));
    }

    /// Removes the legs of the messages that were given places, or were not stored, and calls `each` with them.
    pub fn take(&mut self, given: &GivenPlaces, mut each: impl FnMut(LegKey, Option<LogPlace>)) {
        let end = given.first.saturating_add(given.count);
        let [from, to] = [given.first, end]
            .map(|number| self.0.partition_point(|&(waiting, _)| waiting < number));
        for (number, leg) in self.0.range_mut(from..to) {
            let Some(leg) = leg.take() else { continue };
            let mut place = given.place;
            if let Some(place) = &mut place {
                place.offset.grow(number.saturating_sub(given.first));
            }
            each(leg, place);
        }
        while self.0.front().is_some_and(|(_, leg)| leg.is_none()) {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the legs, and their offsets.
    fn taken(
        all: &mut AwaitedPlaces,
        first: u64,
        count: u64,
        offset: Option<u64>,
    ) -> Vec<[u64; 2]> {
        let place = offset.map(|offset| LogPlace { log: 7, offset });
        let mut taken = Vec::new();
        all.take(&GivenPlaces { side: Side::B, first, count, place }, |leg, place| {
            taken.push([leg.1, place.map_or(0, |place| place.offset)]);
        });
        taken
    }

    #[test]
    fn places_are_given_in_any_order() {
        let mut all = AwaitedPlaces::default();
        for number in [0, 1, 2, 4, 5, 6] {
            all.push(number, (0, number));
        }
        assert_eq!(taken(&mut all, 3, 2, Some(100)), [[4, 101]], "one was not followed");
        assert_eq!(taken(&mut all, 0, 3, Some(50)), [[0, 50], [1, 51], [2, 52]]);
        assert_eq!(all.0.len(), 2);
        assert_eq!(taken(&mut all, 5, 1, None), [[5, 0]], "not stored");
        assert_eq!(taken(&mut all, 5, 9, Some(3)), [[6, 4]]);
        assert!(all.0.is_empty());
    }

    #[test]
    fn they_are_bounded() {
        let mut all = AwaitedPlaces::default();
        (0..100_000).for_each(|number| all.push(number, (0, number)));
        assert_eq!(all.0.len(), MAX_AWAITED);
    }
}
