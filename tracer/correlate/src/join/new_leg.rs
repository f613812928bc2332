//! A leg as it is found on a flow, and what it turns out to be.

use std::sync::Arc;
use wirelap_events::{ByteRange, GroupId, MessageTrace, Nanos, Release, Stamp, TopicId, Transport};
use wirelap_figures::ReaderGroup;
use wirelap_flow::{Content, Direction, FlowEnds, Identity, Way};
use wirelap_protocols::{KeptFor, LogPlace, MessageRouting, Withheld};

/// The part of the receiver of a leg in a conversation whose messages go through servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toward {
    /// The receiver is a client, or the conversation has no server.
    Client,
    /// The receiver is the server.
    Server,
    /// Both ends are servers, each of which hands on what it gets.
    Peer,
}

impl Toward {
    /// True if the receiver is a server.
    pub fn is_server(self) -> bool {
        self != Toward::Client
    }
}

/// Since when the receiver of a message is there, or its subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Presence {
    /// Time at which it came: a message that its sender had before could not be sent to it then.
    pub since: Nanos,
    /// Time at which it had said who it is and what it wants.
    pub ready: Nanos,
    /// True if it came back to a server that had been gone, whose end had closed its connection.
    pub has_returned: bool,
    /// True if it took the place of another member of its group.
    pub is_handed_over: bool,
}

/// A client whose name no other client of its server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedClient {
    pub name: TopicId,
    /// Time at which its connection had been opened and it had said who it is, if the opening was
    /// seen.
    pub since: Option<Nanos>,
}

/// The receiver of a leg.
#[derive(Clone, Copy, Debug)]
pub struct LegReader {
    pub toward: Toward,
    /// The number of its subscription that the leg is for.
    pub subscription: u32,
    /// The group in which it reads.
    pub group: ReaderGroup,
}

/// Times at which a leg's sender was allowed to send it, and why not earlier. Only some legs have
/// this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Time at which its receiver had asked for messages last, where they are asked for.
    pub asked: Option<Nanos>,
    /// The consumer or channel of its connection that it had asked for.
    pub asked_on: u64,
    /// The consumer or channel, and the time of the last acknowledgement that let its sender send more, where only so many may
    /// be unacknowledged.
    pub permit: Option<(u64, Nanos)>,
    /// Times from and until which its receiver had no room, shortly before it was written.
    pub shut: Option<(Nanos, Nanos)>,
    /// Since when its sender was allowed to pass the message on, if it had to wait for that.
    pub release: Option<Release>,
    /// Since when its receiver was there, if it connected or subscribed only after its sender had the message.
    pub ready: Option<Nanos>,
    /// True if its receiver came then because its sender, a server, had been gone.
    pub sender_was_gone: bool,
    /// True if its receiver took the place of another member of its group then.
    pub is_handed_over: bool,
    /// True if the message says that it lay in a queue until its time there was over.
    pub has_expired: bool,
    /// The number in [`MessageFacts::past`] of what the message tells here.
    pub past: u32,
}

/// Facts of a message that hold on all of its legs.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub struct MessageFacts {
    pub identity: Identity,
    pub content: Option<Content>,
    pub stamp: Option<Stamp>,
    pub payload_len: u64,
    pub topic: Option<TopicId>,
    /// Facts by which its trace is told: those of its first leg, or the context of a later one if that has none.
    pub trace: MessageTrace,
    /// A number for its topic.
    pub subject: u64,
    pub row: GroupId,
    pub topology: MessageRouting,
    /// True if its publisher says that it repeats it: it counts as a duplicate.
    pub repeats: bool,
    /// True if its server keeps it in a log, for whoever comes later.
    pub is_logged: bool,
    /// True if its server keeps it in a queue until somebody has it.
    pub is_queued: bool,
    /// Why its server does not pass it on at once, or did not.
    pub withheld: Option<Withheld>,
    /// A number for what it told, on its first leg, of queues and exchanges that it was in before; 0 for nothing.
    pub past: u32,
    /// Time for which its broker keeps it for subscribers that are away.
    pub kept_for: KeptFor,
}

impl MessageFacts {
    /// True if the message is of a workload's warm-up.
    pub fn is_warmup(&self) -> bool {
        self.stamp.is_some_and(|stamp| stamp.warmup)
    }

    /// True if its publisher wishes that nobody gets it for a time: while it has not arrived, nothing is missing.
    pub fn is_delayed(&self) -> bool {
        self.withheld == Some(Withheld::ForDelay)
    }
}

/// A leg that is not joined to a message yet: what is known of it when its message is found on a flow.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub struct NewLeg {
    pub direction: Direction,
    /// From its first byte to the last that its reader must have to use it.
    pub extent: ByteRange,
    /// The message's own bytes.
    pub own: ByteRange,
    /// Time at which it was found.
    pub at: Nanos,
    /// Time at which its sender wrote its first byte, if that is known; otherwise `at`, which is much later on a
    /// slow link.
    pub written: Nanos,
    /// The number that it is likely to have among its topic's messages: its receiver gets all of them,
    /// and is behind.
    pub next_number: Option<u64>,
    pub transport: Transport,
    /// The permissions that its sender needed.
    pub permissions: Permissions,
    /// Time at which the queue that it is delivered from held no message: what had come to its sender before is not in it. 0 if that is
    /// not known.
    pub queue_was_empty: Nanos,
    /// Since when its receiver is there, if that was seen.
    pub present: Option<Presence>,
    pub ends: Arc<FlowEnds>,
    /// True if its reader is known to be no socket of this host.
    pub leads_elsewhere: bool,
    pub reader: LegReader,
    /// The client that it leads to, if that has a name which no other client of its server has.
    pub client: Option<NamedClient>,
    /// True if its sender may send copies of it to others.
    pub may_copy: bool,
    pub message: MessageFacts,
    /// The message itself tells that its sender has it from somebody else.
    pub passed_on: bool,
    /// A number for the first bytes of its connection, from which its offsets count; 0 if they were not seen.
    pub opening: u32,
    /// Its connection has just been opened.
    pub start_up: bool,
    /// Bytes of its payload on the wire.
    pub wire_payload: u64,
    /// The place in its server's log, if its sender said it.
    pub place: Option<LogPlace>,
    /// Number of messages of that log between it and what its reader was sent before.
    pub follows_after: u64,
    /// Nothing but its place tells which message it is.
    pub is_by_place: bool,
}

impl NewLeg {
    /// True if its sender has it from somebody else, where messages go through servers. A message that another host's
    /// server hands on begins here.
    pub fn is_handed_on(&self) -> bool {
        match self.reader.toward {
            Toward::Client => true,
            Toward::Peer => self.ends.sender.pid.is_some(),
            Toward::Server => false,
        }
    }

    /// True if a server sends it to one of its clients.
    pub fn is_from_server(&self) -> bool {
        self.message.topology == MessageRouting::Brokered && self.reader.toward == Toward::Client
    }

    /// The same leg, of a message of another identity.
    pub fn with_identity(&self, identity: Identity) -> NewLeg {
        NewLeg { message: MessageFacts { identity, ..self.message }, ..self.clone() }
    }

    pub fn way(&self) -> Way {
        Way { direction: self.direction, subscription: self.reader.subscription }
    }
}

/// The part that a leg that was found has in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// The first leg of a message.
    New,
    /// A leg from a server of a message of which no leg to the server was seen.
    Orphan,
    /// The leg before one with which a message was thought to start.
    Earlier,
    /// A further leg of a message.
    Leg,
    /// A copy of a message that another reader gets on a leg of its own, too.
    Copy,
    /// A message that was sent again in the same direction.
    Again,
}
