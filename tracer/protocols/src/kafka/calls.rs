//! The requests that wait for a response, by correlation ID.

use super::apis::ApiCall;
use std::collections::VecDeque;

/// The most requests that are remembered; then the oldest is forgotten. Clients have a handful in flight.
const MOST: usize = 1024;

/// The most requests without response that are remembered: some brokers (librdkafka's mock) answer them anyway.
const MOST_QUIET: usize = 64;

/// The capacity that is kept when no request is open.
const IDLE: usize = 16;

/// The largest difference between neighbouring correlation IDs that is plausible.
const NEAR: i32 = 256;

#[derive(Clone, Copy, Debug)]
struct OpenCall {
    id: i32,
    call: ApiCall,
    /// True if the request wants no response.
    quiet: bool,
}

/// The requests of a conversation that wait for their responses. A broker answers in the order of the requests (protocol
/// guide, "Network").
#[derive(Debug, Default)]
pub(super) struct PendingRequests {
    open: VecDeque<OpenCall>,
    last: Option<i32>,
}

impl PendingRequests {
    /// Adds a request.
    pub fn asked(&mut self, id: i32, call: ApiCall, wants_response: bool) {
        let is_old = |open: &OpenCall| open.quiet && self.open.len() >= MOST_QUIET;
        if self.open.len() == MOST || self.open.front().is_some_and(is_old) {
            self.open.pop_front();
        }
        self.open.push_back(OpenCall { id, call, quiet: !wants_response });
    }

    /// Stores the correlation ID that was captured last, in either direction.
    pub fn saw(&mut self, correlation_id: i32) {
        self.last = Some(correlation_id);
    }

    /// The request that the response with this ID answers.
    pub fn of(&self, correlation_id: i32) -> Option<ApiCall> {
        let found = self.open.iter().find(|open| open.id == correlation_id);
        found.map(|open| open.call)
    }

    /// True if a request of this API waits for its response.
    pub fn is_awaited(&self, key: i16) -> bool {
        self.open.iter().any(|open| open.call.key == key)
    }

    /// Removes the request with this ID and all earlier ones, because its response was captured.
    pub fn answered(&mut self, correlation_id: i32) {
        if let Some(index) = self.open.iter().position(|open| open.id == correlation_id) {
            self.open.drain(..=index);
        }
        if self.open.is_empty() {
            self.open.shrink_to(IDLE);
        }
    }

    /// True if this ID is plausible: it is that of a waiting request, or near the last one.
    pub fn fits(&self, correlation_id: i32) -> bool {
        let is_near = |last: i32| (-NEAR..=NEAR).contains(&correlation_id.wrapping_sub(last));
        self.of(correlation_id).is_some() || self.last.is_some_and(is_near)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: ApiCall = ApiCall { key: 3, version: 9 };

    #[test]
    fn a_response_answers_what_came_before_it_too() {
        let mut calls = PendingRequests::default();
        for id in 1..=4 {
            calls.asked(id, ApiCall { version: i16::try_from(id).unwrap(), ..CALL }, true);
        }
        assert_eq!(calls.of(3), Some(ApiCall { version: 3, ..CALL }));
        calls.answered(3);
        assert_eq!((calls.of(2), calls.of(3)), (None, None));
        assert!(calls.of(4).is_some());
    }

    #[test]
    fn their_number_is_bounded() {
        let mut calls = PendingRequests::default();
        for id in 0..3000 {
            calls.asked(id, CALL, true);
        }
        assert_eq!((calls.open.len(), calls.of(3000 - 1025)), (MOST, None));
        assert!(calls.of(3000 - 1024).is_some());
        calls.answered(2999);
        assert!(calls.open.capacity() < MOST);
    }

    #[test]
    fn few_are_remembered_that_want_no_response() {
        let mut calls = PendingRequests::default();
        calls.asked(0, CALL, true);
        for id in 1..=100 {
            calls.asked(id, CALL, false);
        }
        // Behind one that is waited for, as one response answers all before it.
        assert_eq!((calls.of(0), calls.of(1)), (Some(CALL), Some(CALL)));
        calls.answered(50);
        for id in 101..=200 {
            calls.asked(id, CALL, false);
        }
        assert_eq!((calls.open.len(), calls.of(200)), (MOST_QUIET, Some(CALL)));
    }

    #[test]
    fn near_ids_fit() {
        let mut calls = PendingRequests::default();
        assert!(!calls.fits(7));
        calls.saw(i32::MAX);
        assert!(calls.fits(i32::MIN) && calls.fits(i32::MAX - 256) && !calls.fits(7));
    }
}
