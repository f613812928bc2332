//! Notifications that a server has published, so that those that it publishes again are known (OPC 10000-4 §5.14.1.1, §5.14.6).
//!
//! Each notification message of a subscription has the next sequence number. A client that misses one asks for it by its number, on
//! whichever connection; some ask for what they have, too.

use crate::Side;
use std::collections::{HashMap, VecDeque};

/// The most subscriptions whose numbers are remembered. Those of others are not known.
const MAX_SUBSCRIPTIONS: usize = 1024;

/// The most requests to publish again that wait for their responses; then the oldest is forgotten.
const MAX_REQUESTS: usize = 32;

/// The sequence numbers of a subscription's notifications that were seen.
#[derive(Clone, Copy, Debug)]
struct SeenNumbers {
    highest: u32,
    /// A bit for each of the last 128 numbers, the highest in the lowest bit. A client acknowledges what it has long before that, and
    /// servers keep less.
    seen: u128,
}

/// The notifications that were published on a connection.
#[derive(Debug, Default)]
pub(super) struct Published {
    numbers: HashMap<u32, SeenNumbers>,
    /// Requests to publish again, with their subscription, by the side that sends them.
    requests: [VecDeque<(u32, u32)>; 2],
}

impl Published {
    /// A client asks for a notification of a subscription again.
    pub fn ask_again(&mut self, client: Side, request: u32, subscription: u32) {
        let open = &mut self.requests[client as usize];
        if open.len() >= MAX_REQUESTS {
            open.pop_front();
        }
        open.push_back((request, subscription));
    }

    /// The subscription that a request of the other end is for, which `server` answers.
    pub fn asked_for(&mut self, server: Side, request: u32) -> Option<u32> {
        let open = &mut self.requests[server.other() as usize];
        let index = open.iter().position(|(number, _)| *number == request)?;
        open.remove(index).map(|(_, subscription)| subscription)
    }

    /// Notes a notification message. True if it was published before.
    pub fn note(&mut self, subscription: u32, number: u32) -> bool {
        let has_room = self.numbers.len() < MAX_SUBSCRIPTIONS;
        let Some(known) = self.numbers.get_mut(&subscription) else {
            if has_room {
                self.numbers.insert(subscription, SeenNumbers { highest: number, seen: 1 });
            }
            return false;
        };
        let ahead = number.wrapping_sub(known.highest);
        let behind = known.highest.wrapping_sub(number);
        if ahead != 0 && ahead < behind {
            known.seen = known.seen.checked_shl(ahead).unwrap_or(0) | 1;
            known.highest = number;
            return false;
        }
        let bit = 1_u128.checked_shl(behind).unwrap_or(0);
        let was_seen = known.seen & bit != 0;
        known.seen |= bit;
        was_seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_a_subscription_is_published_again_if_it_was_before() {
        let mut published = Published::default();
        let noted = [5, 6, 8, 6, 7, 7, 8, 9, 4, 4].map(|number| published.note(1, number));
        assert_eq!(noted, [false, false, false, true, false, true, true, false, false, true]);
        assert!(!published.note(2, 6), "another subscription");
        assert!(
            !published.note(1, 1_000) && !published.note(1, 9),
            "too long ago to be told apart"
        );
        // After the highest number comes 1.
        assert!(!published.note(3, u32::MAX) && !published.note(3, 1));
        assert!(published.note(3, u32::MAX) && published.note(3, 1));
    }

    #[test]
    fn an_answer_is_for_the_subscription_of_its_request_and_requests_are_bounded() {
        let mut published = Published::default();
        for request in 0..40 {
            published.ask_again(Side::A, request, 100 + request);
        }
        assert_eq!(published.asked_for(Side::B, 39), Some(139));
        assert_eq!(published.asked_for(Side::B, 39), None, "it was answered");
        assert_eq!(published.asked_for(Side::A, 38), None, "of the other end");
        assert_eq!(published.asked_for(Side::B, 7), None, "given up");
        for subscription in 0..2_000 {
            published.note(subscription, 1);
        }
        assert_eq!(published.numbers.len(), MAX_SUBSCRIPTIONS);
    }
}
