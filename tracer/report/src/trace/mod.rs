//! Messages on a time line: the Chrome trace format, which Perfetto (<https://ui.perfetto.dev>) and
//! <chrome://tracing> open.
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
//! Each part of a leg's time is a slice of category `segment`; those of a delivery's legs add up to the time from
//! its first stage to its last, to the nanosecond. Arrows (`s`, `t`, `f` events) lead from track to track
//! and from a leg to the next. Parts that take no time are not drawn. Written as it comes, with bounded memory.

mod about;
mod causes;
mod drawn;
mod json;
mod lanes;
mod names;
mod tracks;

pub use about::About;

use causes::{Causes, Parts};
use drawn::{Drawn, DrawnLegs, Key};
use json::{Events, Place, Step, Value};
use names::Names;
use serde::Serialize;
use std::io::{self, Write};
use tracks::{Track, Tracks};
use wirelap_correlate::Snapshot;
use wirelap_events::Saturate;
use wirelap_events::{Body, Delivery, Event, Leg, Nanos, Segment, SegmentSpan, Stage, TxState};

/// What times count from lies so long before the first event: what led to it happened before.
const LEAD: Nanos = Nanos::from_millis(1000);

/// How much was drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Deliveries.
    pub messages: u64,
    /// Slices.
    pub slices: u64,
    /// Parts of messages that are not shown: there were too many at once on a track.
    pub left_out: u64,
}

/// Draws messages.
#[derive(Debug)]
pub struct TraceWriter<W> {
    events: Events<W>,
    tracks: Tracks,
    names: Names,
    drawn: DrawnLegs,
    parts: Parts,
    totals: Totals,
    /// What the file will say about itself, until the first event tells when it begins.
    about: Option<(About, Option<i64>)>,
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
    from: String,
    to: String,
    /// Those of the slices that are its parts.
    leg_ids: Vec<u64>,
}

#[derive(Serialize)]
struct PartArgs<'a> {
    message: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<&'a str>,
    payload_bytes: u64,
    /// 1 for the first.
    leg: usize,
    leg_id: u64,
    #[serde(skip_serializing_if = "Causes::is_empty")]
    cause_ns: Causes,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_held_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_held_ns: Option<u64>,
}

/// One leg of a delivery, and what is said about all of its parts.
struct Shown<'a> {
    delivery: &'a Delivery,
    topic: Option<&'a str>,
    index: usize,
    id: u64,
    /// Where the arrow to it begins.
    before: Option<(Place, Nanos)>,
}

impl<W: Write> TraceWriter<W> {
    /// Nothing is written yet. `wall` is what is between the events' clock and the wall clock, in nanoseconds, if they are
    /// not the same. The trace's zero, which is known with the first event, need not be in `about`.
    pub fn new(out: W, about: About, wall: Option<i64>) -> TraceWriter<W> {
        TraceWriter {
            events: Events::new(out),
            tracks: Tracks::default(),
            names: Names::default(),
            drawn: DrawnLegs::default(),
            parts: Parts::default(),
            totals: Totals::default(),
            about: Some((about, wall)),
        }
    }

    /// Learns names from an event, and from the first one when the trace begins.
    pub fn learn(&mut self, event: &Event<'_>) {
        self.names.learn(event);
        // A socket may tell when it was opened, long before.
        if matches!(event.body, Body::Socket(_) | Body::Closed(_)) {
            return;
        }
        if let Some((about, wall)) = self.about.take() {
            let zero = event.at - LEAD;
            let zero_unix_ns = zero.0.wrapping_add_signed(wall.unwrap_or(0));
            let zero_monotonic_ns = wall.map(|_| zero.0);
            self.events.set_out(zero, About { zero_unix_ns, zero_monotonic_ns, ..about });
        }
    }

    /// Draws a delivery. Legs that an earlier one had, too, are drawn already.
    ///
    /// # Errors
    /// It cannot be written.
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
        self.parts.of(delivery);
        let mut leg_ids = Vec::new();
        let mut before = None;
        let mut since = None;
        for (index, leg) in delivery.legs.iter().enumerate() {
            let drawn = self.leg(delivery, topic, index, (since, before))?;
            leg_ids.push(drawn.id);
            before = drawn.end.or(before);
            since = Key::times(&leg.times).1.or(since);
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
            from: delivery.legs[0].flow.src.to_string(),
            to: delivery.legs[delivery.legs.len().saturating_sub(1)].flow.dst.to_string(),
            leg_ids,
        };
        self.totals.messages.grow(1);
        self.totals.slices.grow(1);
        self.events.slice(place, (topic.unwrap_or("message"), "message"), (from, to), &args)
    }

    /// Names everything and ends the trace.
    ///
    /// # Errors
    /// As [`TraceWriter::delivery`].
    pub fn end(mut self, snapshot: &Snapshot) -> io::Result<(W, Totals)> {
        self.tracks.tell(&mut self.events, &self.names, snapshot)?;
        Ok((self.events.end()?, self.totals))
    }

    fn leg(
        &mut self,
        delivery: &Delivery,
        topic: Option<&str>,
        index: usize,
        (since, before): (Option<Nanos>, Option<(Place, Nanos)>),
    ) -> io::Result<Drawn> {
        let leg = &delivery.legs[index];
        let (first, last) = Key::times(&leg.times);
        let (message, flow, reader) = (delivery.message, leg.flow, leg.reader);
        let key = Key { message, flow, reader, first, last, since };
        if let Some(drawn) = self.drawn.get(&key) {
            return Ok(drawn);
        }
        let id = self.drawn.new_id();
        let shown = Shown { delivery, topic, index, id, before };
        let spans = spans(leg, since);
        let end = self.visits(&shown, &spans)?;
        self.counters(leg)?;
        let drawn = Drawn { id, end };
        self.drawn.add(key, drawn);
        Ok(drawn)
    }

    /// Draws what is on one track after the other, and the arrows between. Returns where the last is.
    fn visits(
        &mut self,
        shown: &Shown<'_>,
        spans: &[(Track, SegmentSpan<'_>)],
    ) -> io::Result<Option<(Place, Nanos)>> {
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
            // In the middle of a slice it is certain which slice is meant.
            let middle = Nanos(u64::midpoint(from.0, visit[0].1.to.0));
            if let Some((place, at)) = previous {
                let step = if arrow.is_some() { Step::On } else { Step::Start };
                self.events.arrow(shown.id, step, place, at)?;
                arrow = Some((place, at));
            }
            previous = Some((place, middle));
        }
        if let (Some(_), Some((place, at))) = (arrow, previous) {
            self.events.arrow(shown.id, Step::End, place, at)?;
        }
        Ok(previous)
    }

    fn part(&mut self, shown: &Shown<'_>, span: &SegmentSpan<'_>, place: Place) -> io::Result<()> {
        let Shown { delivery, topic, index, id, .. } = *shown;
        let cause_ns = self.parts.take(index, span.segment, span.to - span.from);
        let holder = cause_ns.holder;
        let args = PartArgs {
            message: delivery.message.0,
            topic,
            payload_bytes: delivery.payload_len,
            leg: index.saturating_add(1),
            leg_id: id,
            cause_ns,
            cpu_held_by: holder.map(|h| format!("{} ({})", h.comm.as_str(), h.task.tid.0)),
            cpu_held_ns: holder.map(|holder| holder.held.0),
        };
        self.totals.slices.grow(1);
        self.events.slice(place, (span.segment.name(), "segment"), (span.from, span.to), &args)
    }

    /// What the sender's TCP knew when it was given the last byte.
    fn counters(&mut self, leg: &Leg) -> io::Result<()> {
        let (Some(tx), Some(at)) = (leg.circumstances.tx, leg.times.get(Stage::Sent)) else {
            return Ok(());
        };
        let pid = self.tracks.flow(leg.flow);
        let TxState { in_flight, unsent, window, cwnd, .. } = tx;
        self.events.counter(pid, "bytes in flight", at, Value::Bytes(in_flight))?;
        self.events.counter(pid, "bytes unsent", at, Value::Bytes(unsent))?;
        self.events.counter(pid, "receive window", at, Value::Bytes(window))?;
        self.events.counter(pid, "congestion window", at, Value::Segments(cwnd))
    }
}

/// The parts of a leg that take time, with the dwell before it. A leg that takes none, because one packet of
/// it was seen and nothing else, has a part that lasts no time.
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

#[cfg(test)]
mod tests;
