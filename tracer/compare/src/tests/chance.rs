//! Frequency of answers that are wrong by chance, and a large comparison.

use super::{alarms, cell, quick};
use crate::samples::{Simulation, report, simulated};
use crate::{Answer, CompareOptions, Metric, compare, compare_variants, self_test};
use wirelap_report::RunReport;

/// One of many simulations without a difference.
fn equal(seed: u64) -> RunReport {
    simulated(Simulation { seed, repetitions: 8, messages: 200, spread: 0.05, dwell: 1.0 })
}

#[test]
fn false_alarms_between_equal_runs_are_rare() {
    let compared = |pair: u64| compare(&equal(pair * 2), &equal(pair * 2 + 1), &quick());
    let false_alarms = (0..200).filter(|&pair| alarms(&compared(pair))).count();
    println!("two runs: {false_alarms} of 200");
    assert!(false_alarms <= 10, "{false_alarms}");
}

#[test]
fn false_alarms_between_equal_variants_are_rare() {
    let compared = |pair: u64| {
        let (mut run, mut other) = (equal(pair * 2), equal(pair * 2 + 1));
        run.results.append(&mut other.results);
        run.results[0].variant = Some("A".into());
        run.results[1].variant = Some("B".into());
        compare_variants(&run, "A", "B", &quick())
    };
    let false_alarms = (0..200).filter(|&pair| alarms(&compared(pair))).count();
    println!("side by side: {false_alarms} of 200");
    assert!(false_alarms <= 10, "{false_alarms}");
}

/// A difference as large as the margin is seldom called "the same".
#[test]
fn a_difference_at_the_margin_is_rarely_called_the_same() {
    let metric = Metric::ThroughputMsgPerS;
    let changed = |seed| {
        let mut run = equal(seed);
        for repetition in &mut run.results[0].repetitions {
            repetition.throughput.msg_per_s *= 1.05;
        }
        run
    };
    let compared = |pair: u64| compare(&equal(pair * 2), &changed(pair * 2 + 1), &quick());
    let same = |&pair: &u64| cell(&compared(pair), metric).answer == Answer::Same;
    let wrong = (0..200).filter(same).count();
    println!("same at the margin: {wrong} of 200");
    assert!(wrong <= 20, "{wrong}");
}

#[test]
fn the_self_test_counts_false_alarms() {
    let run = simulated(Simulation { repetitions: 16, messages: 200, ..Simulation::default() });
    let test = self_test(&run, &quick(), 100);
    assert_eq!((test.pairs, test.cells), (100, 700));
    assert!(
        test.rate <= 0.05 && test.rate_low <= test.rate && test.rate < test.rate_high,
        "{test:?}"
    );
    let short = report(3, |_, _| {});
    assert_eq!(self_test(&short, &quick(), 10).cells, 0);
}

/// Nine middlewares with ten repetitions on each side, with 15 000 messages each.
#[test]
fn a_large_comparison_answers_every_cell() {
    let large = |seed| {
        let mut run = simulated(Simulation { seed, messages: 15_000, ..Simulation::default() });
        let result = run.results[0].clone();
        run.results = (0..9)
            .map(|index| {
                let mut result = result.clone();
                result.middleware = format!("m{index}");
                result
            })
            .collect();
        run
    };
    let (a, b) = (large(1), large(2));
    let found = compare(&a, &b, &CompareOptions::default());
    let cells = found.results.iter().flat_map(|result| &result.cells);
    assert_eq!(cells.clone().count(), 63);
    assert!(cells.clone().all(|cell| cell.answer != Answer::CannotTell || cell.reason.is_some()));
}
