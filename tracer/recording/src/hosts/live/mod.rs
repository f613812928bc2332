//! Clocks of several hosts against that of host 0, while packets pass between them.
//!
//! ```text
//!   sightings ─▶ passages ─▶ pairs ────────▶ ways ──▶ estimate
//!   one packet   sent here,  the band in      from     offsets and drifts that keep
//!   on several   received    which the line   host 0   the limits of all pairs, with
//!   hosts        there       of two clocks is          the largest error of each
//! ```
//!
//! | file | what |
//! |---|---|
//! | `choice` | the packets that are compared, if there are many |
//! | `sightings` | the packets that wait for another host's sighting |
//! | `pair` | two hosts' samples of the last minutes, and the band that they leave |
//! | `buckets` | the samples of each part of those minutes that say the most |
//! | `band` | limits of one clock's difference from another one's |
//! | `against` | samples that contradict those before: a step |
//! | `pairs` | all pairs of hosts |
//! | `stated` | statements of kernels about their clocks |
//! | `reach` | the best way from the reference to each host |
//! | `differences` | limits of all differences from those of some |
//! | `estimate` | all clocks |
//! | `state` | facts about one host's clock |
//!
//! The limits hold as long as no rate changes by more than 0.1 ppm a second. A step that is shorter than the round trip between two
//! hosts does not show, and a clock that is steered harder shows when that has made half a round trip. Nothing reads a clock, and nothing is allocated for
//! a packet but for the first one between two hosts.

mod against;
mod band;
mod buckets;
mod choice;
mod differences;
mod estimate;
mod pair;
mod pairs;
mod reach;
mod sightings;
mod state;
mod stated;

pub use state::{ClockSource, HostClockState};

use super::clocks::Clocks;
use super::token::token;
use against::Step;
use choice::PacketChoice;
use estimate::Estimate;
use pairs::Pairs;
use sightings::{Passage, SightingTable};
use stated::Statements;
use wirelap_events::{Nanos, Packet, Saturate};

/// The most hosts. Of others nothing is known.
const MAX_HOSTS: usize = 64;

/// The time between two refreshes if it is not known.
const REFRESH: Nanos = Nanos::from_millis(1_000);

/// The longest time between two refreshes for which the limits hold.
const MAX_REFRESH: Nanos = Nanos::from_millis(10_000);

/// Clocks of several hosts against that of host 0, from what passes between them while it happens.
#[derive(Debug)]
pub struct LiveClocks {
    choices: Vec<PacketChoice>,
    sightings: SightingTable,
    pairs: Pairs,
    stated: Statements,
    estimate: Estimate,
    /// By host: the step since which nothing is known of its clock.
    steps: Vec<Option<HostStep>>,
    /// The last refresh, by the reference clock, and the time since the one before.
    now: Nanos,
    elapsed: Nanos,
    refreshes: u64,
}

/// A step of a host's clock.
#[derive(Clone, Copy, Debug)]
struct HostStep {
    at: Nanos,
    by: i64,
}

impl LiveClocks {
    /// Host 0 is the reference (the collector's host, `CLOCK_MONOTONIC`); hosts are 0..hosts, 64 at most.
    pub fn new(hosts: usize) -> LiveClocks {
        let hosts = hosts.min(MAX_HOSTS);
        let sightings = SightingTable::new(hosts);
        let budget = sightings.budget();
        LiveClocks {
            choices: (0..hosts).map(|_| PacketChoice::new(budget)).collect(),
            sightings,
            pairs: Pairs::new(hosts),
            stated: Statements::new(hosts),
            estimate: Estimate::nothing(hosts),
            steps: vec![None; hosts],
            now: Nanos(0),
            elapsed: REFRESH,
            refreshes: 0,
        }
    }

    /// A packet that a host saw, at a time of its own monotonic clock. Called for every packet of every host, in the order of
    /// each host's times; a host may be many seconds behind the others.
    pub fn packet(&mut self, host: usize, at: Nanos, packet: &Packet<'_>) {
        let Some(choice) = self.choices.get_mut(host) else { return };
        let Some(token) = token(packet).filter(|token| choice.keeps(&packet.flow, *token)) else {
            return;
        };
        let Ok(host) = u8::try_from(host) else { return };
        let take = |passage| self.pairs.add(passage, false);
        self.sightings.see(token, (host, at), packet.hook, packet.tcp.is_some(), take);
    }

    /// A question to a host over its control stream: sent and answered by the reference clock, and what its clock said in
    /// between.
    pub fn ping(&mut self, host: usize, sent: Nanos, there: Nanos, back: Nanos) {
        let question = Passage { from: 0, to: host, sent, received: there };
        let answer = Passage { from: host, to: 0, sent: there, received: back };
        if host < self.choices.len() {
            self.pairs.add(question, true);
            self.pairs.add(answer, true);
        }
    }

    /// A host's kernel says at a time of its monotonic clock: by how much its wall clock is ahead of that, in nanoseconds, and
    /// the largest error of the wall clock (`adjtimex`'s `maxerror`), `None` if it is not synchronized.
    pub fn stated(&mut self, host: usize, _at: Nanos, wall: i64, max_error: Option<Nanos>) {
        self.stated.add(host, wall, max_error, self.now);
    }

    /// The host's clock began anew (it was rebooted, or another one took its place): nothing that was learned of it holds.
    pub fn forget(&mut self, host: usize) {
        self.sightings.begin_anew(host);
        self.pairs.forget(host);
        self.stated.forget(host);
        if let Some(clock) = self.estimate.clocks.get_mut(host) {
            *clock = None;
        }
        if let Some(step) = self.steps.get_mut(host) {
            *step = None;
        }
    }

    /// Estimates all clocks again from the last minutes. `now` is by the reference clock. Called about once a second.
    pub fn refresh(&mut self, now: Nanos) {
        let before = std::mem::replace(&mut self.now, now);
        let is_first = self.refreshes == 0;
        self.elapsed = if is_first { REFRESH } else { (now - before).clamp(REFRESH, MAX_REFRESH) };
        self.refreshes.grow(1);
        self.sightings.tick(|passage| self.pairs.add(passage, false));
        let budget = self.sightings.budget();
        self.choices.iter_mut().for_each(|choice| choice.renew(budget));
        self.find_steps();
        self.estimate = Estimate::of(&mut self.pairs, &self.stated, now, self.refreshes);
        for (step, clock) in self.steps.iter_mut().zip(&self.estimate.clocks) {
            *step = step.filter(|_| clock.is_none());
        }
    }

    /// A time of a host's clock by the reference clock; `None` while nothing is known of it.
    ///
    /// Between two refreshes it grows with `at`. A refresh may move a host's times by no more than the sum of
    /// [`HostClockState::Known`]'s `at_most` before and after it, to and fro: a time that is converted after it can be by so much
    /// less than an earlier one that was converted before.
    pub fn to_reference(&self, host: usize, at: Nanos) -> Option<Nanos> {
        if host == 0 {
            return Some(at);
        }
        let clock = self.estimate.clocks.get(host)?.as_ref()?;
        let clocks = Clocks {
            start: self.now,
            offset: clock.offset,
            drift: clock.drift,
            drift_within: clock.drift_within,
            within: clock.within,
            at_most: Nanos(0),
            samples: clock.from.samples(),
            span: Nanos(0),
        };
        Some(clocks.to_first(at))
    }

    /// A time of the reference clock by a host's; `None` while nothing is known of it.
    pub fn from_reference(&self, host: usize, at: Nanos) -> Option<Nanos> {
        let mut there = at;
        // A clock that gains some parts per million is found in two steps.
        for _ in 0..3 {
            let back = self.to_reference(host, there)?;
            there = if back > at { there - (back - at) } else { there + (at - back) };
        }
        Some(there)
    }

    /// Knowledge about a host's clock, as of the last refresh. A step is told until the clock is known again, at one refresh at
    /// least.
    pub fn state(&self, host: usize) -> HostClockState {
        if host == 0 {
            return HostClockState::Known {
                offset_ns: 0,
                drift_ppm: 0.0,
                drift_within_ppm: 0.0,
                within: Nanos(0),
                at_most: Nanos(0),
                through: Vec::new(),
                from: ClockSource::Stated(0),
            };
        }
        let clock = self.estimate.clocks.get(host).and_then(Option::as_ref);
        if let Some((clock, at_most)) = clock.zip(self.bound(0, host)) {
            return HostClockState::Known {
                offset_ns: clock.offset,
                drift_ppm: clock.drift / 1e3,
                drift_within_ppm: clock.drift_within / 1e3,
                within: clock.within.min(at_most),
                at_most,
                through: clock.through.clone(),
                from: clock.from,
            };
        }
        let step = self.steps.get(host).copied().flatten();
        step.map_or(HostClockState::Unknown, |HostStep { at, by }| HostClockState::Stepped {
            at,
            by,
        })
    }

    /// Largest error of a time difference between two hosts, each time converted by [`LiveClocks::to_reference`], for times since
    /// the refresh before the last one and until the next one; 0 for the same host, `None` if it is not known.
    pub fn bound(&self, a: usize, b: usize) -> Option<Nanos> {
        if a == b {
            return Some(Nanos(0));
        }
        let is_known =
            |host: usize| host == 0 || self.estimate.clocks.get(host).is_some_and(Option::is_some);
        if !(is_known(a) && is_known(b)) {
            return None;
        }
        self.estimate.error(a, b, self.elapsed)
    }

    /// Pairs of hosts whose kernels' statements contradict what passes between them: the statements of one of both are wrong,
    /// and neither is used.
    pub fn wrongly_stated(&self) -> &[[usize; 2]] {
        &self.estimate.wrongly_stated
    }

    /// Forgets the clocks that were set. Of two hosts whose packets contradict those before, it is the one whose packets to and
    /// from others do not agree with those before either; both if that is not known and no other pair's step explains it.
    fn find_steps(&mut self) {
        let pairs = self.pairs.iter_mut();
        let steps = pairs.filter_map(|(hosts, pair)| Some((hosts, pair.against.step()?)));
        let steps: Vec<([usize; 2], Step)> = steps.collect();
        let mut stepped: Vec<(usize, HostStep)> = Vec::new();
        let mut open = Vec::new();
        for (hosts, step) in steps {
            let both = [self.step_of(hosts, 0, &step), self.step_of(hosts, 1, &step)];
            match hosts.map(|host| host == 0 || self.is_steady(hosts, host, &step)) {
                [true, false] => stepped.push(both[1]),
                [false, true] => stepped.push(both[0]),
                _ => open.push(both),
            }
        }
        for both in open {
            let is_explained =
                |(host, _): &(usize, HostStep)| both.iter().any(|one| one.0 == *host);
            if !stepped.iter().any(is_explained) {
                stepped.extend(both.into_iter().filter(|(host, _)| *host != 0));
            }
        }
        for (host, step) in stepped {
            self.forget(host);
            if let Some(last) = self.steps.get_mut(host) {
                *last = Some(step);
            }
        }
    }

    /// A pair's step as one of the host on a side of it.
    fn step_of(&self, hosts: [usize; 2], side: usize, step: &Step) -> (usize, HostStep) {
        let other = 1_usize.saturating_sub(side);
        let at = self.to_reference(hosts[other], step.times[other]).unwrap_or(self.now);
        let by = if side == 0 { step.by.saturating_neg() } else { step.by };
        (hosts[side], HostStep { at, by })
    }

    /// True if packets between a host and one that is not of this pair, both ways, agree with those before the step.
    fn is_steady(&self, hosts: [usize; 2], host: usize, step: &Step) -> bool {
        let at = step.times[usize::from(host == hosts[1])];
        let others = (0..self.choices.len()).filter(|other| !hosts.contains(other));
        let mut pairs = others.filter_map(|other| {
            let pair = self.pairs.get([host.min(other), host.max(other)])?;
            Some((usize::from(host > other), pair))
        });
        pairs.any(|(side, pair)| {
            let is_after =
                |agreed: &pair::Agreed| agreed.serial > step.serial && agreed.times[side] > at;
            pair.against.is_empty()
                && pair.agreed.iter().all(|way| way.as_ref().is_some_and(is_after))
        })
    }
}

#[cfg(test)]
mod tests;
