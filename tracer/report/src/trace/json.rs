//! The events of the Chrome trace format ("Trace Event Format", JSON object form), written one by one.

use super::about::TraceMetadata;
use serde::{Serialize, Serializer};
use std::io::{self, Write};
use wirelap_events::Nanos;
use wirelap_events::human::escape_json;

/// A time or a duration in nanoseconds, written as microseconds with three decimals, as the format requires. A double is
/// exact to the nanosecond for a hundred days (2^53 / 1024 ns); the shortest number that denotes the double is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(pub u64);

impl Serialize for Micros {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 1e3)
    }
}

/// The lane that a slice is on: the number of a process or another group of tracks, and that of a thread or another lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackLane {
    pub pid: u32,
    pub tid: u32,
}

/// A "complete event": it has a duration.
#[derive(Serialize)]
struct TraceSlice<'a, A> {
    name: &'a str,
    cat: &'static str,
    ph: &'static str,
    ts: Micros,
    dur: Micros,
    pid: u32,
    tid: u32,
    args: &'a A,
}

/// A "flow event": the start, a step or the end of an arrow.
#[derive(Serialize)]
struct Arrow {
    name: &'static str,
    cat: &'static str,
    ph: &'static str,
    id: u64,
    ts: Micros,
    pid: u32,
    tid: u32,
    /// `e`: the arrow's point is bound to the slice that encloses it, not to the next one.
    bp: &'static str,
}

#[derive(Serialize)]
struct Counter<'a> {
    name: &'static str,
    ph: &'static str,
    ts: Micros,
    pid: u32,
    args: &'a CounterValue,
}

/// A counter's value with its unit.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CounterValue {
    Bytes(u32),
    Segments(u32),
}

#[derive(Serialize)]
struct Metadata<'a, A> {
    name: &'static str,
    ph: &'static str,
    pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    tid: Option<u32>,
    args: &'a A,
}

#[derive(Serialize)]
struct NameArgs<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct SortIndexArgs {
    sort_index: usize,
}

/// The point of an arrow that an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrowPoint {
    Start,
    On,
    End,
}

/// Writes the events of one trace.
#[derive(Debug)]
pub struct EventWriter<W> {
    out: W,
    about: TraceMetadata,
    /// The trace's time zero.
    zero: Nanos,
    begun: bool,
}

impl<W: Write> EventWriter<W> {
    /// A writer that writes nothing before the first event.
    pub fn new(out: W) -> EventWriter<W> {
        EventWriter { out, about: TraceMetadata::default(), zero: Nanos(0), begun: false }
    }

    /// Sets the trace's time zero and its metadata. Has no effect on what is already written.
    pub fn set_out(&mut self, zero: Nanos, about: TraceMetadata) {
        (self.zero, self.about) = (zero, about);
    }

    /// A time in the trace; `None` if it is before the trace's zero.
    pub fn time(&self, at: Nanos) -> Option<Micros> {
        at.since(self.zero).map(|since| Micros(since.0))
    }

    pub fn slice(
        &mut self,
        place: TrackLane,
        (name, cat): (&str, &'static str),
        (from, to): (Nanos, Nanos),
        args: &impl Serialize,
    ) -> io::Result<()> {
        let ts = Micros((from - self.zero).0);
        let dur = Micros((to - from).0);
        let TrackLane { pid, tid } = place;
        self.event(&TraceSlice { name, cat, ph: "X", ts, dur, pid, tid, args })
    }

    pub fn arrow(
        &mut self,
        id: u64,
        step: ArrowPoint,
        place: TrackLane,
        at: Nanos,
    ) -> io::Result<()> {
        let ph = match step {
            ArrowPoint::Start => "s",
            ArrowPoint::On => "t",
            ArrowPoint::End => "f",
        };
        let ts = Micros((at - self.zero).0);
        let TrackLane { pid, tid } = place;
        self.event(&Arrow { name: "message", cat: "flow", ph, id, ts, pid, tid, bp: "e" })
    }

    pub fn counter(
        &mut self,
        pid: u32,
        name: &'static str,
        at: Nanos,
        value: CounterValue,
    ) -> io::Result<()> {
        let ts = Micros((at - self.zero).0);
        self.event(&Counter { name, ph: "C", ts, pid, args: &value })
    }

    /// Writes a group's name and its position among the groups.
    pub fn name_group(&mut self, pid: u32, name: &str, sort_index: usize) -> io::Result<()> {
        let tid = None;
        self.event(&Metadata {
            name: "process_name",
            ph: "M",
            pid,
            tid,
            args: &NameArgs { name },
        })?;
        let args = &SortIndexArgs { sort_index };
        self.event(&Metadata { name: "process_sort_index", ph: "M", pid, tid, args })
    }

    /// Writes a lane's name and its position among the lanes.
    pub fn name_lane(&mut self, place: TrackLane, name: &str, sort_index: usize) -> io::Result<()> {
        let TrackLane { pid, tid } = place;
        let tid = Some(tid);
        self.event(&Metadata { name: "thread_name", ph: "M", pid, tid, args: &NameArgs { name } })?;
        let args = &SortIndexArgs { sort_index };
        self.event(&Metadata { name: "thread_sort_index", ph: "M", pid, tid, args })
    }

    /// Ends the file.
    pub fn end(mut self) -> io::Result<W> {
        if !self.begun {
            self.begin()?;
        }
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Writes what comes before the events. Some viewers show `otherData`, others ignore it.
    fn begin(&mut self) -> io::Result<()> {
        self.begun = true;
        self.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"otherData\":")?;
        let about = serde_json::to_string(&self.about)?;
        self.out.write_all(escape_json(about).as_bytes())?;
        self.out.write_all(b",\"traceEvents\":[\n")
    }

    fn event(&mut self, event: &impl Serialize) -> io::Result<()> {
        if self.begun {
            self.out.write_all(b",\n")?;
        } else {
            self.begin()?;
        }
        self.out.write_all(escape_json(serde_json::to_string(event)?).as_bytes())
    }
}
