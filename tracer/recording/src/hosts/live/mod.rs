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
//! | `tangents` | the packets that limit two clocks' difference, however they are steered |
//! | `against` | samples that contradict those before: a step |
//! | `steady` | whether a host's clock is steered |
//! | `pairs` | all pairs of hosts |
//! | `stated` | statements of kernels about their clocks |
//! | `reach` | the best way from the reference to each host |
//! | `steps` | steps of clocks: whose, and by how much |
//! | `differences` | limits of all differences from those of some |
//! | `estimate` | all clocks |
//! | `state` | facts about one host's clock |
//!
//! The limits hold if a rate changes at once by as much as `adjtime` slews a clock: 500 ppm. They are nearer where hosts tell how their
//! clocks run against their oscillators, by which it is known when a clock is steered. A step that is shorter than the round trip between
//! two hosts does not show. Nothing reads a clock, and nothing is allocated for a packet but for the first one between two
//! hosts.

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
mod steady;
mod steps;
mod tangents;

pub use state::{ClockSource, HostClockState};

use super::clocks::Clocks;
use super::token::token;
use choice::PacketChoice;
use estimate::Estimate;
use pair::PairClocks;
use pairs::Pairs;
use sightings::{Passage, SightingTable};
use stated::Statements;
use std::collections::VecDeque;
use steady::Steadiness;
use wirelap_events::{ClockStep, Nanos, Packet, Saturate};

/// The most hosts. Of others nothing is known.
const MAX_HOSTS: usize = 64;

/// The time between two refreshes if it is not known.
const REFRESH: Nanos = Nanos::from_millis(250);

/// Packets wait for so many seconds, and are chosen anew in each.
const SECOND: Nanos = Nanos::from_millis(1_000);

/// The longest time between two refreshes for which the limits hold.
const MAX_REFRESH: Nanos = Nanos::from_millis(10_000);

/// Clocks of several hosts against that of host 0, from what passes between them while it happens.
#[derive(Debug)]
pub struct LiveClocks {
    choices: Vec<PacketChoice>,
    sightings: SightingTable,
    pairs: Pairs,
    stated: Statements,
    steady: Vec<Steadiness>,
    estimate: Estimate,
    /// By host: the step since which its clock is not known yet.
    steps: Vec<Option<HostStep>>,
    /// By host: the first time of its present clock.
    begins: Vec<Nanos>,
    /// By host: the time of its own clock up to which no step is hidden, and how long ago the one before was.
    checked: Vec<Option<Nanos>>,
    ages: Vec<Nanos>,
    /// Steps that were not taken yet.
    told: VecDeque<(usize, ClockStep)>,
    /// The last refresh, by the reference clock, and the time since the one before.
    now: Nanos,
    elapsed: Nanos,
    refreshes: u64,
    /// The last refresh at which a second was over.
    ticked: Nanos,
}

/// A step of a host's clock, which is found out from a pair of hosts.
#[derive(Clone, Copy, Debug)]
struct HostStep {
    pair: [usize; 2],
    /// Index of the host in the pair.
    side: usize,
    /// Time of the first packet that shows it, by the reference clock.
    at: Nanos,
    /// The same by the host's own clock.
    own: Nanos,
    /// Time of the refresh that noticed it.
    noticed: Nanos,
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
            steady: vec![Steadiness::default(); hosts],
            estimate: Estimate::nothing(hosts),
            steps: vec![None; hosts],
            begins: vec![Nanos(0); hosts],
            checked: vec![None; hosts],
            ages: vec![Nanos(0); hosts],
            told: VecDeque::new(),
            now: Nanos(0),
            elapsed: REFRESH,
            refreshes: 0,
            ticked: Nanos(0),
        }
    }

    /// Adds a host, whose number is the next one; none if there are [`MAX_HOSTS`] already.
    pub fn add_host(&mut self) {
        let hosts = self.steps.len().saturating_add(1);
        if hosts > MAX_HOSTS {
            return;
        }
        // Packets that wait for another sighting are forgotten: the next ones do as well.
        self.sightings = SightingTable::new(hosts);
        self.choices.push(PacketChoice::new(self.sightings.budget()));
        self.pairs.add_host(hosts);
        self.stated.add_host();
        self.estimate.clocks.push(None);
        self.steps.push(None);
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

    /// A host's oscillator (`CLOCK_MONOTONIC_RAW`) is ahead of its clock by so many nanoseconds, at a time of the clock.
    pub fn oscillator(&mut self, host: usize, at: Nanos, ahead: i64) {
        if let Some(steady) = self.steady.get_mut(host) {
            steady.add(at, ahead);
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
        if let Some(steady) = self.steady.get_mut(host) {
            *steady = Steadiness::default();
        }
        if let Some(clock) = self.estimate.clocks.get_mut(host) {
            *clock = None;
        }
        if let Some(step) = self.steps.get_mut(host) {
            *step = None;
        }
        if let Some(begins) = self.begins.get_mut(host) {
            *begins = Nanos(0);
        }
    }

    /// Estimates all clocks again from the last minutes. `now` is by the reference clock. Called several times a second.
    pub fn refresh(&mut self, now: Nanos) {
        let before = std::mem::replace(&mut self.now, now);
        let is_first = self.refreshes == 0;
        self.elapsed = if is_first { REFRESH } else { (now - before).clamp(REFRESH, MAX_REFRESH) };
        self.refreshes.grow(1);
        if is_first || now - self.ticked >= SECOND {
            self.ticked = now;
            self.sightings.tick(|passage| self.pairs.add(passage, false));
            let budget = self.sightings.budget();
            self.choices.iter_mut().for_each(|choice| choice.renew(budget));
        }
        self.find_steps();
        for ([a, b], pair) in self.pairs.iter_mut() {
            let since = |host: usize| self.steady.get(host).and_then(Steadiness::since);
            pair.are_steady_since([since(a), since(b)]);
        }
        self.estimate = Estimate::of(&mut self.pairs, &self.stated, now, self.refreshes);
        for host in 1..self.steps.len() {
            self.settle_step(host);
            self.check_up_to(host);
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

    /// The first time of a host's own clock that is of the clock as it is since its last step. What it saw before is not placed any
    /// more.
    pub fn begins(&self, host: usize) -> Nanos {
        self.begins.get(host).copied().unwrap_or_default()
    }

    /// The time of a host's own clock, as of the last refresh, up to which packets or questions of both directions agree with what is
    /// known of it: no step is hidden before, and it is known whether it was steered. `None` if there are none, and for the reference.
    pub fn checked(&self, host: usize) -> Option<Nanos> {
        self.checked.get(host).copied().flatten()
    }

    /// Finds the time of a host's clock up to which it is checked.
    fn check_up_to(&mut self, host: usize) {
        let limited = self.pairs_of(host).filter(|(_, pair)| pair.is_limited());
        // Since a step, nothing is checked yet.
        let agreed =
            limited.map(|(side, pair)| pair.checked(side).unwrap_or(self.begins(host))).max();
        let steady = self.steady.get(host).and_then(Steadiness::until);
        let checked = agreed.map(|agreed| steady.map_or(agreed, |until| agreed.min(until)));
        let Some(known) = self.checked.get_mut(host) else { return };
        let before = std::mem::replace(known, checked);
        let before = before.and_then(|before| self.to_reference(host, before));
        if let Some(age) = self.ages.get_mut(host) {
            *age = before.map_or(self.elapsed, |before| self.now - before).min(MAX_REFRESH);
        }
    }

    /// True if no packets of both directions have passed between a host and another one since some refreshes: questions are all that
    /// tells of its clock.
    pub fn is_quiet(&self, host: usize) -> bool {
        self.pairs_of(host).all(|(_, pair)| pair.is_quiet())
    }

    /// The pairs of a host, and on which side of each it is.
    fn pairs_of(&self, host: usize) -> impl Iterator<Item = (usize, &PairClocks)> {
        let others = (0..self.choices.len()).filter(move |&other| other != host);
        others.filter_map(move |other| {
            let pair = self.pairs.get([host.min(other), host.max(other)])?;
            Some((usize::from(host > other), pair))
        })
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
        let step = self.steps.get(host).and_then(Option::as_ref);
        step.map_or(HostClockState::Unknown, |step| HostClockState::Stepped(self.as_known(step)))
    }

    /// Largest error of a time difference between two hosts, each time converted by [`LiveClocks::to_reference`], for times since
    /// the refresh before the last one that are checked, and until the next one if nobody begins to steer a clock; 0 for the same host,
    /// `None` if it is not known.
    pub fn bound(&self, a: usize, b: usize) -> Option<Nanos> {
        if a == b {
            return Some(Nanos(0));
        }
        let is_known =
            |host: usize| host == 0 || self.estimate.clocks.get(host).is_some_and(Option::is_some);
        if !(is_known(a) && is_known(b)) {
            return None;
        }
        let age = |host: usize| self.ages.get(host).copied().unwrap_or_default();
        self.estimate.error(a, b, self.elapsed.max(age(a)).max(age(b)))
    }

    /// Pairs of hosts whose kernels' statements contradict what passes between them: the statements of one of both are wrong,
    /// and neither is used.
    pub fn wrongly_stated(&self) -> &[[usize; 2]] {
        &self.estimate.wrongly_stated
    }
}

#[cfg(test)]
mod tests;
