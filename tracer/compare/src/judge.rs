//! From estimates to answers.

use crate::comparison::{Bounds, ComparedMetric, Design};
use crate::estimate::{Estimate, Uncertainty, smallest_p};
use crate::machine::{MachineEffect, SAME_MACHINE, widened};
use crate::metric::{Answer, Metric};
use crate::statistics::bootstrap::Drawing;
use crate::statistics::holm;
use crate::statistics::interval::Interval;
use wirelap_events::human::exact;

/// A test is significant at this p-value after Holm's correction.
const SIGNIFICANT: f64 = 0.05;

/// More repetitions than this are not proposed.
const MOST_REPETITIONS: u32 = 100_000;

/// The parameters of an answer beside the estimate.
#[derive(Clone, Copy, Debug)]
struct Standard {
    /// The logarithm of the largest ratio that is the same.
    margin: f64,
    /// Tests of the whole comparison.
    tests: usize,
    /// The part of the figures' change that the machine's own change explains.
    machine: MachineEffect,
}

/// The way in which repetitions are drawn in a design.
pub fn drawing(design: Design) -> Drawing {
    match design {
        Design::TwoRuns => Drawing::Independent,
        Design::SideBySide => Drawing::Pairs,
    }
}

/// The cells of all results, and the number of tests. What is not comparable has no test. `machine` is what the machine's own
/// change explains.
pub fn cells(
    results: &[(&[Estimate], bool)],
    margin: f64,
    machine: MachineEffect,
) -> (usize, Vec<Vec<ComparedMetric>>) {
    let compared = results.iter().filter(|(_, comparable)| *comparable);
    let p_of = |estimate: &Estimate| estimate.tested().map(|uncertainty| uncertainty.p);
    let p: Vec<f64> =
        compared.flat_map(|(estimates, _)| estimates.iter().filter_map(p_of)).collect();
    let standard = Standard { margin: margin.max(0.0).ln_1p(), tests: p.len(), machine };
    let mut adjusted = holm::adjusted(&p).into_iter();
    let cells = results.iter().map(|(estimates, comparable)| {
        let each = estimates.iter().map(|estimate| match comparable {
            false => not_comparable(estimate),
            true => {
                let p_holm = estimate.tested().and_then(|_| adjusted.next());
                cell(estimate, p_holm, standard)
            }
        });
        each.collect()
    });
    (p.len(), cells.collect())
}

/// A cell with its answer.
fn cell(estimate: &Estimate, p_holm: Option<f64>, standard: Standard) -> ComparedMetric {
    if let (Some(needed), Some(messages)) = (estimate.messages_needed(), estimate.messages) {
        return ComparedMetric {
            reason: Some(too_few_messages(estimate.metric, needed, messages)),
            messages_needed: Some(needed),
            ..figures(estimate)
        };
    }
    let answer = answer(estimate, p_holm, standard);
    let undecided = answer == Answer::CannotTell;
    let same_machine = Standard { machine: SAME_MACHINE, ..standard };
    if undecided && self::answer(estimate, p_holm, same_machine) != Answer::CannotTell {
        return ComparedMetric {
            p: estimate.uncertainty.map(|uncertainty| uncertainty.p),
            p_holm,
            reason: Some("the machine itself changed by as much between the runs".into()),
            machine_changed: true,
            ..figures(estimate)
        };
    }
    ComparedMetric {
        p: estimate.uncertainty.map(|uncertainty| uncertainty.p),
        p_holm,
        answer,
        answer_in_words: estimate.metric.word(answer).to_owned(),
        reason: undecided.then(|| reason(estimate, standard)),
        repetitions_needed: undecided.then(|| repetitions_needed(estimate, standard)),
        ..figures(estimate)
    }
}

/// `p99.9 needs 10,000 messages in each repetition, and these have 800 to 900`.
fn too_few_messages(metric: Metric, needed: u64, (fewest, most): (u64, u64)) -> String {
    let have = match (exact(fewest), exact(most)) {
        (fewest, most) if fewest == most => fewest,
        (fewest, most) => format!("{fewest} to {most}"),
    };
    let (name, counted, needed) = (metric.short(), metric.counted(), exact(needed));
    format!("{name} needs {needed} {counted} in each repetition, and these have {have}")
}

/// A cell without an answer, because the sides are not comparable.
fn not_comparable(estimate: &Estimate) -> ComparedMetric {
    ComparedMetric { reason: Some("the sides are not comparable".into()), ..figures(estimate) }
}

fn figures(estimate: &Estimate) -> ComparedMetric {
    let bounds = |of: fn(&Uncertainty) -> Interval| {
        let Interval { low, high } = of(estimate.uncertainty.as_ref()?);
        Some(Bounds { low: low.exp(), high: high.exp() })
    };
    // Taking the logarithm and back leaves 139.99999999999994 of 140.
    let value = |log: f64| format!("{:.11e}", log.exp()).parse().unwrap_or_default();
    ComparedMetric {
        metric: estimate.metric,
        a: value(estimate.a),
        b: value(estimate.b),
        ratio: estimate.difference().exp(),
        a_95: bounds(|uncertainty| uncertainty.a),
        b_95: bounds(|uncertainty| uncertainty.b),
        ratio_95: bounds(|uncertainty| uncertainty.likely),
        ratio_90: bounds(|uncertainty| uncertainty.equivalence),
        p: None,
        p_holm: None,
        answer: Answer::CannotTell,
        answer_in_words: estimate.metric.word(Answer::CannotTell).to_owned(),
        reason: None,
        repetitions_needed: None,
        messages_needed: None,
        machine_changed: false,
    }
}

fn answer(estimate: &Estimate, p_holm: Option<f64>, standard: Standard) -> Answer {
    let (more, margin) = (estimate.metric.if_more(), standard.margin);
    if estimate.metric == Metric::WireBytesPerDelivery {
        return match estimate.difference() {
            difference if difference.abs() <= margin => Answer::Same,
            difference if difference > 0.0 => more,
            _ => more.opposite(),
        };
    }
    let Some(Uncertainty { likely, equivalence, .. }) = estimate.uncertainty else {
        return Answer::CannotTell;
    };
    let [likely, equivalence] =
        [likely, equivalence].map(|interval| widened(estimate.metric, interval, standard.machine));
    let significant = p_holm.is_some_and(|p| p <= SIGNIFICANT);
    if -margin < equivalence.low && equivalence.high < margin {
        Answer::Same
    } else if significant && likely.low > 0.0 {
        more
    } else if significant && likely.high < 0.0 {
        more.opposite()
    } else {
        Answer::CannotTell
    }
}

fn reason(estimate: &Estimate, standard: Standard) -> String {
    let (a, b) = estimate.repetitions;
    let Some(Uncertainty { likely, .. }) = estimate.uncertainty else {
        return format!(
            "A has {a} and B has {b} of the two or more repetitions that are necessary"
        );
    };
    if smallest_p((a, b), estimate.drawing) * standard.tests as f64 > SIGNIFICANT {
        return format!("{a} and {b} repetitions are too few to be significant");
    }
    if likely.low > 0.0 || likely.high < 0.0 {
        return "there seems to be a difference, and it is not significant".into();
    }
    "there may be a difference, or none".into()
}

/// Number of further repetitions of each side that would decide. The width of an interval shrinks with the root of their number.
fn repetitions_needed(estimate: &Estimate, standard: Standard) -> u32 {
    let has = estimate.repetitions.0.min(estimate.repetitions.1);
    let ranks = f64::from(repetitions_to_be_significant(estimate.drawing, standard.tests));
    let Some(Uncertainty { likely, equivalence, .. }) = estimate.uncertainty else {
        return more(ranks, has);
    };
    let (distance, count) = (estimate.difference().abs(), has as f64);
    let half = |interval: Interval| (interval.high - interval.low) / 2.0;
    let to_differ = (count * (half(likely) / distance).powi(2)).max(ranks);
    let room = standard.margin - distance;
    let to_be_same = count * (half(equivalence) / room).powi(2);
    more(if room > 0.0 { to_differ.min(to_be_same) } else { to_differ }, has)
}

/// At least one more than there are.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // `as` saturates, and infinity and NaN have a place.
fn more(needed: f64, has: usize) -> u32 {
    // A whole number may have been computed a little too large.
    let needed = (needed - 1e-6).ceil() as u32;
    needed.saturating_sub(u32::try_from(has).unwrap_or(u32::MAX)).clamp(1, MOST_REPETITIONS)
}

/// From how many repetitions of each side on the most extreme ranks are significant among so many tests.
fn repetitions_to_be_significant(drawing: Drawing, tests: usize) -> u32 {
    let significant = |n: &usize| smallest_p((*n, *n), drawing) * tests as f64 <= SIGNIFICANT;
    let least = (2..=10_000).find(significant).unwrap_or(10_000);
    u32::try_from(least).unwrap_or(u32::MAX)
}

/// A sentence for each number of repetitions with which even the most extreme ranks could not be significant.
pub fn too_few(estimates: &[&Estimate], tests: usize) -> Vec<String> {
    let tested = estimates.iter().filter(|estimate| estimate.tested().is_some());
    let mut counts: Vec<_> = tested.map(|one| (one.repetitions, one.drawing)).collect();
    counts.sort_by_key(|(repetitions, _)| *repetitions);
    counts.dedup();
    counts.retain(|&(counts, drawing)| smallest_p(counts, drawing) * tests as f64 > SIGNIFICANT);
    let say = |((a, b), drawing)| {
        let needed = repetitions_to_be_significant(drawing, tests);
        let who = match drawing {
            Drawing::Pairs => format!("With {a} pairs of repetitions"),
            Drawing::Independent => format!("With {a} repetitions of A and {b} of B"),
        };
        format!(
            "{who}, even the most extreme ranks are not significant after Holm's correction for {tests} tests: \
             nothing can be slower or faster. {needed} of each would do."
        )
    };
    counts.into_iter().map(say).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIVE_PERCENT: Standard = Standard { margin: 0.048_790, tests: 1, machine: SAME_MACHINE };

    fn estimate(metric: Metric, difference: f64, half: f64, count: usize) -> Estimate {
        let around = |half: f64| Interval { low: difference - half, high: difference + half };
        Estimate {
            metric,
            a: 0.0,
            b: difference,
            repetitions: (count, count),
            uncertainty: (count > 1).then(|| Uncertainty {
                likely: around(half),
                equivalence: around(half * 0.8),
                a: around(half),
                b: around(half),
                p: 0.01,
            }),
            drawing: Drawing::Independent,
            messages: None,
        }
    }

    #[test]
    fn a_percentile_of_too_few_messages_has_no_answer_and_no_test() {
        let of = |metric, messages| Estimate {
            messages: Some(messages),
            ..estimate(metric, 1.0, 0.1, 10)
        };
        let (p50, p99, p999) = (Metric::OneWayP50Ns, Metric::OneWayP99Ns, Metric::OneWayP999Ns);
        for (metric, messages) in [(p50, 19), (p99, 999), (p999, 9_999)] {
            let few = of(metric, (messages, messages));
            let (tests, cells) = cells(&[(std::slice::from_ref(&few), true)], 0.05, SAME_MACHINE);
            assert_eq!((tests, cells[0][0].answer), (0, Answer::CannotTell));
            assert_eq!(cells[0][0].repetitions_needed, None, "more repetitions do not help");
            assert_eq!(cells[0][0].messages_needed, Some(messages + 1));
            let enough = of(metric, (messages + 1, u64::MAX));
            assert_eq!(cell(&enough, Some(0.01), FIVE_PERCENT).answer, Answer::Slower);
        }
        let cell = cell(&of(p999, (800, 9_000)), None, FIVE_PERCENT);
        assert_eq!(
            cell.reason.unwrap(),
            "p99.9 needs 10,000 messages in each repetition, and these have 800 to 9,000"
        );
    }

    fn answers(difference: f64, half: f64, p: f64) -> [Answer; 2] {
        [Metric::OneWayP50Ns, Metric::ThroughputMsgPerS]
            .map(|metric| answer(&estimate(metric, difference, half, 5), Some(p), FIVE_PERCENT))
    }

    #[test]
    fn a_difference_needs_a_significant_test_and_an_interval_beside_one() {
        use Answer::{CannotTell, Faster, Same, Slower};
        assert_eq!(answers(0.1, 0.05, 0.05), [Slower, Faster]);
        assert_eq!(answers(-0.1, 0.05, 0.05), [Faster, Slower]);
        assert_eq!(answers(0.1, 0.05, 0.051), [CannotTell; 2]);
        assert_eq!(answers(0.1, 0.11, 0.01), [CannotTell; 2]);
        assert_eq!(answers(0.01, 0.01, 0.01), [Same; 2], "inside the margin, even if significant");
        assert_eq!(answers(0.0, 0.04, 1.0), [Same; 2]);
        assert_eq!(answers(0.0, 0.07, 1.0), [CannotTell; 2]);
    }

    #[test]
    fn what_the_machine_explains_is_no_difference() {
        // Times may be 10 to 15 % longer.
        let machine = MachineEffect::of_times(0.0, 0.15_f64.ln_1p());
        let slow = Standard { machine, ..FIVE_PERCENT };
        let of = |metric, difference, standard| {
            let estimate = estimate(metric, difference, 0.03, 10);
            let cell = cell(&estimate, Some(0.001), standard);
            (cell.answer, cell.machine_changed)
        };
        let (p50, rate) = (Metric::OneWayP50Ns, Metric::ThroughputMsgPerS);
        assert_eq!(of(p50, 0.12, FIVE_PERCENT), (Answer::Slower, false));
        assert_eq!(of(p50, 0.12, slow), (Answer::CannotTell, true));
        assert_eq!(of(p50, 0.2, slow), (Answer::Slower, false), "more than the machine explains");
        assert_eq!(of(p50, -0.1, slow), (Answer::Faster, false), "although the machine was slower");
        assert_eq!(of(p50, 0.0, slow), (Answer::CannotTell, true), "it may have become faster");
        assert_eq!(of(rate, -0.12, FIVE_PERCENT), (Answer::Slower, false));
        assert_eq!(of(rate, -0.12, slow), (Answer::CannotTell, true));
        assert_eq!(of(rate, -0.2, slow), (Answer::Slower, false));
        assert_eq!(of(rate, 0.1, slow), (Answer::Faster, false));
        let bytes =
            Estimate { uncertainty: None, ..estimate(Metric::WireBytesPerDelivery, 0.1, 0.0, 1) };
        assert_eq!(answer(&bytes, None, slow), Answer::Slower, "bytes know no machine");
    }

    #[test]
    fn bytes_have_the_margin_only() {
        let of = |difference| {
            let metric = Metric::WireBytesPerDelivery;
            let bytes = Estimate { uncertainty: None, ..estimate(metric, difference, 0.0, 1) };
            cell(&bytes, None, FIVE_PERCENT).answer_in_words
        };
        assert_eq!([0.1, -0.1, 0.04].map(of), ["more", "fewer", "same"]);
    }

    #[test]
    fn half_the_width_needs_four_times_the_repetitions() {
        // 0.1 ± 0.2 with 5: at ± 0.1, which takes 20.
        let wide = estimate(Metric::OneWayP50Ns, 0.1, 0.2, 5);
        assert_eq!(repetitions_needed(&wide, FIVE_PERCENT), 15);
        // 0 ± 0.1 is same at ± 0.04879 / 0.8.
        let same = estimate(Metric::OneWayP50Ns, 0.0, 0.1, 5);
        assert_eq!(repetitions_needed(&same, FIVE_PERCENT), 9);
        // Clear, and only the ranks are too few: 2 / C(2n, n) × 54 ≤ 0.05 from n = 7.
        let clear = estimate(Metric::OneWayP50Ns, 1.0, 0.1, 3);
        assert_eq!(repetitions_needed(&clear, Standard { tests: 54, ..FIVE_PERCENT }), 4);
    }

    #[test]
    fn one_repetition_decides_nothing_and_that_is_said() {
        let cell = cell(&estimate(Metric::OneWayP50Ns, 1.0, 0.1, 1), None, FIVE_PERCENT);
        assert_eq!(cell.answer, Answer::CannotTell);
        let reason = cell.reason.unwrap();
        assert_eq!(reason, "A has 1 and B has 1 of the two or more repetitions that are necessary");
        assert_eq!(cell.repetitions_needed, Some(3), "4 and 4 are significant: 2 of 70");
    }

    #[test]
    fn too_few_repetitions_are_said_with_how_many_would_do() {
        let one = estimate(Metric::OneWayP50Ns, 0.1, 0.1, 3);
        let notes = too_few(&[&one, &one], 6);
        assert_eq!(notes.len(), 1);
        assert!(notes[0].starts_with("With 3 repetitions of A and 3 of B, even"), "{notes:?}");
        assert!(notes[0].ends_with("5 of each would do."), "2 of 252, six times: {notes:?}");
        let pairs = Estimate { drawing: Drawing::Pairs, ..one };
        assert!(too_few(&[&pairs], 1)[0].ends_with("6 of each would do."), "2 of 64");
        assert!(too_few(&[&estimate(Metric::OneWayP50Ns, 0.1, 0.1, 4)], 1).is_empty());
    }
}
