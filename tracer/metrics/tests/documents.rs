//! The guide lists all metrics, and dashboard and alerts use only those that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use wirelap_metrics::{FAMILIES, Family, FamilyKind};

fn document(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every word of a text that looks like a metric.
fn named(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let words = text.split(|c: char| !is_part(c));
    words
        .filter(|word| word.starts_with("wirelap_") && !word.ends_with('_'))
        .map(str::to_owned)
        .collect()
}

/// The names under which a family can be queried.
fn queried(family: &Family) -> Vec<String> {
    let name = family.full_name();
    match family.kind {
        FamilyKind::Histogram => {
            ["", "_bucket", "_sum", "_count"].map(|end| format!("{name}{end}")).to_vec()
        }
        FamilyKind::Counter | FamilyKind::Gauge => vec![name],
    }
}

#[test]
fn dashboard_and_alerts_use_metrics_that_exist() {
    let all: BTreeSet<String> = FAMILIES.iter().flat_map(queried).collect();
    for name in ["prometheus/dashboard.json", "prometheus/alerts.yml"] {
        let used = named(&document(name));
        assert!(used.len() > 5, "{name}: {used:?}");
        let unknown: Vec<&String> = used.difference(&all).collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
    }
}

#[test]
fn the_guide_lists_each_metric_once_with_its_meaning() {
    let guide = document("guide/metrics.md");
    let rows: Vec<&str> = guide.lines().filter(|line| line.starts_with("| `wirelap_")).collect();
    let wanted: Vec<String> = FAMILIES
        .iter()
        .map(|family| format!("| `{}` | {} |", family.full_name(), family.help))
        .collect();
    assert_eq!(rows, wanted);
}
