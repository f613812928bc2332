//! Connections of proxies that belong together: what comes on one of them goes on in the other, byte for byte and in the same order.

use rustc_hash::FxHashMap;
use wirelap_events::Offset;
use wirelap_flow::Direction;
use wirelap_limits::deliveries::MAX_UNSEEN_BY_PROXY;

/// Directions in which proxies send that are told apart; beyond, all are forgotten and found out again.
const MAX_DIRECTIONS: usize = 16_384;

/// Certainty that two connections belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Belief {
    /// Several messages of equal content waited.
    Guessed,
    /// One message alone waited, or one connection alone that had just begun to bring some.
    Told,
    /// Both began with the same bytes, which no other connection did.
    Same,
}

/// The origin of what a proxy sends in a direction.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    pub came: Direction,
    /// Distance of a place in the direction from the same place where it came, modulo 2^64.
    shift: u64,
    pub belief: Belief,
    /// Messages in a row that were not seen when they came.
    missing: u8,
}

impl Source {
    /// The place at which bytes came that are at a place in the direction.
    pub fn place_of(self, place: Offset) -> Offset {
        Offset(place.0.wrapping_sub(self.shift))
    }
}

/// Knowledge of the connections of proxies.
#[derive(Debug, Default)]
pub struct ProxiedDirections {
    sources: FxHashMap<Direction, Source>,
    /// Directions in which bytes go on that come to a proxy from a client.
    targets: FxHashMap<Direction, Direction>,
}

impl ProxiedDirections {
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    pub fn source(&self, on: Direction) -> Option<Source> {
        self.sources.get(&on).copied()
    }

    /// Certainty that what comes in a direction goes on in another one than `on`; `None` if it may go on there.
    pub fn goes_elsewhere(&self, came: Direction, on: Direction) -> Option<Belief> {
        let target = self.targets.get(&came).filter(|&&target| target != on)?;
        self.sources.get(target).map(|source| source.belief)
    }

    /// A message that a proxy sends in a direction was not seen when it came, if the sender is one.
    pub fn note_unseen_arrival(&mut self, on: Direction) {
        let Some(source) = self.sources.get_mut(&on) else { return };
        source.missing = source.missing.saturating_add(1);
        if source.missing > MAX_UNSEEN_BY_PROXY {
            let came = source.came;
            self.sources.remove(&on);
            if self.targets.get(&came) == Some(&on) {
                self.targets.remove(&came);
            }
        }
    }

    /// Learns that what was at a place in the direction `came` is at a place in the direction `on`. What comes from a client goes on in one
    /// direction alone (`is_to_server`), what comes from the server may be for several.
    pub fn learn(
        &mut self,
        (on, place): (Direction, Offset),
        (came, before): (Direction, Offset),
        belief: Belief,
        is_to_server: bool,
    ) {
        let shift = place.0.wrapping_sub(before.0);
        if let Some(known) = self.sources.get_mut(&on) {
            if known.came == came {
                (known.shift, known.missing) = (shift, 0);
                known.belief = known.belief.max(belief);
                return;
            }
            if known.belief > belief {
                return;
            }
            let known = known.came;
            if self.targets.get(&known) == Some(&on) {
                self.targets.remove(&known);
            }
        } else if self.sources.len() >= MAX_DIRECTIONS {
            *self = ProxiedDirections::default();
        }
        self.sources.insert(on, Source { came, shift, belief, missing: 0 });
        if is_to_server
            && let Some(other) = self.targets.insert(came, on)
            && other != on
        {
            self.sources.remove(&other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_protocols::Side;

    fn direction(serial: u64) -> Direction {
        Direction { index: 0, serial, side: Side::A }
    }

    fn at(serial: u64, place: u64) -> (Direction, Offset) {
        (direction(serial), Offset(place))
    }

    #[test]
    fn a_guess_gives_way_to_what_is_known() {
        let mut proxied = ProxiedDirections::default();
        let (on, other) = (direction(1), direction(2));
        proxied.learn(at(1, 500), at(11, 700), Belief::Guessed, true);
        let source = proxied.source(on).unwrap();
        assert_eq!((source.came, source.place_of(Offset(540))), (direction(11), Offset(740)));
        assert_eq!(proxied.goes_elsewhere(direction(11), other), Some(Belief::Guessed));
        assert_eq!(proxied.goes_elsewhere(direction(11), on), None);
        proxied.learn(at(2, 0), at(11, 0), Belief::Same, true);
        assert!(proxied.source(on).is_none());
        proxied.learn(at(2, 0), at(12, 0), Belief::Guessed, true);
        assert_eq!(proxied.source(other).unwrap().came, direction(11));
        // What comes from a server may be for several.
        proxied.learn(at(3, 0), at(13, 0), Belief::Told, false);
        proxied.learn(at(4, 0), at(13, 0), Belief::Told, false);
        assert!(proxied.source(direction(3)).is_some() && proxied.source(direction(4)).is_some());
    }

    #[test]
    fn what_brings_nothing_belongs_to_another() {
        let mut proxied = ProxiedDirections::default();
        proxied.learn(at(1, 0), at(11, 0), Belief::Same, true);
        for is_known in [true, true, false] {
            proxied.note_unseen_arrival(direction(1));
            assert_eq!(proxied.source(direction(1)).is_some(), is_known);
        }
        assert_eq!(proxied.goes_elsewhere(direction(11), direction(2)), None);
    }

    #[test]
    fn memory_is_bounded() {
        let mut proxied = ProxiedDirections::default();
        for n in 0..40_000 {
            proxied.learn(at(n, 0), at(n + 100_000, 0), Belief::Told, true);
        }
        assert!(proxied.sources.len() <= MAX_DIRECTIONS && proxied.targets.len() <= MAX_DIRECTIONS);
    }
}
