//! Whole comparisons of simulated runs.

mod chance;

use crate::comparison::{ComparedMetric, Comparison, ObstacleKind, PairedResult};
use crate::samples::{Simulation, encode, report, simulated};
use crate::{
    Answer, CompareOptions, Criterion, CriterionOutcome, Design, Metric, bencher, compare,
    compare_variants, markdown, otava, text,
};
use proptest::prelude::*;
use wirelap_events::Nanos;
use wirelap_report::{Connections, MachineState, RunReport};

fn quick() -> CompareOptions {
    CompareOptions { draws: 200, ..CompareOptions::default() }
}

fn pair_of(a: Simulation, b: Simulation, options: &CompareOptions) -> Comparison {
    compare(&simulated(a), &simulated(b), options)
}

fn cell(comparison: &Comparison, metric: Metric) -> &ComparedMetric {
    comparison.results[0].cells.iter().find(|cell| cell.metric == metric).unwrap()
}

fn cells(comparison: &Comparison) -> impl Iterator<Item = &ComparedMetric> {
    comparison.results.iter().flat_map(|result| &result.cells)
}

fn alarms(comparison: &Comparison) -> bool {
    cells(comparison).any(|cell| matches!(cell.answer, Answer::Slower | Answer::Faster))
}

fn criteria() -> Vec<Criterion> {
    let all = Metric::ALL.map(|metric| match metric.if_more() {
        Answer::Faster => format!("{}<0%", metric.short()),
        _ => format!("{}>0%", metric.short()),
    });
    all.iter().map(|text| text.parse().unwrap()).collect()
}

/// One run whose second result is the first, simulated anew, as variant B.
fn side_by_side(b: Simulation) -> RunReport {
    let mut run = simulated(Simulation::default());
    let mut other = simulated(b).results.remove(0);
    run.results[0].variant = Some("A".into());
    other.variant = Some("B".into());
    run.results.push(other);
    run
}

#[test]
fn a_planted_slowdown_is_found_and_put_on_its_segment() {
    // A tenth of the whole latency, all of it in the broker: 30 µs of 40 µs become 34 µs.
    let b = Simulation { seed: 2, dwell: 34.0 / 30.0, ..Simulation::default() };
    let found = pair_of(Simulation::default(), b, &CompareOptions::default());
    for metric in [Metric::OneWayP50Ns, Metric::RttHalfP50Ns, Metric::ThroughputMsgPerS] {
        assert_eq!(cell(&found, metric).answer, Answer::Slower, "{:?}", cell(&found, metric));
    }
    let ratio = cell(&found, Metric::OneWayP50Ns).ratio;
    assert!((1.06..1.14).contains(&ratio), "{ratio}");
    assert_eq!(cell(&found, Metric::WireBytesPerDelivery).answer, Answer::Same);
    let mean = found.results[0].mean.as_ref().unwrap();
    let row = &mean.rows[0];
    assert_eq!((row.leg, row.segment.as_str()), (2, "broker_dwell"));
    assert!(row.share.unwrap() > 0.8 && mean.difference_ns > 3_000.0, "{mean:?}");
    let sentence = mean.sentence.as_deref().unwrap();
    assert!(sentence.starts_with("2.broker_dwell, broker_cpu_bound: +"), "{sentence}");
}

#[test]
fn partial_repetitions_are_left_out_and_that_is_said() {
    let a = report(5, |index, repetition| repetition.partial = index < 2);
    let b = report(5, |_, _| {});
    let found = compare(&a, &b, &quick());
    let result = &found.results[0];
    assert_eq!((result.repetitions_a, result.left_out_a, result.left_out_b), (3, 2, 0));
    assert!(found.notes[0].starts_with("2 of A's and 0 of B's repetitions were left out"));
}

#[test]
fn side_by_side_is_compared_pair_by_pair() {
    let mut run = side_by_side(Simulation { seed: 5, dwell: 1.3, ..Simulation::default() });
    let found = compare_variants(&run, "A", "B", &quick());
    assert_eq!((found.design, found.results.len()), (Design::SideBySide, 1));
    assert!(found.design_note.contains("better design"));
    let p50 = cell(&found, Metric::OneWayP50Ns);
    assert!((p50.p.unwrap() - 2.0 / 1024.0).abs() < 1e-12 && p50.answer == Answer::Slower);
    run.results[0].repetitions[3].partial = true;
    let found = compare_variants(&run, "A", "B", &quick());
    let result = &found.results[0];
    assert_eq!((result.repetitions_a, result.repetitions_b, result.left_out_b), (9, 9, 1));
    let none = compare_variants(&run, "A", "C", &quick());
    assert_eq!(none.not_comparable[0].kind, ObstacleKind::NothingInCommon);
}

#[test]
fn two_files_hear_of_the_better_design() {
    let run = report(3, |_, _| {});
    assert!(compare(&run, &run, &quick()).design_note.contains("`wirelap run --ab`"));
}

#[test]
fn what_is_not_comparable_gets_no_answer_and_no_test_and_fires_nothing() {
    let a = simulated(Simulation::default());
    let mut b = simulated(Simulation { seed: 2, dwell: 2.0, ..Simulation::default() });
    b.environment.cpu_model = "Another".into();
    let options = CompareOptions { fail_if: criteria(), ..quick() };
    let found = compare(&a, &b, &options);
    assert_eq!((found.not_comparable.len(), found.tests), (1, 0));
    assert!(cells(&found).all(|cell| cell.answer == Answer::CannotTell && cell.p.is_none()));
    assert!(!found.failed());
    assert!(found.criteria.iter().all(|one| one.outcome == CriterionOutcome::NotJudged));
    let anyway = compare(&a, &b, &CompareOptions { anyway: true, ..options });
    assert!(anyway.failed() && alarms(&anyway) && anyway.not_comparable.len() == 1);
}

#[test]
fn one_result_that_is_not_comparable_leaves_the_others() {
    let mut a = simulated(Simulation::default());
    let mut other = a.results[0].clone();
    other.middleware = "tcp".into();
    a.results.push(other);
    let mut b = a.clone();
    b.results[0].trust.coverage = 0.5;
    let found = compare(&a, &b, &quick());
    let answers = |result: &PairedResult| result.cells[0].answer;
    assert!(found.not_comparable.is_empty());
    assert_eq!(answers(&found.results[0]), Answer::CannotTell);
    assert_eq!(found.results[1].cells[0].p_holm, Some(1.0));
}

#[test]
fn criteria_fire_hold_or_are_not_judged() {
    use CriterionOutcome::{Fired, Held, NotJudged};
    let b = Simulation { seed: 2, dwell: 1.3, ..Simulation::default() };
    let text = ["p50>5%", "p50>90%", "bytes>0%", "kafka:p50>5%", "throughput<-3%"];
    let fail_if = text.iter().map(|text| text.parse().unwrap()).collect();
    let found = pair_of(Simulation::default(), b, &CompareOptions { fail_if, ..quick() });
    let outcomes: Vec<CriterionOutcome> = found.criteria.iter().map(|one| one.outcome).collect();
    assert_eq!(outcomes, [Fired, Held, Held, NotJudged, Fired]);
}

#[test]
fn files_without_repetitions_are_compared_without_answers() {
    let mut run = report(1, |_, _| {});
    run.results[0].repetitions.clear();
    let found = compare(&run, &run, &CompareOptions { fail_if: criteria(), ..quick() });
    assert!(found.results[0].cells.is_empty() && !found.failed());
    let one = report(1, |_, _| {});
    let found = compare(&one, &one, &quick());
    let p50 = cell(&found, Metric::OneWayP50Ns);
    assert!(p50.reason.as_ref().unwrap().starts_with("A has 1 and B has 1"));
}

#[test]
fn damaged_histograms_are_passed_over() {
    let run = report(4, |_, repetition| {
        repetition.histograms.one_way_ns = Some("damaged".into());
        repetition.histograms.one_way_blocks_ns = vec!["x".into(); 3];
        repetition.histograms.rtt_half_ns = None;
    });
    let found = compare(&run, &run, &quick());
    assert!(cells(&found).all(|cell| cell.metric > Metric::RttHalfP50Ns));
}

#[test]
fn text_and_markdown_are_as_they_were() {
    let mut a = simulated(Simulation { messages: 400, ..Simulation::default() });
    let b = Simulation { seed: 2, messages: 400, dwell: 1.2, ..Simulation::default() };
    let mut b = simulated(b);
    let mut few = b.results[0].clone();
    few.middleware = "nats".into();
    few.broker = None;
    few.repetitions.truncate(2);
    a.results.push(few.clone());
    few.trust.coverage = 0.9;
    b.results.push(few.clone());
    let three = |run: &RunReport| {
        let mut result = run.results[0].clone();
        result.middleware = "zenoh".into();
        result.repetitions.truncate(3);
        result.repetitions[0].partial = true;
        result
    };
    a.results.push(three(&a));
    b.results.push(three(&b));
    few.middleware = "kafka".into();
    b.results.push(few);
    b.environment.versions = [("mqtt".into(), [("rumqttc".into(), "0.25".into())].into())].into();
    let fail_if = vec!["p99>5%".parse().unwrap(), "mqtt:bytes>0%".parse().unwrap()];
    let names = ["before.json".into(), "after.json".into()];
    let found = compare(&a, &b, &CompareOptions { names, fail_if, ..CompareOptions::default() });
    let page = text(&found);
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    insta::assert_snapshot!("text", page);
    insta::assert_snapshot!("markdown", markdown(&found));
    insta::assert_snapshot!("otava", otava(&found));
    insta::assert_snapshot!("bencher", bencher(&found));
    let steering = CompareOptions { names: ["\u{1b}[2J".into(), "B".into()], ..quick() };
    assert!(!text(&compare(&a, &b, &steering)).contains('\u{1b}'));
}

/// Ten repetitions in which so many connections were opened, and each took `factor` times as long as it would have.
fn connecting(seed: u64, connections: u64, factor: f64) -> RunReport {
    let mut rng = fastrand::Rng::with_seed(seed);
    report(10, |_, repetition| {
        let level = factor * 0.02f64.mul_add(rng.f64(), 1.0);
        let each = (0..connections).map(|_| Nanos::from_f64(level * 400e3 * (1.0 + rng.f64())).0);
        let times: Vec<u64> = each.collect();
        let opened =
            Connections { wanted: connections, opened: connections, ..Connections::default() };
        repetition.connections = Some(opened);
        repetition.histograms.connect_ns = Some(encode(&times));
    })
}

#[test]
fn the_time_of_connections_is_compared() {
    use CriterionOutcome::{Fired, Held, NotJudged};
    let all = ["connect-p50>5%", "connect-p99>5%", "connect-p99>50%"];
    let fail_if = all.iter().map(|text| text.parse().unwrap()).collect();
    let options = CompareOptions { fail_if, ..quick() };
    let outcomes = |found: &Comparison| {
        found.criteria.iter().map(|one| one.outcome).collect::<Vec<CriterionOutcome>>()
    };
    let of = |connections, factor| {
        compare(&connecting(1, connections, 1.0), &connecting(2, connections, factor), &options)
    };
    let found = of(1_000, 1.2);
    let (p50, p99) = (cell(&found, Metric::ConnectP50Ns), cell(&found, Metric::ConnectP99Ns));
    assert_eq!((p50.answer, p99.answer), (Answer::Slower, Answer::Slower));
    assert!((1.17..1.23).contains(&p50.ratio) && (1.17..1.23).contains(&p99.ratio), "{p50:?}");
    assert_eq!(outcomes(&found), [Fired, Fired, Held]);
    assert!(text(&found).contains("connect p99"), "{}", text(&found));

    let same = of(1_000, 1.0);
    assert_eq!(cell(&same, Metric::ConnectP50Ns).answer, Answer::Same);
    assert_eq!(outcomes(&same), [Held, Held, Held]);

    let few = of(200, 1.2);
    let p99 = cell(&few, Metric::ConnectP99Ns);
    assert_eq!((p99.answer, p99.messages_needed), (Answer::CannotTell, Some(1_000)));
    assert_eq!(
        p99.reason.as_deref(),
        Some("connect-p99 needs 1,000 connections in each repetition, and these have 200")
    );
    assert!(text(&few).contains("cannot tell (connections)"), "{}", text(&few));
    assert_eq!(outcomes(&few), [Fired, NotJudged, NotJudged]);

    let without = compare(&report(10, |_, _| {}), &connecting(2, 1_000, 1.0), &options);
    assert_eq!(outcomes(&without), [NotJudged; 3], "a side opened none");
}

fn any_simulation() -> impl Strategy<Value = Simulation> {
    (0..1000_u64, 0..8_u32, 0.0..0.1_f64, 0.7..1.4_f64).prop_map(
        |(seed, repetitions, spread, dwell)| Simulation {
            seed,
            repetitions,
            messages: 60,
            spread,
            dwell,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn exchanged_sides_give_the_opposite(a in any_simulation(), b in any_simulation()) {
        let (a, b) = (simulated(a), simulated(b));
        let (forth, back) = (compare(&a, &b, &quick()), compare(&b, &a, &quick()));
        for (forth, back) in cells(&forth).zip(cells(&back)) {
            prop_assert!((forth.ratio * back.ratio - 1.0).abs() < 1e-9);
            prop_assert_eq!(forth.answer, back.answer.opposite());
            prop_assert_eq!(forth.repetitions_needed, back.repetitions_needed);
            if let (Some(forth), Some(back)) = (forth.ratio_95, back.ratio_95) {
                prop_assert!((forth.low * back.high - 1.0).abs() < 1e-9);
                prop_assert!((forth.high * back.low - 1.0).abs() < 1e-9);
            }
            if let (Some(forth), Some(back)) = (forth.p_holm, back.p_holm) {
                prop_assert!((forth - back).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_run_is_never_slower_than_itself(simulation in any_simulation()) {
        let run = simulated(simulation);
        let options = CompareOptions { fail_if: criteria(), ..quick() };
        let found = compare(&run, &run, &options);
        prop_assert!(!alarms(&found) && !found.failed());
        prop_assert_eq!(compare(&run, &run, &options), found);
    }

    #[test]
    fn a_comparison_survives_json(a in any_simulation(), b in any_simulation()) {
        let found = pair_of(a, b, &quick());
        let read: Comparison = serde_json::from_str(&serde_json::to_string(&found).unwrap()).unwrap();
        prop_assert_eq!(read.results.len(), found.results.len());
    }
}

/// A run whose machine needs `factor` times as long for everything, the reference measurements included.
fn on_a_machine(seed: u64, factor: f64) -> RunReport {
    let mut run = simulated(Simulation { seed, ..Simulation::default() });
    let level = |number: u32| factor * (1.0 + 0.002 * f64::from(number % 5));
    for repetition in &mut run.results[0].repetitions {
        let ns = |ns: f64| Some(Nanos::from_f64(ns * level(repetition.number)).0);
        repetition.machine = Some(MachineState {
            round_trip_ns: ns(30_000.0),
            send_and_read_ns: ns(4_000.0),
            steal_share: Some(0.001),
        });
        repetition.throughput.msg_per_s /= factor;
    }
    run
}

#[test]
fn a_slower_machine_is_no_slower_middleware() {
    let options = CompareOptions { fail_if: vec!["throughput<-3%".parse().unwrap()], ..quick() };
    let of = |factor: f64| compare(&on_a_machine(1, 1.0), &on_a_machine(2, factor), &options);
    let same = of(1.0);
    let machine = same.machine.as_ref().unwrap();
    assert!(machine.references.len() == 3 && machine.references.iter().all(|one| !one.differs));
    assert!(!same.notes.iter().any(|note| note.contains("machine")), "{:?}", same.notes);

    let slow = of(1.2);
    let throughput = cell(&slow, Metric::ThroughputMsgPerS);
    assert_eq!((throughput.answer, throughput.machine_changed), (Answer::CannotTell, true));
    assert!(throughput.repetitions_needed.is_none(), "more of the same do not help");
    assert!(slow.notes[0].starts_with("The machine itself changed: before the repetitions of B, a round trip between two threads, without a middleware, took 36.1 µs, 1.2"), "{}", slow.notes[0]);
    assert!(!slow.failed(), "{:?}", slow.criteria);
    assert!(slow.criteria[0].text.ends_with("and the machine itself changed by as much"));
    assert!(text(&slow).contains("cannot tell (machine)"), "{}", text(&slow));
    assert!(markdown(&slow).contains("The machine itself changed"));

    let anyway = compare(
        &on_a_machine(1, 1.0),
        &on_a_machine(2, 1.2),
        &CompareOptions { anyway: true, ..options.clone() },
    );
    assert_eq!(cell(&anyway, Metric::ThroughputMsgPerS).answer, Answer::Slower);
    assert!(anyway.failed() && anyway.notes[0].starts_with("The machine itself changed"));

    // Twice as slow is more than the machine explains.
    let mut worse = on_a_machine(2, 1.2);
    for repetition in &mut worse.results[0].repetitions {
        repetition.throughput.msg_per_s /= 2.0;
    }
    let worse = compare(&on_a_machine(1, 1.0), &worse, &options);
    assert_eq!(cell(&worse, Metric::ThroughputMsgPerS).answer, Answer::Slower);
    assert!(worse.failed());
}

#[test]
fn stolen_cpu_time_is_a_change_of_the_machine() {
    let mut b = on_a_machine(2, 1.0);
    for repetition in &mut b.results[0].repetitions {
        repetition.machine.as_mut().unwrap().steal_share = Some(0.2);
    }
    let found = compare(&on_a_machine(1, 1.0), &b, &quick());
    let machine = found.machine.as_ref().unwrap();
    assert!((machine.explains.high - 1.249).abs() < 0.01, "0.999 / 0.8: {:?}", machine.explains);
    assert_eq!(
        found.notes[0],
        "The machine itself changed: the hypervisor took 20.00 % of the CPU time that was wanted during B, and 0.10 % during A."
    );
    assert!((machine.stolen_difference - 0.199).abs() < 1e-9);
    let p99 = cell(&found, Metric::OneWayP99Ns);
    assert_ne!(p99.answer, Answer::Slower, "its tail may be stolen time");
}

#[test]
fn runs_of_older_versions_have_no_references() {
    let run = simulated(Simulation::default());
    assert_eq!(compare(&run, &on_a_machine(2, 2.0), &quick()).machine, None);
}
