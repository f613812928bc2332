//! Requests that a broker awaits before it may send the messages of a topic, or has.
//!
//! ```text
//! reader   ask(1) ───────▶               ask(2) ─────────────▶
//! broker            ◀── answer(1)   │                           m
//!                                   └ m: nobody has asked       └ the request is there: it is the broker's turn
//! ```

use super::Observed;
use super::busy_readers::RowTopic;
use rustc_hash::FxHashMap;
use wirelap_events::{GroupId, Nanos, Pid, SocketId};
use wirelap_flow::Request;
use wirelap_limits::deliveries::LONGEST_REBALANCE;

/// The requests of some readers for messages.
#[derive(Clone, Copy, Default)]
struct ReaderRequests {
    /// Time of the last one, and the socket that it was sent from.
    last: Option<(Nanos, Option<SocketId>)>,
    /// True if one of them was not seen to be answered.
    is_open: bool,
}

impl ReaderRequests {
    fn add(&mut self, request: &Request, sender: Option<SocketId>, is_open: bool) {
        self.last = self.last.max(Some((request.at, sender)));
        self.is_open |= is_open;
    }
}

/// The requests of a row's readers, and when the last of those left that had made some.
#[derive(Clone, Copy, Default)]
struct RowRequests {
    all: ReaderRequests,
    gone: Option<Nanos>,
}

/// Requests of readers for messages, by topic.
pub struct TopicRequests<'a> {
    seen: Observed<'a>,
    rows: FxHashMap<GroupId, RowRequests>,
    /// By row and topic; `None` if no reader is known that has to ask for its messages.
    topics: FxHashMap<RowTopic, Option<ReaderRequests>>,
}

impl<'a> TopicRequests<'a> {
    /// Nothing looked up yet.
    pub fn new(seen: Observed<'a>) -> TopicRequests<'a> {
        TopicRequests { seen, rows: FxHashMap::default(), topics: FxHashMap::default() }
    }

    /// The process that a broker awaits a request of before it may send a message that it has since `at`: the reader of the topic
    /// that asked last, and no process if another one that asked is gone, whose message it may be. `None` if the broker has a request,
    /// or needs none.
    pub fn awaited_from(&mut self, (row, topic): RowTopic, at: Nanos) -> Option<Pid> {
        let seen = self.seen;
        let of_row = *self.rows.entry(row).or_insert_with(|| of_row(row, seen));
        let of_topic =
            *self.topics.entry((row, topic)).or_insert_with(|| of_topic((row, topic), seen));
        let known = of_topic.unwrap_or(of_row.all);
        let (asked, sender) = known.last.filter(|&(asked, _)| asked < at)?;
        let is_others = of_row.gone.is_some_and(|gone| gone + LONGEST_REBALANCE >= asked);
        // Of a reader that is gone the topic may be, which those that are left do not ask for.
        if known.is_open && (of_topic.is_some() || !is_others) {
            return None;
        }
        let pid = || seen.conversations.sockets().pid(sender).unwrap_or_default();
        Some(if is_others { Pid(0) } else { pid() })
    }
}

/// The requests of all readers of a row.
fn of_row(row: GroupId, seen: Observed<'_>) -> RowRequests {
    let mut found = RowRequests::default();
    let flows = seen.conversations.flows();
    let of_row =
        flows.iter().filter(|(_, one)| one.row.is_some_and(|(of, _)| seen.rows.root(of) == row));
    for (direction, conversation) in of_row {
        let is_closed = conversation.life.is_closed;
        let server = flows.server(direction);
        for direction in [direction, direction.back()] {
            let flow = conversation.flow(direction.side);
            let Some(last) = flow.control().last_request() else { continue };
            // A request that was there before the protocol was known may be noted as its server's.
            let is_readers = !is_closed && server != Some(direction.side);
            found.all.add(last, flow.sender, is_readers && flow.control().has_open_request());
            if is_closed {
                found.gone = found.gone.max(Some(conversation.life.seen));
            }
        }
    }
    found
}

/// The requests of those readers that got messages of a topic and are still there.
fn of_topic((row, topic): RowTopic, seen: Observed<'_>) -> Option<ReaderRequests> {
    let flows = seen.conversations.flows();
    let readers = seen.rows.get(row).into_iter().flat_map(|row| row.readers.asking(topic));
    let mut found = None;
    for (direction, line) in readers {
        let Some(conversation) = flows.get(direction).filter(|one| !one.life.is_closed) else {
            continue;
        };
        let back = conversation.flow(direction.back().side);
        let known = found.get_or_insert_with(ReaderRequests::default);
        let Some(request) = back.control().request_on(line) else {
            // It was forgotten for those of others.
            known.is_open = true;
            continue;
        };
        let left_out = back.control().unasked_topics.as_ref();
        let is_for_topic = !left_out.is_some_and(|all| all.contains(topic));
        known.add(request, back.sender, is_for_topic && !request.is_answered);
    }
    found
}
