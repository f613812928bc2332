//! Messages that ought to have arrived by now: how many, where they are, and what those do that have them.

use super::super::conversations::Conversations;
use super::{Deliveries, Observed};
use crate::flow::{Flow, FlowTable};
use crate::join::{LegState, Message};
use crate::limits::deliveries::{
    GOES_ON, LONGEST_REBALANCE, LONGEST_USUAL_WAY, OVERDUE_FACTOR, READER_MEMORY,
};
use crate::rows::{Row, Rows};
use crate::why::{Losses, Overdue, Whereabouts};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use wirelap_events::{GroupId, Nanos, Pid, Saturate, TaskId, Tid};

/// A row's overdue messages at one process, in one place on one leg.
type Key = (GroupId, Whereabouts, usize, Pid);

/// Tells whether the bytes of a leg lie unread in a socket.
type Lies = fn(&Deliveries, &Flow, &LegState, Observed<'_>) -> bool;

impl Deliveries {
    /// The processes that have messages which ought to have arrived by `now`: what they do is worth a look
    /// ([`wirelap_events::Body::State`]).
    pub fn holding(&self, now: Nanos, seen: Observed<'_>) -> Vec<Pid> {
        let all = self.late(now, Self::may_lie_unread, seen);
        let mut pids: Vec<Pid> =
            all.iter().filter_map(|(_, overdue)| Some(overdue.process?.0.pid)).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    /// Messages that ought to have arrived by `now`, by row and place.
    pub fn overdue(&self, now: Nanos, seen: Observed<'_>) -> Vec<(GroupId, Overdue)> {
        self.late(now, Self::lies_unread, seen)
    }

    fn late(&self, now: Nanos, lies: Lies, seen: Observed<'_>) -> Vec<(GroupId, Overdue)> {
        let mut found: BTreeMap<Key, (u64, Nanos)> = BTreeMap::new();
        let mut limits: FxHashMap<GroupId, Nanos> = FxHashMap::default();
        for (message, leg) in self.messages.unfinished(now - LONGEST_USUAL_WAY) {
            let limit = *limits
                .entry(message.facts.row)
                .or_insert_with(|| late_after(message.facts.row, seen.rows));
            let is_warmup = message.facts.stamp.is_some_and(|stamp| stamp.warmup);
            let is_cut = seen.coverage.pauses().has_cut(message.at);
            if message.at + limit > now || is_warmup || is_cut {
                continue;
            }
            let Some((place, pid)) = self.whereabouts(message, leg, lies, seen) else {
                continue;
            };
            let depth = self.messages.depth_of(leg);
            let sum =
                found.entry((message.facts.row, place, depth, pid)).or_insert((0, message.at));
            sum.0.grow(1);
            sum.1 = sum.1.min(message.at);
        }
        let unread = found.keys().filter(|(_, place, ..)| *place == Whereabouts::BrokerQueue);
        let readers = reading(unread.map(|&(.., pid)| pid).collect(), now, seen.conversations);
        let all = found.into_iter().map(|((row, place, leg, pid), (messages, since))| {
            let (place, pid) = match place {
                Whereabouts::Broker => {
                    unasked(row, since, seen.conversations).unwrap_or((place, pid))
                }
                Whereabouts::BrokerQueue if readers.contains(&pid) => {
                    (Whereabouts::LeftUnread, pid)
                }
                _ => (place, pid),
            };
            let task = TaskId { pid, tid: Tid(pid.0) };
            let named = || (task, seen.conversations.sockets().comm(pid).unwrap_or_default());
            let overdue = Overdue {
                messages,
                oldest: now - since,
                place,
                leg: u8::try_from(leg).unwrap_or(u8::MAX),
                process: (pid != Pid(0)).then(named),
                activity: seen.host.states().of(pid, now),
            };
            (row, overdue)
        });
        all.collect()
    }

    /// Adds the messages of a row that a broker has read since their last reader left, and that are still waited for.
    pub fn count_abandoned(
        &self,
        (id, row): (GroupId, &Row),
        losses: &mut Losses,
        now: Nanos,
        seen: Observed<'_>,
    ) {
        if seen.conversations.has_closed_none() {
            return;
        }
        for (message, leg) in self.messages.unfinished(now - LONGEST_USUAL_WAY) {
            let is_here = seen.rows.root(message.facts.row) == id && leg.was_read();
            let is_cut = seen.coverage.pauses().has_cut(message.at);
            if !is_here || is_cut || !self.messages.goes_on(message, leg) {
                continue;
            }
            let reader = row.readers.before(message.facts.subject, message.at);
            if let Some(departure) = reader.and_then(|reader| seen.conversations.departure(reader))
            {
                losses.abandon(1, departure);
            }
        }
    }

    /// The place of a leg's message that has not arrived, and the process that has it, or is to send it on. `None` where
    /// it is not known to be anywhere.
    fn whereabouts(
        &self,
        message: &Message,
        leg: &LegState,
        lies: Lies,
        seen: Observed<'_>,
    ) -> Option<(Whereabouts, Pid)> {
        let flow = seen.conversations.flows().flow(leg.direction)?;
        let receiver = leg.receiver().pid.unwrap_or_default();
        if leg.was_read() {
            let goes_on = self.messages.goes_on(message, leg)
                && is_expected(flow, leg, seen.conversations.flows());
            return goes_on.then_some((Whereabouts::Broker, receiver));
        }
        if !lies(self, flow, leg, seen) {
            return None;
        }
        let is_broker = self.messages.goes_on(message, leg);
        let now = seen.coverage.now();
        let is_throttled = flow
            .reader_pauses
            .throttles
            .as_ref()
            .is_some_and(|all| all.within(now, now + Nanos(1)) > Nanos(0));
        Some(match (flow.marks.has_arrived(leg.extent), is_broker) {
            (true, true) if is_throttled => (Whereabouts::Throttled, receiver),
            (true, true) => (Whereabouts::BrokerQueue, receiver),
            (true, false) => (Whereabouts::ReaderQueue, receiver),
            (false, _) => (Whereabouts::Network, leg.sender().pid.unwrap_or_default()),
        })
    }
}

/// The age from which a message of a row is overdue.
fn late_after(row: GroupId, rows: &Rows) -> Nanos {
    let typical = rows.get(row).map_or(0, |row| row.stats.one_way.quantile(0.5));
    LONGEST_USUAL_WAY.max(Nanos(typical.saturating_mul(OVERDUE_FACTOR)))
}

/// The place of messages that a broker has since some moment, if its readers ask for messages and none has since:
/// with the reader that asked last; with none, if another one that asked is gone, whose messages they may be.
fn unasked(
    row: GroupId,
    since: Nanos,
    conversations: &Conversations,
) -> Option<(Whereabouts, Pid)> {
    let all = conversations.flows().iter().filter(|(_, c)| c.row.is_some_and(|(of, _)| of == row));
    let asked = |flow: &Flow| Some((flow.control().last_request()?.at, flow.sender));
    let (mut last, mut gone) = (None, None);
    for (_, conversation) in all {
        let asked = conversation.flows.iter().filter_map(asked).max();
        if conversation.life.is_closed && asked.is_some() {
            gone = gone.max(Some(conversation.life.seen));
        }
        last = last.max(asked);
    }
    let (asked, sender) = last.filter(|&(asked, _)| asked < since)?;
    if gone.is_some_and(|gone| gone + LONGEST_REBALANCE >= asked) {
        return Some((Whereabouts::Unasked, Pid(0)));
    }
    Some((Whereabouts::Unasked, conversations.sockets().pid(sender).unwrap_or_default()))
}

/// Those of these processes, each of which leaves something unread, that have just read something
/// else.
fn reading(mut pids: FxHashSet<Pid>, now: Nanos, conversations: &Conversations) -> FxHashSet<Pid> {
    let mut found = FxHashSet::default();
    let mut flows = conversations.flows().iter().flat_map(|(_, conversation)| &conversation.flows);
    while !pids.is_empty()
        && let Some(flow) = flows.next()
    {
        if flow.marks.last_read() + READER_MEMORY > now
            && let Some(pid) = conversations.sockets().pid(flow.receiver)
            && pids.remove(&pid)
        {
            found.insert(pid);
        }
    }
    found
}

/// True if a publisher's message goes on: those before it did, to a subscriber that is still there, and none after it
/// has yet. A broker that has passed on a later one is done with this one.
fn is_expected(flow: &Flow, leg: &LegState, flows: &FlowTable) -> bool {
    let (least, percent) = GOES_ON;
    let before = flow.messages.count.saturating_sub(1);
    let forwarded = flow.messages.forwarded.as_deref().copied().unwrap_or_default();
    let by = forwarded.by.and_then(|by| flows.get(by));
    forwarded.count >= least
        && forwarded.count.saturating_mul(100) >= before.saturating_mul(percent)
        && leg.at > forwarded.newest_at
        && by.is_some_and(|conversation| !conversation.life.is_closed)
}
