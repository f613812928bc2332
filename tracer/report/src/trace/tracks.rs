//! Which track a part of a message's time is on, and the numbers that viewers know tracks by.

use super::json::{Events, Place};
use super::lanes::Lanes;
use super::names::Names;
use crate::human;
use rustc_hash::FxHashMap;
use std::io::{self, Write};
use std::net::SocketAddr;
use wirelap_correlate::Snapshot;
use wirelap_events::{FlowKey, GroupId, Leg, Nanos, NetNs, Pid, Segment, SegmentSpan, TaskId};

/// Lanes of all tracks together.
const LIMIT: usize = 65_536;

/// Numbers from here on are no process's and no thread's, of one host or of a hundred (`PID_MAX_LIMIT` in
/// `include/linux/threads.h` is 2^22, and 10,000,000 is added for each further host).
const OWN: u32 = 1 << 30;

/// A row of the time line; what is on it at the same time lies on lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Track {
    /// Whole messages of a result.
    Messages(GroupId),
    /// A thread.
    Thread(TaskId),
    /// What a process has read and not yet sent on.
    Held(Pid),
    /// The same, where only its address is known.
    HeldAt(SocketAddr, NetNs),
    /// The sending socket of a flow.
    Sender(FlowKey),
    /// Qdisc, device and line.
    Wire(FlowKey),
    /// The receiving socket.
    Receiver(FlowKey),
}

/// Tracks that are shown under one heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Group {
    Messages(GroupId),
    Process(Pid),
    Address(SocketAddr, NetNs),
    Flow(FlowKey),
}

impl Track {
    /// The track of a part of a leg's time.
    pub fn of(span: &SegmentSpan<'_>, leg: &Leg) -> Track {
        let thread = |task: Option<TaskId>, or: Track| {
            task.filter(|task| task.pid != Pid(0)).map_or(or, Track::Thread)
        };
        let receiver = Track::Receiver(leg.flow);
        match span.segment {
            Segment::ClientTx | Segment::Write => thread(leg.sender, Track::Sender(leg.flow)),
            Segment::SocketTx => Track::Sender(leg.flow),
            Segment::Loss | Segment::Qdisc | Segment::Wire => Track::Wire(leg.flow),
            Segment::StackRx => receiver,
            Segment::Wakeup => {
                thread(leg.chain.first().map(|hop| hop.task).or(leg.reader), receiver)
            }
            Segment::RunQueue | Segment::Handoff => {
                thread(span.hop.map(|hop| hop.task).or(leg.reader), receiver)
            }
            Segment::Busy | Segment::Read | Segment::ClientRx => thread(leg.reader, receiver),
            Segment::BrokerDwell => leg
                .sender
                .filter(|task| task.pid != Pid(0))
                .map_or(Track::HeldAt(leg.flow.src, leg.flow.scope), |task| Track::Held(task.pid)),
        }
    }

    fn group(self) -> Group {
        match self {
            Track::Messages(row) => Group::Messages(row),
            Track::Thread(task) => Group::Process(task.pid),
            Track::Held(pid) => Group::Process(pid),
            Track::HeldAt(addr, scope) => Group::Address(addr, scope),
            Track::Sender(flow) | Track::Wire(flow) | Track::Receiver(flow) => Group::Flow(flow),
        }
    }

    fn name(self, names: &Names) -> String {
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

impl Group {
    fn name(self, names: &Names, snapshot: &Snapshot) -> String {
        match self {
            Group::Messages(row) => {
                let found = snapshot.groups.iter().find(|group| group.id == row);
                found.map_or_else(|| "messages".into(), row_name)
            }
            Group::Process(pid) => process_name(pid, names, snapshot),
            Group::Address(addr, _) => addr.to_string(),
            Group::Flow(flow) => flow.to_string(),
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

/// Viewers add the number, which has 10,000,000 added to it for each host before its own.
fn process_name(pid: Pid, names: &Names, snapshot: &Snapshot) -> String {
    let mut processes = snapshot.groups.iter().flat_map(|group| &group.processes);
    let found = processes.find(|process| process.pid == pid);
    let name = found.map(|process| process.comm.clone()).filter(|name| !name.is_empty());
    let name = name.or_else(|| names.process(pid)).unwrap_or_else(|| "process".into());
    let host = (pid.host() > 1).then(|| human::host(pid.host()));
    let role = found.map(|process| process.role.clone());
    let beside: Vec<String> = role.into_iter().chain(host).collect();
    if beside.is_empty() { name } else { format!("{name} ({})", beside.join(", ")) }
}

#[derive(Debug)]
struct Lined {
    lanes: Lanes,
    /// The thread's or own number of each lane.
    tids: Vec<u32>,
}

/// Every track so far.
#[derive(Debug, Default)]
pub struct Tracks {
    groups: FxHashMap<Group, u32>,
    lined: FxHashMap<Track, Lined>,
    /// In the order in which messages came to them.
    group_order: Vec<Group>,
    lane_order: Vec<(Track, usize)>,
}

impl Tracks {
    /// A place on a track that is free for a time; `None` when there are too many lanes.
    pub fn take(&mut self, track: Track, from: Nanos, to: Nanos) -> Option<Place> {
        let pid = self.group(track.group());
        let is_full = self.lane_order.len() >= LIMIT;
        if is_full && !self.lined.contains_key(&track) {
            return None;
        }
        let lined = self
            .lined
            .entry(track)
            .or_insert_with(|| Lined { lanes: Lanes::default(), tids: Vec::new() });
        let lane = lined.lanes.take(from, to)?;
        if lane == lined.tids.len() {
            let own = OWN.saturating_add(u32::try_from(self.lane_order.len()).unwrap_or(0));
            let tid = match track {
                Track::Thread(task) if lane == 0 => task.tid.0,
                _ => own,
            };
            lined.tids.push(tid);
            self.lane_order.push((track, lane));
        }
        Some(Place { pid, tid: *lined.tids.get(lane)? })
    }

    /// The number of the group that a flow's tracks are in.
    pub fn flow(&mut self, flow: FlowKey) -> u32 {
        self.group(Group::Flow(flow))
    }

    fn group(&mut self, group: Group) -> u32 {
        let order = &mut self.group_order;
        *self.groups.entry(group).or_insert_with(|| {
            order.push(group);
            match group {
                Group::Process(pid) => pid.0,
                _ => OWN.saturating_add(u32::try_from(order.len()).unwrap_or(0)),
            }
        })
    }

    /// Names all of them.
    pub fn tell<W: Write>(
        &self,
        out: &mut Events<W>,
        names: &Names,
        snapshot: &Snapshot,
    ) -> io::Result<()> {
        for (index, group) in self.group_order.iter().enumerate() {
            let Some(&pid) = self.groups.get(group) else { continue };
            out.name_group(pid, &group.name(names, snapshot), index)?;
        }
        for (index, &(track, lane)) in self.lane_order.iter().enumerate() {
            let (Some(&pid), Some(&tid)) = (
                self.groups.get(&track.group()),
                self.lined.get(&track).and_then(|lined| lined.tids.get(lane)),
            ) else {
                continue;
            };
            let mut name = track.name(names);
            if lane > 0 {
                name = format!("{name} [{}]", lane.saturating_add(1));
            }
            out.name_lane(Place { pid, tid }, &name, index)?;
        }
        Ok(())
    }
}
