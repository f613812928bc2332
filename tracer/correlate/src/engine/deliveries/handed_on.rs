//! Requests that a process hands on for others: a peer of Zenoh for its clients, a server of NATS for all. They are counted where they were asked.
//!
//! ```text
//! client ──query 7──▶ peer ──query 3──▶ client      the same content, from another connection, while query 7 is open
//! client ◀──reply 7── peer ◀──reply 3── client      its way through the peer has four legs
//! ```
//!
//! A peer asks for itself, too: all requests that come to one are remembered, so that it is known which are its own. Where wirelap came to a connection
//! too late to know what a query's key is, the last one tells that has the same body: a router hands a query on at once. A broker does not:
//! of the many requests that come to one, those few are remembered that are followed from end to end. Servers pass requests to each other: the
//! way of such a one has the same four legs, and what passes between the servers is in the dwell before the second leg and before the last.

use super::super::recent::RecentMap;
use crate::join::Receiver;
use std::hash::Hash;
use wirelap_events::{Leg, Nanos};
use wirelap_flow::Direction;
use wirelap_limits::deliveries::LONGEST_WAIT_FOR_REPLY;
use wirelap_protocols::{RequestContent, Side};

/// The most requests that are remembered, of those to peers and of those to brokers.
const MAX_OPEN: usize = 4096;

/// The most ways of answered requests, whose legs are large.
const MAX_WAYS: usize = 256;

/// The most requests of which it is remembered that they are handed on for the same one.
const MAX_COPIES: usize = 64;

/// A request on its connection: the conversation, the end that asks, and the number.
type RequestKey = (u64, Side, u64);

fn key_of(asks: Direction, number: u64) -> RequestKey {
    (asks.serial, asks.side, number)
}

/// Legs of a request that is handed on, and of its reply.
pub type HandedOnWay = Box<[Leg; 2]>;

/// Requests that came to processes which may hand them on.
#[derive(Debug, Default)]
pub struct HandedOnRequests {
    /// Requests to peers, by who got them and by content.
    to_peers: ArrivedRequests<(Receiver, u64)>,
    /// The same by their bodies, for those of which no more is known.
    by_body: ArrivedRequests<(Receiver, u64)>,
    /// Followed requests to brokers, by content.
    to_brokers: ArrivedRequests<u64>,
    /// Requests that are followed and handed on, by what they are handed on as.
    origins: RecentMap<RequestKey, RequestKey, MAX_OPEN>,
    /// The same the other way round.
    copies: RecentMap<RequestKey, Vec<(Direction, u64)>, MAX_OPEN>,
    /// Ways of requests behind those who hand them on, once they were answered.
    ways: RecentMap<RequestKey, HandedOnWay, MAX_WAYS>,
    /// Time at which one that is followed was handed on last.
    last: Nanos,
}

/// Requests that came to processes, by what tells which of them another request is handed on for.
#[derive(Debug)]
struct ArrivedRequests<K> {
    /// The last request of each content.
    arrived: RecentMap<K, ArrivedRequest, MAX_OPEN>,
    open: RecentMap<RequestKey, K, MAX_OPEN>,
}

impl<K> Default for ArrivedRequests<K> {
    fn default() -> ArrivedRequests<K> {
        ArrivedRequests { arrived: RecentMap::default(), open: RecentMap::default() }
    }
}

impl<K: Copy + Eq + Hash> ArrivedRequests<K> {
    fn add(&mut self, of: K, request: ArrivedRequest) {
        self.open.insert(request.key, of);
        self.arrived.insert(of, request);
    }

    fn answered(&mut self, key: RequestKey, at: Nanos) {
        let arrived = self.open.remove(&key).and_then(|of| self.arrived.get_mut(&of));
        if let Some(arrived) = arrived.filter(|arrived| arrived.key == key) {
            arrived.answered = Some(at);
        }
    }
}

/// A request that came to a process.
#[derive(Clone, Copy, Debug)]
pub struct ArrivedRequest {
    key: RequestKey,
    to: Receiver,
    at: Nanos,
    answered: Option<Nanos>,
    /// True if its whole content is known.
    is_known: bool,
    /// True if another request is handed on for it.
    is_handed_on: bool,
    /// True if it is followed from end to end.
    is_sample: bool,
}

impl ArrivedRequest {
    /// A request that was found at `at`. It `is_sample` if it is followed from end to end.
    pub fn new(
        asks: Direction,
        number: u64,
        to: Receiver,
        (at, is_sample): (Nanos, bool),
    ) -> ArrivedRequest {
        let key = key_of(asks, number);
        let (is_known, is_handed_on) = (false, false);
        ArrivedRequest { key, to, at, answered: None, is_known, is_handed_on, is_sample }
    }
}

/// A request for which another one is handed on.
#[derive(Clone, Copy, Debug)]
pub struct OriginalRequest {
    key: RequestKey,
    /// True if it is followed from end to end.
    pub is_sample: bool,
}

impl HandedOnRequests {
    /// A request with this content, of which something is known, was found: to a peer, or to a broker.
    pub fn asked(
        &mut self,
        content: RequestContent,
        mut request: ArrivedRequest,
        is_brokered: bool,
    ) {
        if is_brokered {
            return self.to_brokers.add(content.whole, request);
        }
        request.is_known = content.whole != 0;
        if request.is_known {
            self.to_peers.add((request.to, content.whole), request);
        }
        if content.body != 0 {
            let of = (request.to, content.body);
            let waits = |last: &ArrivedRequest| !last.is_handed_on && last.answered.is_none();
            // What is handed on next may be for the one before.
            request.is_sample &= !self.by_body.arrived.get(&of).is_some_and(waits);
            self.by_body.add(of, request);
        }
    }

    /// A reply to a request was found at `at`.
    pub fn answered(&mut self, asks: Direction, number: u64, at: Nanos, is_brokered: bool) {
        let key = key_of(asks, number);
        if is_brokered {
            self.to_brokers.answered(key, at);
        } else {
            self.to_peers.answered(key, at);
            self.by_body.answered(key, at);
        }
    }

    /// The request that is handed on by the process that asks for a content: it, or a server of its cluster, had been asked for the same on
    /// another connection, and had not answered `hold` before `at`.
    pub fn origin(
        &mut self,
        asks: Direction,
        (content, is_brokered): (RequestContent, bool),
        by: impl Fn() -> Option<Receiver>,
        (at, hold): (Nanos, Nanos),
    ) -> Option<OriginalRequest> {
        let is_open = |arrived: &&mut ArrivedRequest| {
            arrived.key.0 != asks.serial
                && at <= arrived.at + LONGEST_WAIT_FOR_REPLY
                && arrived.answered.is_none_or(|answered| at <= answered + hold)
        };
        let arrived = if is_brokered {
            // Another server of the cluster may have it from the one that was asked: nobody else gives the same reply subject.
            self.to_brokers.arrived.get_mut(&content.whole).filter(is_open)
        } else {
            let by = by()?;
            let same = self.to_peers.arrived.get_mut(&(by, content.whole)).filter(is_open);
            let like = self.by_body.arrived.get_mut(&(by, content.body)).filter(is_open);
            same.or(like.filter(|like| !(like.is_known && content.whole != 0)))
        };
        let ArrivedRequest { key, is_sample, is_handed_on, .. } = arrived?;
        *is_handed_on = true;
        Some(OriginalRequest { key: *key, is_sample: *is_sample })
    }

    /// A request is followed that is handed on at `at` for this one.
    pub fn hand_on(&mut self, asks: Direction, number: u64, origin: OriginalRequest, at: Nanos) {
        self.last = self.last.max(at);
        self.origins.insert(key_of(asks, number), origin.key);
        match self.copies.get_mut(&origin.key) {
            Some(copies) if copies.len() < MAX_COPIES => copies.push((asks, number)),
            Some(_) => {}
            None => self.copies.insert(origin.key, vec![(asks, number)]),
        }
    }

    /// True if any request is followed that is handed on. Those that nobody will answer any more are forgotten.
    pub fn are_followed(&mut self, now: Nanos) -> bool {
        if now > self.last + LONGEST_WAIT_FOR_REPLY && !self.origins.is_empty() {
            self.origins.clear();
            self.copies.clear();
            self.ways.clear();
        }
        !self.origins.is_empty()
    }

    /// The reply to a request that was handed on came back to who did that. Of several, the first is passed on.
    pub fn came_back(&mut self, asks: Direction, number: u64, way: HandedOnWay) {
        let Some(origin) = self.origins.remove(&key_of(asks, number)) else { return };
        let began = |way: &HandedOnWay| way[1].times.seen().next();
        let known = self.ways.get(&origin).and_then(began);
        if known.is_none_or(|known| began(&way).is_some_and(|new| new.1 < known.1)) {
            self.ways.insert(origin, way);
        }
    }

    /// Takes the way of a request, which was answered, behind who handed it on, if that is known; and those that were handed on for it and have no
    /// answer yet.
    pub fn take_way(
        &mut self,
        asks: Direction,
        number: u64,
    ) -> (Option<HandedOnWay>, Vec<(Direction, u64)>) {
        let origin = key_of(asks, number);
        let mut copies = self.copies.remove(&origin).unwrap_or_default();
        copies.retain(|&(asks, number)| {
            let key = key_of(asks, number);
            let is_open = self.origins.get(&key) == Some(&origin);
            is_open && self.origins.remove(&key).is_some()
        });
        (self.ways.remove(&origin), copies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{Pid, Stage};
    use wirelap_test_support::delivered;

    const MIDDLE: Receiver = Receiver::Process(Pid(1));
    const END: Receiver = Receiver::Process(Pid(2));

    fn direction(serial: u64) -> Direction {
        Direction { index: 0, serial, side: Side::A }
    }

    /// A followed request to the process in the middle, on the first connection.
    fn asked(number: u64) -> ArrivedRequest {
        ArrivedRequest::new(direction(1), number, MIDDLE, (Nanos(0), true))
    }

    fn known(whole: u64) -> RequestContent {
        RequestContent { whole, body: 0 }
    }

    /// The original of what a process asks on a connection.
    fn origin(
        all: &mut HandedOnRequests,
        serial: u64,
        (by, content, is_brokered): (Receiver, u64, bool),
        at: u64,
    ) -> Option<OriginalRequest> {
        let of = (known(content), is_brokered);
        all.origin(direction(serial), of, || Some(by), (Nanos(at), Nanos(50)))
    }

    #[test]
    fn what_is_asked_while_the_same_waits_is_handed_on() {
        for is_brokered in [false, true] {
            let mut all = HandedOnRequests::default();
            all.asked(known(9), asked(7), is_brokered);
            let is = |all: &mut HandedOnRequests, serial, (by, content), at| {
                origin(all, serial, (by, content, is_brokered), at).is_some()
            };
            assert!(is(&mut all, 2, (MIDDLE, 9), 10));
            assert!(!is(&mut all, 1, (MIDDLE, 9), 10), "nobody asks who has asked");
            assert!(!is(&mut all, 2, (MIDDLE, 8), 10));
            assert_eq!(is(&mut all, 2, (END, 9), 10), is_brokered, "another server of the cluster");
            assert!(!is(&mut all, 2, (MIDDLE, 9), LONGEST_WAIT_FOR_REPLY.0 + 1));
            assert!(origin(&mut all, 2, (MIDDLE, 9, !is_brokered), 10).is_none());
            all.answered(direction(2), 7, Nanos(15), is_brokered);
            all.answered(direction(1), 7, Nanos(20), is_brokered);
            assert!(is(&mut all, 2, (MIDDLE, 9), 70) && !is(&mut all, 2, (MIDDLE, 9), 71));
        }
    }

    #[test]
    fn many_requests_to_brokers_leave_those_to_peers_alone_and_the_last_ones_stay() {
        let mut all = HandedOnRequests::default();
        all.asked(known(9), asked(7), false);
        for number in 0..20_000 {
            all.asked(known(number + 1), asked(number), true);
            let earlier = number.saturating_sub(2_000) + 1;
            assert!(origin(&mut all, 2, (MIDDLE, earlier, true), 1).is_some(), "{number}");
        }
        assert!(origin(&mut all, 2, (MIDDLE, 9, false), 1).is_some());
    }

    /// The way of a request whose reply began at this time.
    fn way(at: u64) -> HandedOnWay {
        Box::new([0, at].map(|at| delivered::leg(&[(Stage::Send, at)])))
    }

    #[test]
    fn of_several_who_answer_the_first_one_counts() {
        let mut all = HandedOnRequests::default();
        all.asked(known(9), asked(7), true);
        for (serial, began) in [(2, 30), (3, 20), (4, 40)] {
            let origin = origin(&mut all, serial, (MIDDLE, 9, true), 10).unwrap();
            assert!(origin.is_sample);
            all.hand_on(direction(serial), 7, origin, Nanos(10));
            all.came_back(direction(serial), 7, way(began));
        }
        assert!(!all.are_followed(Nanos(50)));
        let (taken, open) = all.take_way(direction(1), 7);
        assert_eq!(taken.unwrap()[1].times.get(Stage::Send), Some(Nanos(20)));
        assert!(open.is_empty() && all.take_way(direction(1), 7).0.is_none());
    }

    #[test]
    fn what_has_no_answer_is_followed_until_its_original_has_one() {
        let mut all = HandedOnRequests::default();
        all.asked(known(9), asked(7), true);
        all.asked(known(10), asked(8), true);
        let of = |all: &mut HandedOnRequests, content| origin(all, 2, (MIDDLE, content, true), 10);
        let originals = [9, 10].map(|content| of(&mut all, content).unwrap());
        for serial in [2, 3, 4] {
            all.hand_on(direction(serial), 7, originals[0], Nanos(10));
        }
        all.came_back(direction(3), 7, way(30));
        // The number is used again.
        all.hand_on(direction(4), 7, originals[1], Nanos(10));
        let (taken, open) = all.take_way(direction(1), 7);
        assert_eq!((taken.is_some(), open), (true, vec![(direction(2), 7)]));
        assert!(all.are_followed(Nanos(50)), "the other one is");
        assert_eq!(all.take_way(direction(1), 8).1, [(direction(4), 7)]);
        assert!(!all.are_followed(Nanos(50)));
    }

    #[test]
    fn what_nobody_ever_answers_is_forgotten_and_bounded() {
        let mut all = HandedOnRequests::default();
        all.asked(known(9), asked(7), true);
        let origin = origin(&mut all, 2, (MIDDLE, 9, true), 10).unwrap();
        for number in 0..20_000 {
            all.hand_on(direction(2), number, origin, Nanos(10));
        }
        let long = LONGEST_WAIT_FOR_REPLY;
        assert_eq!(
            [0, 10, 11].map(|after| all.are_followed(long + Nanos(after))),
            [true, true, false]
        );
        all.hand_on(direction(2), 1, origin, Nanos(10));
        assert_eq!(all.take_way(direction(1), 7).1, [(direction(2), 1)]);
        for number in 0..1_000 {
            all.hand_on(direction(2), number, origin, Nanos(10));
        }
        assert_eq!(all.take_way(direction(1), 7).1.len(), MAX_COPIES);
    }

    #[test]
    fn of_a_query_whose_key_is_not_known_the_last_with_its_body_tells() {
        let found = |known: [u64; 2], bodies: [u64; 2], is_answered: bool| {
            let [asked_for, handed_on] =
                [0, 1].map(|n| RequestContent { whole: known[n], body: bodies[n] });
            let mut all = HandedOnRequests::default();
            all.asked(asked_for, asked(7), false);
            if is_answered {
                all.answered(direction(1), 7, Nanos(5), false);
            }
            let by = || Some(MIDDLE);
            all.origin(direction(2), (handed_on, false), by, (Nanos(60), Nanos(50))).is_some()
        };
        assert!(found([9, 0], [3, 3], false), "its key was declared before");
        assert!(found([0, 9], [3, 3], false) && found([0, 0], [3, 3], false));
        assert!(!found([9, 8], [3, 3], false), "another key");
        assert!(!found([9, 0], [3, 4], false), "another body");
        assert!(!found([9, 0], [3, 3], true), "its own");
        assert!(!found([0, 0], [0, 0], false));
    }

    #[test]
    fn one_of_two_that_wait_with_the_same_body_is_not_followed() {
        let content = |whole| RequestContent { whole, body: 3 };
        let mut all = HandedOnRequests::default();
        let is_followed = |all: &mut HandedOnRequests| {
            let by = || Some(MIDDLE);
            let found = all.origin(direction(2), (content(0), false), by, (Nanos(9), Nanos(50)));
            found.unwrap().is_sample
        };
        all.asked(content(8), asked(7), false);
        assert!(is_followed(&mut all));
        all.asked(content(9), asked(8), false);
        assert!(is_followed(&mut all), "the one before was handed on");
        all.asked(content(8), asked(9), false);
        all.asked(content(9), asked(10), false);
        assert!(!is_followed(&mut all), "which of the two is it?");
    }
}
