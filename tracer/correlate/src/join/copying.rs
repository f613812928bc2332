//! Senders that send copies of a message to several receivers, each at its receiver's pace (PUB of `ZeroMQ`, Zenoh between peers).
//!
//! ```text
//! to a quick receiver   1 2 3 4 5 6 7
//! to a slow one         1     4            what waits for room there may be a copy of 5, 6 or 7: they are remembered for it
//! ```

use super::forwarders::Receiver;
use rustc_hash::FxHashMap;
use wirelap_events::{Saturate, Total};
use wirelap_flow::Direction;
use wirelap_protocols::Side;

/// The most directions that are remembered.
const MAX_DIRECTIONS: usize = 16_384;

/// So few directions are not looked through for those that are gone.
const FEW_DIRECTIONS: usize = 32;

/// Directions of senders that make copies, and how far each is.
#[derive(Debug, Default)]
pub struct CopyingSenders {
    senders: FxHashMap<Receiver, FxHashMap<(u64, Side), CopyingDirection>>,
    directions: usize,
    /// The number of directions that were left when those that are gone were forgotten last.
    left: usize,
}

#[derive(Debug)]
struct CopyingDirection {
    direction: Direction,
    /// The serial number of the newest message that it has carried.
    newest: u64,
}

impl CopyingSenders {
    /// A direction has carried the message with this serial number, and those before it that it was to carry.
    pub fn note(&mut self, sender: Receiver, direction: Direction, serial: u64) {
        if self.directions >= MAX_DIRECTIONS {
            // Those that still carry messages are noted with the next ones.
            self.senders.clear();
            (self.directions, self.left) = (0, 0);
        }
        let all = self.senders.entry(sender).or_default();
        let before = all.len();
        let key = (direction.serial, direction.side);
        let known = all.entry(key).or_insert(CopyingDirection { direction, newest: serial });
        known.newest = known.newest.max(serial);
        self.directions.grow(all.len().saturating_sub(before));
    }

    /// Forgets directions whose connections are gone, each time that their number has doubled.
    pub fn forget(&mut self, is_gone: impl Fn(Direction) -> bool) {
        if self.directions / 2 < self.left.max(FEW_DIRECTIONS) {
            return;
        }
        self.senders.retain(|_, all| {
            all.retain(|_, one| !is_gone(one.direction));
            !all.is_empty()
        });
        self.directions = self.senders.values().map(FxHashMap::len).total();
        self.left = self.directions;
    }

    /// Directions of a sender that have carried no message after the one with this serial number. Messages do not overtake each other in
    /// a direction.
    pub fn not_beyond(
        &self,
        sender: Receiver,
        serial: u64,
    ) -> impl Iterator<Item = Direction> + '_ {
        let all = self.senders.get(&sender).into_iter().flat_map(FxHashMap::values);
        all.filter(move |one| one.newest < serial).map(|one| one.direction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::Pid;

    fn direction(serial: u64) -> Direction {
        Direction { index: 0, serial, side: Side::A }
    }

    #[test]
    fn only_who_is_not_beyond_a_message_may_still_get_it() {
        let mut all = CopyingSenders::default();
        let [one, other] = [1, 2].map(|pid| Receiver::Process(Pid(pid)));
        all.note(one, direction(1), 5);
        all.note(one, direction(2), 3);
        all.note(other, direction(3), 1);
        let behind = |all: &CopyingSenders, serial| {
            let mut found: Vec<u64> = all.not_beyond(one, serial).map(|one| one.serial).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(
            [3, 4, 5, 6].map(|serial| behind(&all, serial)),
            [vec![], vec![2], vec![2], vec![1, 2]]
        );
        all.note(one, direction(2), 4);
        all.note(one, direction(2), 2);
        assert_eq!(behind(&all, 4), [0; 0]);
    }

    #[test]
    fn directions_that_are_gone_are_forgotten() {
        let mut all = CopyingSenders::default();
        let sender = Receiver::Process(Pid(1));
        for serial in 0..10_000 {
            all.note(sender, direction(serial), serial);
            all.forget(|direction| direction.serial + 10 < serial);
        }
        assert!(all.not_beyond(sender, u64::MAX).count() <= 2 * FEW_DIRECTIONS);
        assert!(all.not_beyond(sender, u64::MAX).any(|one| one.serial == 9_999));
    }

    #[test]
    fn their_number_is_bounded() {
        let mut all = CopyingSenders::default();
        for n in 0..40_000 {
            all.note(Receiver::Process(Pid(n % 7)), direction(n.into()), 1);
        }
        let sum: usize = all.senders.values().map(FxHashMap::len).sum();
        assert_eq!(all.directions, sum);
        assert!(sum <= MAX_DIRECTIONS);
    }
}
