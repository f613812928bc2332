//! Half of the round trips that pings took.

use super::outcome::done;
use crate::measure::Outcome;
use wirelap_contract::Role;
use wirelap_events::Nanos;
use wirelap_report::{Repetition, RttHalf, Samples};

/// Half of the round-trip times of a trial; `None` if nothing was pinged.
pub fn rtt_half(outcome: &Outcome) -> Option<RttHalf> {
    half_of(&halves(outcome))
}

/// The halves as an encoded histogram.
pub fn histogram(outcome: &Outcome) -> Option<String> {
    let mut samples = Samples::new();
    for (time, count) in halves(outcome) {
        samples.add_many(Nanos(time), count);
    }
    samples.histogram()
}

/// Half of the round-trip times of all repetitions. Those of a single one are exact; those of several come from their
/// histograms, within 0.1 %.
pub fn pooled(all: &[&Repetition]) -> Option<RttHalf> {
    let known = || all.iter().filter_map(|one| one.rtt_half_ns);
    if known().count() < 2 {
        return known().next();
    }
    let mut samples = Samples::new();
    for one in all {
        let (Some(half), Some(text)) = (one.rtt_half_ns, &one.histograms.rtt_half_ns) else {
            continue;
        };
        if let Some(own) = Samples::decode(text, (half.min, half.max), 0) {
            samples.merge(&own);
        }
    }
    let half = half_of(&samples.times().collect::<Vec<_>>())?;
    // A quantile of all lies between those of the repetitions: rounding must not put it elsewhere.
    let within = |of: fn(&RttHalf) -> u64| {
        let each = || known().map(|one| of(&one));
        of(&half).clamp(each().min().unwrap_or(0), each().max().unwrap_or(u64::MAX))
    };
    Some(RttHalf {
        min: known().map(|one| one.min).min()?,
        p50: within(|half| half.p50),
        p90: within(|half| half.p90),
        p99: within(|half| half.p99),
        p999: within(|half| half.p999),
        max: known().map(|one| one.max).max()?,
        trimmed_p50: within(|half| half.trimmed_p50),
        ..half
    })
}

/// Half of each round-trip time of a trial, sorted, with its count. They come from the truth file if there is one, otherwise
/// from the histogram that the ping reported.
fn halves(outcome: &Outcome) -> Vec<(u64, u64)> {
    let mut halves: Vec<(u64, u64)> = match &outcome.records {
        Some(records) if !records.round_trips.is_empty() => {
            records.round_trips.iter().map(|&time| (time / 2, 1)).collect()
        }
        _ => {
            let reported = done(outcome, Role::Ping).and_then(|done| done.rtt.as_ref());
            let times = reported.into_iter().flat_map(|rtt| &rtt.times_ns);
            times.map(|&(time, count)| (time / 2, count)).collect()
        }
    };
    halves.sort_unstable();
    halves
}

/// The distribution of sorted times, each with its count; `None` if there are none.
fn half_of(sorted: &[(u64, u64)]) -> Option<RttHalf> {
    let mut counted = 0u64;
    let up_to: Vec<u64> = sorted
        .iter()
        .map(|(_, count)| {
            counted = counted.saturating_add(*count);
            counted
        })
        .collect();
    let last = counted.checked_sub(1)?;
    let nth = |index: u64| sorted[up_to.partition_point(|&up_to| up_to <= index)].0;
    let at = |per_mille: u64| nth(last.saturating_mul(per_mille).div_ceil(1000));
    // The trimmed median leaves out what is outside the 1st to 99th percentile; a short series is not trimmed.
    let cut = counted / 100;
    Some(RttHalf {
        count: counted,
        min: at(0),
        p50: at(500),
        p90: at(900),
        p99: at(990),
        p999: at(999),
        max: at(1000),
        trimmed_p50: nth(cut.saturating_add(counted.saturating_sub(cut.saturating_mul(2)) / 2)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_report::Histograms;

    #[test]
    fn the_trimmed_median_ignores_the_outer_percents() {
        let half = half_of(&[(1, 1), (10, 98), (500_000, 1)]).unwrap();
        assert_eq!((half.count, half.min, half.p50, half.trimmed_p50), (100, 1, 10, 10));
        assert_eq!(half.max, 500_000);
        assert_eq!(half_of(&[(4, 1)]).unwrap().trimmed_p50, 4);
        assert_eq!(half_of(&[]), None);
    }

    fn repetition(times: &[(u64, u64)]) -> Repetition {
        let mut samples = Samples::new();
        for &(time, count) in times {
            samples.add_many(Nanos(time), count);
        }
        Repetition {
            rtt_half_ns: half_of(times),
            histograms: Histograms { rtt_half_ns: samples.histogram(), ..Histograms::default() },
            ..Repetition::default()
        }
    }

    #[test]
    fn repetitions_are_taken_together_whichever_was_the_best() {
        let (quick, slow) = (repetition(&[(50, 100)]), repetition(&[(500, 300)]));
        let half = pooled(&[&slow, &quick]).unwrap();
        assert_eq!((half.count, half.min, half.max), (400, 50, 500));
        assert_eq!((half.p50, half.trimmed_p50), (500, 500));
    }

    #[test]
    fn a_single_repetition_is_exact_and_several_are_within_a_thousandth() {
        let one = repetition(&(0..1000).map(|n| (1_234_567 + n * 7919, 1)).collect::<Vec<_>>());
        assert_eq!(pooled(&[&one]), one.rtt_half_ns);
        let (pooled, own) = (pooled(&[&one, &one]).unwrap(), one.rtt_half_ns.unwrap());
        assert_eq!((pooled.min, pooled.max, pooled.count), (own.min, own.max, 2000));
        assert_eq!(pooled.p50, own.p50, "both are the same");
        let other = repetition(&(0..1000).map(|n| (2_345_678 + n * 7919, 1)).collect::<Vec<_>>());
        let mixed = super::pooled(&[&one, &other]).unwrap();
        // 1,000 of 2,000 are below 5,694,000 or so: where both overlap.
        let want = 1_234_567 + 7919 * 570;
        assert!(mixed.p50.abs_diff(want) < want / 100, "{mixed:?} is not about {want}");
        assert_eq!(super::pooled(&[&Repetition::default()]), None);
    }
}
