//! Messages on a time line, in the Chrome trace format, which Perfetto (<https://ui.perfetto.dev>) and
//! <chrome://tracing> can open.
//!
//! ```text
//!  mqtt/mosquitto      messages          |─────────── sensors/a ───────────|
//!  publisher           thread            |write|
//!  tcp …:40000 → :1883 sending socket          |socket_tx|
//!                      qdisc, wire                       ╰▶|wire|
//!                      receiving socket                          ╰▶|stack_rx|
//!  mosquitto (broker)  thread                                              ╰▶|wakeup|runqueue|read|
//!                      holds messages                                                             ╰▶|broker_dwell|  …
//! ```
//!
//! Each span of a leg is a slice of category `segment`; the slices of a delivery's legs add up exactly to the time from its
//! first stage to its last. Arrows (`s`, `t`, `f` events) lead from track to track and from one leg to the next. Spans that
//! take no time are not drawn. Deliveries are written as they come, with bounded memory.

mod about;
mod causes;
mod drawn;
mod json;
mod lanes;
mod names;
mod tracks;

pub use about::TraceMetadata;
pub use tracks::thread_of;

use causes::{BlamedTimes, Causes};
use drawn::{DrawnLeg, DrawnLegKey, DrawnLegs};
use json::{ArrowPoint, CounterValue, EventWriter, TrackLane};
use names::TaskNames;
use serde::Serialize;
use std::io::{self, Write};
use tracks::{Track, Tracks};
use wirelap_correlate::Snapshot;
use wirelap_events::Saturate;
use wirelap_events::{Body, Delivery, Event, Leg, Nanos, Segment, SegmentSpan, Stage, TxState};

/// Time from the trace's time zero to the first event: the spans of the first messages began before it.
const LEAD: Nanos = Nanos::from_millis(1000);

/// The content of a trace, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceTotals {
    /// Number of deliveries.
    pub messages: u64,
    /// Number of slices.
    pub slices: u64,
    /// Spans and messages that are not in the trace, because too many overlap on a track or they began before its zero.
    pub left_out: u64,
}

/// Writes deliveries as slices and arrows.
#[derive(Debug)]
pub struct TraceWriter<W> {
    events: EventWriter<W>,
    tracks: Tracks,
    names: TaskNames,
    drawn: DrawnLegs,
    blamed: BlamedTimes,
    totals: TraceTotals,
    /// The metadata and the offset to the wall clock, until the first event sets the trace's zero.
    about: Option<(TraceMetadata, Option<i64>)>,
}

#[derive(Serialize)]
struct MessageArgs<'a> {
    message: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<&'a str>,
    payload_bytes: u64,
    one_way_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_error_ns: Option<u64>,
    from: String,
    to: String,
    /// The `leg_id` of the slices of this message's legs.
    leg_ids: Vec<u64>,
}

#[derive(Serialize)]
struct PartArgs<'a> {
    message: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<&'a str>,
    payload_bytes: u64,
    /// The leg's number, 1 for the first.
    leg: usize,
    leg_id: u64,
    #[serde(skip_serializing_if = "Causes::is_empty")]
    cause_ns: Causes,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_held_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_held_ns: Option<u64>,
}

/// One leg of a delivery, with what all of its slices have in common.
struct LegContext<'a> {
    delivery: &'a Delivery,
    topic: Option<&'a str>,
    index: usize,
    id: u64,
    /// The beginning of the arrow to this leg.
    before: Option<(TrackLane, Nanos)>,
}

impl<W: Write> TraceWriter<W> {
    /// A writer that has written nothing yet. `wall` is the offset of the wall clock from the events' clock, in nanoseconds;
    /// `None` if events have wall-clock times. The trace's zero is set at the first event, so `about` need not have it.
    pub fn new(out: W, about: TraceMetadata, wall: Option<i64>) -> TraceWriter<W> {
        TraceWriter {
            events: EventWriter::new(out),
            tracks: Tracks::default(),
            names: TaskNames::default(),
            drawn: DrawnLegs::default(),
            blamed: BlamedTimes::default(),
            totals: TraceTotals::default(),
            about: Some((about, wall)),
        }
    }

    /// Learns the names of processes and threads from an event. The first event also sets the trace's zero.
    pub fn learn(&mut self, event: &Event<'_>) {
        self.names.learn(event);
        // The time of a socket event may be that of the socket's opening, long before the recording.
        if matches!(event.body, Body::Socket(_) | Body::Closed(_)) {
            return;
        }
        if let Some((about, wall)) = self.about.take() {
            let zero = event.at - LEAD;
            let zero_unix_ns = zero.0.wrapping_add_signed(wall.unwrap_or(0));
            let zero_monotonic_ns = wall.map(|_| zero.0);
            let zero_unix_seconds = seconds(zero_unix_ns);
            let about =
                TraceMetadata { zero_unix_ns, zero_unix_seconds, zero_monotonic_ns, ..about };
            self.events.set_out(zero, about);
        }
    }

    /// Writes a delivery. Legs that it shares with an earlier delivery are not written again.
    ///
    /// # Errors
    /// Returns the error of the output.
    pub fn delivery(&mut self, delivery: &Delivery, topic: Option<&str>) -> io::Result<()> {
        let (Some((_, from)), Some((_, to))) = (
            delivery.legs.first().and_then(|leg| leg.times.seen().next()),
            delivery.legs.last().and_then(|leg| leg.times.seen().next_back()),
        ) else {
            return Ok(());
        };
        if self.events.time(from).is_none() {
            self.totals.left_out.grow(1);
            return Ok(());
        }
        let place = self.tracks.take(Track::Messages(delivery.group), from, to);
        self.blamed.of(delivery);
        let mut leg_ids = Vec::new();
        let mut before = None;
        let mut since = None;
        for (index, leg) in delivery.legs.iter().enumerate() {
            let drawn = self.leg(delivery, topic, index, (since, before))?;
            leg_ids.push(drawn.id);
            before = drawn.end.or(before);
            since = DrawnLegKey::times(&leg.times).1.or(since);
        }
        let Some(place) = place else {
            self.totals.left_out.grow(1);
            return Ok(());
        };
        let args = MessageArgs {
            message: delivery.message.0,
            seq: delivery.stamp.map(|stamp| stamp.seq),
            topic,
            payload_bytes: delivery.payload_len,
            one_way_ns: delivery.one_way().map(|time| time.0),
            clock_error_ns: (delivery.clock_error > Nanos(0)).then_some(delivery.clock_error.0),
            from: delivery.legs[0].flow.src.to_string(),
            to: delivery.legs[delivery.legs.len().saturating_sub(1)].flow.dst.to_string(),
            leg_ids,
        };
        self.totals.messages.grow(1);
        self.totals.slices.grow(1);
        self.events.slice(place, (topic.unwrap_or("message"), "message"), (from, to), &args)
    }

    /// Writes the names of all tracks and ends the trace.
    ///
    /// # Errors
    /// Returns the error of the output.
    pub fn end(mut self, snapshot: &Snapshot) -> io::Result<(W, TraceTotals)> {
        self.tracks.write_names(&mut self.events, &self.names, snapshot)?;
        Ok((self.events.end()?, self.totals))
    }

    fn leg(
        &mut self,
        delivery: &Delivery,
        topic: Option<&str>,
        index: usize,
        (since, before): (Option<Nanos>, Option<(TrackLane, Nanos)>),
    ) -> io::Result<DrawnLeg> {
        let leg = &delivery.legs[index];
        let (first, last) = DrawnLegKey::times(&leg.times);
        let (message, flow, reader) = (delivery.message, leg.flow, leg.reader);
        let key = DrawnLegKey { message, flow, reader, first, last, since };
        if let Some(drawn) = self.drawn.get(&key) {
            return Ok(drawn);
        }
        let id = self.drawn.new_id();
        let shown = LegContext { delivery, topic, index, id, before };
        let spans = spans(leg, since);
        let end = self.visits(&shown, &spans)?;
        self.counters(leg)?;
        let drawn = DrawnLeg { id, end };
        self.drawn.add(key, drawn);
        Ok(drawn)
    }

    /// Writes the spans on one track after the other, and the arrows between. Returns the position of the last one.
    fn visits(
        &mut self,
        shown: &LegContext<'_>,
        spans: &[(Track, SegmentSpan<'_>)],
    ) -> io::Result<Option<(TrackLane, Nanos)>> {
        let mut previous = shown.before;
        let mut arrow = None;
        for visit in spans.chunk_by(|a, b| a.0 == b.0) {
            let (from, to) = (visit[0].1.from, visit[visit.len().saturating_sub(1)].1.to);
            let Some(place) = self.tracks.take(visit[0].0, from, to) else {
                self.totals.left_out.grow(visit.len() as u64);
                continue;
            };
            for (_, span) in visit {
                self.part(shown, span, place)?;
            }
            // An arrow's point in the middle of a slice is bound to that slice without doubt.
            let middle = Nanos(u64::midpoint(from.0, visit[0].1.to.0));
            if let Some((place, at)) = previous {
                let step = if arrow.is_some() { ArrowPoint::On } else { ArrowPoint::Start };
                self.events.arrow(shown.id, step, place, at)?;
                arrow = Some((place, at));
            }
            previous = Some((place, middle));
        }
        if let (Some(_), Some((place, at))) = (arrow, previous) {
            self.events.arrow(shown.id, ArrowPoint::End, place, at)?;
        }
        Ok(previous)
    }

    fn part(
        &mut self,
        shown: &LegContext<'_>,
        span: &SegmentSpan<'_>,
        place: TrackLane,
    ) -> io::Result<()> {
        let LegContext { delivery, topic, index, id, .. } = *shown;
        let cause_ns = self.blamed.take(index, span.segment, span.to - span.from);
        let holder = cause_ns.holder;
        let args = PartArgs {
            message: delivery.message.0,
            topic,
            payload_bytes: delivery.payload_len,
            leg: wirelap_events::human::ordinal(index),
            leg_id: id,
            cause_ns,
            cpu_held_by: holder.map(|h| format!("{} ({})", h.comm.as_str(), h.task.tid.0)),
            cpu_held_ns: holder.map(|holder| holder.held.0),
        };
        self.totals.slices.grow(1);
        self.events.slice(place, (span.segment.name(), "segment"), (span.from, span.to), &args)
    }

    /// Writes the state of the sender's TCP at the send of the last byte, as counters.
    fn counters(&mut self, leg: &Leg) -> io::Result<()> {
        let (Some(tx), Some(at)) = (leg.circumstances.socket.tx, leg.times.get(Stage::Sent)) else {
            return Ok(());
        };
        let pid = self.tracks.flow(leg.flow);
        let TxState { in_flight, unsent, window, cwnd, .. } = tx;
        self.events.counter(pid, "bytes in flight", at, CounterValue::Bytes(in_flight))?;
        self.events.counter(pid, "bytes unsent", at, CounterValue::Bytes(unsent))?;
        self.events.counter(pid, "receive window", at, CounterValue::Bytes(window))?;
        self.events.counter(pid, "congestion window", at, CounterValue::Segments(cwnd))
    }
}

/// The spans of a leg that take time, with the dwell before it. A leg of which only one packet was captured has one span
/// without duration.
fn spans<'a>(leg: &'a Leg, since: Option<Nanos>) -> Vec<(Track, SegmentSpan<'a>)> {
    let mut spans = Vec::new();
    let Some((_, first)) = leg.times.seen().next() else { return spans };
    let mut add = |span: SegmentSpan<'a>| {
        if span.from < span.to {
            spans.push((Track::of(&span, leg), span));
        }
    };
    leg.each_span(&mut add);
    let none = SegmentSpan { segment: Segment::Wire, from: first, to: first, hop: None };
    if spans.is_empty() {
        spans.push((Track::of(&none, leg), none));
    }
    if let Some(since) = since.filter(|&since| since < first) {
        let dwell = SegmentSpan { segment: Segment::BrokerDwell, from: since, ..none };
        spans.insert(0, (Track::of(&dwell, leg), dwell));
    }
    spans
}

/// Nanoseconds as seconds, exactly.
fn seconds(ns: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    format!("{}.{:09}", ns / SECOND, ns % SECOND)
}

#[cfg(test)]
mod tests;
