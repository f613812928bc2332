//! Exports to a Collector in this process, which reads what it gets by OpenTelemetry's own description.

mod messages;
mod signals;

use crate::exporter::{ExportSettings, ExportTimes, Exporter};
use crate::sink::{SpanChoice, SpanSink};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::ExponentialHistogramDataPoint;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;
use wirelap_correlate::{DeliverySink, Group, Nondelivery, Snapshot};
use wirelap_events::{
    ByteRange, Delivery, GroupId, MessageId, Nanos, Offset, Stage, Stamp, TopicId, TraceContext,
};
use wirelap_history::{KeptMessage, MessageFate};
use wirelap_test_support::delivered::{delivery, leg};

/// Nothing takes longer.
const LONG: Duration = Duration::from_mins(1);

/// A message with this number, which took so long.
pub fn message(number: u64, one_way: u64) -> Delivery {
    let mut leg =
        leg(&[(Stage::Send, 1_000), (Stage::Xmit, 1_001), (Stage::Read, 1_000 + one_way)]);
    leg.flow_range.range = ByteRange::new(Offset::START + number * 100, 100);
    Delivery { message: MessageId(number), topic: Some(TopicId(1)), ..delivery([leg]) }
}

/// The same as a message that is kept.
pub fn kept(number: u64, one_way: u64) -> KeptMessage {
    let delivery = Arc::new(message(number, one_way));
    KeptMessage {
        delivery,
        one_way: Some(Nanos(one_way)),
        cause: None,
        fate: MessageFate::Delivered,
    }
}

/// A request that a Collector got: path, head and body.
struct Got {
    path: String,
    head: String,
    body: Vec<u8>,
}

/// The way in which a Collector treats a request, by its number and path.
type Script = fn(usize, &str) -> Reaction;

enum Reaction {
    /// An answer with this status line, and headers.
    Answer(&'static str),
    /// The connection is closed.
    Close,
    /// No answer.
    Silence,
}

const OK: Reaction = Reaction::Answer("200 OK\r\n");

/// A Collector.
fn collector(script: Script) -> (SocketAddr, Receiver<Got>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (out, got) = channel();
    thread::spawn(move || {
        let (mut number, mut silent) = (0, Vec::new());
        for mut stream in listener.incoming().flatten() {
            while let Some(request) = read(&mut stream) {
                let reaction = script(number, &request.path);
                number += 1;
                let _ = out.send(request);
                match reaction {
                    Reaction::Answer(head) => {
                        let answer = format!("HTTP/1.1 {head}Content-Length: 0\r\n\r\n");
                        stream.write_all(answer.as_bytes()).unwrap();
                    }
                    Reaction::Close => break,
                    Reaction::Silence => {
                        silent.push(stream);
                        break;
                    }
                }
            }
        }
    });
    (address, got)
}

fn read(stream: &mut TcpStream) -> Option<Got> {
    let (mut bytes, mut part) = (Vec::new(), [0; 4_096]);
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut request = httparse::Request::new(&mut headers);
        if let Ok(httparse::Status::Complete(head)) = request.parse(&bytes) {
            let value = |name: &str| {
                let mut all = request.headers.iter();
                let header = all.find(|header| header.name.eq_ignore_ascii_case(name))?;
                std::str::from_utf8(header.value).ok()
            };
            let length: usize = value("content-length")?.parse().ok()?;
            if bytes.len() >= head + length {
                let path = request.path?.to_owned();
                let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
                return Some(Got { path, head: text, body: bytes[head..head + length].to_vec() });
            }
        }
        match stream.read(&mut part) {
            Ok(read) if read > 0 => bytes.extend_from_slice(&part[..read]),
            _ => return None,
        }
    }
}

fn settings(address: SocketAddr, choice: SpanChoice) -> ExportSettings {
    ExportSettings {
        url: format!("http://{address}").parse().unwrap(),
        headers: "api-key=secret".into(),
        choice,
        host: "here".into(),
        wall_offset: || 5_000_000_000,
    }
}

const SHARE: SpanChoice =
    SpanChoice { slowest: 0, share: 1.0, interval: Nanos::from_millis(3_600_000) };

/// Waits are short. What is at the end is sent then.
const TIMES: ExportTimes = ExportTimes {
    patience: Duration::from_secs(30),
    gathering: Duration::ZERO,
    backoff: [Duration::from_millis(1), Duration::from_millis(2)],
    end: Duration::from_secs(30),
};

fn start(address: SocketAddr, choice: SpanChoice, times: ExportTimes) -> (SpanSink, Exporter) {
    Exporter::start_with(settings(address, choice), times).unwrap()
}

fn snapshot(at: u64) -> Arc<Snapshot> {
    let row =
        Group { middleware: "mqtt".into(), broker: Some("mosquitto".into()), ..Group::default() };
    Arc::new(Snapshot { at: Nanos(at), groups: vec![row], ..Snapshot::default() })
}

/// The spans of requests, which are exactly what OpenTelemetry's description makes of them.
fn spans(got: &[Got]) -> Vec<Span> {
    let traces = got.iter().filter(|got| got.path == "/v1/traces");
    let mut all = Vec::new();
    for got in traces {
        let request = ExportTraceServiceRequest::decode(got.body.as_slice()).unwrap();
        assert_eq!(request.encode_to_vec().len(), got.body.len(), "a field is not known");
        for resource in request.resource_spans {
            assert_eq!(resource.schema_url, "https://opentelemetry.io/schemas/1.44.0");
            all.extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
        }
    }
    all
}

#[test]
fn messages_and_latencies_arrive() {
    let (address, got) = collector(|_, _| OK);
    let (mut sink, exporter) = start(address, SHARE, TIMES);
    sink.topic(TopicId(1), b"sensors/1");
    for number in 0..1_000 {
        sink.delivery(&message(number, 500));
        if number % 200 == 199 {
            sink.published(&snapshot(number));
            // A batch is taken before there are too many.
            while exporter.counts().sent() < number / 2 {
                thread::yield_now();
            }
        }
    }
    drop(sink);
    assert_eq!(exporter.end(), format!("OpenTelemetry: 2,000 spans sent to http://{address}"));
    let got: Vec<Got> = got.try_iter().collect();
    let spans = spans(&got);
    assert_eq!(spans.len(), 2_000);
    assert_eq!(spans.iter().filter(|span| span.name == "send sensors/1").count(), 1_000);
    assert!(spans.iter().all(|span| span.start_time_unix_nano == 5_000_001_000 || span.kind == 5));
    assert!(got.iter().all(|got| got.head.contains("application/x-protobuf")));
    assert!(got.iter().all(|got| got.head.to_lowercase().contains("api-key: secret")));
    let metrics = got.iter().rfind(|got| got.path == "/v1/metrics").unwrap();
    let request = ExportMetricsServiceRequest::decode(metrics.body.as_slice()).unwrap();
    assert_eq!(request.encode_to_vec().len(), metrics.body.len(), "a field is not known");
    let metric = &request.resource_metrics[0].scope_metrics[0].metrics[0];
    let Some(Data::ExponentialHistogram(histogram)) = &metric.data else { panic!("{metric:?}") };
    let point = &histogram.data_points[0];
    assert_eq!(
        (metric.unit.as_str(), histogram.aggregation_temporality, point.count),
        ("s", 2, 1_000)
    );
    assert_eq!((point.min, point.max), (Some(500e-9), Some(500e-9)));
    let counts = &point.positive.as_ref().unwrap().bucket_counts;
    assert_eq!(counts.iter().sum::<u64>(), 1_000);
    let system = point.attributes.iter().find(|one| one.key == "messaging.system");
    assert!(format!("{system:?}").contains("mqtt"));
}

#[test]
fn the_slowest_are_sent_once_an_interval() {
    let (address, got) = collector(|_, _| OK);
    let choice = SpanChoice { slowest: 2, share: 0.0, interval: Nanos(1_000) };
    let (mut sink, exporter) = start(address, choice, TIMES);
    sink.published(&snapshot(1));
    for (number, time) in [(0, 5), (1, 90), (2, 7), (3, 80)] {
        sink.delivery(&message(number, time));
    }
    sink.published(&snapshot(500));
    sink.published(&snapshot(1_001));
    sink.delivery(&message(4, 3));
    let warmup = Stamp { stream: 0, seq: 1, reply: false, warmup: true };
    sink.aside(&Delivery { stamp: Some(warmup), ..message(5, 1_000) });
    drop(sink);
    assert!(exporter.end().contains(": 6 spans sent"));
    let got: Vec<Got> = got.try_iter().collect();
    let mut ends: Vec<u64> = spans(&got)
        .iter()
        .filter(|span| span.kind == 5)
        .map(|span| span.end_time_unix_nano - 5_000_001_000)
        .collect();
    ends.sort_unstable();
    assert_eq!(ends, [3, 80, 90]);
}

#[test]
fn what_can_be_tried_again_is_and_arrives_once() {
    let (address, got) = collector(|number, _| match number {
        0 => Reaction::Answer("429 Too Many Requests\r\nRetry-After: 0\r\n"),
        1 => Reaction::Answer("503 Service Unavailable\r\n"),
        2 | 3 => Reaction::Close,
        _ => OK,
    });
    let (mut sink, exporter) = start(address, SHARE, TIMES);
    sink.delivery(&message(0, 5));
    sink.published(&snapshot(1));
    while exporter.counts().sent() < 2 {
        thread::yield_now();
    }
    drop(sink);
    assert!(exporter.end().contains(": 2 spans sent to "));
    let got: Vec<Got> = got.try_iter().filter(|got| got.path == "/v1/traces").collect();
    assert!(got.len() >= 4, "{}", got.len());
    assert!(got.iter().all(|one| spans(std::slice::from_ref(one)).len() == 2));
}

#[test]
fn what_is_refused_is_dropped_and_said() {
    let (address, got) = collector(|_, _| Reaction::Answer("400 Bad Request\r\n"));
    let (mut sink, exporter) = start(address, SHARE, TIMES);
    sink.delivery(&message(0, 5));
    sink.published(&snapshot(1));
    drop(sink);
    let text = exporter.end();
    let why = "the Collector answers 400 Bad Request";
    let wanted = format!(
        "OpenTelemetry: 0 spans sent to http://{address}, 2 dropped ({why}); metrics were not taken ({why})"
    );
    assert_eq!(text, wanted);
    let traces = got.try_iter().filter(|got| got.path == "/v1/traces").count();
    assert_eq!(traces, 1, "it was not tried again");
}

/// Feeds much more than a Collector takes, and returns what was said at the end.
fn flood(address: SocketAddr, times: ExportTimes) -> (String, u64) {
    let choice = SpanChoice { slowest: 5, ..SHARE };
    let (mut sink, exporter) = start(address, choice, times);
    let counts = exporter.counts();
    for number in 0..20_000_u64 {
        sink.delivery(&message(number, 5 + number % 90));
        sink.undelivered(&message(100_000 + number, 5), Nondelivery::Lost);
        if number % 50 == 0 {
            sink.published(&snapshot(number));
        }
    }
    drop(sink);
    (exporter.end(), counts.sent() + counts.dropped())
}

#[test]
fn nobody_waits_for_a_collector_that_is_not_there_or_silent() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // A refusal comes at once, but the exporter may have to wait for a CPU.
    let refused = ExportTimes { end: Duration::from_secs(2), ..TIMES };
    let (text, all) = flood(nobody, refused);
    assert!(text.starts_with("OpenTelemetry: 0 spans sent to http://127.0.0.1:"), "{text}");
    assert!(text.contains("(connection refused)"), "{text}");
    // Two spans of each message, and those of slow ones once more that were dropped from the share.
    assert!((80_000..=80_010).contains(&all), "{all}");
    let (silent, _got) = collector(|_, _| Reaction::Silence);
    let patience = Duration::from_millis(20);
    let (text, _) = flood(silent, ExportTimes { patience, end: patience, ..TIMES });
    assert!(text.contains("(no answer in time)"), "{text}");
}

#[test]
fn no_collector_answers_in_time_to_stop_an_end() {
    let (silent, got) = collector(|_, _| Reaction::Silence);
    let times = ExportTimes { patience: LONG, end: Duration::from_secs(1), ..TIMES };
    let (mut sink, exporter) = start(silent, SHARE, times);
    sink.delivery(&message(0, 5));
    drop(sink);
    // Only the end sends, and it does not wait for as long as an answer may take otherwise.
    assert!(exporter.end().contains("2 dropped"));
    assert!(got.recv_timeout(LONG).is_ok());
}

#[test]
fn headers_that_are_none_are_said_at_once() {
    let settings = ExportSettings {
        headers: "secret".into(),
        ..settings("127.0.0.1:1".parse().unwrap(), SHARE)
    };
    let why = Exporter::start(settings).unwrap_err();
    assert!(why.contains("OTEL_EXPORTER_OTLP_HEADERS") && !why.contains("secret"), "{why}");
}

#[test]
fn rows_that_are_one_have_one_histogram() {
    let (address, got) = collector(|_, _| OK);
    let choice = SpanChoice { slowest: 0, share: 0.0, interval: Nanos(u64::MAX) };
    let (mut sink, exporter) = start(address, choice, TIMES);
    sink.delivery(&Delivery { group: GroupId(1), ..message(0, 5) });
    sink.published(&Arc::new(Snapshot {
        groups: vec![Group { id: GroupId(1), middleware: "mqtt".into(), ..Group::default() }],
        ..Snapshot::default()
    }));
    sink.delivery(&message(1, 5));
    let united = vec![(GroupId(1), GroupId(0))];
    sink.published(&Arc::new(Snapshot { united, ..(*snapshot(2)).clone() }));
    drop(sink);
    exporter.end();
    let got: Vec<Got> = got.try_iter().collect();
    let counts: Vec<u64> = points(&got).iter().map(|point| point.count).collect();
    assert_eq!(counts, [2]);
}

/// The values of the last request with metrics.
fn points(got: &[Got]) -> Vec<ExponentialHistogramDataPoint> {
    let last = got.iter().rfind(|got| got.path == "/v1/metrics").unwrap();
    let request = ExportMetricsServiceRequest::decode(last.body.as_slice()).unwrap();
    let metric = &request.resource_metrics[0].scope_metrics[0].metrics[0];
    let Some(Data::ExponentialHistogram(histogram)) = &metric.data else { panic!("{metric:?}") };
    histogram.data_points.clone()
}
