//! Publisher, broker and subscriber on hosts of their own: every message is followed across the network namespaces, a narrow
//! link's time is in its own segment, and whatever ends a run, no namespace of it is left.

use crate::bench::{Bench, Running, kill, poll};
use crate::{LONG, assert_flawless, assert_telescopes};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

/// The network namespace of a process; `None` once it has ended.
fn namespace(pid: u32) -> Option<String> {
    Some(fs::read_link(format!("/proc/{pid}/ns/net")).ok()?.display().to_string())
}

/// The namespaces of a run beside the one that it was started in.
fn namespaces(run: &Running) -> BTreeSet<String> {
    let own = namespace(std::process::id());
    let all = run.descendants().into_iter().filter_map(namespace);
    all.filter(|space| Some(space) != own.as_ref()).collect()
}

/// Waits until no process is in the namespaces: the kernel has then removed them, because nothing else keeps them.
fn assert_left(spaces: &BTreeSet<String>) {
    poll("the end of the namespaces", LONG, || {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        (!pids.any(|pid| namespace(pid).is_some_and(|space| spaces.contains(&space)))).then_some(())
    });
}

#[test]
fn messages_between_hosts_are_followed_exactly() {
    let bench = Bench::new();
    let on = "tcp,udp,mqtt,zenoh-p2p,zenoh-brokered,dds,nats,amqp,zeromq,zeromq-rust,opcua";
    let words = format!("run latency --hosts --on {on} --messages 200 --warmup 20 --seed 1");
    let ended = bench.wirelap(&words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = bench.report();
    assert_eq!(report["scenario"]["links"]["rate_bit_per_s"], Value::Null);
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), on.split(',').count());
    for result in results {
        assert_flawless(result, 400);
        assert_telescopes(result);
    }
    bench.assert_clean();
}

/// One segment of a leg.
fn row<'a>(result: &'a Value, leg: u64, segment: &str) -> &'a Value {
    let mut rows = result["segments"].as_array().unwrap().iter();
    rows.find(|row| row["leg"] == leg && row["segment"] == segment).unwrap_or(&Value::Null)
}

/// A message of 8000 bytes takes 2.2 ms at 20 Mbit/s, without the two frames that pass at once.
#[test]
fn a_narrow_link_is_found_in_the_queue_of_each_leg() {
    let bench = Bench::new();
    let words = "run hosts --on mqtt --broker mosquitto --link-rate 20Mbit --link-queue 64K \
                 --payload 8000 --rate 100 --messages 200 --warmup 10";
    let ended = bench.wirelap(words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = bench.report();
    assert_eq!(report["scenario"]["links"]["rate_bit_per_s"], 20_000_000);
    assert_eq!(report["scenario"]["links"]["queue_bytes"], 65_536);
    let result = &report["results"][0];
    assert_flawless(result, 200);
    assert_telescopes(result);
    let one_way = result["latency"]["one_way_ns"]["p50"].as_f64().unwrap();
    for leg in [1, 2] {
        // TCP holds a part of the packets back in the socket while others wait in the queue (TCP Small Queues).
        let [socket, qdisc] = ["socket_tx", "qdisc"]
            .map(|segment| row(result, leg, segment)["p50_ns"].as_f64().unwrap_or_default());
        assert!(qdisc > 0.15 * one_way, "{:#}", result["segments"]);
        assert!(socket + qdisc > 0.35 * one_way, "{:#}", result["segments"]);
        assert!((1.8e6..3.2e6).contains(&(socket + qdisc)), "{:#}", result["segments"]);
    }
    let verdicts = result["why"]["verdicts"].as_array().unwrap();
    let legs: BTreeSet<u64> = verdicts
        .iter()
        .filter(|verdict| verdict["kind"] == "qdisc_queueing")
        .filter_map(|verdict| verdict["leg"].as_u64())
        .collect();
    assert_eq!(legs, BTreeSet::from([1, 2]), "{verdicts:#?}");
    bench.assert_clean();
}

#[test]
fn the_kernel_of_another_host_answers_pings() {
    let bench = Bench::new();
    let ended = bench.wirelap("run hosts --on ping --messages 50 --warmup 5").json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = bench.report();
    let result = &report["results"][0];
    assert_eq!(
        (&result["untraced"], &result["latency"]["rtt_half_ns"]["count"]),
        (&true.into(), &50.into())
    );
    bench.assert_clean();
}

#[test]
fn a_signal_a_kill_and_a_killed_broker_leave_no_namespace() {
    for what in ["SIGINT", "SIGTERM", "SIGKILL", "broker"] {
        let bench = Bench::new();
        let words = "run hosts --on mqtt --broker mosquitto --warmup 0 --rate 2000 --duration 60s";
        let run = bench.wirelap(words).json().start();
        Bench::until_messages_flow(&run, LONG);
        let spaces = namespaces(&run);
        assert_eq!(spaces.len(), 3, "{what}");
        match what {
            "SIGINT" => run.signal(Signal::INT),
            "SIGTERM" => run.signal(Signal::TERM),
            "SIGKILL" => kill(run.pid(), Signal::KILL),
            _ => run.kill_descendant("mosquitto"),
        }
        run.end(Duration::from_secs(20));
        assert_left(&spaces);
        poll("the end of temporary files", LONG, || bench.temporary().is_empty().then_some(()));
    }
}

#[test]
fn what_cannot_have_a_host_is_refused_or_skipped_with_the_reason() {
    let bench = Bench::new();
    let ended = bench.wirelap("run hosts --on kafka --broker mock").end(LONG);
    assert_eq!(ended.status, Some(2), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("127.0.0.1 alone") && ended.stderr.lines().count() == 1,
        "{}",
        ended.stderr
    );
    let ended = bench.wirelap("run latency --on tcp --hosts --link-queue 64K").end(LONG);
    assert_eq!(ended.status, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("add --link-rate"), "{}", ended.stderr);
}

/// Both times are of the same processes: the idle ones are connected, and send nothing but what keeps the connection alive.
#[test]
fn processes_are_measured_idle_and_busy() {
    let bench = Bench::new();
    let words = "run footprint --on mqtt --broker mosquitto --idle 2s --rate 2000 --messages 4000 --warmup 0";
    let ended = bench.wirelap(words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert!(ended.says("broker idle"), "{}", ended.stdout);
    let report = bench.report();
    assert_flawless(&report["results"][0], 4000);
    let processes = report["results"][0]["repetitions"][0]["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 3);
    for process in processes {
        let seconds = process["idle"]["seconds"].as_f64().unwrap();
        assert!((2.0..3.0).contains(&seconds), "{process}");
        let [idle, busy] =
            [&process["idle"]["cpu_share"], &process["cpu_share"]].map(|v| v.as_f64().unwrap());
        assert!(idle < busy, "{process}");
        assert!(process["idle"]["rss_bytes"].as_u64().unwrap() > 1 << 20, "{process}");
    }
    bench.assert_clean();
}
