//! Commands that cannot work: each gets one sentence and an exit status, and loses nothing that was recorded.

use crate::LONG;
use crate::bench::Bench;
use std::net::TcpListener;

#[test]
fn an_unknown_middleware_is_a_usage_error_that_lists_the_known() {
    let ended = Bench::new().wirelap("run latency --on carrier-pigeon").end(LONG);
    assert_eq!(ended.status, Some(2));
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.starts_with("wirelap: "));
    for name in ["carrier-pigeon", "tcp", "udp", "mqtt", "zenoh-p2p", "dds"] {
        assert!(ended.stderr.contains(name), "{name} is missing in {}", ended.stderr);
    }
}

#[test]
fn without_root_one_sentence_says_what_to_do() {
    let bench = Bench::new();
    for words in ["run latency --on tcp", "live --plain"] {
        let ended = bench.wirelap(words).by_nobody().end(LONG);
        assert_eq!(ended.status, Some(3), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains("needs root") && ended.stderr.contains("sudo wirelap"));
    }
    let ended = bench.wirelap("doctor").by_nobody().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("run as root, doctor also attaches"));
}

#[test]
fn a_port_in_use_is_told() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for on in ["tcp", "mqtt", "mqtt --broker mosquitto"] {
        let bench = Bench::new();
        let ended = bench.wirelap(&format!("run latency --on {on} --port {port}")).json().end(LONG);
        assert_eq!(ended.status, Some(1), "{on}: {}", ended.stderr);
        assert!(ended.stderr.to_lowercase().contains("in use"), "{on}: {}", ended.stderr);
        assert_eq!(bench.report()["partial"], true);
        bench.assert_clean();
    }
}

#[test]
fn a_broker_killed_in_mid_run_is_named() {
    let bench = Bench::new();
    let words = "run latency --on mqtt --broker mosquitto --warmup 0 --rate 2000 --duration 60s";
    let run = bench.wirelap(words).json().start();
    Bench::until_messages_flow(&run, LONG);
    run.kill_descendant("mosquitto");
    let ended = run.end(LONG);
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("wirelap: "), "{}", ended.stderr);
    assert!(last.contains("the mqtt broker (mosquitto) (pid "), "{}", ended.stderr);
    let report = bench.report();
    assert_eq!(report["partial"], true);
    assert!(report["results"][0]["messages"]["matched"].as_u64() > Some(0));
    bench.assert_clean();
}

#[test]
fn a_workload_killed_in_mid_run_is_named() {
    let bench = Bench::new();
    let run =
        bench.wirelap("run latency --on tcp --warmup 0 --rate 2000 --duration 60s").json().start();
    Bench::until_messages_flow(&run, LONG);
    run.kill_descendant("sub");
    let ended = run.end(LONG);
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("tcp"), "{}", ended.stderr);
    assert_eq!(bench.report()["partial"], true);
    bench.assert_clean();
}

#[test]
fn a_file_that_cannot_be_written_is_told() {
    let bench = Bench::new();
    let ended = bench.wirelap("run latency --on udp --messages 100 --json /dev/full").end(LONG);
    assert_eq!(ended.status, Some(1));
    assert!(ended.stderr.contains("/dev/full: No space left"), "{}", ended.stderr);
    let ended = bench.wirelap("run latency --on udp --json /nonexistent/x.json").end(LONG);
    assert_eq!(ended.status, Some(2));
    assert!(ended.stderr.contains("/nonexistent/x.json: No such file"), "{}", ended.stderr);
}
