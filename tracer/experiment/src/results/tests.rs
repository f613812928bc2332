use super::*;
use crate::choice::tests::world;
use crate::ground_truth::TruthRecords;
use crate::measure::Outcome;
use crate::plan::{Plan, plan};
use crate::request::RunRequest;
use crate::request::tests::request;
use crate::resume::Earlier;
use crate::series::MeasuredSeries;
use crate::summary;
use crate::tally::Tally;
use crate::tally::tests::delivery;
use crate::workload_processes::RoleProcess;
use serde_json::Value;
use std::sync::Arc;
use wirelap_contract::{TruthKind, TruthRecord};
use wirelap_correlate::{DeliverySink, Evidence, Snapshot};
use wirelap_events::{Nanos, Pid, Stage, Stamp};
use wirelap_report::{Environment, MachineKey, ReportedReliability, RunReport};

fn stamp(seq: u32, reply: bool) -> Stamp {
    Stamp { stream: 0, seq, reply, warmup: false }
}

/// Outcome of a trial whose messages take times of their own.
fn outcome(trial: &Trial, salt: u64) -> Outcome {
    let mut tally = Tally::new(100, Arc::default());
    let mut records = TruthRecords::default();
    for seq in 0..100_u32 {
        for reply in [false, true] {
            let at = u64::from(seq) * 100_000 + 1_000;
            let took = 9_000 + salt * 777 + u64::from(seq) * 131 + u64::from(reply) * 2_500;
            let stages = [
                (Stage::Send, at),
                (Stage::Xmit, at + took / 5),
                (Stage::Ready, at + took / 2),
                (Stage::Read, at + took),
            ];
            tally.delivery(&delivery(stamp(seq, reply), &stages));
            for (kind, at, aux) in [
                (TruthKind::Publish, at, at - salt % 7),
                (TruthKind::Deliver, at + took + 300, 0),
                (TruthKind::RoundTrip, at + took, took * 2 + salt),
            ] {
                let stamp = stamp(seq, reply);
                records.take(Pid(1), &TruthRecord { kind, stamp, at: Nanos(at), aux });
            }
        }
    }
    let process = |role| RoleProcess {
        role,
        pid: u32::try_from(salt).unwrap() + 10,
        traced_as: Pid(u32::try_from(salt).unwrap() + 10),
        host: None,
        name: "program".into(),
        meter: None,
        idle: None,
        done: None,
    };
    let (sender, receiver) = trial.roles();
    Outcome {
        requests: Vec::new(),
        trial: trial.clone(),
        error: None,
        ends_run: false,
        interrupted: None,
        tally,
        snapshot: Snapshot::default(),
        evidence: Evidence::default(),
        hooks: Vec::new(),
        processes: vec![process(sender), process(receiver)],
        records: Some(records),
        truth: None,
        versions: [("library".to_owned(), "1.0".to_owned())].into(),
        settings: [("ping.nodelay".to_owned(), "true".to_owned())].into(),
        cost: None,
        machine: None,
    }
}

fn record(trial: &Trial, position: usize) -> TrialRecord {
    let position = u32::try_from(position).unwrap();
    TrialRecord::of(position, outcome(trial, u64::from(position)))
}

/// The records of all trials of a plan, but for those that `other` has.
fn records(plan: &Plan, mut other: impl FnMut(&Trial) -> Option<TrialRecord>) -> Vec<TrialRecord> {
    let trials = plan.trials.iter().zip(1..);
    trials.map(|(trial, at)| other(trial).unwrap_or_else(|| record(trial, at))).collect()
}

struct Run {
    request: RunRequest,
    plan: Plan,
    environment: Environment,
    key: MachineKey,
}

impl Run {
    fn new(words: &str) -> Run {
        let request = request(words);
        let plan = plan(&request, &world()).unwrap();
        let environment = Environment { seed: plan.seed, ..Environment::default() };
        let key = MachineKey::of(&environment, &[]);
        Run { request, plan, environment, key }
    }

    /// The report of the first trials, and of the others as missing.
    fn report(&self, records: Vec<TrialRecord>, results: &mut Results) -> RunReport {
        let missing = self.plan.trials.iter().skip(records.len()).map(Trial::title);
        let measured = MeasuredSeries {
            planned: self.plan.trials.len(),
            is_complete: records.len() == self.plan.trials.len(),
            missing: missing.collect(),
            records,
            ..MeasuredSeries::default()
        };
        let environment = (&self.environment, &self.key);
        summary::report(&self.request, &self.plan, environment, &measured, results)
    }

    /// The report of a run that was interrupted after so many trials, as it is in its file.
    fn interrupted(&self, after: usize) -> RunReport {
        let mut records = records(&self.plan, |_| None);
        records.truncate(after);
        let report = self.report(records, &mut Results::default());
        serde_json::from_str(&serde_json::to_string_pretty(&report).unwrap()).unwrap()
    }

    fn check(&self, report: RunReport) -> Result<(), String> {
        let scenario = summary::scenario(&self.request, &self.plan, &[]);
        Earlier::new("out.json".into(), report)
            .and_then(|run| run.check(&self.plan, (&scenario, &self.key), &self.environment))
            .map_err(|failure| failure.to_string())
    }
}

/// The JSON with fractions of twelve digits: what is read from JSON may differ in the last one.
fn rounded(report: &impl serde::Serialize) -> Value {
    fn round(value: &mut Value) {
        match value {
            Value::Array(all) => all.iter_mut().for_each(round),
            Value::Object(all) => all.values_mut().for_each(round),
            Value::Number(number) if number.is_f64() => {
                *value = format!("{:.11e}", number.as_f64().unwrap_or_default()).into();
            }
            _ => {}
        }
    }
    let mut value = serde_json::to_value(report).unwrap();
    round(&mut value);
    value
}

#[test]
fn a_run_that_was_cut_in_two_has_the_figures_of_the_whole() {
    for words in [
        "latency --on tcp,mqtt --broker mosquitto --payload 64,128 --repeat 3 --seed 4",
        "latency --on tcp --rate 10,100 --repeat 4 --seed 4",
    ] {
        let run = Run::new(words);
        let whole = run.report(records(&run.plan, |_| None), &mut Results::default());
        assert!(whole.incomplete.is_none() && whole.results.len() >= 2);
        for after in 1..run.plan.trials.len() {
            let earlier = Earlier::new("out.json".into(), run.interrupted(after)).unwrap();
            let mut results = Results::default();
            let mut taken = 0;
            let records = records(&run.plan, |trial| {
                let record = earlier.record(trial, &mut results);
                taken += usize::from(record.is_some());
                record
            });
            assert_eq!(taken, after);
            let mut resumed = run.report(records, &mut results);
            for (result, of_whole) in resumed.results.iter_mut().zip(&whole.results) {
                // The evidence of before cannot be added up, which the result says.
                let all = result.repetitions.len();
                assert!(result.why_repetitions.len() < all);
                let is_mixed = !result.why_repetitions.is_empty();
                assert_eq!(
                    result.notes.iter().any(|note| note.contains("cannot be added")),
                    is_mixed
                );
                result.why_repetitions.clear();
                result.notes.retain(|note| !note.contains("cannot be added"));
                assert_eq!(rounded(result), rounded(of_whole), "{words} after {after}");
            }
            // The versions of before are in the file's environment, which this test does not take over.
            resumed.environment = whole.environment.clone();
            assert_eq!(rounded(&resumed), rounded(&whole), "{words} after {after}");
        }
    }
}

#[test]
fn pooled_figures_are_those_of_all_messages() {
    let run = Run::new("latency --on tcp --repeat 3 --seed 1");
    let report = run.report(records(&run.plan, |_| None), &mut Results::default());
    let result = &report.results[0];
    let latency = &result.latency;
    assert_eq!((latency.one_way_ns.count, result.messages.matched), (600, 600));
    assert_eq!(latency.request_one_way_ns.unwrap().count, 300);
    assert_eq!(latency.rtt_half_ns.unwrap().count, 600);
    let least = |of: fn(&wirelap_report::Repetition) -> u64| {
        result.repetitions.iter().map(of).min().unwrap()
    };
    assert_eq!(latency.one_way_ns.min, least(|one| one.one_way_ns.min));
    assert_eq!(latency.rtt_half_ns.unwrap().min, least(|one| one.rtt_half_ns.unwrap().min));
    let total: u64 = result.segments.iter().filter_map(|row| row.total_ns).sum();
    let mean = total as f64 / 600.0;
    assert!((10_000.0..30_000.0).contains(&mean), "{mean}");
    assert!(result.segments.iter().all(|row| row.count == 600));
}

#[test]
fn what_a_signal_stopped_is_run_again() {
    let run = Run::new("latency --on tcp --repeat 3 --seed 1");
    let mut report = run.interrupted(2);
    report.incomplete.as_mut().unwrap().missing.insert(0, run.plan.trials[1].title());
    let earlier = Earlier::new("out.json".into(), report).unwrap();
    let mut results = Results::default();
    let taken: Vec<bool> =
        run.plan.trials.iter().map(|trial| earlier.record(trial, &mut results).is_some()).collect();
    assert_eq!(taken, [true, false, false]);
}

#[test]
fn a_result_is_made_anew_only_if_it_has_another_repetition() {
    let run = Run::new("latency --on tcp,udp --repeat 2 --seed 1");
    let mut all = records(&run.plan, |_| None);
    let mut results = Results::default();
    let order = Order { middlewares: &run.plan.middlewares, payloads: &run.plan.payloads };
    let last = all.pop().unwrap();
    let before = results.pool(&all, order);
    all.push(last);
    let after = results.pool(&all, order);
    let fresh = Results::default().pool(&all, order);
    assert_eq!(after, fresh);
    let counts = |results: &[RunResult]| -> Vec<usize> {
        results.iter().map(|result| result.repetitions.len()).collect()
    };
    assert_eq!((counts(&before).iter().sum::<usize>(), counts(&after)), (3, vec![2, 2]));
    all[0].repetition.trust.tracer.slowdown = Some(wirelap_report::Slowdown::default());
    let measured = results.pool(&all, order);
    assert!(measured.iter().any(|result| result.trust.tracer.slowdown.is_some()));
}

#[test]
fn a_repetition_is_judged_by_its_own_counts() {
    let run = Run::new("latency --on tcp --repeat 2 --seed 1");
    let mut all = records(&run.plan, |_| None);
    for record in &mut all {
        record.repetition.messages.delivered = record.repetition.messages.matched;
        record.repetition.trust.window_share = 1.0;
    }
    let mut judged = || {
        let order = Order { middlewares: &run.plan.middlewares, payloads: &run.plan.payloads };
        let results = Results::default().pool(&all, order);
        let verdicts = results[0].repetitions.iter().map(|one| one.trust.verdict).collect();
        let kinds = |one: &wirelap_report::Repetition| -> Vec<String> {
            one.trust.reasons.iter().map(|reason| reason.kind.clone()).collect()
        };
        let kinds: Vec<_> = results[0].repetitions.iter().map(kinds).collect();
        all[1].repetition.messages.matched = 0;
        (verdicts, kinds)
    };
    let (verdicts, kinds): (Vec<_>, _) = judged();
    assert_eq!(verdicts, [ReportedReliability::Good; 2], "{kinds:?}");
    let (verdicts, kinds) = judged();
    assert_eq!(verdicts, [ReportedReliability::Good, ReportedReliability::Unusable], "{kinds:?}");
    assert!(kinds[0].is_empty() && kinds[1].contains(&"not_followed".to_owned()), "{kinds:?}");
}

/// A change of a report, and why it is refused then.
type Change = (fn(&mut RunReport), &'static str);

#[test]
fn another_run_is_refused_with_what_differs() {
    let run = Run::new("latency --on tcp --repeat 3 --seed 1");
    let report = run.interrupted(2);
    assert_eq!(run.check(report.clone()), Ok(()));
    let changes: [Change; 8] = [
        (|run| run.incomplete = None, "it is complete: nothing is left to be measured"),
        (
            |run| run.machine_key.as_mut().unwrap().cpus = 9,
            "the machine is another: cpus was `9` and is `0`",
        ),
        (
            |run| run.environment.wirelap_version = "0.0.1".into(),
            "wirelap's version was 0.0.1 and is ",
        ),
        (|run| run.environment.seed = 9, "the seed was 9 and is 1"),
        (
            |run| run.scenario.settings = [("qos".to_owned(), "1".to_owned())].into(),
            "the setting `qos` was `1` and is not set: give the scenario and options of the first run",
        ),
        (
            |run| run.scenario.ab = Some(["qos=0".into(), "qos=1".into()]),
            "the setting `ab A` was `qos=0` and is not set: give the scenario and options of the first run",
        ),
        (
            |run| run.scenario.order[0] = "carrier-pigeon 64 B #1".into(),
            "its trials are not those of this run (3 and 3 trials): a middleware or broker may have been installed or removed",
        ),
        (
            |run| run.results[0].topology = Some(wirelap_report::Topology::default()),
            "its clients or rates are not those of this run: the limits on local ports or open files have changed, which the \
             number of clients follows",
        ),
    ];
    for (change, expected) in changes {
        let mut other = report.clone();
        change(&mut other);
        assert_eq!(run.check(other), Err(format!("out.json cannot be resumed: {expected}")));
    }
}

#[test]
fn another_version_of_a_library_is_refused() {
    let run = Run::new("latency --on tcp --repeat 2 --seed 1");
    let earlier = Earlier::new("out.json".into(), run.interrupted(1)).unwrap();
    let mut record = record(&run.plan.trials[1], 2);
    assert!(earlier.check_versions(&record).is_ok());
    record.versions.insert("library".into(), "1.1".into());
    let refused = earlier.check_versions(&record).unwrap_err().to_string();
    assert_eq!(refused, "out.json cannot be resumed: the version of library was 1.0 and is 1.1");
}
