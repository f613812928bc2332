//! The immutable picture that the terminal, the JSON and the HTML are all drawn from.

pub use super::notes::{GroupNote, Muted, SnapshotNote};
pub use crate::rows::{Counts, Refusal, Refusals};
use std::net::SocketAddr;
pub use wirelap_containers::{Container, ContainerKind, NetworkNamespace, Place, Pod};
use wirelap_events::{EventLosses, GroupId, HostState, Nanos, Pid, Probe, Total, TraceDetail};
pub use wirelap_figures::{Breakdown, BreakdownRow, Dimension, MutedExtent, RowFigure};
pub use wirelap_figures::{
    HISTORY_SECONDS, HistoryPoint, LocalRequestFigures, PartialFigures, PartialView, Rate,
    RateSums, SegmentStat, Summary, UncertainCounts,
};
pub use wirelap_flow::Scheduling;
pub use wirelap_flow::{
    Detail, Framed, Holes, Operation, OperationCost, Overhead, Part, Parts, Unknown,
    UnknownTraffic, Unseen,
};
pub use wirelap_flow::{Ros, RosEndpoint, RosNode, RosRole};
pub use wirelap_why::{
    Cause, Culprit, HolderShare, Overdue, Period, Severity, Tail, TailRow, TypicalRow, Verdict,
    VerdictKind, Whereabouts, Why, WorstMessage,
};
pub use wirelap_why::{Lag, LagHolder, NameUser, SharedName, SlowSubscriber, SlowSubscribers};

/// Everything known at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The moment.
    pub at: Nanos,
    /// Time at which observation began.
    pub since: Nanos,
    /// One row a middleware and broker, in a stable order.
    pub groups: Vec<Group>,
    /// Rows of earlier snapshots that have turned out to be a part of another row, and which row that is.
    pub united: Vec<(GroupId, GroupId)>,
    /// Rows by what the user asked for, if anything: [`Config::breakdown`](crate::Config::breakdown).
    pub breakdown: Option<Breakdown>,
    /// Subscribers that are or were behind.
    pub slow: SlowSubscribers,
    /// Servers in no row whose clients come through Unix sockets, where no bytes are seen; a few.
    pub unix_servers: Vec<UnixServer>,
    /// The degree to which the figures can be trusted.
    pub trust: Trust,
    /// Notes for the user beside the figures.
    pub notes: Vec<SnapshotNote>,
    /// Traffic that is not decoded.
    pub unknown: Unknown,
    /// The nodes of ROS 2.
    pub ros: Ros,
    /// The hosts that are observed, if that is done by agents.
    pub hosts: Vec<HostState>,
}

/// One row of the comparison. It has a field for each part of a row that is shown, which the screen, the JSON and the page name alike.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// The row's identity; stable between snapshots.
    pub id: GroupId,
    /// The protocol, or the scenario's middleware name: `mqtt`, `zenoh-p2p`, `dds`, `tcp`.
    pub middleware: String,
    /// The broker's process name, if the messages pass one.
    pub broker: Option<String>,
    /// The server's or peer's address that names the row, if there is one.
    pub endpoint: Option<SocketAddr>,
    /// Messages so far.
    pub messages: Counts,
    /// Rate over the whole observation, of the time in which it was not paused.
    pub rate: Rate,
    /// Rate between the first and the last delivery, of the time in which observation was not paused.
    pub rate_active: Rate,
    /// Rate over the last second. If not all of it was traced, that of the latest windows, or else `rate_active`.
    pub rate_now: Rate,
    /// Sums of what the windows have shown so far, from which the rate of a part of the time is made. Empty if observation was never
    /// paused.
    pub rate_sums: RateSums,
    /// Payload bytes of a message: median.
    pub payload_bytes: u64,
    /// One-way latency on the wire, send → read, all legs and dwell.
    pub one_way: Summary,
    /// The largest error of each figure of `one_way`, because messages are sent and read on two hosts; the count is that of such
    /// messages.
    pub one_way_error: Summary,
    /// The scheduling gap (wakeup + run queue, all legs).
    pub sched_gap: Summary,
    /// Segments of the one-way latency, in the order of a message's life.
    pub segments: Vec<SegmentStat>,
    /// Bytes on the device by what they were for.
    pub overhead: Overhead,
    /// Why it took so long.
    pub why: Why,
    /// The processes that took part.
    pub processes: Vec<Process>,
    /// The last seconds, oldest first; at most [`HISTORY_SECONDS`].
    pub history: Vec<HistoryPoint>,
    /// Share of delivered messages that were matched, 0..=1.
    pub coverage: f64,
    /// The parts of the row's traffic that are not known.
    pub holes: Holes,
    /// Messages that are not followed, or of which it is not certain which they are.
    pub uncertain: UncertainCounts,
    /// Messages that this host shows in part: whoever sent or read them is elsewhere. `None` if there are none.
    pub partial: Option<Box<PartialFigures>>,
    /// Requests whose both ends are on this host. `None` if there are none.
    pub requests: Option<Box<LocalRequestFigures>>,
    /// Refusals of its servers.
    pub refusals: Refusals,
    /// Names that several of its clients use at the same time, none of which subscribes.
    pub shared_names: Vec<SharedName>,
    /// Notes for the user about this row.
    pub notes: Vec<GroupNote>,
    /// That the user has muted it, if that ever was so.
    pub muted: Option<Muted>,
}

impl Group {
    /// True if the user has muted the row: its figures are those of an earlier moment.
    pub fn is_muted(&self) -> bool {
        self.muted.is_some_and(|muted| muted.now)
    }

    /// True if a name means this row: that of its middleware or its broker, or both as in `mqtt/rumqttd`.
    pub fn is_called(&self, name: &str) -> bool {
        let broker = self.broker.as_deref();
        let both = || name.split_once('/') == Some((&self.middleware, broker.unwrap_or_default()));
        name == self.middleware || Some(name) == broker || both()
    }

    /// Connections of clients that reach its servers through Unix sockets, where nothing is seen.
    pub fn unix_clients(&self) -> u64 {
        let servers = self.processes.iter().filter(|process| process.role == SERVER_ROLE);
        servers.filter_map(|process| Some(process.unix.as_ref()?.connections)).total()
    }

    /// From where its messages were seen, if it has none that were followed from both ends.
    pub fn partial_view(&self) -> Option<PartialView> {
        let partial = self.partial.as_ref().filter(|_| self.messages.matched == 0)?;
        (partial.deliveries() > 0).then(|| partial.view())
    }
}

/// The role of a process that passes messages on.
pub const SERVER_ROLE: &str = "broker";

/// A process that took part in a group's messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    /// `publisher`, `broker`, `subscriber`, `peer` …, as far as its traffic tells.
    pub role: String,
    /// The process's id.
    pub pid: Pid,
    /// The process's name.
    pub comm: String,
    /// CPU time over wall time since the first snapshot, 1.0 = one core, as long as it was there; `None` if it was never measured.
    pub cpu_share: Option<f64>,
    /// Pages in a second that had to be read from a disk before the process could go on; `None` if that was never measured.
    pub major_faults: Option<f64>,
    /// The most resident memory; `None` if it was never measured.
    pub rss_bytes: Option<u64>,
    /// True if the process was there and is gone.
    pub ended: bool,
    /// Scheduling of the process's threads.
    pub scheduling: Scheduling,
    /// The process's container, pod or unit.
    pub place: Place,
    /// The network namespace of its sockets, if that is known.
    pub namespace: Option<NetworkNamespace>,
    /// The Unix socket that it serves clients on as well; their messages are not followed.
    pub unix: Option<UnixClients>,
}

/// Clients of a process that reach it through a Unix socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnixClients {
    /// The path that most of them came by, or an abstract name with `@` before it.
    pub path: String,
    /// The most connections that were seen open at a time, by any path.
    pub connections: u64,
}

/// A process that is in no row as a server, and serves clients through a Unix socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnixServer {
    /// The id of the process.
    pub pid: Pid,
    /// The name of the process.
    pub comm: String,
    /// Clients of the process.
    pub clients: UnixClients,
}

/// The degree to which the figures can be trusted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trust {
    /// Matched over delivered, all groups, 0..=1; 1 when nothing was delivered.
    pub coverage: f64,
    /// The events are packets alone: when messages were sent and read is not known, and nothing of sockets and threads.
    pub packets_only: bool,
    /// Events that each probe has lost.
    pub events_lost: Vec<ProbeLoss>,
    /// Those of them that are runs of probes that the kernel skipped, for processes that are traced or not.
    pub skipped_runs: u64,
    /// Those of them that a capture of another program itself counts as missing.
    pub stated_losses: u64,
    /// Those of them that are datagrams of which an IP fragment is missing, or two overlap.
    pub fragmented_datagrams: u64,
    /// Those of them that came too late from other hosts.
    pub late_events: u64,
    /// Events taken in.
    pub events: u64,
    /// Number of events of each probe that has reported anything.
    pub reported: Vec<ProbeEvents>,
    /// Payload bytes that were on the wire but not captured (snap length).
    pub uncaptured_bytes: u64,
    /// Bytes whose frames could not be found (gaps, mid-stream joins, unknown protocols on decoded flows).
    pub undecoded_bytes: u64,
    /// Messages in batches that could not be opened, by the batches' own account; in no other count.
    pub unread_messages: u64,
    /// Packets of QUIC that could not be read, or are not in the capture, all rows.
    pub unread_packets: u64,
    /// Packets that were not seen where they are sent, all rows.
    pub unseen_sent: Unseen,
    /// Packets that were not seen where they are received, all rows.
    pub unseen_received: Unseen,
    /// Flows and messages given up to keep memory bounded.
    pub evicted: u64,
    /// Total time in which observation was paused: more than 0 when sampling.
    pub paused: Nanos,
    /// Share of the time during which events were reported: below 1 when sampling.
    pub window_share: f64,
    /// Resources that the tracer itself used.
    pub tracer: TracerCost,
    /// The detail in which messages were observed.
    pub detail: TraceDetail,
    /// The budget of tracing, where it is traced for a part of the time if that costs too much.
    pub budget: Option<TracingBudget>,
}

/// The cost that tracing may have, and that which it has now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TracingBudget {
    /// The share of a core and of the traced programs' CPU time that may be spent; `None` if only what wirelap keeps up with is
    /// traced.
    pub share: Option<f64>,
    /// CPU time of wirelap's own process, as a share of one core.
    pub own: f64,
    /// CPU time in the probes, as a share of that of the traced programs; `None` if it is not known.
    pub probes: Option<f64>,
}

impl Trust {
    /// The share of the time that was left out because wirelap did not keep up: not that of `--sample` and `--budget`, which users ask
    /// for.
    pub fn not_traced(&self) -> f64 {
        let is_by_itself = self.budget.is_some_and(|budget| budget.share.is_none());
        if is_by_itself { 1.0 - self.window_share } else { 0.0 }
    }

    /// Events lost, all probes.
    pub fn lost(&self) -> u64 {
        self.events_lost.iter().map(|loss| loss.count).total()
    }

    /// The same, with their cause.
    pub fn losses(&self) -> EventLosses {
        EventLosses {
            events: self.lost(),
            skipped: self.skipped_runs,
            stated: self.stated_losses,
            fragmented: self.fragmented_datagrams,
            late: self.late_events,
        }
    }
}

/// A probe's loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeLoss {
    /// The probe that lost events.
    pub probe: Probe,
    /// Events lost.
    pub count: u64,
}

/// Number of events that a probe has reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeEvents {
    /// The probe that reported.
    pub probe: Probe,
    /// Events taken in.
    pub events: u64,
    /// Times that it ran for something that the filter excludes; `None` if that was not counted, as in a recording.
    pub filtered: Option<u64>,
}

/// CPU time and memory that the tracer itself used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TracerCost {
    /// CPU time over wall time of wirelap's own process, 1.0 = one core.
    pub cpu_share: f64,
    /// The most resident memory of wirelap's own process, with the ring buffer.
    pub rss_bytes: u64,
    /// The size of the ring buffer; `None` if there was none, as for a recording.
    pub ring_bytes: Option<u64>,
    /// CPU time of wirelap's own process so far.
    pub cpu_time: Nanos,
    /// Resident memory of wirelap's own process now.
    pub rss_now_bytes: u64,
}
