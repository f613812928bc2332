//! A terminal that goes away, or does not read any more, ends every command, with its outputs whole.

use crate::LONG;
use crate::bench::{Bench, Call, poll};
pub use crate::screen::terminal;
use rustix::process::Signal;
use rustix::termios::{Action, tcflow};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Child;

/// Those threads of a process that `is` says yes to, by their folder in /proc.
fn has_thread(process: &Child, is: impl Fn(&Path) -> bool) -> Option<()> {
    let threads = fs::read_dir(format!("/proc/{}/task", process.id())).unwrap().flatten();
    threads.map(|thread| thread.path()).any(|path| is(&path)).then_some(())
}

fn until_it_traces(process: &Child) {
    let is_named =
        |path: &Path| fs::read_to_string(path.join("comm")).unwrap_or_default() == "capture\n";
    poll("tracing", LONG, || has_thread(process, is_named));
}

/// Waits for the end; kills what does not come to it.
pub fn status(mut process: Child) -> Option<i32> {
    let pid = process.id();
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        poll("the end of wirelap", LONG, || process.try_wait().unwrap())
    }));
    if ended.is_err() {
        process.kill().unwrap();
        process.wait().unwrap();
        panic!("process {pid} did not end");
    }
    ended.unwrap().code()
}

/// Each command with a terminal, what comes of it, and its name.
fn commands(bench: &Bench) -> [(Call, i32, &'static str); 4] {
    let file = |name: &str| bench.file(name).display().to_string();
    let live = format!("live --pcapng {}", file("live.pcapng"));
    let plain = format!("live --plain --pcapng {}", file("plain.pcapng"));
    let record = format!("record -o {}", file("record.pcapng"));
    let run = "run latency --on tcp --warmup 0 --rate 500 --duration 60s";
    [
        (bench.wirelap(&live).json(), 0, "live"),
        (bench.wirelap(&plain).json(), 0, "plain"),
        (bench.wirelap(&record), 0, "record"),
        (bench.wirelap(run).json(), 1, "run"),
    ]
}

fn assert_whole(bench: &Bench, name: &str) {
    if name != "record" {
        assert_eq!(bench.report()["schema"], "wirelap/run/1", "{name}");
    }
    if name != "run" {
        let recording = bench.file(&format!("{name}.pcapng"));
        let ended = bench.wirelap(&format!("analyze {} --json -", recording.display())).end(LONG);
        assert_eq!(ended.status, Some(0), "{name}: {}", ended.stderr);
        let report: Value = serde_json::from_str(&ended.stdout).unwrap();
        // What it was made on stands at the front, and what came of it at the end.
        assert!(report["environment"]["kernel"].is_string(), "{name}");
    }
}

#[test]
fn a_terminal_that_goes_away_ends_every_command() {
    for is_controlling in [false, true] {
        let bench = Bench::new();
        for (call, expected, name) in commands(&bench) {
            let (master, slave) = terminal();
            let process = call.on_terminal(&slave, is_controlling);
            drop(slave);
            until_it_traces(&process);
            drop(master);
            assert_eq!(status(process), Some(expected), "{name}, controlling: {is_controlling}");
            assert_whole(&bench, name);
        }
        bench.assert_clean();
    }
}

#[test]
fn a_terminal_that_does_not_read_keeps_no_command_from_its_end() {
    let bench = Bench::new();
    for (call, expected, name) in commands(&bench) {
        let (master, slave) = terminal();
        let process = call.on_terminal(&slave, false);
        until_it_traces(&process);
        tcflow(&slave, Action::OOff).unwrap();
        if name == "live" || name == "plain" {
            // write(2) to stdout: 1 on x86-64, 64 on arm64.
            let writes = |path: &Path| {
                let call = fs::read_to_string(path.join("syscall")).unwrap_or_default();
                call.starts_with("1 0x1 ") || call.starts_with("64 0x1 ")
            };
            poll("a write that waits", LONG, || has_thread(&process, writes));
        }
        let pid = rustix::process::Pid::from_child(&process);
        rustix::process::kill_process(pid, Signal::TERM).unwrap();
        assert_eq!(status(process), Some(expected), "{name}");
        assert_whole(&bench, name);
        drop(master);
    }
    bench.assert_clean();
}

/// As in a service, or with `<&- >&- 2>&-`.
#[test]
fn without_any_stream_a_signal_ends_it() {
    let bench = Bench::new();
    let recording = bench.file("closed.pcapng");
    let words = format!("live --pcapng {}", recording.display());
    let call = bench.wirelap_by("exec \"$0\" \"$@\" <&- >&- 2>&-", &words).json();
    let run = call.start();
    let pid = run.pid();
    poll("a recording", LONG, || {
        fs::metadata(&recording).ok().filter(|file| file.len() > 0).map(drop)
    });
    let process = format!("/proc/{pid}/task");
    poll("tracing", LONG, || {
        let threads = fs::read_dir(&process).unwrap().flatten();
        let names = threads.map(|thread| fs::read_to_string(thread.path().join("comm")));
        names.flatten().any(|name| name == "capture\n").then_some(())
    });
    run.signal(Signal::TERM);
    assert_eq!(run.end(LONG).status, Some(0));
    assert_eq!(bench.report()["schema"], "wirelap/run/1");
}

/// As with `nohup`.
#[test]
fn who_ignores_hangups_goes_on_when_the_terminal_is_gone() {
    let bench = Bench::new();
    let recording = bench.file("nohup.pcapng");
    let words = format!("record -o {}", recording.display());
    let run = bench.wirelap_by("trap '' HUP; exec \"$0\" \"$@\" </dev/null", &words).start();
    let pid = run.pid();
    poll("a recording", LONG, || {
        fs::metadata(&recording).ok().filter(|file| file.len() > 0).map(drop)
    });
    run.signal(Signal::HUP);
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let mask = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    assert_eq!((mask("SigIgn:") & 1, mask("SigCgt:") & 1), (1, 0));
    run.signal(Signal::TERM);
    assert_eq!(run.end(LONG).status, Some(0));
}
