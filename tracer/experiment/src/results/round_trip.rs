//! Half of the round trips that pings took.

use super::outcome::done;
use crate::measure::Outcome;
use wirelap_contract::Role;
use wirelap_events::Nanos;
use wirelap_report::{RttHalf, Samples};

/// Half of the round-trip times of all repetitions; `None` if nothing was pinged.
pub fn rtt_half(all: &[&Outcome]) -> Option<RttHalf> {
    half_of(&times(all))
}

/// The halves as an encoded histogram.
pub fn histogram(outcome: &Outcome) -> Option<String> {
    let mut samples = Samples::new();
    for (time, count) in times(&[outcome]) {
        samples.add_many(Nanos(time / 2), count);
    }
    samples.histogram()
}

/// The round-trip times of repetitions, sorted, each with its count. They come from the truth file of each repetition if it has
/// one, otherwise from the histogram that the ping reported.
fn times(all: &[&Outcome]) -> Vec<(u64, u64)> {
    let mut times: Vec<(u64, u64)> = Vec::new();
    for outcome in all {
        match &outcome.records {
            Some(records) if !records.round_trips.is_empty() => {
                times.extend(records.round_trips.iter().map(|&time| (time, 1)));
            }
            _ => {
                let reported = done(outcome, Role::Ping).and_then(|done| done.rtt.as_ref());
                times.extend(reported.into_iter().flat_map(|rtt| &rtt.times_ns));
            }
        }
    }
    times.sort_unstable();
    times
}

/// The distribution of half of sorted round-trip times, each with its count; `None` if there are none.
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
    let nth = |index: u64| sorted[up_to.partition_point(|&up_to| up_to <= index)].0 / 2;
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

    #[test]
    fn the_trimmed_median_ignores_the_outer_percents() {
        let half = half_of(&[(2, 1), (20, 98), (1_000_000, 1)]).unwrap();
        assert_eq!((half.count, half.min, half.p50, half.trimmed_p50), (100, 1, 10, 10));
        assert_eq!(half.max, 500_000);
        assert_eq!(half_of(&[(8, 1)]).unwrap().trimmed_p50, 4);
        assert_eq!(half_of(&[]), None);
    }

    #[test]
    fn repetitions_are_taken_together_whichever_was_the_best() {
        let (quick, slow) = (vec![(100, 100)], vec![(1000, 300)]);
        let mut both = [quick, slow].concat();
        both.sort_unstable();
        let half = half_of(&both).unwrap();
        assert_eq!((half.count, half.min, half.max), (400, 50, 500));
        assert_eq!((half.p50, half.trimmed_p50), (500, 500));
    }
}
