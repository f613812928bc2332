//! Faults around a run, where something is killed, stopped, full or gone: it ends, says so, leaves nothing behind, and what had been
//! measured can be read. `make faults` runs those that take minutes, too.

use crate::bench::{Bench, Running, kill, links_of, poll, state, words_of};
use crate::hidden::assert_count;
use crate::{LONG, assert_flawless, lost};
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// The phase of a run in which something is done to it.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// As soon as the process is there.
    Begins,
    Flows,
    /// The sender has ended by itself.
    Ends,
}

/// The first descendant that has this word in its command line.
fn descendant(run: &Running, word: &str) -> Option<u32> {
    let has = |pid: &u32| words_of(*pid).iter().any(|one| one.rsplit('/').next() == Some(word));
    run.descendants().into_iter().find(has)
}

fn is_gone(pid: u32) -> bool {
    state(pid).is_none_or(|state| state == 'Z')
}

/// Waits for a phase. The process to which something is to be done then, unless it has ended.
fn wait_for(run: &Running, phase: Phase, word: &str) -> Option<u32> {
    match phase {
        Phase::Begins => poll("the process", LONG, || {
            assert!(run.is_running(), "wirelap ended before there was {word}");
            descendant(run, word)
        })
        .into(),
        Phase::Flows => {
            Bench::until_messages_flow(run, LONG);
            descendant(run, word)
        }
        Phase::Ends => {
            let sender = poll("the sender", LONG, || {
                assert!(run.is_running(), "wirelap ended before there was a sender");
                descendant(run, "pub")
            });
            poll("the sender's end", LONG, || is_gone(sender).then_some(()));
            descendant(run, word)
        }
    }
}

/// No process and no probe of it is left.
fn assert_gone(processes: &[u32], links: &[String]) {
    poll("the end of all processes", LONG, || {
        processes.iter().all(|&pid| is_gone(pid)).then_some(())
    });
    poll("the end of all probes", LONG, || {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut held = pids.flat_map(links_of);
        (!held.any(|link| links.contains(&link))).then_some(())
    });
}

fn assert_killed_well(on: &str, victim: &str, phase: Phase) {
    let bench = Bench::new();
    let words = format!("run latency --on {on} --warmup 0 --rate 2000 --duration 1s");
    let run = bench.wirelap(&words).json().start();
    let what = format!("{on}: {victim} killed, {phase:?}");
    let found = wait_for(&run, phase, victim);
    let (others, links) = (run.descendants(), links_of(run.pid()));
    if let Some(pid) = found.filter(|&pid| !is_gone(pid)) {
        kill(pid, Signal::KILL);
    }
    let ended = run.end(LONG);
    let last = ended.stderr.lines().last().unwrap_or_default();
    match ended.status {
        Some(0) => {}
        Some(1 | 3) => assert!(last.starts_with("wirelap: "), "{what}: {}", ended.stderr),
        other => panic!("{what}: status {other:?}: {}", ended.stderr),
    }
    assert!(!ended.stderr.contains("panicked"), "{what}: {}", ended.stderr);
    assert_gone(&others, &links);
    if victim == "--steward" {
        // Nobody is left who may remove the folder before the next start.
        assert_eq!(bench.wirelap("list").end(LONG).status, Some(0));
    } else {
        let report = bench.report();
        assert_eq!(report["schema"], "wirelap/run/1", "{what}");
        let is_whole = ended.status == Some(0);
        assert!(is_whole || report["partial"] == true, "{what}: {}", ended.stderr);
    }
    bench.assert_clean();
}

#[test]
#[ignore = "takes minutes: make faults"]
fn whoever_is_killed_whenever_nothing_is_left() {
    let mut failed = 0;
    for phase in [Phase::Begins, Phase::Flows, Phase::Ends] {
        for (on, victims) in [
            ("tcp", &["pub", "sub", "--steward"][..]),
            ("mqtt --broker mosquitto", &["pub", "sub", "mosquitto", "--steward"]),
            ("kafka --broker apache", &["pub", "sub", "java", "--steward"]),
            ("zenoh-brokered", &["pub", "sub", "broker", "--steward"]),
        ] {
            for victim in victims {
                let killed = std::panic::catch_unwind(|| assert_killed_well(on, victim, phase));
                failed += usize::from(killed.is_err());
            }
        }
    }
    assert_eq!(failed, 0, "what failed stands above");
}

#[test]
fn who_is_killed_as_soon_as_it_is_there_leaves_nothing() {
    assert_killed_well("tcp", "sub", Phase::Begins);
    assert_killed_well("mqtt --broker mosquitto", "mosquitto", Phase::Ends);
}

/// The trials before and after it are measured.
#[test]
fn a_broker_that_is_killed_costs_its_trial_only() {
    let bench = Bench::new();
    let words = "run latency --on tcp,mqtt,udp --broker mosquitto --warmup 0 --rate 500 --messages 500 \
        --measure-cost=false";
    let run = bench.wirelap(words).json().start();
    // A mosquitto that tells its version runs before the one of the trial.
    let publishes = |pid: u32| {
        let words = words_of(pid);
        ["pub", "mqtt"].iter().all(|word| words.iter().any(|other| other == word))
    };
    poll("the publisher", LONG, || run.descendants().into_iter().any(publishes).then_some(()));
    kill(descendant(&run, "mosquitto").unwrap(), Signal::KILL);
    let ended = run.end(LONG);
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("mqtt (mosquitto) 64 B #1: "), "{}", ended.stderr);
    let report = bench.report();
    assert_eq!(report["partial"], true);
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 3, "{results:#?}");
    for result in results {
        let failed = result["middleware"] == "mqtt";
        assert_eq!((&result["partial"], result["error"].is_string()), (&failed.into(), failed));
        if !failed {
            assert_count(result, "/messages/matched", 500);
        }
    }
    bench.assert_clean();
}

/// Waits until the trial's trace has ended, and probes are attached anew to measure what they cost.
fn wait_for_turns(run: &Running) {
    let links = || {
        assert!(run.is_running(), "wirelap ended before the cost was measured");
        links_of(run.pid())
    };
    let of_trace = poll("the trace", LONG, || Some(links()).filter(|links| !links.is_empty()));
    poll("the turns", LONG, || {
        let links = links();
        let are_new = !links.is_empty() && !links.iter().any(|link| of_trace.contains(link));
        are_new.then_some(())
    });
}

/// All messages that count were sent and read before.
#[test]
fn who_is_killed_while_the_cost_is_measured_costs_that_figure_only() {
    for (on, victim) in [
        ("tcp", "pub"),
        ("tcp", "sub"),
        ("mqtt --broker mosquitto", "pub"),
        ("mqtt --broker mosquitto", "mosquitto"),
    ] {
        let bench = Bench::new();
        let words = format!(
            "run latency --on {on} --rate 500 --messages 300 --warmup 50 --measure-cost=true"
        );
        let run = bench.wirelap(&words).json().start();
        let what = format!("{on}: {victim}");
        wait_for_turns(&run);
        let links = links_of(run.pid());
        let others = run.descendants();
        kill(descendant(&run, victim).unwrap(), Signal::KILL);
        let ended = run.end(LONG);
        assert_eq!(ended.status, Some(0), "{what}: {}", ended.stderr);
        let said: Vec<&str> = ended.stdout.split_whitespace().collect();
        assert!(said.join(" ").contains("its measurement stopped"), "{what}: {}", ended.stdout);
        assert_gone(&others, &links);
        let report = bench.report();
        assert_eq!(report["partial"], false, "{what}");
        let result = &report["results"][0];
        assert_flawless(result, 300);
        let tracer = &result["trust"]["tracer"];
        assert_eq!(tracer["slowdown_unknown"], "stopped", "{what}: {tracer}");
        assert!(tracer["slowdown"].is_null(), "{what}: {tracer}");
        bench.assert_clean();
    }
}

/// Stops a process for so long.
fn stop_for(pid: u32, time: Duration) {
    kill(pid, Signal::STOP);
    let begun = Instant::now();
    poll("the time", LONG, || (begun.elapsed() >= time).then_some(()));
    kill(pid, Signal::CONT);
}

#[test]
fn who_is_stopped_for_a_while_loses_nothing() {
    for victim in ["pub", "sub", "mosquitto", "--steward"] {
        let bench = Bench::new();
        let words = "run latency --on mqtt --broker mosquitto --qos 1 --warmup 0 --rate 1000 --messages 3000";
        let run = bench.wirelap(words).json().start();
        let pid = wait_for(&run, Phase::Flows, victim).unwrap();
        stop_for(pid, Duration::from_millis(300));
        let ended = run.end(LONG);
        assert!(matches!(ended.status, Some(0 | 1)), "{victim}: {}", ended.stderr);
        let report = bench.report();
        assert_count(&report["results"][0], "/messages/sent", 3000);
        assert_count(&report["results"][0], "/messages/matched", 3000);
        bench.assert_clean();
    }
}

/// The ring overflows while nobody reads it.
#[test]
fn what_wirelap_misses_while_it_is_stopped_is_counted() {
    let bench = Bench::new();
    let words = "run latency --on tcp --warmup 0 --rate 5000 --duration 3s --ring-size 256K";
    let run = bench.wirelap(words).json().start();
    Bench::until_messages_flow(&run, LONG);
    stop_for(run.pid(), Duration::from_millis(700));
    let ended = run.end(LONG);
    assert!(matches!(ended.status, Some(0 | 1)), "{}", ended.stderr);
    let report = bench.report();
    let result = &report["results"][0];
    assert!(lost(result) > 0, "{}", result["trust"]);
    assert_ne!(result["trust"]["verdict"], "good", "{}", result["trust"]);
    assert_eq!(result["ground_truth"]["violations"], 0, "{}", result["ground_truth"]);
    bench.assert_clean();
}

/// In a time namespace a process's clock is not the kernel's.
#[test]
fn in_a_time_namespace_all_times_are_of_one_clock() {
    let bench = Bench::new();
    let script = "exec unshare --time --monotonic 100000 --boottime 100000 --fork \"$0\" \"$@\"";
    let words = "run latency --on tcp --warmup 0 --messages 500";
    let ended = bench.wirelap_by(script, words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = bench.report();
    let truth = &report["results"][0]["ground_truth"];
    assert_eq!(truth["violations"], 0, "{truth}");
    assert_eq!(truth["order_violations"], 0, "{truth}");
    assert!(truth["compared"].as_u64() > Some(900), "{truth}");
}

/// A network namespace goes with the last process in it, and everything that was seen in it stays counted.
#[test]
fn a_network_that_is_gone_stays_in_the_report() {
    let bench = Bench::new();
    let run = bench.wirelap("live --plain --sample off --ports 18831").json().start();
    poll("tracing", LONG, || run.has_printed().then_some(()));
    let script = "ip link set lo up; mosquitto -p 18831 >/dev/null 2>&1 & broker=$!; \
        while ! mosquitto_pub -p 18831 -t other -n 2>/dev/null; do :; done; \
        mosquitto_sub -p 18831 -t t -C 50 >/dev/null & reader=$!; \
        while kill -0 $reader 2>/dev/null; do mosquitto_pub -p 18831 -t t -m hello; done; \
        kill $broker; wait";
    let path = std::env::var("PATH").unwrap_or_default();
    let status = std::process::Command::new("unshare")
        .args(["--net", "sh", "-c", script])
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .status();
    assert!(status.unwrap().success());
    run.signal(Signal::INT);
    let ended = run.end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = bench.report();
    let rows = report["results"].as_array().unwrap();
    let delivered = rows.iter().filter_map(|row| row["messages"]["delivered"].as_u64());
    assert!(delivered.sum::<u64>() >= 50, "{rows:#?}");
}

/// A recording that exists, for what is made of one.
fn recorded(bench: &Bench) -> String {
    let file = bench.file("given.pcapng").display().to_string();
    let words =
        format!("run latency --on tcp --messages 300 --warmup 0 --payload 1K --pcapng {file}");
    let ended = bench.wirelap(&words).end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    file
}

fn is_read(bench: &Bench, file: &Path) -> bool {
    let ended = bench.wirelap(&format!("analyze {}", file.display())).end(LONG);
    matches!(ended.status, Some(0 | 1)) && !ended.stderr.contains("panicked")
}

#[test]
fn a_disk_that_is_full_is_told_at_every_output() {
    let bench = Bench::new();
    let given = recorded(&bench);
    let folder = bench.file("small");
    fs::create_dir(&folder).unwrap();
    let to = |name: &str| folder.join(name).display().to_string();
    let run = "run latency --on tcp --messages 2000 --warmup 0 --payload 4K";
    for (words, kept) in [
        (format!("{run} --pcapng {}", to("a.pcapng")), Some("kept.pcapng")),
        (format!("{run} --json {}", to("a.json")), None),
        (format!("analyze {given} --json {}", to("b.json")), None),
        (format!("analyze {given} --annotate {}", to("b.pcapng")), None),
        (format!("export --perfetto {given} -o {}", to("c.out")), None),
    ] {
        let ended = bench.wirelap_in_tmpfs(&words, &folder, "16k").end(LONG);
        assert!(matches!(ended.status, Some(1..=3)), "{words}: {:?}", ended.status);
        let text = &ended.stderr;
        assert!(text.contains("No space left") && text.contains("make room"), "{words}: {text}");
        assert!(!text.contains("panicked"), "{words}: {text}");
        if let Some(kept) = kept {
            assert!(is_read(&bench, &bench.file(kept)), "{words}");
        }
    }
    bench.assert_clean();
}

#[test]
#[ignore = "takes minutes: make faults"]
fn whatever_the_limit_on_open_files_it_is_told_or_enough() {
    let bench = Bench::new();
    for limit in (10..=96).step_by(2) {
        let script = format!("ulimit -n {limit}; exec \"$0\" \"$@\"");
        let ended = bench.wirelap_by(&script, "live --plain --duration 500ms").end(LONG);
        let last = ended.stderr.lines().last().unwrap_or_default();
        match ended.status {
            Some(0) => {}
            Some(3) => assert!(last.contains("ulimit -n"), "{limit}: {}", ended.stderr),
            other => panic!("{limit}: status {other:?}: {}", ended.stderr),
        }
    }
}

/// Memory that there is not.
#[test]
fn too_little_address_space_is_told() {
    let bench = Bench::new();
    // In KiB. With less than the program's own size, the kernel does not even begin it.
    let program = fs::metadata(env!("CARGO_BIN_EXE_wirelap")).unwrap().len() >> 10;
    // Threads cannot be started; the kernel's types cannot be read, or not parsed; the ring buffer cannot be mapped.
    for more in [0, 2_000, 4_000, 18_000, 30_000, 36_000, 60_000] {
        let limit = program + more;
        let script = format!("ulimit -v {limit}; exec \"$0\" \"$@\"");
        let ended = bench.wirelap_by(&script, "live --plain --duration 500ms").end(LONG);
        assert_eq!(ended.status, Some(3), "{limit}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{limit}: {}", ended.stderr);
        assert!(ended.stderr.contains("ulimit -v"), "{limit}: {}", ended.stderr);
    }
}
