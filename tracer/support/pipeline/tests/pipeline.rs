//! Committed captures, and mutations of them, through the whole pipeline: nothing breaks.
//!
//! `WIRELAP_MUTATIONS=N` tries N of each capture, `WIRELAP_SEED=N` begins with another one.

use std::panic::catch_unwind;
use wirelap_test_pipeline::files::run;
use wirelap_test_support::committed;
use wirelap_test_support::mutate::{mutate, number};
use wirelap_test_support::random::Random;

/// Most bytes of a capture that are used, from its beginning.
const MOST_BYTES: u64 = 64 << 10;

/// Runs `one` with seeds of each capture, and names those with which it panics.
fn each_seed(one: fn(&[u8], u64)) {
    let (mutations, first) = (number("WIRELAP_MUTATIONS", 6), number("WIRELAP_SEED", 0));
    let mut wrong = Vec::new();
    for (name, bytes) in committed::all(MOST_BYTES) {
        for seed in first..first + mutations {
            if catch_unwind(|| one(&bytes, seed)).is_err() {
                wrong.push(format!("{name}, seed {seed}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn committed_captures_have_messages() {
    let captures = committed::all(u64::MAX);
    assert!(captures.len() > 50, "{} captures", captures.len());
    let silent = captures.iter().filter(|(_, bytes)| run(bytes, None) == 0).count();
    assert!(silent * 4 < captures.len(), "{silent} of {} have none", captures.len());
}

#[test]
fn mutated_files_break_nothing() {
    each_seed(|bytes, seed| {
        let mut random = Random::new(seed);
        run(&mutate(bytes, &mut random), None);
    });
}

#[test]
fn mutated_events_break_nothing() {
    each_seed(|bytes, seed| {
        let one_in = [1, 3, 20, 500][usize::try_from(seed % 4).unwrap_or(0)];
        run(bytes, Some((one_in, Random::new(seed))));
    });
}

#[test]
fn both_at_once_break_nothing() {
    each_seed(|bytes, seed| {
        let mut random = Random::new(seed + 1_000_000);
        let file = mutate(bytes, &mut random);
        run(&file, Some((50, random)));
    });
}
