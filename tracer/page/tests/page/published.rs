//! The results of others beside ours: shown where the same was measured, and nowhere else.

use crate::fixtures::{latency, page_of};
use crate::markup::{Element, read};
use wirelap_report::{
    Connections, Distribution, OperationBytes, Pacing, RunKind, RunReport, RunResult, Topology,
};

/// The rows of the table with this caption.
fn table(html: &Element, caption: &str) -> Option<Vec<Vec<String>>> {
    let section = html.with_id("published")?;
    let tables = section.find("table");
    let has = |table: &&&Element| table.find("caption").iter().any(|c| c.text() == caption);
    tables.iter().find(has).map(|table| table.rows())
}

/// A report with one result of this middleware.
fn report(middleware: &str, topology: Topology) -> RunReport {
    let mut report = latency();
    report.scenario.pacing = Pacing::Rate;
    report.results.truncate(1);
    let result = &mut report.results[0];
    result.middleware = middleware.into();
    (result.broker, result.topology) = (None, Some(topology));
    report
}

fn many_clients() -> RunReport {
    let topology = Topology {
        publishers: 1000,
        subscribers: 1000,
        topics: 1000,
        subscription: "own".into(),
        ..Topology::default()
    };
    let mut report = report("mqtt", topology);
    let result = &mut report.results[0];
    result.broker = Some("mosquitto".into());
    (result.payload_bytes, result.rate_msg_per_s) = (16, Some(1000.0));
    let one_way = Distribution {
        count: 4,
        p50: 300_000,
        p90: 500_000,
        p99: 900_000,
        ..Distribution::default()
    };
    result.latency.one_way_ns = one_way;
    result.segments.iter_mut().for_each(|row| row.total_ns = Some(0));
    result.segments[0].total_ns = Some(1_600_000);
    report
}

#[test]
fn brokers_with_many_clients_stand_below_the_published_ones() {
    let caption = "p2p-1K-1K-1K-1K, published beside measured";
    let rows = table(&read(&page_of(&many_clients())), caption).expect("the table");
    let first: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(first, ["mosquitto, published", "nanomq, published", "mqtt/mosquitto, measured"]);
    assert_eq!(rows[0][1], "250.0 µs");
    // The mean is that of all segments: 1.6 ms in four messages.
    assert_eq!(rows[2][1..5], ["400.0 µs", "300.0 µs", "500.0 µs", "900.0 µs"]);
    let mut other = many_clients();
    other.results[0].rate_msg_per_s = Some(500.0);
    assert_eq!(table(&read(&page_of(&other)), caption), None);
    assert!(read(&page_of(&other)).with_id("published").is_none());
}

#[test]
fn connections_have_their_own_times() {
    let mut report = report("mqtt", Topology { connections: 10_000, ..Topology::default() });
    let result = &mut report.results[0];
    result.rate_msg_per_s = Some(100.0);
    let connect_ns =
        Distribution { count: 9, p50: 700_000, p99: 800_000, ..Distribution::default() };
    result.connections = Some(Connections { wanted: 10_000, opened: 10_000, connect_ns });
    let rows = table(&read(&page_of(&report)), "conn-tcp-10K-100, published beside measured")
        .expect("the table");
    assert_eq!((rows[0][1].as_str(), rows[1][1].as_str()), ("600.0 µs", "590.0 µs"));
    assert_eq!(rows[2][1..3], ["–", "700.0 µs"]);
}

#[test]
fn handles_are_compared_with_the_same_kind_of_handle() {
    let topology =
        Topology { publishers: 4, handles: Some("shared".into()), ..Topology::default() };
    let mut report = report("nats", topology);
    report.scenario.kind = RunKind::Throughput;
    report.results[0].throughput.msg_per_s = 530_000.0;
    let caption = "A handle of its own or a shared one, published beside measured";
    let rows = table(&read(&page_of(&report)), caption).expect("the table");
    assert_eq!(
        rows,
        [["nats", "nats-mutex", "shared", "1.06 M", "530 k", "0.50 ×"].map(str::to_owned)]
    );
}

/// A result whose protocol adds as many bytes to each message.
fn adding(result: &RunResult, middleware: &str, mean_bytes: f64) -> RunResult {
    let publish = OperationBytes {
        operation: "publish".into(),
        count: 10,
        mean_bytes,
        ..OperationBytes::default()
    };
    let mut result = result.clone();
    (result.middleware, result.broker) = (middleware.into(), None);
    result.overhead.operations = vec![publish];
    result
}

#[test]
fn the_bytes_that_zenoh_adds_are_compared_with_those_of_others() {
    let mut report = report("zenoh-p2p", Topology::default());
    let one = report.results.remove(0);
    report.results = vec![adding(&one, "zenoh-p2p", 6.0), adding(&one, "mqtt", 20.0)];
    let html = read(&page_of(&report));
    let rows = table(&html, "Bytes that Zenoh adds to a message, published beside measured")
        .expect("the table");
    assert_eq!(rows, [["zenoh-p2p", "5.0 B", "6.0 B"].map(str::to_owned)]);
    let rows =
        table(&html, "By how much fewer bytes Zenoh adds than others, published beside measured");
    assert_eq!(
        rows.expect("the table"),
        [["zenoh-p2p", "mqtt", "64 %", "70 %"].map(str::to_owned)]
    );
    // Other payloads are not compared.
    report.results[1].payload_bytes = 8;
    let html = read(&page_of(&report));
    assert_eq!(
        table(&html, "By how much fewer bytes Zenoh adds than others, published beside measured"),
        None
    );
}
