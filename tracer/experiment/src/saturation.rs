//! The search for the highest rate that a middleware reaches: further trials between the highest rate that was reached and the
//! lowest that was missed.

use crate::pacing::TrialPacing;
use crate::results::{AtRate, TrialRecord, at_rate};
use crate::trial::Trial;
use std::collections::BTreeMap;
use wirelap_report::Saturation;
use wirelap_report::run::REACHED;

/// The most trials that are added for one middleware, broker and payload size.
pub const STEPS: u32 = 6;

/// Factor by which a 99th percentile is too slow, compared with that at the lowest rate.
const TOO_SLOW: u64 = 10;

/// A missed rate that is at most this many times the reached one ends the search.
const CLOSE: f64 = 1.1;

/// Subject of a search: the trial's subject and its payload size.
type SearchSubject = (String, usize);

/// A search that is going on.
#[derive(Debug, Default)]
pub struct Search {
    steps: BTreeMap<SearchSubject, u32>,
}

impl Search {
    /// The next trials, at most one for each subject; empty at the end of the search.
    pub fn further(&mut self, records: &[TrialRecord]) -> Vec<Trial> {
        let mut trials = Vec::new();
        for (subject, (trial, points)) in points(records) {
            let steps = self.steps.entry(subject).or_default();
            let next = Bracket::of(&points).next();
            if let Some(rate) = next.filter(|_| *steps < STEPS) {
                *steps = steps.saturating_add(1);
                let pacing = TrialPacing::Rate(rate);
                trials.push(Trial { pacing, repetition: 1, ..trial.clone() });
            }
        }
        trials
    }
}

/// Returns the results of the search.
pub fn found(records: &[TrialRecord]) -> Vec<Saturation> {
    let found = points(records).into_values().map(|(trial, points)| {
        let Bracket { highest_reached, lowest_missed } = Bracket::of(&points);
        Saturation {
            middleware: trial.name().to_owned(),
            broker: trial.broker.as_ref().map(|broker| broker.name().to_owned()),
            variant: trial.variant.map(|variant| variant.to_string()),
            payload_bytes: trial.payload as u64,
            highest_reached,
            lowest_missed,
        }
    });
    found.collect()
}

/// A rate, and whether it was reached.
type RatePoint = (f64, bool);

/// A trial of each subject, and the subject's points, the lowest rate first.
fn points(records: &[TrialRecord]) -> BTreeMap<SearchSubject, (&Trial, Vec<RatePoint>)> {
    let mut rates: BTreeMap<SearchSubject, BTreeMap<u64, Vec<&TrialRecord>>> = BTreeMap::new();
    for record in records {
        let TrialPacing::Rate(rate) = record.trial.pacing else { continue };
        // What a signal stopped tells nothing about its rate.
        if record.repetition.interrupted.is_some() {
            continue;
        }
        let subject = (record.trial.subject(), record.trial.payload);
        // The bits of numbers above 0 are in the order of the numbers.
        rates.entry(subject).or_default().entry(rate.to_bits()).or_default().push(record);
    }
    let points = rates.into_iter().filter_map(|(subject, rates)| {
        let trial = &rates.values().next()?.first()?.trial;
        let measured = rates.iter().map(|(rate, all)| (f64::from_bits(*rate), at_rate(all)));
        Some((subject, (trial, judged(measured.collect()))))
    });
    points.collect()
}

/// Decides for each rate if it was reached. The lowest rate, which is the first, sets what is slow.
fn judged(measured: Vec<(f64, AtRate)>) -> Vec<RatePoint> {
    let limit = measured
        .iter()
        .find_map(|(_, at)| at.p99_ns)
        .map_or(u64::MAX, |p99| p99.saturating_mul(TOO_SLOW));
    measured
        .into_iter()
        .map(|(rate, at)| {
            let in_time = at.sent_share.is_some_and(|share| share >= REACHED);
            (rate, in_time && at.p99_ns.is_some_and(|p99| p99 <= limit))
        })
        .collect()
}

/// The rates between which a middleware cannot keep up any more.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bracket {
    highest_reached: Option<f64>,
    lowest_missed: Option<f64>,
}

impl Bracket {
    /// The bracket of points in the order of their rates.
    fn of(points: &[RatePoint]) -> Bracket {
        let first_missed = points.iter().position(|(_, reached)| !reached);
        let reached = &points[..first_missed.unwrap_or(points.len())];
        Bracket {
            highest_reached: reached.last().map(|(rate, _)| *rate),
            lowest_missed: first_missed.and_then(|at| points.get(at)).map(|(rate, _)| *rate),
        }
    }

    /// The next rate to try: half-way in proportion, or twice the highest if none was missed. `None` if the rates are close
    /// together, or if even the lowest rate was missed.
    fn next(self) -> Option<f64> {
        let reached = self.highest_reached?;
        let Some(missed) = self.lowest_missed else { return Some(reached * 2.0) };
        let next = three_digits((reached * missed).sqrt());
        (missed > reached * CLOSE && next > reached && next < missed).then_some(next)
    }
}

/// A number above 0, rounded to three digits.
fn three_digits(number: f64) -> f64 {
    let unit = 10_f64.powf(number.log10().floor() - 2.0);
    let rounded = (number / unit).round() * unit;
    // The product of a fraction is not exact, and whole numbers are easier to read.
    if rounded >= 100.0 { rounded.round() } else { rounded }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(sent_share: f64, p99_ns: u64) -> AtRate {
        AtRate { sent_share: Some(sent_share), p99_ns: Some(p99_ns) }
    }

    #[test]
    fn a_rate_is_reached_if_it_was_sent_and_the_tail_did_not_grow() {
        let measured = vec![
            (1.0, at(1.0, 100)),
            (10.0, at(0.95, 1000)),
            (100.0, at(0.94, 100)),
            (1000.0, at(1.0, 1001)),
            (10_000.0, AtRate { sent_share: Some(1.0), p99_ns: None }),
        ];
        let reached: Vec<bool> = judged(measured).iter().map(|(_, reached)| *reached).collect();
        assert_eq!(reached, [true, true, false, false, false]);
    }

    /// Searches as `Search` does, for a middleware that reaches rates up to `limit`.
    fn search(limit: f64) -> (Bracket, usize) {
        let mut points: Vec<RatePoint> =
            [1.0, 10.0, 100.0, 1000.0].map(|rate| (rate, rate <= limit)).to_vec();
        for step in 0..STEPS as usize {
            let Some(rate) = Bracket::of(&points).next() else {
                return (Bracket::of(&points), step);
            };
            points.push((rate, rate <= limit));
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        (Bracket::of(&points), STEPS as usize)
    }

    #[test]
    fn the_search_closes_in_on_the_limit() {
        for limit in [30.0, 99.0, 250.0, 1500.0, 5000.0] {
            let (bracket, steps) = search(limit);
            let (reached, missed) =
                (bracket.highest_reached.unwrap(), bracket.lowest_missed.unwrap());
            assert!(reached <= limit && limit < missed, "{limit}: {bracket:?}");
            assert!(missed / reached < 1.3, "{limit}: {bracket:?} after {steps} steps");
        }
    }

    #[test]
    fn a_limit_below_or_far_above_the_rates_is_not_searched_for_without_end() {
        let (bracket, steps) = search(0.5);
        assert_eq!((bracket.highest_reached, bracket.lowest_missed, steps), (None, Some(1.0), 0));
        let (bracket, steps) = search(1e9);
        assert_eq!((bracket.highest_reached, steps), (Some(64_000.0), 6));
        assert_eq!(bracket.lowest_missed, None);
    }

    #[test]
    fn a_rate_that_was_missed_below_one_that_was_reached_counts() {
        let bracket = Bracket::of(&[(1.0, true), (10.0, false), (100.0, true)]);
        assert_eq!((bracket.highest_reached, bracket.lowest_missed), (Some(1.0), Some(10.0)));
    }

    #[test]
    fn rates_have_three_digits() {
        let shown = [31_622.776, 3.1622, 123.4, 0.5].map(|rate| three_digits(rate).to_string());
        assert_eq!(shown, ["31600", "3.16", "123", "0.5"]);
    }
}
