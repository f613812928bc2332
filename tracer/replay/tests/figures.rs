//! Figures that are added up on a thread of their own are those that the correlator adds up itself.

use std::path::Path;
use wirelap_replay::{NoFollower, Replay};
use wirelap_report::RunReport;
use wirelap_test_support::committed;

/// `None` if a file is so damaged that it is no capture.
fn report(file: &Path, is_apart: bool) -> Option<RunReport> {
    let mut replay = Replay::new(&[], NoFollower);
    let files = [file.to_owned()];
    let read = if is_apart { replay.read_for_report(&files) } else { replay.files(&files) };
    read.ok()?;
    Some(replay.end().unwrap().report)
}

#[test]
fn they_are_the_same_for_all_captures() {
    let mut matched = 0;
    for file in committed::files() {
        let [apart, at_once] = [true, false].map(|is_apart| report(&file, is_apart));
        let rows = apart.iter().flat_map(|report| &report.results);
        matched += rows.map(|row| row.messages.matched).sum::<u64>();
        let [apart, at_once] = [apart, at_once].map(|report| {
            report.map(|report| format!("{:#?}", (report.results, report.unknown, report.notes)))
        });
        assert_eq!(apart, at_once, "{}", file.display());
    }
    assert!(matched > 0, "no messages to compare");
}
