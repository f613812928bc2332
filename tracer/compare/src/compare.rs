//! The comparison of two runs, or of the variants of one.

use crate::check::check;
use crate::comparison::{
    COMPARE_SCHEMA, ComparedSide, Comparison, Design, Difference, Obstacle, ObstacleKind,
    PairedResult, Unpaired,
};
use crate::estimate::Estimate;
use crate::machine::MachineEffect;
use crate::options::CompareOptions;
use crate::pairs::{Rated, pair};
use crate::prepared::Prepared;
use crate::{differences, judge, machine, obstacles};
use wirelap_events::Size;
use wirelap_report::{RunReport, RunResult, human};

/// Fewer draws say nothing of an interval; more take long and say no more.
const DRAWS: std::ops::RangeInclusive<usize> = 100..=100_000;

const TWO_RUNS: &str = "Two runs, each with its own repetitions, compared by Mann and Whitney's exact rank test. \
    `wirelap run --ab` is the better design: it measures both sides in turns, so that both see the same state of the machine.";
const SIDE_BY_SIDE: &str = "One run with both sides in turns, compared pair by pair with Wilcoxon's exact signed-rank test. \
    This is the better design: both sides see the same state of the machine.";

/// Compares two runs.
pub fn compare(a: &RunReport, b: &RunReport, options: &CompareOptions) -> Comparison {
    let rates = [a, b].map(|run| run.scenario.rate_msg_per_s);
    // Nothing would belong together if rates that differ were to be compared anyway.
    let by_rate = !options.anyway || rates[0] == rates[1];
    let [rate_a, rate_b] = rates.map(|rate| rate.filter(|_| by_rate));
    let (pairs, unpaired) =
        pair(&side(a, rate_a, |_| true, true), &side(b, rate_b, |_| true, true), false);
    let mut not_comparable = obstacles::of_runs(a, b);
    if pairs.is_empty() && not_comparable.is_empty() {
        not_comparable.push(nothing_in_common());
    }
    let circumstances = ComparisonContext {
        runs: [a, b],
        design: Design::TwoRuns,
        not_comparable,
        unpaired,
        differences: differences::of_runs(a, b),
    };
    assemble(circumstances, pairs, options)
}

/// Compares two variants of one run (`run --ab`): those whose results have these values of [`RunResult::variant`].
pub fn compare_variants(
    report: &RunReport,
    a: &str,
    b: &str,
    options: &CompareOptions,
) -> Comparison {
    let results = |variant: &str| {
        let of_variant = |result: &RunResult| result.variant.as_deref() == Some(variant);
        side(report, report.scenario.rate_msg_per_s, of_variant, false)
    };
    let (a, b) = (results(a), results(b));
    let (pairs, unpaired) = pair(&a, &b, true);
    let not_comparable = if pairs.is_empty() { vec![nothing_in_common()] } else { Vec::new() };
    let compared: Vec<_> = pairs.iter().map(|(a, b)| (a.result, b.result)).collect();
    let differences = differences::of_variants(&report.scenario, &compared);
    let circumstances = ComparisonContext {
        runs: [report, report],
        design: Design::SideBySide,
        not_comparable,
        unpaired,
        differences,
    };
    assemble(circumstances, pairs, options)
}

/// Compares the two settings of a run with `--ab`, under the names that they have on the command line; `None` for a run without.
pub fn compare_ab(report: &RunReport, options: &CompareOptions) -> Option<Comparison> {
    let [a, b] = report.scenario.ab.clone()?;
    let names = [a, b];
    Some(compare_variants(report, "A", "B", &CompareOptions { names, ..options.clone() }))
}

fn nothing_in_common() -> Obstacle {
    let text =
        "no result of one side has the same middleware, broker and payload as one of the other";
    Obstacle { kind: ObstacleKind::NothingInCommon, text: text.into(), bucket: None }
}

fn side<'a>(
    run: &'a RunReport,
    rate_msg_per_s: Option<f64>,
    which: impl Fn(&RunResult) -> bool,
    by_variant: bool,
) -> Vec<Rated<'a>> {
    let results = run.results.iter().filter(|result| which(result));
    let rated = |result: &'a RunResult| {
        // The rate of a run with several is that of each result.
        let rate_msg_per_s = result.rate_msg_per_s.or(rate_msg_per_s);
        Rated { result, rate_msg_per_s, by_variant }
    };
    results.map(rated).collect()
}

/// Everything of a comparison but its pairs.
struct ComparisonContext<'a> {
    runs: [&'a RunReport; 2],
    design: Design,
    not_comparable: Vec<Obstacle>,
    unpaired: Vec<Unpaired>,
    differences: Vec<Difference>,
}

fn assemble(
    of: ComparisonContext,
    pairs: Vec<(Rated, Rated)>,
    options: &CompareOptions,
) -> Comparison {
    let draws = options.draws.clamp(*DRAWS.start(), *DRAWS.end());
    let prepared: Vec<Prepared> =
        pairs.into_iter().map(|pair| Prepared::of(pair, of.design, draws, options.seed)).collect();
    let machine = match of.design {
        Design::TwoRuns => machine::change(of.runs[0], of.runs[1], draws, options.seed),
        Design::SideBySide => None,
    };
    // Whoever compares two states of a machine anyway, wants to know what differs.
    let explained = machine::effect(machine.as_ref().filter(|_| !options.anyway));
    let (tests, results, too_few) = judged(prepared, &of.not_comparable, options, explained);
    let [a, b] = &options.names;
    let mut comparison = Comparison {
        schema: COMPARE_SCHEMA.into(),
        a: named(a, of.runs[0]),
        b: named(b, of.runs[1]),
        design: of.design,
        design_note: match of.design {
            Design::TwoRuns => TWO_RUNS.into(),
            Design::SideBySide => SIDE_BY_SIDE.into(),
        },
        margin: options.margin,
        draws,
        seed: options.seed,
        tests,
        anyway: options.anyway,
        not_comparable: of.not_comparable,
        notes: left_out(&results)
            .into_iter()
            .chain(machine.iter().flat_map(machine::notes))
            .chain(too_few)
            .chain(too_few_messages(&results))
            .collect(),
        machine,
        results,
        unpaired: of.unpaired,
        differences: of.differences,
        criteria: Vec::new(),
    };
    comparison.criteria = check(&comparison, &options.fail_if, explained);
    comparison
}

/// The number of tests, the results with their answers, and notes on too few repetitions.
fn judged(
    prepared: Vec<Prepared>,
    obstacles: &[Obstacle],
    options: &CompareOptions,
    machine: MachineEffect,
) -> (usize, Vec<PairedResult>, Vec<String>) {
    let comparable =
        |one: &Prepared| options.anyway || (obstacles.is_empty() && one.obstacles.is_empty());
    let input: Vec<(&[Estimate], bool)> =
        prepared.iter().map(|one| (one.estimates.as_slice(), comparable(one))).collect();
    let (tests, cells) = judge::cells(&input, options.margin, machine);
    let tested: Vec<&Estimate> =
        input.iter().filter(|(_, comparable)| *comparable).flat_map(|(each, _)| *each).collect();
    let too_few = judge::too_few(&tested, tests);
    let results = prepared.into_iter().zip(cells).map(|(one, cells)| one.result(cells));
    (tests, results.collect(), too_few)
}

/// A sentence on each percentile of too few messages.
fn too_few_messages(results: &[PairedResult]) -> Vec<String> {
    let cells = results.iter().flat_map(|result| &result.cells);
    let lacking = cells.filter(|cell| cell.messages_needed.is_some());
    let mut sentences: Vec<String> = Vec::new();
    for (cell, reason) in lacking.filter_map(|cell| Some((cell, cell.reason.as_ref()?))) {
        let option = match cell.metric.counted() {
            "connections" => "--connections",
            _ => "--messages or --duration",
        };
        let sentence = format!("{reason}: use a larger {option}.");
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences
}

fn named(name: &str, run: &RunReport) -> ComparedSide {
    ComparedSide {
        name: name.to_owned(),
        scenario: run.scenario.name.clone(),
        started_at: run.environment.started_at.clone(),
        wirelap_version: run.environment.wirelap_version.clone(),
    }
}

/// A sentence on the repetitions that were left out, if there are any.
fn left_out(results: &[PairedResult]) -> Option<String> {
    let a = Size::sum(results.iter().map(|result| result.left_out_a));
    let b = Size::sum(results.iter().map(|result| result.left_out_b));
    if a == 0 && b == 0 {
        return None;
    }
    let all = (a + b).0;
    let were = human::one_or(u64::try_from(all).unwrap_or(u64::MAX), "was", "were");
    Some(format!(
        "{a} of A's and {b} of B's repetitions {were} left out, because they, or their counterparts, are partial."
    ))
}
