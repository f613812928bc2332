//! Steps of hosts' clocks: which host's clock was set, and by how much.

use super::against::{FirstAgainst, PairStep};
use super::pair::{Agreed, PairClocks};
use super::{HostStep, LiveClocks};
use wirelap_events::{ClockStep, Nanos};

/// The size of a step is known well enough if what it may be is so many times narrower than it is.
pub(super) const EXACT: u64 = 64;

/// Time after which a step is told that is known less exactly.
const STEP_WAIT: Nanos = Nanos::from_millis(1_000);

/// The most steps that wait to be taken.
const MAX_STEPS: usize = 64;

impl LiveClocks {
    /// Steps of hosts' clocks whose sizes are known as exactly as they will be, each once.
    pub fn steps(&mut self) -> impl Iterator<Item = (usize, ClockStep)> {
        std::mem::take(&mut self.told).into_iter()
    }

    /// Lets a clock be known again whose step is known as exactly as it will be.
    pub(super) fn settle_step(&mut self, host: usize) {
        let Some(step) = self.steps.get(host).copied().flatten() else { return };
        if !self.estimate.clocks.get(host).is_some_and(Option::is_some) {
            return;
        }
        let [least, most] = self.size_of(&step);
        let width = most.saturating_sub(least).unsigned_abs();
        let is_exact = width <= least.midpoint(most).unsigned_abs() / EXACT;
        if is_exact || self.now > step.noticed + STEP_WAIT {
            self.tell_step(host);
        } else if let Some(clock) = self.estimate.clocks.get_mut(host) {
            *clock = None;
        }
    }

    /// Forgets the clocks that were set. Of two hosts whose packets contradict those before, it is the one whose packets to and
    /// from others do not agree with those before either; both if that is not known and no other pair's step explains it.
    pub(super) fn find_steps(&mut self) {
        let pairs = self.pairs.iter_mut();
        let steps = pairs.filter_map(|(hosts, pair)| Some((hosts, pair.take_step()?)));
        let steps: Vec<([usize; 2], PairStep)> = steps.collect();
        let mut stepped: Vec<([usize; 2], usize, PairStep)> = Vec::new();
        let mut open = Vec::new();
        for (hosts, step) in steps {
            match hosts.map(|host| host == 0 || self.is_steady(hosts, host, &step.first)) {
                [true, false] => stepped.push((hosts, 1, step)),
                [false, true] => stepped.push((hosts, 0, step)),
                _ => open.push((hosts, step)),
            }
        }
        open.retain(|(hosts, _)| hosts[0] == 0 || self.pairs.is_left_open(*hosts));
        for (hosts, step) in open {
            let is_explained =
                |(pair, side, _): &([usize; 2], usize, PairStep)| hosts.contains(&pair[*side]);
            if !stepped.iter().any(is_explained) {
                let sides = [0, 1].into_iter().filter(|&side| hosts[side] != 0);
                stepped.extend(sides.map(|side| (hosts, side, step)));
            }
        }
        let rates = |hosts: &[usize; 2]| self.pairs.get(*hosts).map(PairClocks::rates);
        let rates: Vec<Option<[f64; 2]>> = stepped.iter().map(|(hosts, ..)| rates(hosts)).collect();
        let noticed: Vec<(usize, HostStep)> =
            stepped.iter().map(|(hosts, side, step)| self.step_of(*hosts, *side, step)).collect();
        for (host, _) in &noticed {
            self.tell_step(*host);
            self.forget(*host);
        }
        for ((hosts, _, step), rates) in stepped.into_iter().zip(rates) {
            if let Some(rates) = rates {
                self.pairs.begin_after(hosts, step, rates);
            }
        }
        for (host, step) in noticed {
            if let (Some(last), Some(begins)) =
                (self.steps.get_mut(host), self.begins.get_mut(host))
            {
                (*last, *begins) = (Some(step), step.own);
            }
        }
    }

    /// Has a step taken, as exactly as it is known.
    fn tell_step(&mut self, host: usize) {
        let Some(step) = self.steps.get_mut(host).and_then(Option::take) else { return };
        if self.told.len() < MAX_STEPS {
            self.told.push_back((host, self.as_known(&step)));
        }
    }

    /// A pair's step as one of the host on a side of it.
    fn step_of(&self, pair: [usize; 2], side: usize, step: &PairStep) -> (usize, HostStep) {
        let other = 1_usize.saturating_sub(side);
        let times = step.first.times;
        let at = self.to_reference(pair[other], times[other]).unwrap_or(self.now);
        (pair[side], HostStep { pair, side, at, own: times[side], noticed: self.now })
    }

    /// A step, as exactly as it is known.
    pub(super) fn as_known(&self, step: &HostStep) -> ClockStep {
        ClockStep { at: step.at, by: self.size_of(step) }
    }

    /// Nanoseconds by which a host's clock was set forward, at least and at most.
    fn size_of(&self, step: &HostStep) -> [i64; 2] {
        let pair = self.pairs.get(step.pair).and_then(|pair| pair.step);
        let [least, most] = pair.map_or([i64::MIN, i64::MAX], |pair| pair.by());
        if step.side == 0 { [most.saturating_neg(), least.saturating_neg()] } else { [least, most] }
    }

    /// True if packets between a host and one that is not of this pair, both ways, agree with those before the step.
    fn is_steady(&self, hosts: [usize; 2], host: usize, step: &FirstAgainst) -> bool {
        let at = step.times[usize::from(host == hosts[1])];
        self.pairs_of(host).any(|(side, pair)| {
            let is_after = |agreed: &Agreed| agreed.serial > step.serial && agreed.times[side] > at;
            pair.against.is_empty()
                && pair.agreed.iter().all(|way| way.as_ref().is_some_and(is_after))
        })
    }
}
