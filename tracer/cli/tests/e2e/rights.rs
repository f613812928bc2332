//! Rights that wirelap has while it traces, and that its workloads have.

use crate::LONG;
use crate::bench::{Bench, Running, children, links_of, poll, state, words_of};
use crate::terminal::{status, terminal};
use rustix::process::Signal;
use std::fs;

/// The sets of a thread in `/proc/PID/task/TID/status` (proc(5)).
const SETS: [&str; 5] = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"];

/// `CAP_CHOWN`, `CAP_DAC_OVERRIDE`, `CAP_FOWNER` (include/uapi/linux/capability.h).
const OUTPUTS: u64 = 1 | 1 << 1 | 1 << 3;
/// `CAP_KILL`, `CAP_SETGID`, `CAP_SETUID`.
const WORKLOADS: u64 = 1 << 5 | 1 << 6 | 1 << 7;
/// `CAP_BPF`, `CAP_PERFMON`, `CAP_NET_ADMIN`.
const ATTACH: u64 = 1 << 39 | 1 << 38 | 1 << 12;

/// A thread's status: what stands behind `name:`.
fn field(status: &str, name: &str) -> String {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_default().trim().to_owned()
}

fn mask(status: &str, name: &str) -> u64 {
    u64::from_str_radix(&field(status, name), 16).unwrap_or(u64::MAX)
}

/// The status of each thread of a process.
fn threads(pid: u32) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok()).collect()
}

/// `CAP_SYS_NICE`.
const NICE: u64 = 1 << 23;

/// Returns the right that a thread may have besides: the one that watches over the reader raises priorities by a capability where no
/// limit allows that.
fn to_hurry(status: &str) -> u64 {
    let may = rustix::process::getrlimit(rustix::process::Resource::Rtprio);
    let is_limited = may.maximum == Some(0);
    if is_limited && field(status, "Name") == "watchdog" { NICE } else { 0 }
}

/// Waits until wirelap traces, and each of its threads has no more than these rights.
fn until_tracing_with(run: &Running, sets: &[&str], allowed: u64) {
    let mut seen = Vec::new();
    poll("a trace without rights", LONG, || {
        assert!(run.is_running(), "it ended early; its threads were {seen:#?}");
        seen = threads(run.pid());
        let is_free = |status: &String| {
            sets.iter().all(|set| mask(status, set) & !(allowed | to_hurry(status)) == 0)
                && field(status, "NoNewPrivs") == "1"
        };
        let traces = seen.iter().any(|status| field(status, "Name") == "capture");
        (traces && seen.iter().all(is_free)).then_some(())
    });
}

fn end(run: Running) {
    run.signal(Signal::INT);
    let ended = run.end(LONG);
    assert!(ended.status.is_some(), "{}", ended.stderr);
}

#[test]
fn whoever_only_watches_has_no_rights_and_no_other_process() {
    for words in ["live --plain", "live --plain --json -"] {
        let run = Bench::new().wirelap(words).start();
        until_tracing_with(&run, &SETS, 0);
        assert_eq!(run.descendants(), [0; 0], "{words}");
        end(run);
    }
}

#[test]
fn while_it_records_and_runs_workloads_rights_are_elsewhere() {
    let bench = Bench::new();
    let at = |name: &str| bench.file(name).display().to_string();
    for (words, steward) in [
        (format!("record -o {} --rotate-time 1s", at("ring.pcapng")), OUTPUTS),
        (format!("live --plain --json {} --pcapng {}", at("a.json"), at("a.pcapng")), OUTPUTS),
        ("live --plain --on mqtt,udp".into(), OUTPUTS | WORKLOADS),
        ("run latency --on tcp --rate 100 --duration 60s".into(), OUTPUTS | WORKLOADS),
    ] {
        let run = bench.wirelap(&words).start();
        until_tracing_with(&run, &SETS, 0);
        let [helper] = children(run.pid())[..] else { panic!("{words}: one child") };
        assert!(words_of(helper).contains(&"--steward".into()));
        for status in threads(helper) {
            for set in SETS {
                let most = if ["CapPrm", "CapEff"].contains(&set) { steward } else { 0 };
                assert_eq!(mask(&status, set) & !most, 0, "{words}: {set} of the steward");
            }
        }
        end(run);
    }
}

/// Another trial attaches once more; until then, rights rest.
#[test]
fn between_trials_the_rights_to_attach_rest() {
    let bench = Bench::new();
    let run = bench.wirelap("run latency --on tcp,udp --rate 100 --duration 60s").start();
    until_tracing_with(&run, &["CapInh", "CapEff", "CapBnd", "CapAmb"], 0);
    until_tracing_with(&run, &["CapPrm"], ATTACH | NICE);
    // A thread gives up what it has from the one that started it by the first thing that it does.
    let first = run.pid().to_string();
    let is_free = |status: &String| {
        field(status, "Pid") == first || mask(status, "CapPrm") & !to_hurry(status) == 0
    };
    poll("threads without rights", LONG, || {
        let threads = threads(run.pid());
        (threads.len() > 2 && threads.iter().all(is_free)).then_some(())
    });
    end(run);
}

/// A terminal's line is drawn by a thread, and another waits for signals.
#[test]
fn the_other_threads_of_a_run_on_a_terminal_have_no_rights_between_trials() {
    let bench = Bench::new();
    let (_master, slave) = terminal();
    let words = "run latency --on tcp,udp --rate 100 --duration 60s";
    let run = bench.wirelap(words).on_terminal(&slave, false);
    let first = run.id().to_string();
    let is_free = |status: &String| {
        let rest = |set: &str| field(status, "Pid") == first && set == "CapPrm";
        SETS.iter().all(|set| mask(status, set) & !to_hurry(status) == 0 || rest(set))
            && field(status, "NoNewPrivs") == "1"
    };
    poll("threads without rights", LONG, || {
        let threads = threads(run.id());
        let names: Vec<_> = threads.iter().map(|status| field(status, "Name")).collect();
        let is_there = |name: &&str| names.iter().any(|known| known == name);
        let are_there = ["capture", "progress", "signals"].iter().all(is_there);
        (are_there && threads.iter().all(is_free)).then_some(())
    });
    crate::bench::kill(run.id(), Signal::TERM);
    assert_eq!(status(run), Some(1));
}

#[test]
fn workloads_and_brokers_are_somebody_else_and_can_gain_nothing() {
    let bench = Bench::new();
    let words = "run latency --on mqtt --broker mosquitto --warmup 0 --rate 2000 --duration 60s";
    let run = bench.wirelap(words).start();
    Bench::until_messages_flow(&run, LONG);
    let [helper] = children(run.pid())[..] else { panic!("one child") };
    let workloads: Vec<u32> = run.descendants().into_iter().filter(|&pid| pid != helper).collect();
    assert!(workloads.len() >= 3, "{workloads:?}");
    for pid in workloads {
        for status in threads(pid) {
            let uids = field(&status, "Uid");
            assert!(uids.split_whitespace().all(|uid| uid == "65534"), "{pid}: {uids}");
            assert_eq!(field(&status, "NoNewPrivs"), "1", "{pid}");
            for set in SETS {
                assert_eq!(mask(&status, set), 0, "{pid}: {set}");
            }
        }
    }
    end(run);
    bench.assert_clean();
}

#[test]
fn after_a_kill_no_process_no_probe_and_no_file_is_left() {
    for words in [
        "run latency --on mqtt --broker mosquitto --warmup 0 --rate 2000 --duration 60s",
        "run latency --on kafka --broker apache --warmup 0 --rate 500 --duration 60s",
    ] {
        let bench = Bench::new();
        let run = bench.wirelap(words).json().start();
        Bench::until_messages_flow(&run, LONG);
        let others = run.descendants();
        assert!(others.len() >= 4, "{others:?}");
        let links = links_of(run.pid());
        assert!(!links.is_empty());
        run.signal(Signal::KILL);
        run.end(LONG);
        let ended = |&pid: &u32| state(pid).is_none_or(|state| state == 'Z');
        poll("the end of all processes", LONG, || others.iter().all(ended).then_some(()));
        poll("the end of all probes", LONG, || {
            let left = fs::read_dir("/proc").unwrap().flatten();
            let pids = left.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            let mut held = pids.flat_map(links_of);
            (!held.any(|link| links.contains(&link))).then_some(())
        });
        bench.assert_clean();
        assert!(!bench.file("out.json").exists());
        let left = fs::read_dir(bench.file("out.json").parent().unwrap()).unwrap().count();
        assert_eq!(left, 1, "nothing but the program");
    }
}

#[test]
fn what_a_kill_of_all_processes_leaves_is_removed_by_the_next_start() {
    let bench = Bench::new();
    let run = bench.wirelap("run latency --on tcp --warmup 0 --rate 2000 --duration 60s").start();
    Bench::until_messages_flow(&run, LONG);
    let mut all = run.descendants();
    // The steward first, so that it has no time for anything.
    all.sort_by_key(|&pid| !words_of(pid).contains(&"--steward".into()));
    for &pid in &all {
        crate::bench::kill(pid, Signal::STOP);
    }
    for &pid in &all {
        crate::bench::kill(pid, Signal::KILL);
    }
    run.signal(Signal::KILL);
    run.end(LONG);
    let other = bench.wirelap("run latency --on tcp --rate 2000 --duration 60s").start();
    Bench::until_messages_flow(&other, LONG);
    assert_eq!(bench.temporary().len(), 1, "the folder of the one that runs");
    assert_eq!(bench.wirelap("list").end(LONG).status, Some(0));
    assert_eq!(bench.temporary().len(), 1, "a folder in use is nobody else's business");
    end(other);
    bench.assert_clean();
}

#[test]
fn a_signal_at_any_time_leaves_nothing() {
    let words = "run latency --on mqtt --warmup 0 --rate 2000 --duration 60s";
    for signal in [Signal::INT, Signal::KILL] {
        for age in 0..8 {
            let bench = Bench::new();
            let run = bench.wirelap(words).json().start();
            // As far as it has come when it has been given the CPU so often.
            poll("some work", LONG, || (run.switches() >= age * age * 4).then_some(()));
            let others = run.descendants();
            run.signal(signal);
            run.end(LONG);
            let ended = |&pid: &u32| state(pid).is_none_or(|state| state == 'Z');
            poll("the end of all processes", LONG, || others.iter().all(ended).then_some(()));
            poll("an empty folder", LONG, || bench.temporary().is_empty().then_some(()));
        }
    }
}

/// Not a duty of wirelap itself: it has no rights for it.
#[test]
fn without_its_steward_it_ends_with_a_sentence() {
    let bench = Bench::new();
    let run = bench.wirelap("run latency --on tcp --warmup 0 --rate 2000 --messages 4000").json();
    let run = run.start();
    Bench::until_messages_flow(&run, LONG);
    let others = run.descendants();
    crate::bench::kill(children(run.pid())[0], Signal::KILL);
    let ended = run.end(LONG);
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.lines().last().unwrap().starts_with("wirelap: "), "{}", ended.stderr);
    let gone = |&pid: &u32| state(pid).is_none_or(|state| state == 'Z');
    poll("the end of all processes", LONG, || others.iter().all(gone).then_some(()));
}
