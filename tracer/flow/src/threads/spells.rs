//! Times in which something held for a process, as far back as it matters, in a bounded memory.

use wirelap_events::{Nanos, Saturate};

/// Spells that are kept; when there are more, neighbours among the older ones are put together.
const KEPT: usize = 64;

/// A time in which something held, or a stretch with several of them.
#[derive(Clone, Copy, Debug)]
struct Spell<T> {
    from: Nanos,
    to: Nanos,
    /// Time within the stretch in which it held; all of it, unless several were put together.
    time: Nanos,
    /// The holder, cgroup or other thing that the spell is of.
    of: T,
}

impl<T> Spell<T> {
    fn is_whole(&self) -> bool {
        self.time == self.to - self.from
    }

    /// Time of the spell within two moments: of several that were put together, their share.
    fn within(&self, from: Nanos, to: Nanos) -> Nanos {
        let part = self.to.min(to) - self.from.max(from).min(to);
        if self.is_whole() {
            return part;
        }
        part.share(self.time, self.to - self.from).min(part)
    }
}

/// Times in which something held for a process, the oldest first: the further back, the coarser. Those of several
/// threads that meet are one.
#[derive(Clone, Debug)]
pub struct Spells<T>(Vec<Spell<T>>);

impl<T> Default for Spells<T> {
    fn default() -> Self {
        Spells(Vec::new())
    }
}

impl<T: Copy> Spells<T> {
    /// Adds a spell from `from` until `to`. Spells that meet become one, which is named after the one that
    /// `is_more(known, new)` prefers.
    pub fn add(&mut self, from: Nanos, to: Nanos, of: T, is_more: impl Fn(&T, &T) -> bool) {
        let mut new = Spell { from, to, time: Nanos(0), of };
        while let Some(last) = self.0.last()
            && last.to >= new.from
        {
            if !last.is_whole() {
                new.from = last.to.min(new.to);
                break;
            }
            if last.from > new.to {
                // It came late, and what is newer has nothing to do with it.
                break;
            }
            if !is_more(&last.of, &new.of) {
                new.of = last.of;
            }
            (new.from, new.to) = (new.from.min(last.from), new.to.max(last.to));
            self.0.pop();
        }
        new.time = new.to - new.from;
        if new.time == Nanos(0) || self.0.last().is_some_and(|last| last.from > new.to) {
            return;
        }
        if self.0.len() >= KEPT {
            self.put_together();
        }
        self.0.push(new);
    }

    /// Every two spells of the older half become one.
    fn put_together(&mut self) {
        let last = (self.0.len() / 2) & !1;
        let mut to = 0_usize;
        for from in (0..last).step_by(2) {
            let [first, second] = [self.0[from], self.0[from.saturating_add(1)]];
            let of = if first.time > second.time { first.of } else { second.of };
            let time = first.time + second.time;
            self.0[to] = Spell { from: first.from, to: second.to, time, of };
            to.grow(1);
        }
        self.0.drain(to..last);
    }

    /// Spells between two moments, the newest first, each with its time between them.
    pub fn within(&self, from: Nanos, to: Nanos) -> impl Iterator<Item = (Nanos, &T)> {
        let newer = self.0.iter().rev().skip_while(move |spell| spell.from >= to);
        let all = newer.take_while(move |spell| spell.to > from);
        all.map(move |spell| (spell.within(from, to), &spell.of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(spells: &Spells<u32>, from: u64, to: u64) -> u64 {
        spells.within(Nanos(from), Nanos(to)).map(|(time, _)| time.0).sum()
    }

    fn add(spells: &mut Spells<u32>, from: u64, to: u64, of: u32) {
        spells.add(Nanos(from), Nanos(to), of, |known, new| new > known);
    }

    #[test]
    fn those_that_meet_are_one() {
        let mut spells = Spells::default();
        add(&mut spells, 10, 20, 1);
        add(&mut spells, 30, 40, 3);
        // It ends last, and began first.
        add(&mut spells, 5, 50, 2);
        assert_eq!((sum(&spells, 0, 100), sum(&spells, 20, 30), spells.0.len()), (45, 10, 1));
        assert_eq!(spells.0[0].of, 3);
        add(&mut spells, 60, 70, 1);
        assert_eq!((sum(&spells, 0, 100), sum(&spells, 45, 65)), (55, 10));
    }

    #[test]
    fn the_older_ones_are_coarse_and_not_forgotten() {
        let mut spells = Spells::default();
        (0..1_000).for_each(|n| add(&mut spells, n * 100, n * 100 + 90, 1));
        assert!(spells.0.len() <= KEPT);
        assert_eq!(sum(&spells, 0, 100_000), 90_000);
        let part = sum(&spells, 20_000, 40_000);
        assert!((17_900..=18_100).contains(&part), "{part}");
        assert_eq!(sum(&spells, 99_800, 99_950), 140);
        // A long one that ends now takes nothing twice.
        add(&mut spells, 0, 100_000, 2);
        assert!((90_000..=100_000).contains(&sum(&spells, 0, 100_000)));
    }
}
