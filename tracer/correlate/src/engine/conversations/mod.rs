//! The conversations, the sockets at their ends, and what becomes of them with each event.

mod calls;
mod departures;
mod drops;
mod ends;
mod forgetting;
mod muting;
mod outages;
mod packets;
mod queues;
mod reads;
mod replicas;
mod takeovers;
mod tcp;
mod texts;
mod udp;
mod unite;
mod unknown;

pub use reads::ReadOutput;

use super::sockets::Sockets;
use queues::EmptyQueues;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;
use wirelap_events::{FlowRange, Nanos, PacketId, SocketId, TopicId};
use wirelap_figures::Dimension;
use wirelap_flow::{
    ClosedConnections, Config, DecoderOutput, Direction, FlowTable, Outages, RecentPackets, Ros,
    Takeovers, TlsCounts, Topics,
};
use wirelap_protocols::LeftMessages;

/// The conversations that are known, and the sockets at their ends.
pub struct Conversations {
    config: Arc<Config>,
    flows: FlowTable,
    sockets: Sockets,
    /// The last packets of new conversations, which may be others' with translated addresses.
    recent_packets: RecentPackets,
    /// UDP: the datagram that is in this packet's memory.
    datagrams: FxHashMap<PacketId, (Direction, u64)>,
    /// UDP: sockets with reads of which it is not known yet what they took.
    unresolved_sockets: Vec<SocketId>,
    /// Directions with legs or bytes that wait.
    active: Vec<Direction>,
    /// Conversations that end.
    closing: VecDeque<Direction>,
    /// Conversations that have ended since this was taken last, and messages that they left undecided.
    left: Vec<(Direction, LeftMessages)>,
    /// Conversations that have ended.
    closed: ClosedConnections,
    /// Queues that held no message.
    empty_queues: EmptyQueues,
    /// Servers that were gone.
    outages: Outages,
    /// Clients whose connections were closed because others had their names.
    takeovers: Takeovers,
    /// Directions in which servers ask for what they copy of another one's log.
    followers: VecDeque<Direction>,
    /// Directions on which bytes may be stuck, the last ones.
    stuck: VecDeque<Direction>,
    /// Time at which what is closed was looked at last.
    swept: Nanos,
    /// Results of decoders in the last event's bytes. Reused from event to event.
    found: DecoderOutput,
    /// The bytes in the last event's packet.
    carried: Option<FlowRange>,
    /// Some conversation is muted until then.
    muted_until: Nanos,
    /// The largest error of times between two hosts; 0 for one.
    clock_error: Nanos,
}

impl Conversations {
    /// None seen yet.
    pub fn new(config: Arc<Config>) -> Conversations {
        let by_topic = config.breakdown.by.contains(&Dimension::Topic);
        let topics = Topics::new(config.topics || by_topic);
        // Most clients say them only once, perhaps before anybody asks.
        let (client_names, group_names) = (Topics::new(true), Topics::new(true));
        Conversations {
            flows: FlowTable::new(&config),
            sockets: Sockets::default(),
            recent_packets: RecentPackets::default(),
            datagrams: FxHashMap::default(),
            unresolved_sockets: Vec::new(),
            active: Vec::new(),
            closing: VecDeque::new(),
            left: Vec::new(),
            closed: ClosedConnections::default(),
            empty_queues: EmptyQueues::default(),
            outages: Outages::default(),
            takeovers: Takeovers::default(),
            followers: VecDeque::new(),
            stuck: VecDeque::new(),
            swept: Nanos(0),
            found: DecoderOutput {
                topics,
                client_names,
                group_names,
                takes_trace_contexts: config.trace_contexts,
                ..DecoderOutput::default()
            },
            carried: None,
            muted_until: Nanos(0),
            clock_error: Nanos(0),
            config,
        }
    }

    /// Takes the largest error of times between two hosts.
    pub fn set_clock_error(&mut self, error: Nanos) {
        self.clock_error = error;
    }

    /// The flows.
    pub fn flows(&self) -> &FlowTable {
        &self.flows
    }

    /// The flows, to be changed.
    pub fn flows_mut(&mut self) -> &mut FlowTable {
        &mut self.flows
    }

    /// The sockets at their ends.
    pub fn sockets(&self) -> &Sockets {
        &self.sockets
    }

    /// The sockets at their ends, to be changed.
    pub fn sockets_mut(&mut self) -> &mut Sockets {
        &mut self.sockets
    }

    /// Results of decoders in the last event's bytes, which nobody has taken in yet.
    pub fn found_mut(&mut self) -> &mut DecoderOutput {
        &mut self.found
    }

    /// Conversations that have ended since this was asked last, and messages that they left undecided.
    pub fn take_left(&mut self) -> Vec<(Direction, LeftMessages)> {
        std::mem::take(&mut self.left)
    }

    /// Counts of what became of the keys of TLS connections, if there are any.
    pub fn tls_counts(&self) -> Option<TlsCounts> {
        self.config.tls_keys.counts()
    }

    /// True if no connection was closed.
    pub fn has_closed_none(&self) -> bool {
        self.closed.is_empty()
    }

    /// The name of a topic, if names are kept.
    pub fn topic(&self, id: TopicId) -> Option<&[u8]> {
        self.found.topics.name(id)
    }

    /// The name of a topic, unless it was found in the text of an encrypted connection.
    pub fn public_topic(&self, id: TopicId) -> Option<&[u8]> {
        self.found.topics.public_name(id)
    }

    /// The names of topics are kept from now on.
    pub fn keep_topics(&mut self) {
        self.found.topics.keep();
    }

    /// A name that a client gave itself.
    pub fn client_name(&self, id: TopicId) -> Option<&[u8]> {
        self.found.client_names.name(id)
    }

    /// The name of a group that clients read in.
    pub fn group_name(&self, id: TopicId) -> Option<&[u8]> {
        self.found.group_names.name(id)
    }

    /// The nodes of ROS 2.
    pub fn ros(&self) -> Ros {
        self.found.ros.view()
    }

    /// The bytes in the last event's packet.
    pub fn carried(&self) -> Option<FlowRange> {
        self.carried
    }

    /// Another event comes: the last one's packet is done with.
    pub fn next_event(&mut self) {
        self.carried = None;
    }

    /// Observation goes on after a pause.
    pub fn resume(&mut self) {
        for conversation in self.flows.iter_mut() {
            for flow in &mut conversation.flows {
                flow.interrupt();
            }
        }
    }

    /// A conversation has something that waits.
    pub fn activate(&mut self, direction: Direction) {
        if let Some(conversation) = self.flows.get_mut(direction)
            && !std::mem::replace(&mut conversation.active, true)
        {
            self.active.push(direction);
        }
    }

    /// Takes out the conversations with something that waits; those that still have are given back with
    /// [`Conversations::put_back`].
    pub fn take_active(&mut self) -> Vec<Direction> {
        std::mem::take(&mut self.active)
    }

    /// Gives back the conversations that still have something that waits, before those that have something since.
    pub fn put_back(&mut self, mut active: Vec<Direction>) {
        active.append(&mut self.active);
        self.active = active;
    }
}
