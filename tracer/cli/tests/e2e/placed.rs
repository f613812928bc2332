//! Workloads on other hosts, which are network namespaces here: they have one kernel, so that the true difference of their clocks is 0.

use crate::bench::{Bench, poll, workload};
use crate::hosts::Line;
use crate::{LONG, assert_flawless};
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

/// Round trips: so many messages there, and as many back.
const ROUND_TRIPS: u64 = 300;

/// A command for `--via` in a file of this name, which runs `wirelap` and another program in place of `wirelap-workload` at one end of a line.
fn host(bench: &Bench, line: &Line, end: usize, name: &str, workload: &str) -> String {
    let (path, wirelap) = (bench.file(name), env!("CARGO_BIN_EXE_wirelap"));
    let text = format!(
        "#!/bin/sh\nwirelap() {{ exec ip netns exec {0} {wirelap} \"$@\"; }}\nworkload() {{ exec ip netns exec {0} {workload} \"$@\"; }}\n\
         case $1 in wirelap) shift; wirelap \"$@\";; *) shift; workload \"$@\";; esac\n",
        line.namespace(end),
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// Processes in the namespaces of a line.
fn inside(line: &Line) -> String {
    let of = |end| {
        let pids = Command::new("ip").args(["netns", "pids", line.namespace(end)]).output();
        String::from_utf8(pids.unwrap().stdout).unwrap()
    };
    format!("{}{}", of(0), of(1))
}

#[test]
fn roles_run_where_they_are_placed_and_leave_nothing_behind() {
    let (bench, line) = (Bench::new(), Line::new());
    let program: PathBuf = workload();
    let [robot, hub] = [(0, "robot"), (1, "hub")]
        .map(|(end, name)| host(&bench, &line, end, name, &program.display().to_string()));
    let words = format!(
        "run latency --on tcp --messages {ROUND_TRIPS} --by link --via {robot} --via {hub} --place publisher={robot},subscriber={hub}"
    );
    let ended = bench.wirelap(&words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = bench.report();
    let result = &report["results"][0];
    assert_flawless(result, 2 * ROUND_TRIPS);
    let processes = result["repetitions"][0]["processes"].as_array().unwrap();
    let of = |role: &str| processes.iter().find(|one| one["role"] == role).unwrap();
    assert_eq!([&of("ping")["host"], &of("pong")["host"]], [robot.as_str(), hub.as_str()]);
    let hosts = report["hosts"].as_array().unwrap();
    assert_eq!(hosts.len(), 3, "{hosts:?}");
    assert_eq!(inside(&line), "");
    bench.assert_clean();
}

#[test]
fn an_interrupted_run_leaves_nothing_on_other_hosts() {
    let (bench, line) = (Bench::new(), Line::new());
    let program = workload().display().to_string();
    let hub = host(&bench, &line, 1, "hub", &program);
    let robot = host(&bench, &line, 0, "robot", &program);
    let words = format!(
        "run latency --on tcp --rate 100 --duration 100s --via {robot} --via {hub} --place publisher={robot},subscriber={hub}"
    );
    for signal in [Signal::INT, Signal::KILL] {
        let run = bench.wirelap(&words).start();
        poll("the publisher", LONG, || {
            assert!(run.is_running(), "it ended before anything was placed");
            (inside(&line).lines().count() >= 4).then_some(())
        });
        run.signal(signal);
        run.end(LONG);
        poll("the end of all processes", LONG, || inside(&line).is_empty().then_some(()));
    }
}

#[test]
fn what_is_wrong_with_a_place_is_said() {
    let (bench, line) = (Bench::new(), Line::new());
    let missing = host(&bench, &line, 0, "missing", "/nowhere/wirelap-workload");
    let other = host(
        &bench,
        &line,
        0,
        "other",
        "sh -c 'echo \"{\\\"version\\\":\\\"0.0.1\\\",\\\"addresses\\\":[],\\\"middlewares\\\":[]}\"'",
    );
    for (places, status, why) in [
        (
            "--place subscriber=cloud --via HOST",
            2,
            "cloud is none of the hosts of --host and --via",
        ),
        ("--place sender=HOST --via HOST", 2, "there is no role `sender`"),
        ("--via HOST", 2, "--host and --via name hosts for --place"),
        ("--place subscriber=HOST --via HOST --hosts", 2, "remove one of both"),
        ("--place subscriber=HOST --via HOST", 3, "is not in the PATH"),
        ("--place subscriber=OTHER --via OTHER", 3, "has version 0.0.1 there"),
    ] {
        let places = places.replace("HOST", &missing).replace("OTHER", &other);
        let ended = bench.wirelap(&format!("run latency --on tcp {places}")).end(LONG);
        let said = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(ended.status, Some(status), "{places}: {said}");
        assert!(said.contains(why), "{places}: {said}");
    }
}
