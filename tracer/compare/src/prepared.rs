//! A pair of results, decoded, with the repetitions that are compared.

use crate::breakdown;
use crate::comparison::{ComparedMetric, Design, Obstacle, PairedResult};
use crate::estimate::{ComparedRepetitions, Estimate, estimates};
use crate::figures::RepetitionFigures;
use crate::judge::drawing;
use crate::obstacles;
use crate::pairs::Rated;
use crate::statistics::bootstrap::seed_of;
use wirelap_report::{Repetition, ReportedTimeSpent};

/// A pair of results with the repetitions that are compared.
#[derive(Debug)]
pub struct Prepared<'a> {
    pair: (Rated<'a>, Rated<'a>),
    design: Design,
    a: Vec<&'a Repetition>,
    b: Vec<&'a Repetition>,
    /// Why the results are not comparable.
    pub obstacles: Vec<Obstacle>,
    /// All metrics that both sides have.
    pub estimates: Vec<Estimate>,
}

impl<'a> Prepared<'a> {
    /// Decodes the repetitions and draws.
    pub fn of(pair: (Rated<'a>, Rated<'a>), design: Design, draws: usize, seed: u64) -> Self {
        let (from, to) = (pair.0.result, pair.1.result);
        let (mut a, mut b) = (whole(&from.repetitions), whole(&to.repetitions));
        if design == Design::SideBySide {
            (a, b) = (with_counterpart(&a, &b), with_counterpart(&b, &a));
        }
        let figures = |side: &[&Repetition]| -> Vec<RepetitionFigures> {
            side.iter().map(|repetition| RepetitionFigures::of(repetition)).collect()
        };
        let (figures_a, figures_b) = (figures(&a), figures(&b));
        let sides = ComparedRepetitions {
            a: figures_a.iter().collect(),
            b: figures_b.iter().collect(),
            drawing: drawing(design),
        };
        let estimates = estimates(&sides, draws, seed_of(seed, &pair.0.name()));
        Prepared { pair, design, a, b, obstacles: obstacles::of_results(from, to), estimates }
    }

    /// The result with its cells.
    pub fn result(self, cells: Vec<ComparedMetric>) -> PairedResult {
        let result = self.pair.0.result;
        let spent = |side: &[&'a Repetition]| -> Vec<&'a ReportedTimeSpent> {
            side.iter().map(|repetition| &repetition.time_spent).collect()
        };
        let (a, b) = (spent(&self.a), spent(&self.b));
        let of_two_files = self.design == Design::TwoRuns;
        let all_b = self.pair.1.result.repetitions.len();
        let (name_a, name_b) = (self.pair.0.name(), self.pair.1.name());
        let broker_b = self.pair.1.result.broker.clone();
        PairedResult {
            name: if name_a == name_b { name_a.clone() } else { format!("{name_a} → {name_b}") },
            name_b: Some(name_b).filter(|name_b| *name_b != name_a),
            middleware: result.middleware.clone(),
            broker: result.broker.clone(),
            broker_b: broker_b.filter(|_| self.pair.1.result.broker != result.broker),
            variant: result.variant.clone().filter(|_| of_two_files),
            payload_bytes: result.payload_bytes,
            rate_msg_per_s: self.pair.0.rate_msg_per_s,
            repetitions_a: a.len(),
            repetitions_b: b.len(),
            left_out_a: result.repetitions.len().saturating_sub(a.len()),
            left_out_b: all_b.saturating_sub(b.len()),
            not_comparable: self.obstacles,
            cells,
            mean: breakdown::of_mean(&a, &b),
            tail: breakdown::of_tail(&a, &b),
        }
    }
}

/// The repetitions that are not partial.
pub fn whole(repetitions: &[Repetition]) -> Vec<&Repetition> {
    repetitions.iter().filter(|repetition| !repetition.partial).collect()
}

/// Those whose number the other side has, too, by number.
fn with_counterpart<'a>(side: &[&'a Repetition], other: &[&Repetition]) -> Vec<&'a Repetition> {
    let has = |one: &&Repetition| other.iter().any(|other| other.number == one.number);
    let mut found: Vec<&Repetition> = side.iter().copied().filter(has).collect();
    found.sort_by_key(|repetition| repetition.number);
    found.dedup_by_key(|repetition| repetition.number);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counterparts_have_the_same_number() {
        let of = |numbers: &[u32]| -> Vec<Repetition> {
            let each = numbers.iter();
            each.map(|&number| Repetition { number, ..Repetition::default() }).collect()
        };
        let (a, b) = (of(&[3, 1, 2, 5, 1]), of(&[1, 3, 4]));
        let (a, b): (Vec<_>, Vec<_>) = (a.iter().collect(), b.iter().collect());
        let numbers = |side: &[&Repetition]| -> Vec<u32> {
            side.iter().map(|repetition| repetition.number).collect()
        };
        assert_eq!(numbers(&with_counterpart(&a, &b)), [1, 3]);
        assert_eq!(numbers(&with_counterpart(&b, &a)), [1, 3]);
    }
}
