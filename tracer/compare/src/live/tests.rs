use super::*;
use fastrand::Rng;
use std::ops::Range;

/// Seconds whose figures depend on the ones before: each keeps `memory` of the last deviation.
fn series(rng: &mut Rng, seconds: usize, memory: f64, spread: f64) -> Vec<f64> {
    let mut deviation = 0.0;
    let fresh = (1.0 - memory * memory).sqrt() * spread;
    (0..seconds)
        .map(|_| {
            let normal: f64 = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
            deviation = memory * deviation + fresh * normal;
            deviation
        })
        .collect()
}

fn mean_of(values: &[f64]) -> impl Fn(Range<usize>) -> Option<f64> + '_ {
    |range| {
        let block = &values[range];
        Some(block.iter().sum::<f64>() / block.len() as f64)
    }
}

const RULE: AnswerRule = AnswerRule {
    at_once: false,
    margin: 0.05,
    figures: 12,
    least_messages: 20,
    if_more: Answer::Slower,
};

fn compared(a: &[f64], b: &[f64], rule: AnswerRule) -> FigureComparison {
    let counts = |of: &[f64]| vec![1_000; of.len()];
    let (of_a, of_b) = (counts(a), counts(b));
    let (figure_a, figure_b) = (mean_of(a), mean_of(b));
    compare(
        &LiveSide { messages: &of_a, figure: &figure_a },
        &LiveSide { messages: &of_b, figure: &figure_b },
        rule,
        1,
    )
}

/// Watches B for ten minutes, second by second (later, every fifth), and says whether a difference was ever claimed.
fn ever_claimed(a: &[f64], b: &[f64], rule: AnswerRule) -> bool {
    let looks = (5..60).chain((60..b.len()).step_by(5));
    looks.into_iter().any(|now| {
        let a = if rule.at_once { &a[..now] } else { a };
        matches!(compared(a, &b[..now], rule).answer, Answer::Slower | Answer::Faster)
    })
}

#[test]
fn who_looks_every_second_for_five_minutes_sees_false_alarms_rarely() {
    for (at_once, memory) in [(false, 0.0), (false, 0.6), (false, 0.85), (true, 0.6)] {
        let mut rng = Rng::with_seed(9);
        let rule = AnswerRule { at_once, ..RULE };
        let claimed = (0..100).filter(|_| {
            let (a, b) = (series(&mut rng, 300, memory, 0.2), series(&mut rng, 300, memory, 0.2));
            let a = if at_once { &a[..] } else { &a[..40] };
            ever_claimed(a, &b, rule)
        });
        let claimed = claimed.count();
        println!("at once {at_once}, memory {memory}: {claimed} of 100");
        assert!(claimed <= 5, "{claimed} of 100 with memory {memory}");
    }
}

#[test]
fn a_clear_change_is_told_within_seconds() {
    let mut rng = Rng::with_seed(2);
    let a = series(&mut rng, 30, 0.5, 0.03);
    let b: Vec<f64> = series(&mut rng, 60, 0.5, 0.03).iter().map(|v| v + 0.4).collect();
    let first = (1..60).find(|&n| compared(&a, &b[..n], RULE).answer == Answer::Slower);
    assert!(first.is_some_and(|first| first <= 15), "{first:?}");
    let back: Vec<f64> = b.iter().map(|v| v - 0.8).collect();
    assert_eq!(compared(&a, &back, RULE).answer, Answer::Faster);
}

#[test]
fn what_stays_within_the_margin_becomes_the_same() {
    let mut rng = Rng::with_seed(4);
    let (a, b) = (series(&mut rng, 120, 0.4, 0.02), series(&mut rng, 120, 0.4, 0.02));
    assert_eq!(compared(&a, &b, RULE).answer, Answer::Same);
    let slightly: Vec<f64> = b.iter().map(|v| v + 0.03).collect();
    let found = compared(&a, &slightly, RULE).answer;
    assert!(matches!(found, Answer::Same | Answer::CannotTell), "{found:?}");
}

#[test]
fn what_slows_down_both_at_once_is_no_difference() {
    let mut rng = Rng::with_seed(5);
    let common = series(&mut rng, 60, 0.9, 0.5);
    let own = series(&mut rng, 60, 0.0, 0.01);
    let b: Vec<f64> = common.iter().zip(&own).map(|(c, o)| c + o + 0.2).collect();
    let found = compared(&common, &b, AnswerRule { at_once: true, ..RULE });
    assert_eq!(found.answer, Answer::Slower, "{found:?}");
    let found = compared(&common, &b, RULE);
    assert_eq!(found.answer, Answer::CannotTell, "{found:?}");
}

#[test]
fn too_little_is_said_with_how_much_is_missing() {
    let few = compared(&[0.0; 30], &[0.5; 3], RULE);
    assert_eq!((few.answer, few.difference), (Answer::CannotTell, None));
    assert_eq!(few.wait, Some(Wait::Seconds(3)), "six blocks are necessary for twelve figures");
    let short = compared(&[0.0; 3], &[0.5; 30], RULE);
    assert_eq!(short.wait, Some(Wait::OfBaseline));
    let rule = AnswerRule { least_messages: 10_000, ..RULE };
    let few = compared(&[0.0; 100], &[0.5; 30], rule);
    assert_eq!(few.wait, Some(Wait::Seconds(42)), "12 seconds have 12,000 messages; six blocks");
}

#[test]
fn a_wait_ends_about_when_it_was_said_to() {
    let mut rng = Rng::with_seed(8);
    let (a, b) = (series(&mut rng, 400, 0.2, 0.05), series(&mut rng, 400, 0.2, 0.05));
    let found = compared(&a[..200], &b[..40], RULE);
    let Some(Wait::Seconds(more)) = found.wait else { panic!("{found:?}") };
    let then = compared(&a[..200], &b[..(40 + 2 * more as usize).min(400)], RULE);
    assert_eq!(then.answer, Answer::Same, "after {more} s: {then:?}");
}

#[test]
fn figures_that_never_vary_are_compared_exactly() {
    assert_eq!(compared(&[1.0; 20], &[1.0; 20], RULE).answer, Answer::Same);
    assert_eq!(compared(&[1.0; 20], &[2.0; 20], RULE).answer, Answer::Slower);
    let nothing = compare(
        &LiveSide { messages: &[], figure: &|_| None },
        &LiveSide { messages: &[0; 20], figure: &|_| None },
        RULE,
        1,
    );
    assert_eq!(nothing.answer, Answer::CannotTell);
}
