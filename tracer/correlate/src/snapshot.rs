//! The immutable picture that the terminal, the JSON and the HTML are all drawn from.

pub use crate::overhead::{Cost, Detail, Framed, Operation, Overhead, Part, Parts};
pub use crate::why::{
    Cause, Culprit, ENOUGH, HolderShare, Overdue, Period, Severity, Tail, TailRow, TypicalRow,
    Verdict, VerdictKind, Whereabouts, Why, WorstMessage,
};
use std::net::SocketAddr;
use std::ops::AddAssign;
use wirelap_events::{GroupId, Nanos, Pid, Probe, Segment};
use wirelap_events::{Saturate, Total};

/// Everything known at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The moment.
    pub at: Nanos,
    /// When observation began.
    pub since: Nanos,
    /// One row a middleware and broker, in a stable order.
    pub groups: Vec<Group>,
    /// How far the figures can be trusted.
    pub trust: Trust,
    /// What the user should know beside the figures, one sentence each.
    pub notes: Vec<String>,
    /// Traffic that is not decoded.
    pub unknown: Unknown,
}

/// Traffic that is not decoded: encrypted, or in a protocol that wirelap only names, or in none that it knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unknown {
    /// One row a server and what is spoken with it, the most bytes first; a few.
    pub rows: Vec<UnknownTraffic>,
    /// Connections that are in no row.
    pub other_connections: u64,
    /// Their payload bytes.
    pub other_bytes: u64,
}

/// Connections to one server that speak the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnknownTraffic {
    /// What it is, in words: `TLS 1.3 (SNI broker.example)`; empty if nothing told.
    pub name: String,
    /// The protocol: `TLS`, `HTTP/2`, `Redis` …
    pub protocol: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The server's name that the client asked for.
    pub server_name: Option<String>,
    /// What travels inside, as the client or the server said.
    pub inside: Option<String>,
    /// Whether nobody in between can read it.
    pub is_encrypted: bool,
    /// Over UDP rather than TCP.
    pub is_udp: bool,
    /// The server's address.
    pub endpoint: Option<SocketAddr>,
    /// The server's process, if it is here.
    pub server: Option<String>,
    /// The clients' processes; a few.
    pub clients: Vec<String>,
    /// At least one of the connections was open before observation began.
    pub joined_late: bool,
    /// Connections so far.
    pub connections: u64,
    /// Payload bytes that clients sent.
    pub bytes_to_server: u64,
    /// Payload bytes that the server sent.
    pub bytes_from_server: u64,
    /// The first byte.
    pub first: Nanos,
    /// The last byte.
    pub last: Nanos,
    /// Payload bits a second since the first byte.
    pub bit_per_s: f64,
}

impl UnknownTraffic {
    /// Payload bytes both ways.
    pub fn bytes(&self) -> u64 {
        self.bytes_to_server.saturating_add(self.bytes_from_server)
    }
}

/// One row of the comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Its identity; stable between snapshots.
    pub id: GroupId,
    /// The protocol, or the scenario's middleware name: `mqtt`, `zenoh-p2p`, `dds`, `tcp`.
    pub middleware: String,
    /// The broker's process name, if the messages pass one.
    pub broker: Option<String>,
    /// The server's or peer's address that names the row, if there is one.
    pub endpoint: Option<SocketAddr>,
    /// Messages so far.
    pub messages: Counts,
    /// Rate over the whole observation.
    pub rate: Rate,
    /// Rate between the first and the last delivery.
    pub rate_active: Rate,
    /// Rate over the last second.
    pub rate_now: Rate,
    /// Payload bytes of a message: median.
    pub payload_bytes: u64,
    /// One-way latency on the wire, send → read, all legs and dwell.
    pub one_way: Summary,
    /// The scheduling gap (wakeup + run queue, all legs).
    pub sched_gap: Summary,
    /// Where the time went, in the order of a message's life.
    pub segments: Vec<SegmentStat>,
    /// Where the bytes went.
    pub overhead: Overhead,
    /// Why it took so long.
    pub why: Why,
    /// The processes that took part.
    pub processes: Vec<Process>,
    /// The last seconds, oldest first; at most [`HISTORY_SECONDS`].
    pub history: Vec<HistoryPoint>,
    /// Share of delivered messages that were matched, 0..=1.
    pub coverage: f64,
    /// What of its traffic is not known.
    pub holes: Holes,
    /// Deliveries whose send call was not seen: their latency begins later.
    pub without_send: u64,
    /// Legs whose reader is on another host or left out by a filter: whether it read is not known.
    pub to_unseen_readers: u64,
    /// Messages that were sent to two readers, as what the first of them read was given to the other: which of them
    /// handled such a message is not known.
    pub read_twice: u64,
    /// What the user should know about this row, one sentence each.
    pub notes: Vec<String>,
}

/// Packets that the stack's own numbers prove and no packet event brought: the hook was not run for them, or its event was
/// lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// At least so many packets: of a hole it is not known how many filled it.
    pub packets: u64,
    /// Exactly so many payload bytes.
    pub bytes: u64,
}

impl AddAssign for Unseen {
    fn add_assign(&mut self, other: Unseen) {
        self.packets.grow(other.packets);
        self.bytes.grow(other.bytes);
    }
}

/// What of some traffic is not known. Of bytes in no known protocol nothing is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holes {
    /// Packets that were not seen where they are sent: what is in them is not known.
    pub sent: Unseen,
    /// Packets that were not seen where they are received: when they came is not known.
    pub received: Unseen,
    /// Payload bytes that were on the wire but not captured (snap length).
    pub uncaptured_bytes: u64,
    /// Bytes whose frames could not be found (gaps, mid-stream joins).
    pub undecoded_bytes: u64,
}

impl AddAssign for Holes {
    fn add_assign(&mut self, other: Holes) {
        self.sent += other.sent;
        self.received += other.received;
        self.uncaptured_bytes.grow(other.uncaptured_bytes);
        self.undecoded_bytes.grow(other.undecoded_bytes);
    }
}

/// Length of [`Group::history`].
pub const HISTORY_SECONDS: usize = 120;

/// Messages by what became of them. `delivered ≥ matched`; with fan-out, both may be above `sent`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages published: seen on their first leg (warm-up left out). One that goes to a hundred
    /// subscribers is one.
    pub sent: u64,
    /// Deliveries seen: last legs that were read. A message to a hundred subscribers has a hundred.
    pub delivered: u64,
    /// Deliveries with every leg from first send to last read.
    pub matched: u64,
    /// Deliveries or sends that could not be joined: a gap, a truncation, an attach in mid-stream.
    pub uncovered: u64,
    /// Copies that the protocol marks as duplicates, or that repeat a stamp.
    pub duplicates: u64,
    /// Messages that the broker had stored, handed to a subscriber that came later; not in the figures
    /// above.
    pub retained: u64,
    /// Messages of the warm-up, not in the figures above.
    pub warmup: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.sent.grow(other.sent);
        self.delivered.grow(other.delivered);
        self.matched.grow(other.matched);
        self.uncovered.grow(other.uncovered);
        self.duplicates.grow(other.duplicates);
        self.retained.grow(other.retained);
        self.warmup.grow(other.warmup);
    }
}

impl Counts {
    /// The count that a message adds to when it is first seen.
    pub(crate) fn of_sent(&mut self, is_warmup: bool) -> &mut u64 {
        if is_warmup { &mut self.warmup } else { &mut self.sent }
    }
}

/// Deliveries a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Deliveries a second.
    pub msg_per_s: f64,
    /// Payload bits a second.
    pub payload_bit_per_s: f64,
}

/// A distribution of times, untrimmed. All zero when `count` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Samples.
    pub count: u64,
    /// Smallest.
    pub min: Nanos,
    /// Median.
    pub p50: Nanos,
    /// 90th percentile.
    pub p90: Nanos,
    /// 99th percentile.
    pub p99: Nanos,
    /// 99.9th percentile.
    pub p999: Nanos,
    /// Largest.
    pub max: Nanos,
}

/// One segment of one leg over all matched messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentStat {
    /// 1 for the first leg. The broker's dwell counts to the leg after it.
    pub leg: u8,
    /// The segment.
    pub segment: Segment,
    /// Median of the messages that had it.
    pub p50: Nanos,
    /// 99th percentile of the messages that had it.
    pub p99: Nanos,
    /// Its part of the summed one-way latency, 0..=1. All rows of a group add up to 1.
    pub share: f64,
    /// Messages that had it.
    pub count: u64,
}

/// A process that took part in a group's messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    /// `publisher`, `broker`, `subscriber`, `peer` …, as far as its traffic tells.
    pub role: String,
    /// Its id.
    pub pid: Pid,
    /// Its name.
    pub comm: String,
    /// CPU time over wall time since the first snapshot, 1.0 = one core; `None` if it is gone.
    pub cpu_share: Option<f64>,
    /// Resident memory; `None` if it is gone.
    pub rss_bytes: Option<u64>,
    /// What its threads' scheduling was like.
    pub scheduling: Scheduling,
    /// The Unix socket that it serves clients on as well; their messages are not followed.
    pub unix: Option<UnixClients>,
}

/// Clients of a process that reach it through a Unix socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnixClients {
    /// The path that most of them came by, or an abstract name with `@` before it.
    pub path: String,
    /// Connections that are open, by any path.
    pub connections: u64,
}

/// How a process's threads were scheduled, as far as they were traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// How long they waited for a CPU, each time: woken → running, and after being preempted.
    pub run_queue: Summary,
    /// Times that they went to sleep and were woken again: voluntary context switches.
    pub sleeps: u64,
    /// Times that they were preempted: involuntary context switches.
    pub preemptions: u64,
    /// Times that they went on on another CPU.
    pub migrations: u64,
}

/// One second of a group's history.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HistoryPoint {
    /// Deliveries in that second.
    pub delivered: u64,
    /// Median one-way latency in that second; zero if nothing was delivered.
    pub one_way_p50: Nanos,
    /// 99th percentile in that second.
    pub one_way_p99: Nanos,
}

/// How far the figures can be trusted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trust {
    /// Matched over delivered, all groups, 0..=1; 1 when nothing was delivered.
    pub coverage: f64,
    /// Events that each probe had to throw away.
    pub events_lost: Vec<ProbeLoss>,
    /// Events taken in.
    pub events: u64,
    /// Payload bytes that were on the wire but not captured (snap length).
    pub uncaptured_bytes: u64,
    /// Bytes whose frames could not be found (gaps, mid-stream joins, unknown protocols on decoded flows).
    pub undecoded_bytes: u64,
    /// Messages in batches that could not be opened, by the batches' own account; in no other count.
    pub unread_messages: u64,
    /// Packets that were not seen where they are sent, all rows.
    pub unseen_sent: Unseen,
    /// Packets that were not seen where they are received, all rows.
    pub unseen_received: Unseen,
    /// Flows and messages given up to keep memory bounded.
    pub evicted: u64,
    /// Share of the time during which events were reported: below 1 when sampling.
    pub window_share: f64,
    /// What the tracer itself used.
    pub tracer: TracerCost,
}

impl Trust {
    /// Events lost, all probes.
    pub fn lost(&self) -> u64 {
        self.events_lost.iter().map(|loss| loss.count).total()
    }
}

/// A probe's loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeLoss {
    /// Which probe.
    pub probe: Probe,
    /// Events thrown away.
    pub count: u64,
}

/// What the tracer itself used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TracerCost {
    /// CPU time over wall time of wirelap's own process, 1.0 = one core.
    pub cpu_share: f64,
    /// Resident memory of wirelap's own process.
    pub rss_bytes: u64,
}
