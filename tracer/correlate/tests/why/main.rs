//! Recorded scenarios: what was arranged must be named, and a near miss beside it must not.
//!
//! `scenarios.txt` has one a line; its events are in `NAME.pcapng.gz`, recorded with `wirelap run … --pcapng`
//! or `wirelap record`. Add one by adding both.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use wirelap_correlate::{Config, Correlator, Group, Severity};
use wirelap_events::{Delivery, Nanos};
use wirelap_recording::{Entry, Recording};
use wirelap_test_support::committed::repository;

struct Scenario {
    name: String,
    /// Verdicts that must be named, and where: `kind`, `kind@leg`, `note:kind`.
    named: Vec<String>,
    /// Verdicts that must not be named.
    silent: Vec<String>,
}

fn folder() -> PathBuf {
    repository("tracer/correlate/tests/why")
}

fn scenarios() -> Vec<Scenario> {
    let text = fs::read_to_string(folder().join("scenarios.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next().unwrap().to_owned();
            let (silent, named): (Vec<_>, Vec<_>) =
                words.map(str::to_owned).partition(|word| word.starts_with('!'));
            let silent = silent.iter().map(|word| word[1..].to_owned()).collect();
            Scenario { name, named, silent }
        })
        .collect()
}

/// The row with most messages.
fn replay(name: &str) -> Group {
    let file = folder().join(format!("{name}.pcapng.gz"));
    let bytes = wirelap_recording::open(&file).unwrap();
    let mut recording = Recording::new(bytes).unwrap();
    let mut correlator = Correlator::new(Config::default());
    let mut discard = |_: &Delivery| {};
    let mut now = Nanos(0);
    while let Some(entry) = recording.next() {
        match entry {
            Entry::Event(event) | Entry::Known(event) => {
                now = now.max(event.at);
                correlator.take(&event, &mut discard);
            }
            Entry::Tick(at) => correlator.tick(at, &mut discard),
            Entry::Note(_) | Entry::TlsKeys(_) => {}
        }
    }
    assert!(recording.problems().is_empty(), "{name}: {:?}", recording.problems());
    correlator.finish(&mut discard);
    let groups = correlator.snapshot(now).groups;
    groups.into_iter().max_by_key(|group| group.messages.matched).unwrap()
}

/// `kind` and `kind@leg` of every problem, `note:kind` of what is none.
fn problems(group: &Group) -> BTreeSet<String> {
    let verdicts = group.why.verdicts.iter();
    verdicts
        .flat_map(|verdict| {
            let kind = verdict.kind.name();
            if verdict.severity != Severity::Problem {
                return [Some(format!("note:{kind}")), None].into_iter().flatten();
            }
            let at = verdict.leg.map(|leg| format!("{kind}@{leg}"));
            [Some(kind.to_owned()), at].into_iter().flatten()
        })
        .collect()
}

#[test]
fn what_was_arranged_is_named_and_its_near_miss_is_not() {
    let mut wrong = Vec::new();
    for Scenario { name, named, silent } in scenarios() {
        let group = replay(&name);
        assert!(group.why.messages >= 20, "{name}: {} messages", group.why.messages);
        let found = problems(&group);
        let missed = named.iter().filter(|kind| !found.contains(*kind));
        wrong.extend(missed.map(|kind| format!("{name}: {kind} is missing among {found:?}")));
        let false_alarms = silent.iter().filter(|kind| found.contains(*kind));
        wrong.extend(false_alarms.map(|kind| format!("{name}: {kind} is there")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_has_a_scenario() {
    let known: BTreeSet<String> =
        scenarios().into_iter().map(|s| format!("{}.pcapng.gz", s.name)).collect();
    let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().file_name());
    let files: BTreeSet<String> = files
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.ends_with(".pcapng.gz"))
        .collect();
    assert_eq!(files, known);
}

#[test]
fn a_tail_is_a_hundred_per_cent() {
    for Scenario { name, .. } in scenarios() {
        let why = replay(&name).why;
        let typical: u64 = why.typical.iter().map(|row| row.mean.0).sum();
        assert!(typical > 0, "{name}");
        for tail in &why.tails {
            let sum: f64 = tail.rows.iter().map(|row| row.share).sum();
            assert!((sum - 1.0).abs() < 1e-3, "{name}: {sum}");
        }
    }
}
