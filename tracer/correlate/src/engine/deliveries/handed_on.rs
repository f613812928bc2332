//! Requests that a process hands on for others: a peer of Zenoh for its clients, for example. They are counted where they were asked.
//!
//! ```text
//! client ──query 7──▶ peer ──query 3──▶ client      the same content, from another connection, while query 7 is open
//! ```

use crate::join::Receiver;
use rustc_hash::FxHashMap;
use wirelap_events::Nanos;
use wirelap_flow::Direction;
use wirelap_limits::deliveries::LONGEST_WAIT_FOR_REPLY;
use wirelap_protocols::Side;

/// The most requests that are remembered.
const MAX_OPEN: usize = 4096;

/// A request on its connection: the conversation, the end that asks, and the number.
type RequestKey = (u64, Side, u64);

/// Requests that came to processes which may hand them on.
#[derive(Debug, Default)]
pub struct HandedOnRequests {
    /// The last request of each content that came to a process.
    arrived: FxHashMap<(Receiver, u64), ArrivedRequest>,
    open: FxHashMap<RequestKey, (Receiver, u64)>,
}

#[derive(Debug)]
struct ArrivedRequest {
    key: RequestKey,
    at: Nanos,
    answered: Option<Nanos>,
}

impl HandedOnRequests {
    /// A request with this content, which is not 0, was found at `at`.
    pub fn asked(
        &mut self,
        asks: Direction,
        number: u64,
        (to, content): (Receiver, u64),
        at: Nanos,
    ) {
        if self.open.len() >= MAX_OPEN || self.arrived.len() >= MAX_OPEN {
            self.open.clear();
            self.arrived.clear();
        }
        let key = (asks.serial, asks.side, number);
        self.open.insert(key, (to, content));
        self.arrived.insert((to, content), ArrivedRequest { key, at, answered: None });
    }

    /// A reply to a request was found at `at`.
    pub fn answered(&mut self, asks: Direction, number: u64, at: Nanos) {
        let key = (asks.serial, asks.side, number);
        let arrived = self.open.remove(&key).and_then(|of| self.arrived.get_mut(&of));
        if let Some(arrived) = arrived.filter(|arrived| arrived.key == key) {
            arrived.answered = Some(at);
        }
    }

    /// True if the process that asks for a content had been asked for the same on another connection, and had not answered
    /// `hold` before `at`.
    pub fn is_handed_on(
        &self,
        asks: Direction,
        of: (Receiver, u64),
        (at, hold): (Nanos, Nanos),
    ) -> bool {
        self.arrived.get(&of).is_some_and(|arrived| {
            arrived.key.0 != asks.serial
                && at <= arrived.at + LONGEST_WAIT_FOR_REPLY
                && arrived.answered.is_none_or(|answered| at <= answered + hold)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::Pid;

    const MIDDLE: Receiver = Receiver::Process(Pid(1));
    const END: Receiver = Receiver::Process(Pid(2));

    fn direction(serial: u64) -> Direction {
        Direction { index: 0, serial, side: Side::A }
    }

    #[test]
    fn what_is_asked_while_the_same_waits_is_handed_on() {
        let (mut all, hold) = (HandedOnRequests::default(), Nanos(50));
        all.asked(direction(1), 7, (MIDDLE, 9), Nanos(0));
        let is = |all: &HandedOnRequests, serial, of, at| {
            all.is_handed_on(direction(serial), of, (Nanos(at), hold))
        };
        assert!(is(&all, 2, (MIDDLE, 9), 10));
        assert!(!is(&all, 1, (MIDDLE, 9), 10), "nobody asks who has asked");
        assert!(!is(&all, 2, (MIDDLE, 8), 10) && !is(&all, 2, (END, 9), 10));
        assert!(!is(&all, 2, (MIDDLE, 9), LONGEST_WAIT_FOR_REPLY.0 + 1));
        all.answered(direction(2), 7, Nanos(15));
        all.answered(direction(1), 7, Nanos(20));
        assert!(is(&all, 2, (MIDDLE, 9), 70) && !is(&all, 2, (MIDDLE, 9), 71));
    }

    #[test]
    fn their_number_is_bounded() {
        let mut all = HandedOnRequests::default();
        for number in 0..20_000 {
            all.asked(direction(1), number, (MIDDLE, number + 1), Nanos(0));
        }
        assert!(all.open.len() <= MAX_OPEN && all.arrived.len() <= MAX_OPEN);
    }
}
