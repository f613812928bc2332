//! Spans and metrics, of which a Collector may take one alone.

use super::*;

/// An interval that is over with each snapshot.
const SHORT: SpanChoice = SpanChoice { interval: Nanos::from_millis(1), ..SHARE };

/// Feeds an export until a Collector has got so many requests of a path.
fn until(sink: &mut SpanSink, got: &Receiver<Got>, path: &str, count: usize) {
    let mut seen = 0;
    for number in 0.. {
        sink.delivery(&message(number, 5));
        sink.published(&snapshot(number));
        while let Ok(one) = got.recv_timeout(Duration::from_millis(2)) {
            seen += usize::from(one.path == path);
        }
        if seen >= count {
            return;
        }
    }
}

#[test]
fn metrics_that_were_refused_once_are_sent_again() {
    let (address, got) = collector(|number, path| match path {
        "/v1/metrics" if number < 4 => Reaction::Answer("401 Unauthorized\r\n"),
        _ => OK,
    });
    let (mut sink, exporter) = start(address, SHORT, TIMES);
    until(&mut sink, &got, "/v1/metrics", 8);
    drop(sink);
    let text = exporter.end();
    assert!(!text.contains("metrics"), "{text}");
}

#[test]
fn a_collector_that_knows_no_metrics_is_sent_none() {
    let (address, got) = collector(|_, path| match path {
        "/v1/metrics" => Reaction::Answer("404 Not Found\r\n"),
        _ => OK,
    });
    let (mut sink, exporter) = start(address, SHORT, TIMES);
    until(&mut sink, &got, "/v1/metrics", 1);
    until(&mut sink, &got, "/v1/traces", 3);
    drop(sink);
    assert!(exporter.end().contains("metrics were not taken"));
    assert_eq!(got.try_iter().filter(|got| got.path == "/v1/metrics").count(), 0);
}

#[test]
fn metrics_that_have_to_wait_hold_no_span() {
    let (address, got) = collector(|_, path| match path {
        "/v1/metrics" => Reaction::Answer("429 Too Many Requests\r\nRetry-After: 300\r\n"),
        _ => OK,
    });
    let (mut sink, exporter) = start(address, SHORT, TIMES);
    until(&mut sink, &got, "/v1/metrics", 1);
    until(&mut sink, &got, "/v1/traces", 3);
    drop(sink);
    exporter.end();
    // They were asked for later, whatever became of spans.
    assert_eq!(got.try_iter().filter(|got| got.path == "/v1/metrics").count(), 0);
}

#[test]
fn spans_go_first_at_the_end() {
    let (address, got) = collector(|_, _| OK);
    let (mut sink, exporter) = start(address, SHARE, TIMES);
    sink.published(&snapshot(1));
    sink.delivery(&message(0, 5));
    drop(sink);
    exporter.end();
    let paths: Vec<String> = got.try_iter().map(|got| got.path).collect();
    assert_eq!(paths, ["/v1/traces", "/v1/metrics"]);
}

#[test]
fn an_answer_that_does_not_come_is_not_waited_for_at_the_end() {
    let (silent, got) = collector(|_, _| Reaction::Silence);
    let times = ExportTimes { patience: LONG, end: Duration::from_millis(20), ..TIMES };
    let (mut sink, exporter) = start(silent, SHARE, times);
    sink.delivery(&message(0, 5));
    sink.published(&snapshot(1));
    got.recv().unwrap();
    drop(sink);
    let text = exporter.end();
    assert!(text.contains("what became of the rest is not known"), "{text}");
}

#[test]
fn equal_rows_are_two_series_and_a_name_that_is_found_later_is_used() {
    let (address, got) = collector(|_, _| OK);
    let (mut sink, exporter) = start(address, SHARE, TIMES);
    let rows = |broker: Option<&str>| {
        let row = |id| Group {
            id: GroupId(id),
            middleware: "mqtt".into(),
            broker: broker.map(Into::into),
            ..Group::default()
        };
        Arc::new(Snapshot { groups: vec![row(0), row(1)], ..Snapshot::default() })
    };
    for group in [0, 1] {
        sink.delivery(&Delivery { group: GroupId(group), ..message(group.into(), 5) });
    }
    sink.published(&rows(None));
    sink.published(&rows(Some("mosquitto")));
    drop(sink);
    exporter.end();
    let got: Vec<Got> = got.try_iter().collect();
    let told: Vec<String> =
        points(&got).iter().map(|point| format!("{:?}", point.attributes)).collect();
    assert!(told.iter().all(|told| told.contains("mqtt/mosquitto")), "{told:?}");
    let numbered = told.iter().filter(|told| told.contains("wirelap.row.id")).count();
    assert_eq!((told.len(), numbered), (2, 1), "{told:?}");
}
