//! The tracks of a trace: which span is on which track, and the numbers by which viewers identify tracks.

use super::json::{EventWriter, TrackLane};
use super::lanes::DrawnLanes;
use super::names::TaskNames;
use crate::human;
use rustc_hash::FxHashMap;
use std::io::{self, Write};
use std::net::SocketAddr;
use wirelap_correlate::Snapshot;
use wirelap_events::{FlowKey, GroupId, Leg, Nanos, NetNs, Pid, Segment, SegmentSpan, TaskId};

/// The most lanes of all tracks together.
const LIMIT: usize = 65_536;

/// The first number that no process or thread can have, on one host or on a hundred (`PID_MAX_LIMIT` in
/// `include/linux/threads.h` is 2^22, and 10,000,000 is added for each further host). Other tracks are numbered from here.
const FIRST_FREE_ID: u32 = 1 << 30;

/// A row of the time line. Slices that overlap in time are on different lanes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Track {
    /// The messages of a result, from end to end.
    Messages(GroupId),
    /// A thread.
    Thread(TaskId),
    /// The messages that a process has read and not yet sent on.
    Held(Pid),
    /// The messages that the process at an address has read and not yet sent on, if its PID is not known.
    HeldAt(SocketAddr, NetNs),
    /// The sending socket of a flow.
    Sender(FlowKey),
    /// The qdisc, the device and the wire of a flow.
    Wire(FlowKey),
    /// The receiving socket of a flow.
    Receiver(FlowKey),
}

/// Tracks that viewers show under one heading, like the threads of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum TrackGroup {
    Messages(GroupId),
    Process(Pid),
    Address(SocketAddr, NetNs),
    Flow(FlowKey),
}

/// The thread that has a message during a span of a leg; of the dwell, the thread that sends it on. `None` while the message is in a
/// socket or on the wire, and if the thread is not known.
pub fn thread_of(span: &SegmentSpan<'_>, leg: &Leg) -> Option<TaskId> {
    let task = match span.segment {
        Segment::ClientTx | Segment::Write | Segment::BrokerDwell => leg.sender,
        Segment::SocketTx
        | Segment::Loss
        | Segment::Qdisc
        | Segment::Wire
        | Segment::StackRx
        | Segment::InKernel => None,
        Segment::Wakeup => leg.chain.first().map(|hop| hop.task).or(leg.reader),
        Segment::RunQueue | Segment::Handoff => span.hop.map(|hop| hop.task).or(leg.reader),
        Segment::Busy | Segment::Read | Segment::ClientRx => leg.reader,
    };
    task.filter(|task| task.pid != Pid(0))
}

impl Track {
    /// The track that a span of a leg is on.
    pub fn of(span: &SegmentSpan<'_>, leg: &Leg) -> Track {
        let thread = thread_of(span, leg);
        if span.segment == Segment::BrokerDwell {
            let at = Track::HeldAt(leg.flow.src, leg.flow.scope);
            return thread.map_or(at, |task| Track::Held(task.pid));
        }
        thread.map_or_else(|| Track::between_threads(span.segment, leg.flow), Track::Thread)
    }

    /// The track of a span for which no thread is known.
    fn between_threads(segment: Segment, flow: FlowKey) -> Track {
        match segment {
            Segment::ClientTx | Segment::Write | Segment::SocketTx => Track::Sender(flow),
            Segment::Loss | Segment::Qdisc | Segment::Wire => Track::Wire(flow),
            _ => Track::Receiver(flow),
        }
    }

    fn group(self) -> TrackGroup {
        match self {
            Track::Messages(row) => TrackGroup::Messages(row),
            Track::Thread(task) => TrackGroup::Process(task.pid),
            Track::Held(pid) => TrackGroup::Process(pid),
            Track::HeldAt(addr, scope) => TrackGroup::Address(addr, scope),
            Track::Sender(flow) | Track::Wire(flow) | Track::Receiver(flow) => {
                TrackGroup::Flow(flow)
            }
        }
    }

    fn name(self, names: &TaskNames) -> String {
        match self {
            Track::Messages(_) => "messages".into(),
            Track::Thread(task) => names.thread(task),
            Track::Held(_) | Track::HeldAt(..) => "holds messages".into(),
            Track::Sender(_) => "sending socket".into(),
            Track::Wire(_) => "qdisc, wire".into(),
            Track::Receiver(_) => "receiving socket".into(),
        }
    }
}

impl TrackGroup {
    fn name(self, names: &TaskNames, snapshot: &Snapshot) -> String {
        match self {
            TrackGroup::Messages(row) => {
                let found = snapshot.groups.iter().find(|group| group.id == row);
                found.map_or_else(|| "messages".into(), row_name)
            }
            TrackGroup::Process(pid) => process_name(pid, names, snapshot),
            TrackGroup::Address(addr, _) => addr.to_string(),
            TrackGroup::Flow(flow) => flow.to_string(),
        }
    }
}

fn row_name(group: &wirelap_correlate::Group) -> String {
    match (&group.broker, group.endpoint) {
        (Some(broker), _) => format!("{}/{broker}", group.middleware),
        (None, Some(endpoint)) => format!("{} {endpoint}", group.middleware),
        (None, None) => group.middleware.clone(),
    }
}

/// A process's name, role and host. Viewers add its number, to which 10,000,000 is added for each host before its own.
fn process_name(pid: Pid, names: &TaskNames, snapshot: &Snapshot) -> String {
    let mut processes = snapshot.groups.iter().flat_map(|group| &group.processes);
    let found = processes.find(|process| process.pid == pid);
    let name = found.map(|process| process.comm.clone()).filter(|name| !name.is_empty());
    let name = name.or_else(|| names.process(pid)).unwrap_or_else(|| "process".into());
    let host = (pid.host() > 1).then(|| human::host(pid.host()));
    let role = found.map(|process| process.role.clone());
    let beside: Vec<String> = role.into_iter().chain(host).collect();
    if beside.is_empty() { name } else { format!("{name} ({})", beside.join(", ")) }
}

/// The lanes of a track and their numbers.
#[derive(Debug)]
struct NumberedLanes {
    lanes: DrawnLanes,
    /// The number of each lane: the thread's ID, or one from [`FIRST_FREE_ID`] on.
    tids: Vec<u32>,
}

/// Every track so far.
#[derive(Debug, Default)]
pub struct Tracks {
    groups: FxHashMap<TrackGroup, u32>,
    lanes_of: FxHashMap<Track, NumberedLanes>,
    /// The groups in the order in which they were first used.
    group_order: Vec<TrackGroup>,
    /// The lanes in the order in which they were first used.
    lane_order: Vec<(Track, usize)>,
}

impl Tracks {
    /// Takes an interval on a lane of a track where it is free; `None` if there are too many lanes.
    pub fn take(&mut self, track: Track, from: Nanos, to: Nanos) -> Option<TrackLane> {
        let pid = self.group(track.group());
        let is_full = self.lane_order.len() >= LIMIT;
        if is_full && !self.lanes_of.contains_key(&track) {
            return None;
        }
        let track_lanes = self
            .lanes_of
            .entry(track)
            .or_insert_with(|| NumberedLanes { lanes: DrawnLanes::default(), tids: Vec::new() });
        let lane = track_lanes.lanes.take(from, to)?;
        if lane == track_lanes.tids.len() {
            let free =
                FIRST_FREE_ID.saturating_add(u32::try_from(self.lane_order.len()).unwrap_or(0));
            let tid = match track {
                Track::Thread(task) if lane == 0 => task.tid.0,
                _ => free,
            };
            track_lanes.tids.push(tid);
            self.lane_order.push((track, lane));
        }
        Some(TrackLane { pid, tid: *track_lanes.tids.get(lane)? })
    }

    /// The number of the group that a flow's tracks are in.
    pub fn flow(&mut self, flow: FlowKey) -> u32 {
        self.group(TrackGroup::Flow(flow))
    }

    fn group(&mut self, group: TrackGroup) -> u32 {
        let order = &mut self.group_order;
        *self.groups.entry(group).or_insert_with(|| {
            order.push(group);
            match group {
                TrackGroup::Process(pid) => pid.0,
                _ => FIRST_FREE_ID.saturating_add(u32::try_from(order.len()).unwrap_or(0)),
            }
        })
    }

    /// Writes the names of all groups and lanes.
    pub fn write_names<W: Write>(
        &self,
        out: &mut EventWriter<W>,
        names: &TaskNames,
        snapshot: &Snapshot,
    ) -> io::Result<()> {
        for (index, group) in self.group_order.iter().enumerate() {
            let Some(&pid) = self.groups.get(group) else { continue };
            out.name_group(pid, &group.name(names, snapshot), index)?;
        }
        for (index, &(track, lane)) in self.lane_order.iter().enumerate() {
            let (Some(&pid), Some(&tid)) = (
                self.groups.get(&track.group()),
                self.lanes_of.get(&track).and_then(|track_lanes| track_lanes.tids.get(lane)),
            ) else {
                continue;
            };
            let mut name = track.name(names);
            if lane > 0 {
                name = format!("{name} [{}]", wirelap_events::human::ordinal(lane));
            }
            out.name_lane(TrackLane { pid, tid }, &name, index)?;
        }
        Ok(())
    }
}
