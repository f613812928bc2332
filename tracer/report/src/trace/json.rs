//! Events of the Chrome trace format ("Trace Event Format", the JSON object form), one by one.

use super::about::About;
use serde::{Serialize, Serializer};
use std::io::{self, Write};
use wirelap_events::Nanos;

/// A time or a duration: microseconds with three decimals, which the format wants. A double holds them
/// to the nanosecond for a hundred days (2^53 / 1024 ns); what is written is the shortest number that is that double.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(pub u64);

impl Serialize for Micros {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 1e3)
    }
}

/// Where a slice is: a process's or another group's number, and a thread's or another lane's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub pid: u32,
    pub tid: u32,
}

/// A complete event: something that lasts.
#[derive(Serialize)]
struct Slice<'a, A> {
    name: &'a str,
    cat: &'static str,
    ph: &'static str,
    ts: Micros,
    dur: Micros,
    pid: u32,
    tid: u32,
    args: &'a A,
}

/// One end or a waypoint of an arrow.
#[derive(Serialize)]
struct Arrow {
    name: &'static str,
    cat: &'static str,
    ph: &'static str,
    id: u64,
    ts: Micros,
    pid: u32,
    tid: u32,
    /// It belongs to the slice around it, not to the next one.
    bp: &'static str,
}

#[derive(Serialize)]
struct Counter<'a> {
    name: &'static str,
    ph: &'static str,
    ts: Micros,
    pid: u32,
    args: &'a Value,
}

/// A counter's value, by its unit.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    Bytes(u32),
    Segments(u32),
}

#[derive(Serialize)]
struct Meta<'a, A> {
    name: &'static str,
    ph: &'static str,
    pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    tid: Option<u32>,
    args: &'a A,
}

#[derive(Serialize)]
struct Name<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct SortIndex {
    sort_index: usize,
}

/// A point of an arrow's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Start,
    On,
    End,
}

/// Writes the events of one trace.
#[derive(Debug)]
pub struct Events<W> {
    out: W,
    about: About,
    /// What the times count from.
    zero: Nanos,
    begun: bool,
}

impl<W: Write> Events<W> {
    /// Nothing is written before the first event.
    pub fn new(out: W) -> Events<W> {
        Events { out, about: About::default(), zero: Nanos(0), begun: false }
    }

    /// What the times count from, and what the file says about itself.
    pub fn set_out(&mut self, zero: Nanos, about: About) {
        (self.zero, self.about) = (zero, about);
    }

    /// A time in the trace; `None` before its beginning.
    pub fn time(&self, at: Nanos) -> Option<Micros> {
        at.since(self.zero).map(|since| Micros(since.0))
    }

    pub fn slice(
        &mut self,
        place: Place,
        (name, cat): (&str, &'static str),
        (from, to): (Nanos, Nanos),
        args: &impl Serialize,
    ) -> io::Result<()> {
        let ts = Micros((from - self.zero).0);
        let dur = Micros((to - from).0);
        let Place { pid, tid } = place;
        self.event(&Slice { name, cat, ph: "X", ts, dur, pid, tid, args })
    }

    pub fn arrow(&mut self, id: u64, step: Step, place: Place, at: Nanos) -> io::Result<()> {
        let ph = match step {
            Step::Start => "s",
            Step::On => "t",
            Step::End => "f",
        };
        let ts = Micros((at - self.zero).0);
        let Place { pid, tid } = place;
        self.event(&Arrow { name: "message", cat: "flow", ph, id, ts, pid, tid, bp: "e" })
    }

    pub fn counter(
        &mut self,
        pid: u32,
        name: &'static str,
        at: Nanos,
        value: Value,
    ) -> io::Result<()> {
        let ts = Micros((at - self.zero).0);
        self.event(&Counter { name, ph: "C", ts, pid, args: &value })
    }

    /// Names a group and says where among the others it stands.
    pub fn name_group(&mut self, pid: u32, name: &str, sort_index: usize) -> io::Result<()> {
        let tid = None;
        self.event(&Meta { name: "process_name", ph: "M", pid, tid, args: &Name { name } })?;
        let args = &SortIndex { sort_index };
        self.event(&Meta { name: "process_sort_index", ph: "M", pid, tid, args })
    }

    /// Names a lane, likewise.
    pub fn name_lane(&mut self, place: Place, name: &str, sort_index: usize) -> io::Result<()> {
        let Place { pid, tid } = place;
        let tid = Some(tid);
        self.event(&Meta { name: "thread_name", ph: "M", pid, tid, args: &Name { name } })?;
        let args = &SortIndex { sort_index };
        self.event(&Meta { name: "thread_sort_index", ph: "M", pid, tid, args })
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

    /// What stands before the events; viewers show `otherData` or leave it out.
    fn begin(&mut self) -> io::Result<()> {
        self.begun = true;
        self.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"otherData\":")?;
        serde_json::to_writer(&mut self.out, &self.about)?;
        self.out.write_all(b",\"traceEvents\":[\n")
    }

    fn event(&mut self, event: &impl Serialize) -> io::Result<()> {
        if self.begun {
            self.out.write_all(b",\n")?;
        } else {
            self.begin()?;
        }
        serde_json::to_writer(&mut self.out, event)?;
        Ok(())
    }
}
