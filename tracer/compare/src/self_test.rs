//! Counts false alarms of a run that is compared with itself: its repetitions are divided at random into two halves.

use crate::estimate::{ComparedRepetitions, Estimate, estimates};
use crate::figures::RepetitionFigures;
use crate::judge;
use crate::machine::SAME_MACHINE;
use crate::metric::Answer;
use crate::options::CompareOptions;
use crate::prepared::whole;
use crate::statistics::bootstrap::{Drawing, seed_of};
use crate::statistics::proportion;
use fastrand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelap_events::Count;
use wirelap_report::RunReport;

/// The false alarms of a run that is compared with itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTest {
    /// Random divisions of the repetitions into two halves.
    pub pairs: u64,
    /// Divisions in which at least one cell is `slower` or `faster`.
    pub pairs_with_alarm: u64,
    /// Cells of all divisions.
    pub cells: u64,
    /// Cells that are `slower` or `faster`.
    pub alarms: u64,
    /// The share of divisions with an alarm, 0..=1; 5 % are expected at most.
    pub rate: f64,
    /// The lower end of the rate's 95 % interval (Clopper and Pearson). The divisions are of the same repetitions, so that the
    /// true uncertainty is larger.
    pub rate_low: f64,
    /// The upper end of the rate's 95 % interval.
    pub rate_high: f64,
    /// The share of cells with an alarm, 0..=1.
    pub cell_rate: f64,
}

/// Divides the repetitions of each result `pairs` times at random into two halves of the same size, and compares the halves as
/// two runs. Results with fewer than four repetitions are left out.
pub fn self_test(report: &RunReport, options: &CompareOptions, pairs: u64) -> SelfTest {
    let results: Vec<Vec<RepetitionFigures>> = report
        .results
        .iter()
        .map(|result| whole(&result.repetitions).into_iter().map(RepetitionFigures::of).collect())
        .filter(|repetitions: &Vec<_>| repetitions.len() >= 4)
        .collect();
    let mut rng = Rng::with_seed(seed_of(options.seed, "self-test"));
    let (mut all_cells, mut all_alarms, mut with_alarm) = (Count(0), Count(0), Count(0));
    for _ in 0..pairs {
        let (cells, alarms) = divided(&results, options, &mut rng);
        all_cells += cells;
        all_alarms += alarms;
        with_alarm += u64::from(alarms > 0);
    }
    let (cells, alarms, pairs_with_alarm) = (all_cells.0, all_alarms.0, with_alarm.0);
    let mut test = SelfTest { pairs, pairs_with_alarm, cells, alarms, ..SelfTest::default() };
    let share = |part: u64, of: u64| if of > 0 { part as f64 / of as f64 } else { 0.0 };
    (test.rate_low, test.rate_high) = proportion::interval(test.pairs_with_alarm, pairs);
    test.rate = share(test.pairs_with_alarm, pairs);
    test.cell_rate = share(test.alarms, test.cells);
    test
}

/// Cells and alarms of one random division.
fn divided(
    results: &[Vec<RepetitionFigures>],
    options: &CompareOptions,
    rng: &mut Rng,
) -> (u64, u64) {
    let estimates: Vec<Vec<Estimate>> = results
        .iter()
        .map(|repetitions| {
            let mut drawn: Vec<&RepetitionFigures> = repetitions.iter().collect();
            rng.shuffle(&mut drawn);
            let half = drawn.len() / 2;
            let b = drawn.iter().skip(half).take(half).copied().collect();
            let a = drawn.iter().take(half).copied().collect();
            let sides = ComparedRepetitions { a, b, drawing: Drawing::Independent };
            estimates(&sides, options.draws.max(100), rng.u64(..))
        })
        .collect();
    let input: Vec<(&[Estimate], bool)> =
        estimates.iter().map(|each| (each.as_slice(), true)).collect();
    let (_, cells) = judge::cells(&input, options.margin, SAME_MACHINE);
    let all = cells.iter().flatten().map(|cell| cell.answer);
    let alarms = all.clone().filter(|answer| matches!(answer, Answer::Slower | Answer::Faster));
    (all.count() as u64, alarms.count() as u64)
}
