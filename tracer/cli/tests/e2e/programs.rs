//! Outputs of `wirelap live` for other programs while it runs: metrics, lines of JSON, and events to a command.

use crate::bench::{Bench, mosquitto, poll};
use crate::{LONG, free_port, overflowed};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

/// The answer at a path.
fn scrape(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// The value of the first series whose line begins so.
fn value(metrics: &str, begin: &str) -> Option<f64> {
    let line = metrics.lines().find(|line| line.starts_with(begin))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// The beginning of the series of the embedded broker: other tests run beside this one.
fn of_row(name: &str) -> String {
    format!("{name}{{middleware=\"mqtt\",broker=\"rumqttd\"")
}

/// The row of the embedded broker.
fn row(report: &Value) -> &Value {
    let rows = report["results"].as_array().unwrap();
    let is_it = |row: &&Value| row["middleware"] == "mqtt" && row["broker"] == "rumqttd";
    rows.iter().find(is_it).expect("the row")
}

#[test]
fn metrics_are_those_of_the_report() {
    let bench = Bench::new();
    let port = free_port();
    // Without a filter, the same workloads of other tests would be among the rows.
    let own = std::process::id();
    let words =
        format!("live --plain --sample off --on mqtt --rate 500 --pid {own} --metrics {port}");
    let live = bench.wirelap(&words).json().start();
    let metrics = poll("metrics of messages", LONG, || {
        let metrics = scrape(port, "/metrics")?;
        (value(&metrics, &of_row("wirelap_latency_seconds_count"))? >= 500.0).then_some(metrics)
    });
    assert!(scrape(port, "/other").unwrap().starts_with("HTTP/1.1 404 "));
    live.signal(Signal::INT);
    let ended = live.end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains(&format!("http://127.0.0.1:{port}/metrics")), "{}", ended.stderr);
    let report = bench.report();
    let messages = &row(&report)["messages"];
    let count = |begin: &str| value(&metrics, begin).unwrap();
    for (name, begin) in [
        ("sent", &of_row("wirelap_messages_sent_total")),
        ("delivered", &of_row("wirelap_messages_delivered_total")),
        ("matched", &of_row("wirelap_messages_matched_total")),
    ] {
        let (then, at_end) = (count(begin), messages[name].as_f64().unwrap());
        assert!(500.0 <= then && then <= at_end, "{name}: {then}, at the end {at_end}");
    }
    // A broker is passed: all followed messages have a dwell, and every histogram the same messages.
    let followed = count(&of_row("wirelap_latency_seconds_count"));
    assert!((count(&of_row("wirelap_broker_dwell_seconds_count")) - followed).abs() < 0.5);
    assert!(followed <= count(&of_row("wirelap_messages_matched_total")));
    assert_eq!(overflowed(row(&report)), 0);
    assert_eq!(scrape(port, "/metrics"), None, "nobody listens any more");
}

#[test]
fn an_address_that_is_taken_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let bench = Bench::new();
    let ended = bench.wirelap(&format!("live --plain --metrics {port}")).end(LONG);
    assert_eq!(ended.status, Some(3), "{}", ended.stderr);
    assert!(
        ended.stderr.contains(&format!("--metrics cannot listen at 127.0.0.1:{port}")),
        "{}",
        ended.stderr
    );
}

/// The paths and bodies of what a Collector gets that takes everything.
#[cfg(feature = "otlp")]
fn collector() -> (u16, std::sync::mpsc::Receiver<(String, Vec<u8>)>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (out, got) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = BufReader::new(stream);
            while let Some(request) = posted(&mut stream) {
                let _ = out.send(request);
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                stream.get_mut().write_all(answer).unwrap();
            }
        }
    });
    (port, got)
}

/// The path and body of the next request of a connection.
#[cfg(feature = "otlp")]
fn posted(stream: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let (mut first, mut length) = (String::new(), 0);
    stream.read_line(&mut first).ok()?;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let path = first.split(' ').nth(1)?.to_owned();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((path, body))
}

#[cfg(feature = "otlp")]
#[test]
fn slow_messages_reach_a_collector() {
    let (port, got) = collector();
    let (bench, own) = (Bench::new(), std::process::id());
    let words = format!(
        "live --plain --sample off --on mqtt --rate 500 --pid {own} --duration 4s --otlp http://127.0.0.1:{port} --otlp-interval 1s"
    );
    let ended = bench.wirelap(&words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let got: Vec<_> = got.try_iter().collect();
    let of = |path: &'static str| got.iter().filter(move |(at, _)| at == path);
    assert!(of("/v1/metrics").count() > 0);
    let has = |words: &str| {
        let words = words.as_bytes();
        of("/v1/traces").any(|(_, body)| body.windows(words.len()).any(|part| part == words))
    };
    assert!(["send ", "forward ", "deliver ", "rumqttd", "slowest"].into_iter().all(has));
    let said = ended.stderr.lines().find(|line| line.starts_with("OpenTelemetry: ")).unwrap();
    assert!(said.contains(&format!("sent to http://127.0.0.1:{port}")), "{said}");
    assert!(!said.contains("dropped") && !said.contains(": 0 spans"), "{said}");
}

#[cfg(feature = "otlp")]
#[test]
fn an_address_that_is_of_no_collector_is_said() {
    let ended = Bench::new().wirelap("live --plain --otlp 127.0.0.1:4318").end(LONG);
    assert_eq!(ended.status, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("--otlp: no "), "{}", ended.stderr);
}

#[test]
fn lines_of_json_tell_what_the_report_does() {
    let (bench, own) = (Bench::new(), std::process::id());
    let words =
        format!("live --json-lines --sample off --on tcp --rate 200 --duration 4s --pid {own}");
    let ended = bench.wirelap(&words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let lines: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["schema"] == "wirelap/line/1"));
    let appeared = |line: &&Value| line["event"] == "row_appeared";
    assert!(
        lines
            .iter()
            .any(|line| appeared(&line) && line["row"].as_str().unwrap().starts_with("tcp"))
    );
    let seconds: Vec<&Value> = lines.iter().filter(|line| line["type"] == "second").collect();
    assert!((2..=5).contains(&seconds.len()), "{}", seconds.len());
    let last = seconds.last().unwrap()["rows"].as_array().unwrap();
    let sent = |value: &Value| value["sent"].as_u64().unwrap();
    let is_tcp = |row: &&Value| row["middleware"] == "tcp";
    let tcp = last.iter().find(is_tcp).unwrap();
    let report = bench.report();
    let results = report["results"].as_array().unwrap();
    let reported = sent(&results.iter().find(is_tcp).unwrap()["messages"]);
    assert!(sent(tcp) > 0 && sent(tcp) <= reported, "{tcp}");
    assert!(tcp["one_way_ns"]["p99"].as_u64() >= tcp["one_way_ns"]["p50"].as_u64());
}

/// The owner of a file and its lines of JSON, once it is there and whole.
fn told(path: &Path) -> Option<(u32, Vec<Value>)> {
    let text = fs::read_to_string(path).ok().filter(|text| text.ends_with('\n'))?;
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    Some((fs::metadata(path).unwrap().uid(), lines))
}

#[test]
fn a_command_without_rights_is_told_that_a_broker_was_killed() {
    let (bench, port) = (Bench::new(), free_port());
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let file = folder.path().join("events");
    let mut broker = mosquitto(port);
    let command = format!("cat>>{}", file.display());
    let words = format!(
        "live --plain --ports {port} --duration 60s --on-event-every 0s --on-event {command}"
    );
    let wirelap = bench.wirelap(&words).start();
    poll("the start of wirelap", LONG, || wirelap.has_printed().then_some(()));
    let client = |program: &str| {
        let mut command = Command::new(program);
        command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-t", "a/b"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    };
    let mut subscriber = client("mosquitto_sub").spawn().unwrap();
    // Retained, so that a message comes also if it was published before the subscription.
    let mut publisher = client("mosquitto_pub").args(["-l", "-r"]).spawn().unwrap();
    let mut lines = publisher.stdin.take().unwrap();
    let mut said = BufReader::new(subscriber.stdout.take().unwrap());
    let mut first = String::new();
    poll("the first message", LONG, || {
        writeln!(lines, "message").unwrap();
        said.read_line(&mut first).ok()
    });
    broker.kill().unwrap();
    broker.wait().unwrap();
    let is_of_broker = |event: &&Value| {
        event["event"] == "process_gone" && event["text"].as_str().unwrap().contains("mosquitto (")
    };
    // Other events may be told before.
    let (owner, events) = poll("that the broker has gone", LONG, || {
        told(&file).filter(|(_, events)| events.iter().any(|event| is_of_broker(&event)))
    });
    assert_eq!(events.iter().filter(is_of_broker).count(), 1, "{events:#?}");
    // Root's command runs as who called sudo, or as nobody.
    assert_ne!(owner, 0);
    wirelap.signal(Signal::INT);
    let ended = wirelap.end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert!(!ended.stderr.contains("--on-event"), "{}", ended.stderr);
    for mut client in [publisher, subscriber] {
        client.kill().unwrap();
        client.wait().unwrap();
    }
    bench.assert_clean();
}
