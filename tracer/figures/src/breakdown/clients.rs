//! Names that the ends of conversations give themselves: the client's, and that of the group that it reads
//! in.
//!
//! ```text
//! subscription   MQTT, NATS     told with each message: a client may read in several groups
//! connection     Kafka          of the connection that a member says it on
//! client         Kafka          of the same client's other connections, where records come
//! ```
//!
//! A client's connections belong together if its process, or without that its address, and its name are the same. If several
//! groups are named there, it is not known which one a connection is of.

use rustc_hash::FxHashMap;
use std::net::IpAddr;
use wirelap_events::{FlowId, Pid, TopicId};

/// Connections whose clients have a name, both ends counted.
const MAX_NAMED: usize = 262_144;

/// Clients that are a member of a group.
const MAX_MEMBERS: usize = 65_536;

/// The group in which a message is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReaderGroup {
    /// The message does not show it.
    #[default]
    Unknown,
    /// In none.
    None,
    /// In the group of this name.
    Named(TopicId),
}

/// One thing that an end of a conversation says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Introduction {
    /// The client's name.
    Client {
        /// `None` if it is not known any more.
        name: Option<TopicId>,
        /// True if it names its group on other connections, too, than those on which it reads.
        reads_elsewhere: bool,
    },
    /// The group that it is a member of.
    Member(TopicId),
}

/// The process or address that has a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// A process on this host.
    Process(Pid),
    /// An address whose process is on another host, or not known.
    Address(IpAddr),
}

/// One end.
#[derive(Clone, Copy, Debug, Default)]
struct NamedEnd {
    client: Option<TopicId>,
    group: Option<TopicId>,
    reads_elsewhere: bool,
}

/// The groups of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Membership {
    One(TopicId),
    Several,
}

/// Names and groups that clients have given themselves, by the flows on which they send. They are kept before anybody asks for rows
/// by client or group, because most clients say them only once.
#[derive(Debug, Default)]
pub struct ClientNames {
    ends: FxHashMap<FlowId, NamedEnd>,
    members: FxHashMap<(Owner, TopicId), Membership>,
}

impl ClientNames {
    /// An end says something of itself.
    pub fn introduce(&mut self, flow: FlowId, owner: Owner, said: Introduction) {
        if self.ends.len() >= MAX_NAMED && !self.ends.contains_key(&flow) {
            return;
        }
        let end = self.ends.entry(flow).or_default();
        match said {
            Introduction::Client { name, reads_elsewhere } => {
                (end.client, end.reads_elsewhere) = (name, reads_elsewhere);
            }
            Introduction::Member(group) => end.group = Some(group),
        }
        let (Some(client), Some(group)) = (end.client, end.group) else { return };
        let key = (owner, client);
        if end.reads_elsewhere
            && (self.members.len() < MAX_MEMBERS || self.members.contains_key(&key))
        {
            let membership = self.members.entry(key).or_insert(Membership::One(group));
            if *membership != Membership::One(group) {
                *membership = Membership::Several;
            }
        }
    }

    /// The name of who sends on this flow.
    pub fn of(&self, flow: FlowId) -> Option<TopicId> {
        self.ends.get(&flow)?.client
    }

    /// The group in which who sends on this flow reads.
    pub fn group(&self, flow: FlowId, owner: Owner) -> Option<TopicId> {
        let end = self.ends.get(&flow)?;
        if end.group.is_some() || !end.reads_elsewhere {
            return end.group;
        }
        match self.members.get(&(owner, end.client?))? {
            Membership::One(group) => Some(*group),
            Membership::Several => None,
        }
    }

    /// A conversation is forgotten.
    pub fn forget(&mut self, serial: u64) {
        let first = serial << 1;
        self.ends.remove(&FlowId(first));
        self.ends.remove(&FlowId(first | 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Owner = Owner::Process(Pid(7));

    fn named(name: u32) -> Introduction {
        Introduction::Client { name: Some(TopicId(name)), reads_elsewhere: true }
    }

    #[test]
    fn a_group_holds_for_the_clients_other_connections() {
        let mut ends = ClientNames::default();
        let there = Owner::Address("10.0.0.1".parse().unwrap());
        ends.introduce(FlowId(2), HERE, named(5));
        ends.introduce(FlowId(2), HERE, Introduction::Member(TopicId(1)));
        ends.introduce(FlowId(4), HERE, named(5));
        ends.introduce(FlowId(6), HERE, named(6));
        let group = |ends: &ClientNames, flow, owner| ends.group(FlowId(flow), owner);
        assert_eq!(group(&ends, 2, HERE), Some(TopicId(1)));
        assert_eq!(group(&ends, 4, HERE), Some(TopicId(1)));
        assert_eq!(group(&ends, 4, there), None, "another one's client of the same name");
        assert_eq!(group(&ends, 6, HERE), None);
        assert_eq!(group(&ends, 8, HERE), None);
        // A second group of the same process and name: the connections that name theirs are known.
        ends.introduce(FlowId(8), HERE, named(5));
        ends.introduce(FlowId(8), HERE, Introduction::Member(TopicId(2)));
        assert_eq!(group(&ends, 4, HERE), None);
        assert_eq!(group(&ends, 8, HERE), Some(TopicId(2)));
        ends.forget(4);
        assert_eq!(group(&ends, 8, HERE), None);
        assert_eq!(ends.of(FlowId(4)), Some(TopicId(5)));
    }

    #[test]
    fn a_name_that_is_not_known_any_more_is_forgotten() {
        let mut ends = ClientNames::default();
        let client = |name| Introduction::Client { name, reads_elsewhere: false };
        ends.introduce(FlowId(2), HERE, client(Some(TopicId(5))));
        assert_eq!(ends.of(FlowId(2)), Some(TopicId(5)));
        ends.introduce(FlowId(2), HERE, client(None));
        assert_eq!(ends.of(FlowId(2)), None);
    }

    #[test]
    fn their_number_is_bounded() {
        let mut ends = ClientNames::default();
        for n in 0..300_000_u32 {
            ends.introduce(FlowId(n.into()), HERE, named(n));
            ends.introduce(FlowId(n.into()), HERE, Introduction::Member(TopicId(n)));
        }
        assert_eq!((ends.ends.len(), ends.members.len()), (MAX_NAMED, MAX_MEMBERS));
    }
}
