//! The rows of a breakdown.

use super::bins::BoundedBins;
use super::clients::ReaderGroup;
use super::dimension::{Dimension, MAX_NESTED};
use super::parents::Parents;
use arrayvec::ArrayVec;
use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};
use wirelap_events::{FlowId, GroupId, Nanos, Pid, Saturate, TopicId};

/// Rows that are told apart. With one more, the least eighth of them go into the rest.
pub const MAX_ROWS: usize = 32_768;

/// Addresses, and links, that are told apart.
const MAX_HOSTS: usize = 65_536;

/// Stands in a key for a value that is not known.
pub const UNKNOWN: u64 = u64::MAX;

/// Stands in a key for a value that is known not to exist.
pub const NONE: u64 = u64::MAX - 1;

/// One number for each dimension; those beyond are 0.
pub type DimensionNumbers = [u64; MAX_NESTED];

/// The end of a message that a row is of: who sent it, or who got it.
#[derive(Clone, Copy, Debug)]
pub struct MessageEnd {
    /// The flow of the bytes that this end sends.
    pub flow: FlowId,
    /// The address of this end, and that of the other one.
    pub addresses: [SocketAddr; 2],
    /// The process of this end, if it is on this host and known.
    pub pid: Option<Pid>,
    /// The name that its client gave itself.
    pub client: Option<TopicId>,
    /// The group in which it reads the message.
    pub group: ReaderGroup,
    /// The hosts that a leg joins, of a leg.
    pub link: Option<[LinkEnd; 2]>,
}

/// A host at an end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkEnd {
    /// An observed host, by its number.
    Host(u8),
    /// An address of another one.
    Address(IpAddr),
}

/// The sums of one row.
#[derive(Clone, Debug, Default)]
pub struct RowFigures {
    /// Messages sent.
    pub sent: u64,
    /// Messages delivered, followed or not.
    pub delivered: u64,
    /// Deliveries that were followed from end to end.
    pub matched: u64,
    /// Bytes of payload of what was delivered.
    pub payload_bytes: u64,
    /// One-way delays of what was followed.
    pub one_way: BoundedBins,
    /// The largest error of such a delay, because it begins and ends on two hosts.
    pub clock_error: Nanos,
    /// The rows of the comparison that its messages are of.
    pub parents: Parents,
}

impl RowFigures {
    /// Number of messages sent and delivered, by which it is decided which rows are kept when there
    /// are too many.
    pub fn messages(&self) -> u64 {
        self.sent.saturating_add(self.delivered)
    }

    /// Adds those of another row.
    pub fn merge(&mut self, other: &RowFigures) {
        self.sent.grow(other.sent);
        self.delivered.grow(other.delivered);
        self.matched.grow(other.matched);
        self.payload_bytes.grow(other.payload_bytes);
        self.one_way.merge(&other.one_way);
        self.clock_error = self.clock_error.max(other.clock_error);
        self.parents.add_all(&other.parents);
    }
}

/// The rows.
#[derive(Debug)]
pub struct BreakdownTable {
    /// The dimensions by which rows are told apart.
    pub by: ArrayVec<Dimension, MAX_NESTED>,
    /// Since when messages are counted; `None` if that is since the observation began.
    pub since: Option<Nanos>,
    /// The rows, by the numbers of their names.
    pub rows: FxHashMap<DimensionNumbers, RowFigures>,
    /// Rows that there was no room for.
    pub rest: RowFigures,
    /// Number of times that a row went into the rest.
    pub evicted: u64,
    /// The hosts, by their number.
    pub hosts: Vec<IpAddr>,
    host_ids: FxHashMap<IpAddr, u64>,
    /// The links, by their number.
    pub links: Vec<[LinkEnd; 2]>,
    link_ids: FxHashMap<[LinkEnd; 2], u64>,
    /// The addresses of connections that are rows.
    pub connections: FxHashMap<u64, [SocketAddr; 2]>,
    limit: usize,
}

impl BreakdownTable {
    /// No rows yet; `None` without dimensions. Only the first of each, and at most [`MAX_NESTED`], count.
    pub fn new(by: &[Dimension]) -> Option<BreakdownTable> {
        let mut all = ArrayVec::new();
        for &dimension in by {
            if !all.contains(&dimension) && !all.is_full() {
                all.push(dimension);
            }
        }
        (!all.is_empty()).then(|| BreakdownTable {
            by: all,
            since: None,
            rows: FxHashMap::default(),
            rest: RowFigures::default(),
            evicted: 0,
            hosts: Vec::new(),
            host_ids: FxHashMap::default(),
            links: Vec::new(),
            link_ids: FxHashMap::default(),
            connections: FxHashMap::default(),
            limit: MAX_ROWS,
        })
    }

    /// A message was found where it begins.
    pub fn sent(&mut self, group: GroupId, topic: Option<TopicId>, end: &MessageEnd) {
        self.row(group, topic, end).sent.grow(1);
    }

    /// A message that was counted as sent does not begin there.
    pub fn not_sent(&mut self, group: GroupId, topic: Option<TopicId>, end: &MessageEnd) {
        let sent = &mut self.row(group, topic, end).sent;
        *sent = sent.saturating_sub(1);
    }

    /// A message was read.
    pub fn delivered(
        &mut self,
        (group, topic): (GroupId, Option<TopicId>),
        end: &MessageEnd,
        payload: u64,
        one_way: Option<Nanos>,
        clock_error: Nanos,
    ) {
        let row = self.row(group, topic, end);
        row.delivered.grow(1);
        row.payload_bytes.grow(payload);
        if let Some(one_way) = one_way {
            row.matched.grow(1);
            row.one_way.add(one_way);
            row.clock_error = row.clock_error.max(clock_error);
        }
    }

    /// A message has passed a leg.
    pub fn passed(
        &mut self,
        of: (GroupId, Option<TopicId>),
        leg: &MessageEnd,
        payload: u64,
        took: Option<Nanos>,
        clock_error: Nanos,
    ) {
        self.row(of.0, of.1, leg).sent.grow(1);
        self.delivered(of, leg, payload, took, clock_error);
    }

    fn row(&mut self, group: GroupId, topic: Option<TopicId>, end: &MessageEnd) -> &mut RowFigures {
        let mut key = DimensionNumbers::default();
        let number = |id: Option<TopicId>| id.map_or(UNKNOWN, |id| u64::from(id.0));
        for (index, dimension) in self.by.clone().into_iter().enumerate() {
            key[index] = match dimension {
                Dimension::Topic => number(topic),
                Dimension::Client => number(end.client),
                Dimension::Group => match end.group {
                    ReaderGroup::Named(group) => u64::from(group.0),
                    ReaderGroup::None => NONE,
                    ReaderGroup::Unknown => UNKNOWN,
                },
                Dimension::Connection => end.flow.0 >> 1,
                // What a process runs in may become known later, so rows of one container are put together in a snapshot.
                Dimension::Process | Dimension::Container => {
                    end.pid.map_or(UNKNOWN, |pid| u64::from(pid.0))
                }
                Dimension::Host => {
                    number_of(end.addresses[0].ip(), &mut self.hosts, &mut self.host_ids)
                }
                Dimension::Link => end
                    .link
                    .map_or(UNKNOWN, |link| number_of(link, &mut self.links, &mut self.link_ids)),
                Dimension::Protocol | Dimension::Broker => u64::from(group.0),
            };
        }
        if self.rows.len() >= self.limit && !self.rows.contains_key(&key) {
            self.evict();
        }
        if self.by.contains(&Dimension::Connection) {
            self.connections.entry(end.flow.0 >> 1).or_insert(end.addresses);
        }
        let row = self.rows.entry(key).or_default();
        row.parents.add(group);
        row
    }

    /// Puts the least eighth of the rows into the rest.
    fn evict(&mut self) {
        let mut weights: Vec<(u64, DimensionNumbers)> =
            self.rows.iter().map(|(key, row)| (row.messages(), *key)).collect();
        let most = weights.len().saturating_sub(1);
        let count = (weights.len() / 8).min(most);
        weights.select_nth_unstable(count);
        for (_, key) in weights.iter().take(count.saturating_add(1)) {
            if let Some(row) = self.rows.remove(key) {
                self.rest.merge(&row);
                self.evicted.grow(1);
            }
        }
        if let Some(at) = self.by.iter().position(|&by| by == Dimension::Connection) {
            let open: rustc_hash::FxHashSet<u64> = self.rows.keys().map(|key| key[at]).collect();
            self.connections.retain(|serial, _| open.contains(serial));
        }
    }
}

/// The number of a value; unknown if there are too many.
fn number_of<T: Copy + Eq + Hash>(
    value: T,
    all: &mut Vec<T>,
    numbers: &mut FxHashMap<T, u64>,
) -> u64 {
    if let Some(&known) = numbers.get(&value) {
        return known;
    }
    if all.len() >= MAX_HOSTS {
        return UNKNOWN;
    }
    let number = all.len() as u64;
    all.push(value);
    numbers.insert(value, number);
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(flow: u64) -> MessageEnd {
        let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        MessageEnd {
            flow: FlowId(flow),
            addresses: [at(4000), at(1883)],
            pid: Some(Pid(7)),
            client: None,
            group: ReaderGroup::Unknown,
            link: None,
        }
    }

    #[test]
    fn each_leg_is_in_the_row_of_its_link() {
        let mut table = BreakdownTable::new(&[Dimension::Link]).unwrap();
        let (robot, hub) = (LinkEnd::Host(2), LinkEnd::Host(3));
        let other = LinkEnd::Address([10, 0, 0, 7].into());
        for (link, time) in [([robot, hub], 100), ([hub, other], 300), ([robot, hub], 200)] {
            let leg = MessageEnd { link: Some(link), ..end(2) };
            table.passed((GroupId(0), None), &leg, 10, Some(Nanos(time)), Nanos(7));
        }
        let there = &table.rows[&[0, 0, 0, 0]];
        assert_eq!((table.links[0], table.links[1]), ([robot, hub], [hub, other]));
        assert_eq!((there.sent, there.delivered, there.payload_bytes), (2, 2, 20));
        assert_eq!(there.one_way.summary().max, Nanos(200));
        assert_eq!((table.rows.len(), there.clock_error), (2, Nanos(7)));
    }

    #[test]
    fn ends_are_told_apart_by_name_and_topic() {
        let mut table = BreakdownTable::new(&[Dimension::Client, Dimension::Topic]).unwrap();
        let topic = Some(TopicId(9));
        let named = MessageEnd { client: Some(TopicId(5)), ..end(2) };
        table.sent(GroupId(0), topic, &named);
        table.delivered((GroupId(0), topic), &end(4), 10, Some(Nanos(100)), Nanos(0));
        table.delivered((GroupId(0), topic), &end(6), 10, None, Nanos(0));
        let row = |key: [u64; 2]| &table.rows[&[key[0], key[1], 0, 0]];
        assert_eq!((row([5, 9]).sent, row([5, 9]).delivered), (1, 0));
        let unnamed = row([UNKNOWN, 9]);
        assert_eq!((unnamed.delivered, unnamed.matched, unnamed.payload_bytes), (2, 1, 20));
        table.not_sent(GroupId(0), topic, &named);
        assert_eq!(table.rows[&[5, 9, 0, 0]].sent, 0);
    }

    #[test]
    fn a_publisher_is_in_no_group_and_a_reader_in_that_of_its_subscription() {
        let mut table = BreakdownTable::new(&[Dimension::Group]).unwrap();
        let of = |group| MessageEnd { group, ..end(2) };
        table.sent(GroupId(0), None, &of(ReaderGroup::None));
        for group in [ReaderGroup::Named(TopicId(3)), ReaderGroup::None, ReaderGroup::Unknown] {
            table.delivered((GroupId(0), None), &of(group), 1, None, Nanos(0));
        }
        let counts =
            |key| (table.rows[&[key, 0, 0, 0]].sent, table.rows[&[key, 0, 0, 0]].delivered);
        assert_eq!([counts(NONE), counts(3), counts(UNKNOWN)], [(1, 1), (0, 1), (0, 1)]);
    }

    #[test]
    fn the_least_go_into_the_rest_and_nothing_is_lost() {
        let mut table = BreakdownTable::new(&[Dimension::Topic]).unwrap();
        table.limit = 64;
        for n in 0..10_000u32 {
            table.sent(GroupId(0), Some(TopicId(n)), &end(2));
            table.delivered((GroupId(0), Some(TopicId(0))), &end(3), 1, Some(Nanos(5)), Nanos(0));
        }
        assert!(table.rows.len() <= 64 && table.evicted > 9_000);
        assert_eq!(table.rows[&[0, 0, 0, 0]].delivered, 10_000);
        let sent: u64 = table.rows.values().map(|row| row.sent).sum();
        assert_eq!(sent + table.rest.sent, 10_000);
    }

    /// A hundred thousand topics, again and again, each row with the 1 KiB that its bins take at most.
    #[test]
    fn any_number_of_topics_takes_64_mib_at_most() {
        let mut table = BreakdownTable::new(&[Dimension::Topic]).unwrap();
        for n in 0..300_000_u32 {
            table.delivered(
                (GroupId(0), Some(TopicId(n % 100_000))),
                &end(2),
                1,
                Some(Nanos(5)),
                Nanos(0),
            );
        }
        assert!(table.rows.len() <= MAX_ROWS && table.evicted > 0);
        let entry = size_of::<(DimensionNumbers, RowFigures)>() + 1;
        let bytes = table.rows.capacity() * entry + MAX_ROWS * 1024;
        assert!(bytes <= 64 << 20, "{bytes}");
        let delivered: u64 = table.rows.values().map(|row| row.delivered).sum();
        assert_eq!(delivered + table.rest.delivered, 300_000);
    }

    #[test]
    fn without_dimensions_there_are_no_rows() {
        assert!(BreakdownTable::new(&[]).is_none());
        let twice = BreakdownTable::new(&[Dimension::Connection, Dimension::Connection]).unwrap();
        assert_eq!(twice.by.as_slice(), [Dimension::Connection]);
    }
}
