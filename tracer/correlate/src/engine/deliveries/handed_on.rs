//! Requests that a process hands on for others: a peer of Zenoh for its clients, a server of NATS for all. They are counted where they were asked.
//!
//! ```text
//! client ──query 7──▶ peer ──query 3──▶ client      the same content, from another connection, while query 7 is open
//! client ◀──reply 7── peer ◀──reply 3── client      its way through the peer has four legs
//! ```

use crate::join::Receiver;
use rustc_hash::FxHashMap;
use wirelap_events::{Leg, Nanos};
use wirelap_flow::Direction;
use wirelap_limits::deliveries::LONGEST_WAIT_FOR_REPLY;
use wirelap_protocols::Side;

/// The most requests that are remembered.
const MAX_OPEN: usize = 4096;

/// The most ways of answered requests, whose legs are large.
const MAX_WAYS: usize = 256;

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
    /// The last request of each content that came to a process.
    arrived: FxHashMap<(Receiver, u64), ArrivedRequest>,
    open: FxHashMap<RequestKey, (Receiver, u64)>,
    /// Requests that are followed and handed on, by what they are handed on as.
    origins: FxHashMap<RequestKey, RequestKey>,
    /// Ways of requests behind those who hand them on, once they were answered.
    ways: FxHashMap<RequestKey, HandedOnWay>,
}

#[derive(Clone, Copy, Debug)]
struct ArrivedRequest {
    key: RequestKey,
    at: Nanos,
    answered: Option<Nanos>,
    /// True if it is followed from end to end.
    is_sample: bool,
}

/// A request for which another one is handed on.
#[derive(Clone, Copy, Debug)]
pub struct OriginalRequest {
    key: RequestKey,
    /// True if it is followed from end to end.
    pub is_sample: bool,
}

impl HandedOnRequests {
    /// A request with this content, which is not 0, was found at `at`.
    pub fn asked(
        &mut self,
        asks: Direction,
        number: u64,
        (to, content): (Receiver, u64),
        (at, is_sample): (Nanos, bool),
    ) {
        if self.open.len() >= MAX_OPEN || self.arrived.len() >= MAX_OPEN {
            self.open.clear();
            self.arrived.clear();
        }
        let key = key_of(asks, number);
        self.open.insert(key, (to, content));
        self.arrived.insert((to, content), ArrivedRequest { key, at, answered: None, is_sample });
    }

    /// A reply to a request was found at `at`.
    pub fn answered(&mut self, asks: Direction, number: u64, at: Nanos) {
        let key = key_of(asks, number);
        let arrived = self.open.remove(&key).and_then(|of| self.arrived.get_mut(&of));
        if let Some(arrived) = arrived.filter(|arrived| arrived.key == key) {
            arrived.answered = Some(at);
        }
    }

    /// The request that is handed on by the process that asks for a content: it had been asked for the same on another connection, and had not
    /// answered `hold` before `at`.
    pub fn origin(
        &self,
        asks: Direction,
        of: (Receiver, u64),
        (at, hold): (Nanos, Nanos),
    ) -> Option<OriginalRequest> {
        let arrived = self.arrived.get(&of)?;
        let is_open = arrived.key.0 != asks.serial
            && at <= arrived.at + LONGEST_WAIT_FOR_REPLY
            && arrived.answered.is_none_or(|answered| at <= answered + hold);
        let ArrivedRequest { key, is_sample, .. } = *arrived;
        is_open.then_some(OriginalRequest { key, is_sample })
    }

    /// A request is followed that is handed on for this one.
    pub fn hand_on(&mut self, asks: Direction, number: u64, origin: OriginalRequest) {
        if self.origins.len() >= MAX_OPEN {
            self.origins.clear();
        }
        self.origins.insert(key_of(asks, number), origin.key);
    }

    /// True if any request is followed that is handed on.
    pub fn are_followed(&self) -> bool {
        !self.origins.is_empty()
    }

    /// The reply to a request that was handed on came back to who did that. Of several, the first is passed on.
    pub fn came_back(&mut self, asks: Direction, number: u64, way: HandedOnWay) {
        let Some(origin) = self.origins.remove(&key_of(asks, number)) else { return };
        if self.ways.len() >= MAX_WAYS {
            self.ways.clear();
        }
        let began = |way: &HandedOnWay| way[1].times.seen().next();
        let known = self.ways.get(&origin).and_then(began);
        if known.is_none_or(|known| began(&way).is_some_and(|new| new.1 < known.1)) {
            self.ways.insert(origin, way);
        }
    }

    /// Takes the way of a request behind who handed it on, if that is known.
    pub fn take_way(&mut self, asks: Direction, number: u64) -> Option<HandedOnWay> {
        self.ways.remove(&key_of(asks, number))
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

    #[test]
    fn what_is_asked_while_the_same_waits_is_handed_on() {
        let (mut all, hold) = (HandedOnRequests::default(), Nanos(50));
        all.asked(direction(1), 7, (MIDDLE, 9), (Nanos(0), true));
        let is = |all: &HandedOnRequests, serial, of, at| {
            all.origin(direction(serial), of, (Nanos(at), hold)).is_some()
        };
        assert!(is(&all, 2, (MIDDLE, 9), 10));
        assert!(!is(&all, 1, (MIDDLE, 9), 10), "nobody asks who has asked");
        assert!(!is(&all, 2, (MIDDLE, 8), 10) && !is(&all, 2, (END, 9), 10));
        assert!(!is(&all, 2, (MIDDLE, 9), LONGEST_WAIT_FOR_REPLY.0 + 1));
        all.answered(direction(2), 7, Nanos(15));
        all.answered(direction(1), 7, Nanos(20));
        assert!(is(&all, 2, (MIDDLE, 9), 70) && !is(&all, 2, (MIDDLE, 9), 71));
    }

    /// The way of a request whose reply began at this time.
    fn way(at: u64) -> HandedOnWay {
        Box::new([0, at].map(|at| delivered::leg(&[(Stage::Send, at)])))
    }

    #[test]
    fn of_several_who_answer_the_first_one_counts() {
        let mut all = HandedOnRequests::default();
        all.asked(direction(1), 7, (MIDDLE, 9), (Nanos(0), true));
        for (serial, began) in [(2, 30), (3, 20), (4, 40)] {
            let origin = all.origin(direction(serial), (MIDDLE, 9), (Nanos(10), Nanos(0))).unwrap();
            assert!(origin.is_sample);
            all.hand_on(direction(serial), 7, origin);
            all.came_back(direction(serial), 7, way(began));
        }
        assert!(!all.are_followed());
        let taken = all.take_way(direction(1), 7).unwrap();
        assert_eq!(taken[1].times.get(Stage::Send), Some(Nanos(20)));
        assert!(all.take_way(direction(1), 7).is_none());
    }

    #[test]
    fn their_number_is_bounded() {
        let mut all = HandedOnRequests::default();
        for number in 0..20_000 {
            all.asked(direction(1), number, (MIDDLE, number + 1), (Nanos(0), true));
            let origin = all.origin(direction(2), (MIDDLE, number + 1), (Nanos(0), Nanos(0)));
            all.hand_on(direction(2), number, origin.unwrap());
            all.hand_on(direction(3), number, origin.unwrap());
            all.came_back(direction(2), number, way(0));
        }
        assert!(all.open.len() <= MAX_OPEN && all.arrived.len() <= MAX_OPEN);
        assert!(all.origins.len() <= MAX_OPEN && all.ways.len() <= MAX_WAYS);
    }
}
