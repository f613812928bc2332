//! Limits of time, of disks and of the machine: they hold, they are told by their own names, and nothing that was
//! measured is lost at them.

use crate::LONG;
use crate::bench::{Bench, Ended};
use crate::hidden::assert_count;
use serde_json::Value;
use std::fs;
use std::time::Instant;

#[test]
fn a_rate_beyond_the_machine_ends_with_its_time_and_is_told() {
    let bench = Bench::new();
    let words = "run latency --on tcp,udp --rate 20000000 --duration 1s --warmup 1000000000 --warmup-time 500ms \
        --measure-cost=true --truth-check on";
    let ended = bench.wirelap(words).json().end(LONG);
    assert!(ended.status.is_some());
    for result in bench.report()["results"].as_array().unwrap() {
        let name = &result["middleware"];
        let reached = result["rate_reached"].as_f64().unwrap();
        let sent = result["messages"]["sent"].as_f64().unwrap();
        assert!(reached > 0.0 && reached < 0.95, "{name}: {reached}");
        assert!((sent / 20e6 - reached).abs() < 0.2 * reached, "{name}: {sent} sent, {reached}");
        let repetition = &result["repetitions"][0];
        assert_eq!(repetition["messages"]["sent"].as_f64(), Some(sent));
    }
    assert_eq!(ended.stdout.matches("rate not reached (").count(), 2, "{}", ended.stdout);
    bench.assert_clean();
}

#[test]
fn a_slow_warm_up_ends_with_its_time() {
    let bench = Bench::new();
    let began = Instant::now();
    let ended = bench.wirelap("run latency --on tcp --rate 10 --messages 30").json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    // A thousand messages at this rate are 100 s.
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
    let result = &bench.report()["results"][0];
    assert_count(result, "/messages/sent", 30);
    assert_count(result, "/messages/matched", 30);
    assert!(result["rate_reached"].as_f64() > Some(0.95), "{}", result["rate_reached"]);
    assert!(!ended.says("not reached"), "{}", ended.stdout);
}

#[test]
fn a_report_that_cannot_be_written_is_on_stdout_and_the_recording_is_whole() {
    let bench = Bench::new();
    let recording = bench.file("live.pcapng");
    let path = recording.display();
    // Without a filter, the same workload of another test could be the row.
    let own = std::process::id();
    let words = format!(
        "live --on tcp --rate 500 --duration 2s --pid {own} --pcapng {path} --pcapng-payload --json /dev/full"
    );
    let ended = bench.wirelap(&words).end(LONG);
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert!(last.contains("/dev/full: No space left") && last.contains("make room"), "{last}");
    // Before it, on the same stream, are the plain lines and the table: the JSON is alone on stdout.
    let json = &ended.stdout[ended.stdout.find("{\n").expect("JSON")..];
    let seen: Value = serde_json::from_str(json).unwrap();
    let ended = bench.wirelap(&format!("analyze {path} --json -")).end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let read: Value = serde_json::from_str(&ended.stdout).unwrap();
    let matched = |report: &Value| {
        let results = report["results"].as_array().unwrap();
        results.iter().find(|row| row["middleware"] == "tcp").map(|row| row["messages"].clone())
    };
    assert!(matched(&seen).unwrap()["matched"].as_u64() > Some(100), "{seen}");
    assert_eq!(matched(&read), matched(&seen));
}

#[test]
fn a_full_disk_in_a_later_trial_leaves_what_was_measured_before() {
    let bench = Bench::new();
    let folder = bench.file("small");
    fs::create_dir(&folder).unwrap();
    // A trial's recording is some 5 MB.
    let recording = folder.join("trial.pcapng");
    let words = format!(
        "run latency --on tcp --messages 500 --warmup 0 --payload 4K --repeat 5 --pcapng {}",
        recording.display()
    );
    let ended = bench.wirelap_in_tmpfs(&words, &folder, "12m").json().end(LONG);
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("No space left"), "{}", ended.stderr);
    assert!(ended.stderr.contains("make room"), "{}", ended.stderr);
    let report = bench.report();
    assert_eq!(report["partial"], true);
    let repetitions = report["results"][0]["repetitions"].as_array().unwrap();
    assert!(repetitions.len() >= 2, "{repetitions:?}");
    assert_eq!(repetitions[0]["partial"], false);
    assert_count(&repetitions[0], "/messages/matched", 1000);
    assert!(ended.stdout.contains("RTT/2"), "{}", ended.stdout);
}

/// With few files, some other limit is met first, or none: what is told is always the limit on files.
#[test]
fn too_few_open_files_are_told_as_that() {
    for (words, files) in
        [("live --plain --duration 1s", 7..64), ("run latency --on tcp --messages 100", 7..90)]
    {
        for most in files.step_by(6) {
            let bench = Bench::new();
            let script = format!("ulimit -n {most} && exec \"$0\" \"$@\"");
            let ended = bench.wirelap_by(&script, words).end(LONG);
            let said = &ended.stderr;
            assert!(
                !said.contains("kernel from") && !said.contains("needs root"),
                "{most}: {said}"
            );
            assert!(!said.contains("panicked"), "{most}: {said}");
            if ended.status != Some(0) {
                assert!(said.contains("open files"), "{words}, {most}: {said}");
            }
            bench.assert_clean();
        }
    }
}

#[test]
fn what_a_root_lacks_is_named() {
    for (capability, words, status) in [
        // Packets alone are shown.
        ("cap_bpf", "live --plain --duration 1s", 0),
        ("cap_bpf", "live --plain --pid 1 --duration 1s", 3),
        // Some observations are not made.
        ("cap_net_admin", "record -o /dev/null --force --duration 1s", 0),
        ("cap_chown", "run latency --on tcp --messages 10", 3),
        ("cap_setuid", "run latency --on tcp --messages 10", 3),
        ("cap_kill", "live --plain --on tcp --duration 1s", 3),
    ] {
        let script =
            format!("exec capsh --drop={capability} -- -c 'exec \"$0\" \"$@\"' \"$0\" \"$@\"");
        let ended = Bench::new().wirelap_by(&script, words).end(LONG);
        let said = ended.stderr.to_lowercase();
        assert_eq!(ended.status, Some(status), "{capability}, {words}: {said}");
        assert!(said.contains(capability), "{capability}: {said}");
        assert!(!said.contains("tmpdir"), "{capability}: {said}");
    }
    let script = "exec unshare --user --map-root-user \"$0\" \"$@\"";
    let ended = Bench::new().wirelap_by(script, "live --plain --duration 1s").end(LONG);
    assert_eq!(ended.status, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("user namespace"), "{}", ended.stderr);
}

#[test]
fn a_temporary_folder_that_cannot_be_used_is_told_with_its_cause() {
    for (options, cause) in [("ro", "read-only"), ("nr_inodes=1", "room")] {
        let ended = in_mounts(&format!("mount -t tmpfs -o {options} none \"$TMPDIR\""));
        assert_eq!(ended.status, Some(3), "{options}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{options}: {}", ended.stderr);
        let said = &ended.stderr;
        assert!(said.contains(cause) && said.contains("TMPDIR"), "{options}: {said}");
    }
    // No program is executed there, even where the workloads' user cannot reach its own place.
    let ended = in_mounts(&format!(
        "mount -t tmpfs -o noexec none \"$TMPDIR\" && {}",
        workload_in("mode=700", "/mnt")
    ));
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
}

#[test]
fn a_program_where_none_may_be_started_is_told_with_its_cause() {
    // With and without a way to it for the workloads' user.
    for mode in ["755", "700"] {
        let ended = in_mounts(&workload_in(&format!("noexec,mode={mode}"), "/mnt"));
        let said = &ended.stderr;
        assert_eq!(ended.status, Some(3), "{mode}: {said}");
        assert_eq!(said.lines().count(), 1, "{mode}: {said}");
        assert!(said.contains("/mnt is") && said.contains("noexec"), "{mode}: {said}");
        assert!(said.contains("WIRELAP_WORKLOAD"), "{mode}: {said}");
    }
}

/// The workloads' program on a file system of its own.
fn workload_in(options: &str, folder: &str) -> String {
    let program = crate::bench::workload();
    let program = program.display();
    format!(
        "mount -t tmpfs -o {options} none {folder} && cp {program} {folder} && \
         export WIRELAP_WORKLOAD={folder}/wirelap-workload"
    )
}

/// A run after a script that mounts, in a mount namespace of its own.
fn in_mounts(script: &str) -> Ended {
    let script =
        format!("exec unshare --mount sh -c '{script} && exec \"$0\" \"$@\"' \"$0\" \"$@\"");
    Bench::new().wirelap_by(&script, "run latency --on tcp --messages 10").end(LONG)
}

/// Three repetitions of a run are taken together, with the smallest of their round trips.
#[test]
fn round_trips_of_untraced_repetitions_are_taken_together() {
    let bench = Bench::new();
    let words = "run latency --on ping --messages 200 --warmup 20 --repeat 3";
    let ended = bench.wirelap_alone(words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = bench.report();
    let result = &report["results"][0];
    let of = |row: &Value, name: &str| row[name].as_u64().unwrap();
    let all = &result["latency"]["rtt_half_ns"];
    let each: Vec<&Value> = result["repetitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|repetition| &repetition["rtt_half_ns"])
        .collect();
    assert_eq!((of(all, "count"), each.len()), (600, 3));
    let each = |name| each.iter().map(move |row| of(row, name));
    assert!(of(all, "min") > 0);
    assert_eq!(Some(of(all, "min")), each("min").min());
    assert_eq!(Some(of(all, "max")), each("max").max());
    let (least, most) = (each("p50").min().unwrap(), each("p50").max().unwrap());
    assert!((least..=most).contains(&of(all, "p50")), "{all}");
}
