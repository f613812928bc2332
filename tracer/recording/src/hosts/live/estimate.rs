//! All clocks at one time, from what is known of pairs of them.

use super::band::{PairBand, whole};
use super::differences::Differences;
use super::pair::PairClocks;
use super::pairs::Pairs;
use super::reach::{Reached, Ways};
use super::state::ClockSource;
use super::stated::Statements;
use wirelap_events::Nanos;

/// So many pairs that contradict others are forgotten in one refresh.
const MAX_FORGOTTEN: usize = 8;

/// Drifts are compared in nanoseconds in so many seconds.
const DRIFT_SCALE: f64 = 1e3;

/// Limits of the difference of two hosts' clocks, and of their rates, at the time of the refresh.
#[derive(Clone, Copy, Debug)]
struct Limits {
    hosts: [usize; 2],
    offset: [i64; 2],
    drift: [i64; 2],
    /// Age of the last sample.
    age: Nanos,
}

impl Limits {
    /// The limits that two hosts' band gives, the first one's time being known to within an error.
    fn of(hosts: [usize; 2], first: &Reached, band: &PairBand, age: Nanos) -> Limits {
        let [slow, fast] = band.drift;
        let fastest = slow.abs().max(fast.abs());
        let slack = whole((fastest / 1e9 * first.error as f64).ceil());
        let [low, high] = band.limits;
        let rate = (1.0 + first.drift / 1e9) * DRIFT_SCALE;
        Limits {
            hosts,
            offset: [low.saturating_sub(slack), high.saturating_add(slack)],
            drift: [whole((slow * rate).floor()), whole((fast * rate).ceil())],
            age,
        }
    }
}

/// One host's clock.
#[derive(Clone, Debug)]
pub struct HostClock {
    /// The host's clock less the reference clock at the refresh, in nanoseconds.
    pub offset: i64,
    /// By how much it grows each second, in nanoseconds.
    pub drift: f64,
    /// Largest error of that.
    pub drift_within: f64,
    /// Largest error of the offset if the fastest packets take equally long in both directions.
    pub within: Nanos,
    /// The hosts in between.
    pub through: Vec<usize>,
    /// The evidence.
    pub from: ClockSource,
}

/// All clocks.
#[derive(Debug)]
pub struct Estimate {
    /// By host; none of the reference.
    pub clocks: Vec<Option<HostClock>>,
    offsets: Differences,
    drifts: Differences,
    /// Pairs whose statements contradict what passed between them.
    pub wrongly_stated: Vec<[usize; 2]>,
}

impl Estimate {
    /// Nothing is known of so many hosts.
    pub fn nothing(hosts: usize) -> Estimate {
        Estimate {
            clocks: vec![None; hosts],
            offsets: Differences::new(hosts),
            drifts: Differences::new(hosts),
            wrongly_stated: Vec::new(),
        }
    }

    /// The clocks at a time of the reference clock.
    pub fn of(pairs: &mut Pairs, stated: &Statements, now: Nanos, refresh: u64) -> Estimate {
        let hosts = stated.hosts();
        let mut ways = Ways::from_reference(hosts, now);
        ways.spread(|from, to, at| pairs.link([from, to], at, refresh));
        let mut limits = limits(pairs, &ways, refresh);
        let mut offsets = without_contradictions(pairs, &mut limits, hosts);
        let wrongly_stated = stated.contradicted(&offsets, now);
        let is_right =
            |pair: &[usize; 2]| !wrongly_stated.iter().flatten().any(|wrong| pair.contains(wrong));
        ways.spread(|from, to, at| {
            let stated = || stated.link([from, to], at, now).filter(|_| is_right(&[from, to]));
            pairs.link([from, to], at, refresh).or_else(stated)
        });
        limits = self::limits(pairs, &ways, refresh);
        let packets_alone = offsets;
        offsets = without_contradictions(pairs, &mut limits, hosts);
        let mut drifts = differences(hosts, limits.iter().map(|pair| (pair.hosts, pair.drift)));
        let mut with_stated = offsets.clone();
        for (pair, band) in stated.bands(now).filter(|(pair, _)| is_right(pair)) {
            let both = pair.map(|host| ways.hosts.get(host).and_then(Option::as_ref));
            let [Some(first), Some(_)] = both else { continue };
            let stated = Limits::of(pair, first, &band, Nanos(0));
            with_stated.limit(pair, stated.offset);
            drifts.limit(pair, stated.drift);
        }
        if with_stated.close() {
            offsets = with_stated;
        }
        if !drifts.close() {
            // The rates change: each pair may be right, for its own time.
            drifts = Differences::new(hosts);
            for (host, way) in ways.hosts.iter().enumerate() {
                let drift = way.as_ref().map_or(0.0, |way| whole(way.drift * DRIFT_SCALE) as f64);
                let limits = [drift - 1e6 * DRIFT_SCALE, drift + 1e6 * DRIFT_SCALE].map(whole);
                drifts.limit([0, host], if host == 0 { [0, 0] } else { limits });
            }
            drifts.close();
        }
        let mut estimate = Estimate { clocks: Vec::new(), offsets, drifts, wrongly_stated };
        let ways = ways.hosts.into_iter().enumerate();
        estimate.clocks = ways
            .map(|(host, way)| {
                let clock = estimate.clock(host, way?)?;
                let alone = packets_alone.error(0, host);
                let is_stated = estimate.offsets.error(0, host) < alone.map(|alone| alone / 2);
                let from = if is_stated || alone.is_none() {
                    ClockSource::Stated(stated.count(host))
                } else {
                    clock.from
                };
                Some(HostClock { from, ..clock })
            })
            .collect();
        estimate
    }

    /// The clock of a host that was reached.
    fn clock(&self, host: usize, way: Reached) -> Option<HostClock> {
        let drift = self.drifts.value(host)? as f64 / DRIFT_SCALE;
        Some(HostClock {
            offset: self.offsets.value(host)?,
            drift,
            drift_within: self.drifts.error(0, host)? as f64 / DRIFT_SCALE,
            within: Nanos(way.within.max(0).unsigned_abs()),
            through: way.through,
            from: way.from?,
        })
    }

    /// Largest error of the difference of two hosts' clocks in so much time before and after.
    pub fn error(&self, a: usize, b: usize, time: Nanos) -> Option<Nanos> {
        let drift = self.drifts.error(a, b)? as f64 / DRIFT_SCALE;
        let offset = Nanos(self.offsets.error(a, b)?);
        Some(offset + Nanos::from_f64((drift * time.as_secs_f64()).ceil()))
    }
}

/// The limits of all pairs of hosts that are reached.
fn limits(pairs: &mut Pairs, ways: &Ways, refresh: u64) -> Vec<Limits> {
    let of_pair = |(hosts, pair): ([usize; 2], &mut PairClocks)| {
        let [Some(first), Some(_)] = hosts.map(|host| ways.hosts.get(host)?.as_ref()) else {
            return None;
        };
        let band = pair.band_at(first.now, refresh)?;
        let age = pair.newest.map_or(Nanos(u64::MAX), |newest| first.now - newest.at);
        Some(Limits::of(hosts, first, &band, age))
    };
    pairs.iter_mut().filter_map(of_pair).collect()
}

/// The differences of the clocks. Of pairs that contradict each other, those whose last sample is the oldest are forgotten.
fn without_contradictions(
    pairs: &mut Pairs,
    limits: &mut Vec<Limits>,
    hosts: usize,
) -> Differences {
    for _ in 0..MAX_FORGOTTEN {
        let found = differences(hosts, limits.iter().map(|pair| (pair.hosts, pair.offset)));
        let is_wrong = |pair: &Limits| pair.hosts.iter().all(|&host| !found.is_possible(host));
        let wrong = limits.iter().enumerate().filter(|(_, pair)| is_wrong(pair));
        let Some((index, _)) = wrong.max_by_key(|(_, pair)| pair.age) else { return found };
        let forgotten = limits.swap_remove(index);
        let mut all = pairs.iter_mut();
        if let Some((_, pair)) = all.find(|(hosts, _)| *hosts == forgotten.hosts) {
            pair.forget();
        }
    }
    Differences::new(hosts)
}

fn differences(hosts: usize, limits: impl Iterator<Item = ([usize; 2], [i64; 2])>) -> Differences {
    let mut differences = Differences::new(hosts);
    limits.for_each(|(pair, limit)| differences.limit(pair, limit));
    differences.close();
    differences
}
