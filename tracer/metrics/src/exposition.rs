//! All metrics as a text, or as protocol buffers.

use crate::emit::Emit;
use crate::families::FAMILIES;
use crate::kinds::{FamilyKind, FamilyUnit};
use crate::measured::SharedMeasured;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, prometheus_text, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;

/// A form in which metrics are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' text format.
    Text,
    /// The text format of `OpenMetrics`.
    OpenMetrics,
    /// Prometheus' protocol buffers, which have native histograms.
    #[cfg(feature = "protobuf")]
    Protobuf,
}

impl Format {
    /// The one that a scraper prefers of those that there are, by its header `Accept`: by the largest weight, of equal ones the first.
    pub fn accepted(accept: &str) -> Format {
        let mut best = (Format::Text, 0.0);
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let (mut weight, mut is_families) = (1.0, false);
            for part in parts {
                if let Some(text) = part.strip_prefix("q=") {
                    weight = text.parse().unwrap_or(0.0);
                }
                is_families |= part == "proto=io.prometheus.client.MetricFamily";
            }
            let Some(format) = Format::of(media, is_families) else { continue };
            if weight > best.1 {
                best = (format, weight);
            }
        }
        best.0
    }

    fn of(media: &str, is_families: bool) -> Option<Format> {
        match media {
            "text/plain" | "*/*" | "text/*" => Some(Format::Text),
            "application/openmetrics-text" => Some(Format::OpenMetrics),
            #[cfg(feature = "protobuf")]
            "application/vnd.google.protobuf" if is_families => Some(Format::Protobuf),
            _ => {
                let _ = is_families;
                None
            }
        }
    }

    /// The media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Text => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            #[cfg(feature = "protobuf")]
            Format::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
        }
    }

    /// All metrics in this form; `None` if they cannot be written in it.
    pub fn write(self, registry: &Registry) -> Option<Vec<u8>> {
        let mut written = String::new();
        match self {
            Format::Text => prometheus_text::encode(&mut written, registry).ok()?,
            Format::OpenMetrics => text::encode(&mut written, registry).ok()?,
            #[cfg(feature = "protobuf")]
            Format::Protobuf => {
                return prometheus_client::encoding::prometheus_protobuf::encode_to_vec(registry)
                    .ok();
            }
        }
        Some(written.into_bytes())
    }
}

/// A registry that hands out what is measured.
pub fn registry(measured: SharedMeasured) -> Registry {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Families(measured)));
    registry
}

/// All families, as the encoders ask for them.
#[derive(Debug)]
struct Families(SharedMeasured);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let measured = self.0.lock();
        for family in FAMILIES {
            let unit = family.unit.encoded();
            let kind = family.kind.encoded();
            let metric =
                encoder.encode_descriptor(family.name, family.help, unit.as_ref(), kind)?;
            let mut emit = Emit::new(metric, family.kind, measured.since);
            (family.values)(&measured, &mut emit);
            emit.end()?;
        }
        Ok(())
    }
}

impl FamilyKind {
    fn encoded(self) -> MetricType {
        match self {
            FamilyKind::Counter => MetricType::Counter,
            FamilyKind::Gauge => MetricType::Gauge,
            FamilyKind::Histogram => MetricType::Histogram,
        }
    }
}

impl FamilyUnit {
    fn encoded(self) -> Option<Unit> {
        match self {
            FamilyUnit::None => None,
            FamilyUnit::Seconds => Some(Unit::Seconds),
            FamilyUnit::Bytes => Some(Unit::Bytes),
            FamilyUnit::Ratio => Some(Unit::Other("ratio".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use wirelap_correlate::{Counts, Group, Snapshot};
    use wirelap_events::GroupId;
    use wirelap_history::{RowSlice, Slice, Update};

    fn group(id: u32, sent: u64, broker: &str) -> Group {
        Group {
            id: GroupId(id),
            middleware: "mqtt".into(),
            broker: Some(broker.into()),
            messages: Counts { sent, delivered: sent, ..Counts::default() },
            ..Group::default()
        }
    }

    fn update(groups: Vec<Group>, times: &[(u32, u64)]) -> Update {
        let slice = |&(id, time): &(u32, u64)| RowSlice {
            one_way: [time].into_iter().collect(),
            ..RowSlice::new(GroupId(id))
        };
        let rows = times.iter().map(slice).collect();
        let snapshot = Arc::new(Snapshot { groups, ..Snapshot::default() });
        Update { snapshot, slice: Slice { rows, ..Slice::default() } }
    }

    fn written(measured: &SharedMeasured, format: Format) -> String {
        String::from_utf8(format.write(&registry(measured.clone())).unwrap()).unwrap()
    }

    fn line<'a>(text: &'a str, begin: &str) -> &'a str {
        text.lines()
            .find(|line| line.starts_with(begin))
            .unwrap_or_else(|| panic!("{begin}: {text}"))
    }

    #[test]
    fn counters_never_fall() {
        let measured = SharedMeasured::default();
        measured.lock().take(&update(vec![group(1, 10, "b")], &[(1, 4_000)]));
        measured.lock().take(&update(vec![group(1, 8, "b")], &[(1, 6_000)]));
        let text = written(&measured, Format::OpenMetrics);
        let labels = r#"{middleware="mqtt",broker="b",address=""}"#;
        assert_eq!(
            line(&text, "wirelap_messages_sent_total{"),
            format!("wirelap_messages_sent_total{labels} 10.0")
        );
        assert_eq!(
            line(&text, "wirelap_latency_seconds_count"),
            format!("wirelap_latency_seconds_count{labels} 2")
        );
        let sum = line(&text, "wirelap_latency_seconds_sum").rsplit(' ').next().unwrap();
        assert!((sum.parse::<f64>().unwrap() - 1e-5).abs() < 1e-12, "{sum}");
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn spans_are_counted_only_where_any_are_made() {
        let measured = SharedMeasured::default();
        let is_sample = |line: &str| line.starts_with("wirelap_otlp_spans_sent_total ");
        assert!(!written(&measured, Format::Text).lines().any(is_sample));
        measured.lock().spans = Some([7, 2].map(|count| Arc::new(count.into())));
        let text = written(&measured, Format::Text);
        assert_eq!(
            line(&text, "wirelap_otlp_spans_sent_total "),
            "wirelap_otlp_spans_sent_total 7.0"
        );
        assert_eq!(
            line(&text, "wirelap_otlp_spans_dropped_total "),
            "wirelap_otlp_spans_dropped_total 2.0"
        );
    }

    #[test]
    fn rows_with_one_name_are_told_apart() {
        let measured = SharedMeasured::default();
        measured.lock().take(&update(vec![group(1, 1, "b"), group(2, 2, "b")], &[]));
        let text = written(&measured, Format::Text);
        assert!(text.contains(
            r#"wirelap_messages_sent_total{middleware="mqtt",broker="b",address=""} 1.0"#
        ));
        let second =
            r#"wirelap_messages_sent_total{middleware="mqtt",broker="b",address="",row="2"} 2.0"#;
        assert!(text.contains(second), "{text}");
    }

    #[test]
    fn a_row_that_is_part_of_another_hands_its_times_over() {
        let measured = SharedMeasured::default();
        measured
            .lock()
            .take(&update(vec![group(1, 1, "a"), group(2, 1, "b")], &[(1, 1_000), (2, 2_000)]));
        let mut later = update(vec![group(2, 2, "b")], &[]);
        Arc::get_mut(&mut later.snapshot).unwrap().united = vec![(GroupId(1), GroupId(2))];
        measured.lock().take(&later);
        let text = written(&measured, Format::Text);
        assert!(!text.contains(r#"broker="a""#), "{text}");
        assert!(line(&text, "wirelap_latency_seconds_count").ends_with(" 2"));
    }

    #[test]
    fn names_may_have_anything() {
        let measured = SharedMeasured::default();
        let long = "x".repeat(70_000);
        let broker = format!("a\"b\\c\nd{long}");
        measured.lock().take(&update(vec![group(1, 1, &broker)], &[]));
        let text = written(&measured, Format::Text);
        let line = line(&text, "wirelap_messages_sent_total{");
        assert!(line.contains(r#"broker="a\"b\\c\ndxxx"#), "{line}");
        assert!(line.len() < 300);
    }

    #[test]
    fn the_preferred_form_is_taken() {
        assert_eq!(Format::accepted(""), Format::Text);
        assert_eq!(Format::accepted("*/*"), Format::Text);
        let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        assert_eq!(Format::accepted(prometheus), Format::OpenMetrics);
        assert_eq!(Format::accepted("image/png;q=1, nonsense;;;q=x"), Format::Text);
    }
}
