//! Takes events in, hands deliveries out.

use super::counters::{Totals, Window};
use super::sink::DeliverySink;
use super::sockets::Sockets;
use crate::bytes::{EndedUnknown, ProbeConnections};
use crate::config::{Config, Label};
use crate::flow::{ClosedConnections, DecoderOutput, FlowTable, RecentPackets, Topics};
use crate::ids::Way;
use crate::join::{Assemblies, Messages};
use crate::rows::Rows;
use crate::threads::{ProcessStates, Processes, Quotas, Threads};
use crate::why::Overdue;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use wirelap_events::{
    Body, Comm, Event, FlowRange, GroupId, Nanos, PacketId, Pid, Probe, Saturate, SocketId,
    TopicId, Wake,
};

/// Between two ticks of [`Correlator::take`].
const TICK: Nanos = Nanos::from_millis(5);

/// … when the room for messages runs out.
const TICK_PRESSED: Nanos = Nanos::from_millis(1);

/// Who had the CPU in a wait that is shorter than this is not counted for its row.
const WAITED: Nanos = Nanos::from_micros(20);

/// Joins events to messages.
///
/// Pure: the same events and ticks give the same deliveries and snapshots. Nothing here grows without
/// bound, and what is given up for that is counted.
pub struct Correlator {
    pub(crate) config: Config,
    pub(crate) flows: FlowTable,
    pub(crate) sockets: Sockets,
    pub(crate) threads: Threads,
    pub(crate) processes: Processes,
    /// What processes were doing when they were looked at last.
    pub(crate) states: ProcessStates,
    /// What had not arrived when the observation ended.
    pub(crate) overdue_at_end: Option<Vec<(GroupId, Overdue)>>,
    /// CPU quotas that were used up.
    pub(crate) quotas: Quotas,
    pub(crate) messages: Messages,
    pub(crate) assemblies: Assemblies,
    pub(crate) rows: Rows,
    pub(crate) probe_connections: ProbeConnections,
    pub(crate) ended: EndedUnknown,
    pub(crate) recent_packets: RecentPackets,
    /// UDP: the datagram that is in this packet's memory.
    pub(crate) packets: FxHashMap<PacketId, (Way, u64)>,
    /// UDP: sockets with reads of which it is not known yet what they took.
    pub(crate) unresolved_sockets: Vec<SocketId>,
    /// Conversations with legs or bytes that wait.
    pub(crate) active: Vec<Way>,
    /// Conversations that end.
    pub(crate) closing: VecDeque<Way>,
    /// Conversations that have ended.
    pub(crate) departures: ClosedConnections,
    pub(crate) now: Nanos,
    pub(crate) since: Option<Nanos>,
    pub(crate) swept: Nanos,
    ticked: Nanos,
    pub(crate) totals: Totals,
    pub(crate) window: Window,
    /// Events thrown away, by probe.
    pub(crate) lost: [u64; Probe::ALL.len()],
    /// Reused from event to event.
    pub(crate) found: DecoderOutput,
    /// The bytes in the last event's packet.
    pub(crate) carried: Option<FlowRange>,
    /// Reused from leg to leg: those that end a delivery.
    pub(crate) ends: Vec<usize>,
}

impl Correlator {
    /// Nothing seen yet.
    pub fn new(config: Config) -> Correlator {
        Correlator {
            flows: FlowTable::new(&config),
            sockets: Sockets::default(),
            threads: Threads::new(config.max_threads),
            processes: Processes::default(),
            states: ProcessStates::default(),
            overdue_at_end: None,
            quotas: Quotas::default(),
            messages: Messages::new(config.max_messages, config.hold, config.patience),
            assemblies: Assemblies::new(config.wall),
            rows: Rows::new(config.labels.clone()),
            probe_connections: ProbeConnections::default(),
            ended: EndedUnknown::default(),
            recent_packets: RecentPackets::default(),
            packets: FxHashMap::default(),
            unresolved_sockets: Vec::new(),
            active: Vec::new(),
            closing: VecDeque::new(),
            departures: ClosedConnections::default(),
            now: Nanos(0),
            since: None,
            swept: Nanos(0),
            ticked: Nanos(0),
            totals: Totals::default(),
            window: Window::default(),
            lost: [0; Probe::ALL.len()],
            found: DecoderOutput { topics: Topics::new(config.topics), ..DecoderOutput::default() },
            carried: None,
            ends: Vec::new(),
            config,
        }
    }

    /// The name of a topic, if [`Config::topics`] keeps them.
    pub fn topic(&self, id: TopicId) -> Option<&[u8]> {
        self.found.topics.name(id)
    }

    /// Names a row from now on.
    pub fn add_label(&mut self, label: Label) {
        self.rows.add_label(label);
    }

    /// Takes one event in.
    pub fn event(&mut self, event: &Event<'_>) {
        let at = event.at;
        self.totals.events.grow(1);
        self.carried = None;
        // Sockets come into view, and are closed, while the probes are still being attached.
        if !matches!(&event.body, Body::Socket(_) | Body::Closed(_) | Body::Lost(_)) {
            self.since.get_or_insert(at);
        }
        self.now = self.now.max(at);
        match &event.body {
            Body::Socket(socket) => self.socket(at, socket),
            Body::Closed(socket) => self.closed(at, *socket),
            Body::Send(send) => self.send(at, send),
            Body::Read(read) => self.read(at, read),
            Body::Ready(ready) => self.ready(at, ready),
            Body::Packet(packet) => self.packet(at, packet),
            Body::Wake(wake) => self.wake(at, wake),
            Body::State(state) => self.states.see(at, state),
            Body::Quota(quota) => self.quotas.see(quota),
            Body::Lost(lost) => {
                self.lost[lost.probe as usize].grow(lost.count);
                self.window.certain = at;
            }
            Body::Window(open) => self.window(at, *open),
            Body::Retransmit(retransmit) => self.retransmit(at, retransmit),
            Body::Drop(drop) => self.dropped(at, drop),
        }
    }

    /// A thread runs again.
    fn wake(&mut self, at: Nanos, wake: &Wake) {
        self.threads.wake(at, wake);
        self.processes.wake(at, wake);
        self.sockets.named(wake.holder.task.tid, wake.holder.comm);
        if at - wake.woken >= WAITED {
            let its = self.rows.iter_mut().filter(|row| row.roles.contains_key(&wake.task.pid));
            its.for_each(|row| row.evidence.waited(at, wake));
        }
    }

    /// Takes one event in, and ticks by the events' own clock. For a source that hands over many at
    /// once: a batch that spans longer than the messages in it can be kept would lose them otherwise.
    pub fn take(&mut self, event: &Event<'_>, out: &mut dyn DeliverySink) {
        let due = if self.messages.is_pressed() { TICK_PRESSED } else { TICK };
        if event.at >= self.ticked + due {
            self.tick(event.at, out);
        }
        self.event(event);
    }

    /// The bytes that the last event's packet carries, if it was a packet with bytes of a conversation that messages may
    /// be found in. Legs tell theirs, so that it is known which packets carried a message.
    pub fn carried(&self) -> Option<FlowRange> {
        self.carried
    }

    /// What a row's messages travel with: the middleware and the broker, as they are called in a snapshot.
    pub fn row_name(&self, group: GroupId) -> Option<(&str, Option<String>)> {
        let row = self.rows.get(group)?;
        Some((&row.middleware, self.broker_of(row)))
    }

    /// A process's name, if one of its sockets or threads told it.
    pub fn process_name(&self, pid: Pid) -> Option<Comm> {
        self.sockets.comm(pid)
    }

    /// A socket's owner.
    pub fn owner(&self, socket: SocketId) -> Option<Pid> {
        self.sockets.pid(Some(socket))
    }

    fn window(&mut self, at: Nanos, open: bool) {
        if !open {
            self.window.closed_since.get_or_insert(at);
            self.window.cut = at;
            self.rows.iter_mut().for_each(|row| row.numbers.interrupt());
            return;
        }
        let Some(closed) = self.window.closed_since.take() else { return };
        self.window.closed_for += at - closed;
        self.window.certain = at;
        for conversation in self.flows.iter_mut() {
            for flow in &mut conversation.flows {
                flow.interrupted = true;
                flow.interrupt_seen();
            }
        }
    }

    /// Hands out what is complete. `now` is the time up to which the caller has taken in all events:
    /// its clock, read before the poll that emptied the ring buffer. Call it every few milliseconds.
    pub fn tick(&mut self, now: Nanos, out: &mut dyn DeliverySink) {
        self.now = self.now.max(now);
        self.ticked = self.now;
        self.solve(false);
        self.settle(out, false);
        self.settle_assemblies(out, false);
        self.expire(false, out);
        self.sweep();
    }

    /// Hands out everything that is still open, as far as it is known. For the end of a run.
    pub fn finish(&mut self, out: &mut dyn DeliverySink) {
        self.overdue_at_end = Some(self.overdue(self.now));
        for conversation in self.flows.iter_mut() {
            conversation.give_up_guesses();
            self.totals.hide(conversation.take_hidden());
        }
        self.solve(true);
        self.settle(out, true);
        self.settle_assemblies(out, true);
        self.expire(true, out);
    }
}
