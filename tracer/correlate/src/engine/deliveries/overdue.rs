//! Messages that ought to have arrived by now: how many, where they are, and what those do that have them.

use super::super::conversations::Conversations;
use super::busy_readers::{BusyReaders, RowTopic};
use super::expire::waits_in_session;
use super::outstanding::{LiesUnread, Outstanding};
use super::requests::TopicRequests;
use super::under_way::awaits_acknowledgement;
use super::{Deliveries, Observed};
use crate::join::LegState;
use crate::rows::{Row, Rows};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use wirelap_events::{GroupId, Nanos, Pid, Saturate, TaskId, Tid};
use wirelap_figures::Distribution;
use wirelap_flow::{Flow, FlowTable};
use wirelap_limits::deliveries::{
    EVEN_AGE_FACTOR, GOES_ON, LONGEST_USUAL_WAY, OVERDUE_AGAIN_FACTOR, OVERDUE_FACTOR,
    OVERDUE_QUANTILES, READER_MEMORY,
};
use wirelap_limits::rules::MIN_MESSAGES_FOR_VERDICT;
use wirelap_why::{Losses, Overdue, Whereabouts};

/// A row's overdue messages at one process, in one place on one leg.
type PlaceKey = (GroupId, Whereabouts, usize, Pid);

/// Overdue messages at one process, in one place on one leg.
struct LateMessages {
    count: u64,
    /// Time since which the first of them was under way.
    since: Nanos,
    topics: FxHashSet<RowTopic>,
    /// True if all of them are known to be there.
    are_seen: bool,
}

/// Overdue messages by place, and the readers that leave some of them unread.
#[derive(Default)]
struct AllLate {
    by_place: BTreeMap<PlaceKey, LateMessages>,
    busy_readers: BusyReaders,
}

impl Deliveries {
    /// The processes that have messages which ought to have arrived by `now`: what they do is worth a look
    /// ([`wirelap_events::Body::State`]).
    pub fn holding(&self, now: Nanos, seen: Observed<'_>) -> Vec<Pid> {
        let all = self.late_by_place(now, Self::may_lie_unread, seen);
        let all = named_places(all, now, seen);
        let mut pids: Vec<Pid> =
            all.iter().filter_map(|(_, overdue)| Some(overdue.process?.0.pid)).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    /// Messages that ought to have arrived by `now`, by row and place.
    pub fn overdue(&self, now: Nanos, seen: Observed<'_>) -> Vec<(GroupId, Overdue)> {
        named_places(self.late_by_place(now, Self::lies_unread, seen), now, seen)
    }

    /// The messages that ought to have arrived by `now`.
    fn late_by_place(&self, now: Nanos, lies_unread: LiesUnread, seen: Observed<'_>) -> AllLate {
        let mut found = AllLate::default();
        let mut limits: FxHashMap<GroupId, Nanos> = FxHashMap::default();
        let flows = seen.conversations.flows();
        let mut requests = TopicRequests::new(seen);
        for one in self.outstanding(now - LONGEST_USUAL_WAY, seen) {
            let Outstanding { message, leg, .. } = one;
            let limit = *limits
                .entry(message.facts.row)
                .or_insert_with(|| late_after(message.facts.row, seen.rows));
            let is_late = message.at + limit <= now && !message.facts.is_warmup();
            let Some(flow) = flows.flow(leg.direction).filter(|_| is_late) else { continue };
            let Some(place) = self.place_of(&one, flow, lies_unread, seen) else { continue };
            let is_there = place == Whereabouts::Broker;
            let debtor = is_there.then(|| unacknowledged_by(&one, now, seen)).flatten();
            let is_due = || !message.facts.is_delayed() && is_expected(flow, leg, flows);
            if is_there && debtor.is_none() && !is_due() {
                continue;
            }
            let end = if place == Whereabouts::Network { leg.sender() } else { leg.receiver() };
            let topic = (seen.rows.root(message.facts.row), message.facts.subject);
            let asker = is_there.then(|| requests.awaited_from(topic, message.at)).flatten();
            let (place, pid) = match (asker, debtor) {
                (Some(pid), _) => (Whereabouts::Unasked, pid),
                (_, Some(pid)) => (Whereabouts::Unacknowledged, pid),
                _ => (place, end.pid.unwrap_or_default()),
            };
            let key = (message.facts.row, place, self.messages.depth_of(leg), pid);
            let new = LateMessages {
                count: 0,
                since: message.at,
                topics: FxHashSet::default(),
                are_seen: true,
            };
            let late = found.by_place.entry(key).or_insert(new);
            late.count.grow(1);
            late.since = late.since.min(message.at);
            late.are_seen &= leg.was_read() || self.has_arrived(flow, leg).is_some();
            if waits_at_broker(place) {
                late.topics.insert(topic);
            }
            if place == Whereabouts::ReaderQueue {
                found.busy_readers.note(topic, leg.direction);
            }
        }
        found
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
        let late = self.outstanding(now - LONGEST_USUAL_WAY, seen);
        for Outstanding { message, leg, goes_on } in late.chain(self.kept_for_nobody(seen)) {
            let is_here = leg.was_read() && goes_on && seen.rows.root(message.facts.row) == id;
            if !is_here || message.facts.is_warmup() || message.facts.is_delayed() {
                continue;
            }
            let reader = row.readers.before(message.facts.subject, message.at);
            if let Some(departure) = reader.and_then(|reader| seen.conversations.departure(reader))
            {
                let kept_until = message.facts.kept_for.until(message.at);
                losses.abandon(1, departure, waits_in_session(&departure, kept_until, now));
            }
        }
    }
}

/// Overdue messages with the process that has them and what that does, by row.
fn named_places(
    AllLate { by_place, busy_readers }: AllLate,
    now: Nanos,
    seen: Observed<'_>,
) -> Vec<(GroupId, Overdue)> {
    let conversations = seen.conversations;
    let unread = by_place.keys().filter(|(_, place, ..)| *place == Whereabouts::BrokerQueue);
    let readers = reading(unread.map(|&(.., pid)| pid).collect(), now, conversations);
    let all = by_place.into_iter().map(|((row, place, leg, pid), late)| {
        let place = match place {
            Whereabouts::BrokerQueue if readers.contains(&pid) => Whereabouts::LeftUnread,
            _ => place,
        };
        let task = TaskId { pid, tid: Tid(pid.0) };
        let named = || (task, conversations.sockets().comm(pid).unwrap_or_default());
        let overdue = Overdue {
            messages: late.count,
            oldest: now - late.since,
            place,
            is_for_busy_readers: waits_at_broker(place)
                && late.topics.iter().all(|topic| busy_readers.include_those_of(*topic, seen.rows)),
            leg: u8::try_from(leg).unwrap_or(u8::MAX),
            are_seen_there: late.are_seen,
            process: (pid != Pid(0)).then(named),
            activity: seen.host.states().of(pid, now),
        };
        (row, overdue)
    });
    all.collect()
}

/// The age from which a message of a row is overdue. Few messages show none that is typical: perhaps the first ones of a queue that grows.
fn late_after(row: GroupId, rows: &Rows) -> Nanos {
    let one_way = rows.get(row).map(|row| &row.stats.one_way);
    let known = one_way.filter(|times| times.count() >= MIN_MESSAGES_FOR_VERDICT);
    LONGEST_USUAL_WAY.max(known.map_or(Nanos(0), overdue_age))
}

/// The age from which a message is overdue beside others that took so long. In a queue that grows, the typical age grows with it, and says
/// nothing of a reader that has stopped: there, a message is overdue that is much older than any.
fn overdue_age(times: &Distribution) -> Nanos {
    let [quickest, typical, most] = OVERDUE_QUANTILES.map(|part| times.quantile(part));
    let usual = typical.saturating_mul(OVERDUE_FACTOR);
    if typical <= quickest.saturating_mul(EVEN_AGE_FACTOR) {
        return Nanos(usual);
    }
    let least = quickest.saturating_mul(OVERDUE_FACTOR);
    Nanos(usual.min(most.saturating_mul(OVERDUE_AGAIN_FACTOR).max(least)))
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

/// True if messages in a place are a broker's to send.
const fn waits_at_broker(place: Whereabouts) -> bool {
    matches!(place, Whereabouts::Broker | Whereabouts::Unacknowledged)
}

/// The process that has to acknowledge others before a message that its broker has may be sent to it; `None` if it need not.
fn unacknowledged_by(one: &Outstanding<'_>, now: Nanos, seen: Observed<'_>) -> Option<Pid> {
    let (topic, at) = (one.message.facts.subject, one.message.at);
    let is_due = !one.message.facts.is_delayed();
    let row = seen.rows.get(one.message.facts.row).filter(|_| is_due)?;
    let reader = row.readers.before(topic, at)?;
    if row.readers.is_unconfirmed(topic, reader.direction) {
        return None;
    }
    let flows = seen.conversations.flows();
    awaits_acknowledgement(reader, topic, (at, now), flows).then(|| reader.pid.unwrap_or_default())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The age from which a message is overdue, in milliseconds, beside a hundred that took so long.
    fn overdue_after(took: impl Fn(u64) -> u64) -> u64 {
        let mut times = Distribution::new(2);
        for n in 1..=100 {
            times.add(Nanos::from_millis(took(n)).0);
        }
        overdue_age(&times).0 / 1_000_000
    }

    #[test]
    fn a_queue_that_grows_does_not_hide_a_reader_that_has_stopped() {
        let about = |age: u64, expected: u64| age.abs_diff(expected) <= expected / 20;
        let even = overdue_after(|_| 300);
        assert!(about(even, 3_000), "{even}");
        let grown = overdue_after(|n| n * 100);
        assert!(about(grown, 20_000), "{grown}");
        let mostly_quick = overdue_after(|n| if n > 95 { 5_000 } else { 300 });
        assert!(about(mostly_quick, 3_000), "{mostly_quick}");
        let one_in_two = overdue_after(|n| if n > 60 { 900 } else { 1 });
        assert!(one_in_two <= 11, "{one_in_two}");
    }
}
