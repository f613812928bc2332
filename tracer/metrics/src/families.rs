//! The metrics: their names, units and meaning, and where their values come from.

use crate::emit::Emit;
use crate::kinds::{FamilyKind, FamilyUnit};
use crate::measured::Measured;
use crate::row::{MeasuredRow, shortened};
use std::sync::atomic::Ordering;
use wirelap_correlate::{BreakdownRow, Reliability};
use wirelap_events::{HostClock, HostState, Nanos};

/// Bytes for each part of a row's traffic.
type BytePart = (&'static str, fn(&MeasuredRow) -> u64);

/// Seconds in a nanosecond.
const SECONDS: f64 = 1e-9;

/// A metric and all its series.
pub struct Family {
    /// The name without unit and `_total`.
    pub name: &'static str,
    /// The unit.
    pub unit: FamilyUnit,
    /// The kind.
    pub kind: FamilyKind,
    /// The meaning, in a sentence without its full stop.
    pub help: &'static str,
    /// Hands out the values of all series.
    pub(crate) values: fn(&Measured, &mut Emit<'_>),
}

impl Family {
    /// The name as it is queried: with unit and `_total`, without what histograms add.
    pub fn full_name(&self) -> String {
        let total = if self.kind == FamilyKind::Counter { "_total" } else { "" };
        format!("{}{}{total}", self.name, self.unit.suffix())
    }
}

const fn counter(
    name: &'static str,
    help: &'static str,
    values: fn(&Measured, &mut Emit<'_>),
) -> Family {
    Family { name, unit: FamilyUnit::None, kind: FamilyKind::Counter, help, values }
}

const fn gauge(
    name: &'static str,
    help: &'static str,
    values: fn(&Measured, &mut Emit<'_>),
) -> Family {
    Family { name, unit: FamilyUnit::None, kind: FamilyKind::Gauge, help, values }
}

const fn times(
    name: &'static str,
    help: &'static str,
    values: fn(&Measured, &mut Emit<'_>),
) -> Family {
    Family { name, unit: FamilyUnit::Seconds, kind: FamilyKind::Histogram, help, values }
}

impl Family {
    const fn in_unit(self, unit: FamilyUnit) -> Family {
        Family { unit, ..self }
    }
}

/// All metrics, in the order in which they are handed out.
pub const FAMILIES: &[Family] = &[
    counter("wirelap_messages_sent", "Messages that were sent", |all, out| {
        each(all, out, |row| row.counts.sent);
    }),
    counter(
        "wirelap_messages_delivered",
        "Messages that a subscriber has read, counted for each subscriber",
        |all, out| each(all, out, |row| row.counts.delivered),
    ),
    counter(
        "wirelap_messages_matched",
        "Delivered messages that were followed from their send to their read; the histograms have these",
        |all, out| each(all, out, |row| row.counts.matched),
    ),
    counter(
        "wirelap_messages_never_read",
        "Messages that were sent to a program here and given up, because it did not read them",
        |all, out| each(all, out, |row| row.counts.never_read),
    ),
    counter("wirelap_messages_duplicate", "Deliveries that repeat an earlier one", |all, out| {
        each(all, out, |row| row.counts.duplicates);
    }),
    gauge(
        "wirelap_messages_overdue",
        "Messages that ought to have arrived by now and have not",
        |all, out| all.rows().iter().for_each(|row| out.row(row, &[], row.overdue as f64)),
    ),
    gauge(
        "wirelap_messages_per_second",
        "Deliveries in the last second; NaN where so little of it was traced that they are not known",
        |all, out| all.rows().iter().for_each(|row| out.row(row, &[], row.rate)),
    ),
    times(
        "wirelap_latency",
        "One-way latency, from the send call to the return of the read",
        |all, out| {
            all.rows().iter().for_each(|row| out.histogram(row, &row.times.one_way));
        },
    ),
    times(
        "wirelap_scheduling_gap",
        "Time from the data's arrival until the reading thread had a CPU, all legs of a message",
        |all, out| all.rows().iter().for_each(|row| out.histogram(row, &row.times.sched_gap)),
    ),
    times("wirelap_broker_dwell", "Time between a broker's read and its send", |all, out| {
        all.rows().iter().for_each(|row| out.histogram(row, &row.times.dwell));
    }),
    counter(
        "wirelap_segment",
        "Time that messages spent in each segment of each leg",
        |all, out| {
            segments(all, out, |sum, _| sum as f64 * SECONDS);
        },
    )
    .in_unit(FamilyUnit::Seconds),
    counter("wirelap_segment_messages", "Messages that had the segment", |all, out| {
        segments(all, out, |_, count| count as f64);
    }),
    counter("wirelap_wire", "Bytes that devices carried, by what they were for", |all, out| {
        for row in all.rows() {
            for (part, bytes) in BYTE_PARTS {
                out.row(row, &[("part", part)], bytes(row) as f64);
            }
        }
    })
    .in_unit(FamilyUnit::Bytes),
    counter("wirelap_packets", "Packets that devices carried", |all, out| {
        each(all, out, |row| row.bytes.packets);
    }),
    gauge(
        "wirelap_verdict",
        "1 for each verdict that holds now (kinds: docs/verdicts.md); leg 0 where it concerns no single leg",
        |all, out| {
            for row in all.rows() {
                for verdict in &row.verdicts {
                    let leg = verdict.leg.to_string();
                    let labels =
                        [("kind", verdict.kind), ("severity", verdict.severity), ("leg", &leg)];
                    out.row(row, &labels, 1.0);
                }
            }
        },
    ),
    gauge(
        "wirelap_trust",
        "How far a row's figures can be trusted: 1 for the state that holds, 0 for the others",
        |all, out| {
            for row in all.rows() {
                for state in [Reliability::Good, Reliability::Reduced, Reliability::Unusable] {
                    let holds = f64::from(u8::from(row.reliability == state));
                    out.row(row, &[("state", state.name())], holds);
                }
            }
        },
    ),
    gauge(
        "wirelap_slow_subscribers",
        "Subscribers that are behind by a second or more",
        |all, out| {
            out.value(&[], all.snapshot().slow.behind as f64);
        },
    ),
    counter("wirelap_events", "Events that the probes have reported", |all, out| {
        out.value(&[], all.snapshot().trust.events as f64);
    }),
    counter(
        "wirelap_events_lost",
        "Events that a probe has lost, so that counts are too low",
        |all, out| {
            for loss in &all.snapshot().trust.events_lost {
                out.value(&[("probe", loss.probe.name())], loss.count as f64);
            }
        },
    ),
    gauge("wirelap_matched", "Matched over delivered messages, all rows", |all, out| {
        out.value(&[], all.snapshot().trust.coverage);
    })
    .in_unit(FamilyUnit::Ratio),
    gauge(
        "wirelap_traced",
        "Share of the time in which events were reported: below 1 when sampling",
        |all, out| {
            out.value(&[], all.snapshot().trust.window_share);
        },
    )
    .in_unit(FamilyUnit::Ratio),
    counter(
        "wirelap_unseen_packets",
        "Packets that no probe saw, by the sockets' sequence numbers",
        |all, out| {
            let trust = &all.snapshot().trust;
            out.value(&[("direction", "sent")], trust.unseen_sent.packets as f64);
            out.value(&[("direction", "received")], trust.unseen_received.packets as f64);
        },
    ),
    counter(
        "wirelap_evicted",
        "Flows and messages that were given up to keep memory bounded",
        |all, out| {
            out.value(&[], all.snapshot().trust.evicted as f64);
        },
    ),
    counter("wirelap_undecoded", "Bytes in which no frame was found", |all, out| {
        out.value(&[], all.snapshot().trust.undecoded_bytes as f64);
    })
    .in_unit(FamilyUnit::Bytes),
    counter("wirelap_cpu", "CPU time of wirelap itself", |all, out| {
        out.value(&[], seconds(all.snapshot().trust.tracer.cpu_time));
    })
    .in_unit(FamilyUnit::Seconds),
    gauge(
        "wirelap_resident_memory",
        "Memory of wirelap itself, with the ring buffer",
        |all, out| {
            out.value(&[], all.snapshot().trust.tracer.rss_now_bytes as f64);
        },
    )
    .in_unit(FamilyUnit::Bytes),
    gauge(
        "wirelap_budget",
        "What tracing costs of what it may cost (--budget): own, probes, allowed",
        |all, out| {
            let Some(budget) = all.snapshot().trust.budget else { return };
            out.value(&[("of", "own")], budget.own);
            budget.probes.into_iter().for_each(|share| out.value(&[("of", "probes")], share));
            budget.share.into_iter().for_each(|share| out.value(&[("of", "allowed")], share));
        },
    )
    .in_unit(FamilyUnit::Ratio),
    gauge(
        "wirelap_host_up",
        "1 if all that a host's agent observes comes in time, else 0",
        |all, out| {
            hosts(all, out, |host| Some(f64::from(u8::from(host.is_well()))));
        },
    ),
    gauge(
        "wirelap_host_clock_error",
        "Largest error of times between a host and this one",
        |all, out| {
            hosts(all, out, |host| match host.clock {
                HostClock::Own => Some(0.0),
                HostClock::Known { at_most, .. } => Some(seconds(at_most)),
                HostClock::Unknown | HostClock::Stepped { .. } => None,
            });
        },
    )
    .in_unit(FamilyUnit::Seconds),
    counter(
        "wirelap_host_received",
        "Bytes that came from a host's agent, compressed",
        |all, out| {
            hosts(all, out, |host| Some(host.bytes as f64));
        },
    )
    .in_unit(FamilyUnit::Bytes),
    counter("wirelap_host_cpu", "CPU time of a host's agent", |all, out| {
        hosts(all, out, |host| Some(seconds(host.cpu_time)));
    })
    .in_unit(FamilyUnit::Seconds),
    counter("wirelap_breakdown_sent", "Messages that were sent, by what --by names", |all, out| {
        breakdown(all, out, |row| row.sent as f64);
    }),
    counter(
        "wirelap_breakdown_delivered",
        "Messages that were read, by what --by names",
        |all, out| {
            breakdown(all, out, |row| row.delivered as f64);
        },
    ),
    counter(
        "wirelap_breakdown_payload",
        "Payload of what was read, by what --by names",
        |all, out| {
            breakdown(all, out, |row| row.payload_bytes as f64);
        },
    )
    .in_unit(FamilyUnit::Bytes),
    gauge(
        "wirelap_breakdown_latency_p99",
        "99th percentile of the latency, by what --by names",
        |all, out| {
            breakdown(all, out, |row| seconds(row.one_way.p99));
        },
    )
    .in_unit(FamilyUnit::Seconds),
    counter(
        "wirelap_otlp_spans_sent",
        "Spans that the OpenTelemetry Collector of --otlp has taken",
        |all, out| spans(all, out, 0),
    ),
    counter(
        "wirelap_otlp_spans_dropped",
        "Spans that had no room or were refused, so that the Collector lacks them",
        |all, out| spans(all, out, 1),
    ),
    gauge("wirelap_build_info", "1, with the version of wirelap", |_, out| {
        out.value(&[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    }),
];

/// The parts of a row's bytes.
const BYTE_PARTS: [BytePart; 8] = [
    ("payload", |row| row.bytes.payload),
    ("protocol", |row| row.bytes.protocol),
    ("control", |row| row.bytes.control),
    ("opaque", |row| row.bytes.opaque),
    ("transport", |row| row.bytes.transport),
    ("network", |row| row.bytes.network),
    ("link", |row| row.bytes.link),
    ("retransmitted", |row| row.bytes.retransmitted),
];

/// The value of the label of a name that is not known.
const UNKNOWN: &str = "?";
/// The value of the labels of all rows together that are not listed.
const REST: &str = "(rest)";

fn seconds(time: Nanos) -> f64 {
    time.0 as f64 * SECONDS
}

/// A number for each row.
fn each(all: &Measured, out: &mut Emit<'_>, value: fn(&MeasuredRow) -> u64) {
    all.rows().iter().for_each(|row| out.row(row, &[], value(row) as f64));
}

/// A number for each segment of each leg, from the sum of its times and their number.
fn segments(all: &Measured, out: &mut Emit<'_>, value: fn(u64, u64) -> f64) {
    for row in all.rows() {
        for segment in &row.times.segments {
            let leg = segment.leg.saturating_add(1).to_string();
            let labels = [("leg", leg.as_str()), ("segment", segment.segment.name())];
            out.row(row, &labels, value(segment.sum, segment.count));
        }
    }
}

/// A number for each host that has one.
fn hosts(all: &Measured, out: &mut Emit<'_>, value: fn(&HostState) -> Option<f64>) {
    for host in &all.snapshot().hosts {
        if let Some(value) = value(host) {
            out.value(&[("host", &shortened(&host.name))], value);
        }
    }
}

/// Spans that were sent, or dropped, if any are made.
fn spans(all: &Measured, out: &mut Emit<'_>, which: usize) {
    if let Some(count) = all.spans.as_ref().and_then(|counts| counts.get(which)) {
        out.value(&[], count.load(Ordering::Relaxed) as f64);
    }
}

/// A number for each listed row of the breakdown, and for the rest.
fn breakdown(all: &Measured, out: &mut Emit<'_>, value: fn(&BreakdownRow) -> f64) {
    let Some(breakdown) = &all.snapshot().breakdown else { return };
    let mut emit = |row, names: Vec<String>| {
        let labels: Vec<(&'static str, &str)> =
            breakdown.by.iter().map(|by| by.name()).zip(names.iter().map(String::as_str)).collect();
        out.value(&labels, value(row));
    };
    for row in &breakdown.rows {
        let name = |name: &Option<String>| shortened(name.as_deref().unwrap_or(UNKNOWN));
        emit(row, row.names.iter().map(name).collect());
    }
    emit(&breakdown.rest, breakdown.by.iter().map(|_| REST.to_owned()).collect());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_those_of_the_field() {
        let names: BTreeSet<String> = FAMILIES.iter().map(Family::full_name).collect();
        assert_eq!(names.len(), FAMILIES.len(), "each name once");
        for family in FAMILIES {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(family.name.starts_with("wirelap_") && family.name.chars().all(plain));
            assert!(!family.help.ends_with('.'), "{}", family.name);
            // The encoder adds these.
            assert!(!family.name.ends_with("_total") && !family.name.ends_with("_seconds"));
        }
    }
}
