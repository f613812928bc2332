//! The words of verdicts are complete, and their table in the documentation is as they are.

use super::*;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use wirelap_correlate::{Remedy, Severity};

/// A file of the repository.
fn path(below: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(below)
}

#[test]
fn every_kind_has_words_of_its_own() {
    for of in [|kind| words(kind).title, |kind| words(kind).short, |kind| words(kind).means] {
        let all: HashSet<&str> = VerdictKind::ALL.into_iter().map(of).collect();
        assert_eq!(all.len(), VerdictKind::ALL.len());
        assert!(!all.contains(""));
    }
    for kind in VerdictKind::ALL {
        let words = words(kind);
        assert!(words.short.chars().count() <= 15, "{kind:?}");
        assert!(!words.evidence.is_empty() && !words.helps.is_empty(), "{kind:?}");
    }
}

#[test]
fn a_proxy_is_called_a_proxy() {
    let at = |is_at_proxy| Verdict {
        is_at_proxy,
        remedy: Remedy::Usual(Circumstance::in_segment(Segment::Wakeup)),
        ..Verdict::new(VerdictKind::BrokerCpuBound, Severity::Problem)
    };
    let why = Why { protocol: "mqtt", ..Why::default() };
    assert_eq!(heading(&at(false)), "broker short of CPU");
    assert_eq!(heading(&at(true)), "proxy short of CPU");
    let remedy = super::super::remedy(&at(true), &why);
    assert!(remedy.starts_with("give the proxy more CPU"), "{remedy}");
}

#[test]
fn every_clause_has_words() {
    let clauses = std::fs::read_to_string(path("tracer/why/src/clause.rs")).unwrap();
    let (_, list) = clauses.split_once("pub enum Clause {").unwrap();
    let (list, _) = list.split_once("\n}").unwrap();
    let mut words = std::fs::read_to_string(path("tracer/report/src/words/clauses.rs")).unwrap();
    for file in std::fs::read_dir(path("tracer/report/src/words/verdicts")).unwrap() {
        words.push_str(&std::fs::read_to_string(file.unwrap().path()).unwrap());
    }
    // Variants are indented by one step, and begin with a capital letter.
    let names = list.lines().filter_map(|line| line.strip_prefix("    "));
    let names = names.filter(|name| name.starts_with(|first: char| first.is_ascii_uppercase()));
    for name in names {
        let name = name.split(|c: char| !c.is_alphanumeric()).next().unwrap();
        let is_told = words
            .match_indices(&format!("Clause::{name}"))
            .any(|(at, found)| !words[at + found.len()..].starts_with(char::is_alphanumeric));
        assert!(is_told, "no words for Clause::{name}");
    }
}

/// With `WIRELAP_UPDATE=1`, the table is written.
#[test]
fn the_table_of_the_documentation_is_that_of_the_words() {
    const BEGIN: &str = "<!-- verdicts: begin -->\n";
    const END: &str = "<!-- verdicts: end -->";
    let mut table = String::from(
        "| verdict (`kind` in the JSON) | means | evidence | what to do |\n|---|---|---|---|\n",
    );
    for kind in VerdictKind::ALL {
        let VerdictWords { means, evidence, helps, .. } = words(kind);
        let name = kind.name();
        writeln!(table, "| `{name}` | {means} | {evidence} | {helps} |").unwrap();
    }
    let path = path("docs/verdicts.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (known, after) = rest.split_once(END).unwrap();
    if std::env::var_os("WIRELAP_UPDATE").is_some() {
        std::fs::write(&path, [before, BEGIN, &table, END, after].concat()).unwrap();
    } else {
        assert_eq!(known, table, "written anew with WIRELAP_UPDATE=1");
    }
}
