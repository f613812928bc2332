//! Numbers of a sender's messages that were seen to be sent, in whatever direction: who joins late is sent old ones again,
//! when they themselves are long forgotten.

use rustc_hash::FxHashMap;
use std::ops::RangeInclusive;
use wirelap_events::GlobalKey;

/// Senders that are remembered; beyond, all are forgotten and begin anew.
const MAX_SENDERS: usize = 65_536;

/// Runs of numbers that are remembered of a sender; beyond, the oldest goes.
const MAX_RUNS: usize = 64;

/// The numbers of each sender, as runs without holes.
#[derive(Debug, Default)]
pub struct Sent(FxHashMap<[u8; 16], Vec<RangeInclusive<u64>>>);

impl Sent {
    /// Adds a message that is sent; true if it was sent before.
    pub fn again(&mut self, message: GlobalKey) -> bool {
        if self.0.len() >= MAX_SENDERS && !self.0.contains_key(&message.origin) {
            self.0.clear();
        }
        add(self.0.entry(message.origin).or_default(), message.seq)
    }
}

/// Adds a number to runs in ascending order; true if it was there.
fn add(runs: &mut Vec<RangeInclusive<u64>>, number: u64) -> bool {
    // The run that ends next to the number, or behind it.
    let place = runs.partition_point(|run| run.end().saturating_add(1) < number);
    let Some(run) = runs.get_mut(place).filter(|run| *run.start() <= number.saturating_add(1))
    else {
        if runs.len() >= MAX_RUNS && place > 0 {
            runs.remove(0);
            runs.insert(place.saturating_sub(1), number..=number);
        } else if runs.len() < MAX_RUNS {
            runs.insert(place, number..=number);
        }
        return false;
    };
    if run.contains(&number) {
        return true;
    }
    let (start, mut end) = ((*run.start()).min(number), (*run.end()).max(number));
    let next =
        runs.get(place.saturating_add(1)).filter(|next| *next.start() == end.saturating_add(1));
    if let Some(next) = next {
        end = *next.end();
        runs.remove(place.saturating_add(1));
    }
    runs[place] = start..=end;
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_grow_and_meet() {
        let mut runs = Vec::new();
        for (number, was_there) in [
            (5, false),
            (6, false),
            (5, true),
            (9, false),
            (8, false),
            (3, false),
            (7, false),
            (8, true),
        ] {
            assert_eq!(add(&mut runs, number), was_there, "{number}");
        }
        assert_eq!(runs, [3..=3, 5..=9]);
        assert!(!add(&mut runs, 4));
        assert_eq!(runs, [3..=9]);
    }

    #[test]
    fn it_agrees_with_a_set_and_is_bounded() {
        let (mut runs, mut set) = (Vec::new(), std::collections::BTreeSet::new());
        let mut state = 1u64;
        for _ in 0..5_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = (state >> 33) % 120;
            assert_eq!(add(&mut runs, number), !set.insert(number));
        }
        for number in 0..1_000 {
            add(&mut runs, 1_000 + number * 2);
        }
        assert!(runs.len() <= MAX_RUNS);
        assert!(add(&mut runs, 2_998), "the newest are kept");
    }
}
