//! Recordings of wirelap's: those of the verdicts.

use crate::told::{compare, tshark};
use crate::truth::truth;
use crate::{analyze, annotate, root};
use std::fs;
use std::path::{Path, PathBuf};

fn recordings() -> Vec<PathBuf> {
    let folder = root().join("tracer/correlate/tests/why");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "gz")).collect();
    all.sort();
    all
}

#[test]
fn tshark_reads_of_each_message_what_the_correlator_says() {
    let folder = tempfile::tempdir().unwrap();
    let mut packets = 0;
    for recording in recordings() {
        let copy = folder.path().join(recording.file_stem().unwrap());
        annotate(&recording, &copy);
        // A recording that was written again is the same.
        assert_eq!(truth(&copy).0.deliveries, truth(&recording).0.deliveries, "{}", copy.display());
        packets += compare(&copy);
    }
    assert!(packets > 1_500, "{packets}");
}

#[test]
fn nothing_is_malformed_and_nothing_of_ours_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("stopped.pcapng");
    annotate(&root().join("tracer/correlate/tests/why/stopped.pcapng.gz"), &copy);
    let wrong =
        "_ws.malformed || _ws.lua.error || wirelap.unreadable || _ws.expert.severity == \"Error\"";
    assert_eq!(tshark(&copy, &["-2", "-Y", wrong]), "");
    // The broker had been stopped for a while.
    let count = |filter: &str| tshark(&copy, &["-Y", filter]).lines().count();
    let late = count("wirelap.verdict == \"broker_stalled\" && wirelap.late");
    assert!(late > 10, "{late}");
    assert_eq!(count("wirelap.late && wirelap.verdict.ns < 1000000"), 0);
}

/// The broker passes one in twenty on to nobody.
#[test]
fn what_a_broker_kept_was_not_seen_to_be_delivered() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("swallowed.pcapng");
    annotate(&root().join("tracer/correlate/tests/why/swallowed.pcapng.gz"), &copy);
    let count = |filter: &str| tshark(&copy, &["-2", "-Y", filter]).lines().count();
    assert_eq!(count("wirelap.standing == \"undelivered\""), 10);
    assert_eq!(count("wirelap.last_seen.leg == 1 && wirelap.last_seen.stage == \"read\""), 10);
    assert_eq!(count("wirelap.undelivered"), 10);
}

#[test]
fn fields_can_be_summed_and_the_summary_agrees() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("steady.pcapng");
    annotate(&root().join("tracer/correlate/tests/why/steady.pcapng.gz"), &copy);
    let (truth, _) = truth(&copy);
    let mut times: Vec<u64> = truth
        .all
        .values()
        .filter(|(_, fields)| fields["standing"] == "counted" && fields["leg_ns"] != "0")
        .filter_map(|(one_way, _)| one_way.map(|time| time.0))
        .collect();
    // Both legs have it.
    times.sort_unstable();
    let max = times.last().unwrap();
    let delivered = "wirelap.delivers == 1 && wirelap.standing == \"counted\"";
    let column = format!("MAX(wirelap.one_way_ns)wirelap.one_way_ns && {delivered}");
    let statistics = tshark(&copy, &["-q", "-z", &format!("io,stat,0,{column}")]);
    assert!(statistics.contains(&format!(" {max} ")), "{max}: {statistics}");
    let summary = tshark(&copy, &["-q", "-o", "wirelap.summary:TRUE"]);
    let row: Vec<&str> = summary.lines().nth(1).unwrap().split_whitespace().collect();
    let messages = truth.deliveries.iter().filter(|(_, standing)| *standing == "counted");
    assert_eq!(row[1], messages.count().to_string(), "{summary}");
    let us = |ns: u64| format!("{:.1}", ns as f64 / 1e3);
    assert_eq!(row[5], us(*max), "{summary}");
}

#[test]
fn what_cannot_be_written_again_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refuse = |files: &[&Path], to: &Path, why: &str| {
        let output = analyze(files, to);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(why), "{said}");
    };
    let recording = root().join("tracer/correlate/tests/why/nagle.pcapng.gz");
    let other = root().join("tracer/protocols/tests/kafka/captures/kcat.pcap");
    refuse(&[&recording, &other], &folder.path().join("a"), "into one file");
    let host = |name: &str| root().join("tracer/cli/tests/hosts").join(name);
    let hosts = [host("client.pcap.gz"), host("server.pcap.gz")];
    refuse(&[&hosts[0], &hosts[1]], &folder.path().join("b"), "of several hosts");
    let own = folder.path().join("own.pcapng");
    annotate(&recording, &own);
    refuse(&[&own], &own, "cannot overwrite");
    assert!(fs::metadata(&own).unwrap().len() > 10_000);
}
