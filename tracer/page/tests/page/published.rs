//! The results of others beside ours: shown where the same was measured, and nowhere else.

use crate::fixtures::{latency, page_of};
use crate::markup::{Element, read};
use wirelap_report::{
    Connections, DistributionSummary, OperationBytes, Pacing, ReportedProcess, RunKind, RunReport,
    RunResult, Topology,
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
    let one_way = DistributionSummary {
        count: 4,
        p50: 300_000,
        p90: 500_000,
        p99: 900_000,
        ..DistributionSummary::default()
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
fn the_memory_of_brokers_says_whether_it_is_a_mean() {
    let mut report = many_clients();
    let result = &mut report.results[0];
    let topology = result.topology.as_mut().unwrap();
    (topology.publishers, topology.subscribers, topology.topics) = (50_000, 50_000, 50_000);
    result.rate_msg_per_s = Some(50_000.0);
    let broker = ReportedProcess {
        role: "broker".into(),
        rss_bytes: Some(97 << 20),
        ..ReportedProcess::default()
    };
    result.processes = vec![broker];
    let rows = table(&read(&page_of(&report)), "p2p-50K-50K-50K-50K, published beside measured")
        .expect("the table");
    assert_eq!((rows[0][7].as_str(), rows[2][7].as_str()), ("303 MiB (mean)", "97 MiB (largest)"));
}

#[test]
fn the_qos_of_both_sides_is_shown() {
    let shown = |qos: Option<&str>| {
        let mut report = many_clients();
        let settings = qos.map(|qos| ("pub.qos".to_owned(), qos.to_owned()));
        report.environment.settings = [("mqtt".into(), settings.into_iter().collect())].into();
        read(&page_of(&report)).with_id("published").unwrap().text()
    };
    let difference = "only results with the same QoS are comparable";
    let same = shown(Some("1"));
    assert!(same.contains("Their QoS: 1. Ours: 1.") && !same.contains(difference), "{same}");
    let other = shown(Some("0"));
    assert!(other.contains("Their QoS: 1. Ours: 0.") && other.contains(difference), "{other}");
    assert!(shown(None).contains("Their QoS: 1. Ours: not known."));
    // Another result with another QoS is named.
    let mut report = many_clients();
    let mut variant = report.results[0].clone();
    variant.variant = Some("B".into());
    variant.settings = [("pub.qos".to_owned(), "2".to_owned())].into();
    report.results.push(variant);
    let both = read(&page_of(&report)).with_id("published").unwrap().text();
    assert!(both.contains("Ours: 2 (mqtt/mosquitto B); not known (mqtt/mosquitto)."), "{both}");
}

#[test]
fn connections_have_their_own_times() {
    let mut report = report("mqtt", Topology { connections: 10_000, ..Topology::default() });
    let result = &mut report.results[0];
    result.rate_msg_per_s = Some(100.0);
    let connect_ns = DistributionSummary {
        count: 9,
        p50: 700_000,
        p99: 800_000,
        ..DistributionSummary::default()
    };
    result.connections = Some(Connections { wanted: 10_000, opened: 10_000, connect_ns });
    let rows = table(&read(&page_of(&report)), "conn-tcp-10K-100, published beside measured")
        .expect("the table");
    assert_eq!((rows[0][1].as_str(), rows[1][1].as_str()), ("600.0 µs", "590.0 µs"));
    assert_eq!(rows[2][1..3], ["–", "700.0 µs"]);
    // They send no messages.
    assert!(!read(&page_of(&report)).with_id("published").unwrap().text().contains("QoS"));
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
    // The published rate is the highest: that of a paced run says nothing beside it.
    report.scenario.kind = RunKind::Latency;
    assert_eq!(table(&read(&page_of(&report)), caption), None);
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
