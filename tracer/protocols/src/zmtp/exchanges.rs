//! Requests and their replies: a REQ socket sends a request and waits for its reply, a REP socket replies to each request in the order
//! in which they came (RFC 28, "The Request-Reply Pattern").
//!
//! ```text
//! REQ           to REP, ROUTER   each message is a request, and the next one of the other end is its reply
//! DEALER        to REP           the same, with several on their way; with a name before the empty part, it is passed on for others
//! DEALER        to ROUTER        messages: whether one answers another is the application's matter
//! ```

use super::command::SocketType;
use crate::{FrameNote, FrameSink, Side};
use wirelap_events::{ByteRange, Saturate};

/// The messages of a connection that ask and answer, by their order.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    requests: u64,
    replies: u64,
    /// True after missing bytes, in which requests or replies may have been.
    is_torn: bool,
}

impl Exchanges {
    /// A message is complete that a side of a connection between these sockets has sent. An envelope that is addressed was begun by
    /// another socket.
    pub fn message(
        &mut self,
        (side, sockets): (Side, [Option<SocketType>; 2]),
        is_addressed: bool,
        extent: ByteRange,
        out: &mut dyn FrameSink,
    ) {
        let own = sockets[side as usize];
        let other = sockets[side.other() as usize];
        let is_requester = own == Some(SocketType::Requester);
        if is_requester || other == Some(SocketType::Replier) {
            if is_requester && std::mem::take(&mut self.is_torn) {
                // It has its reply to the one before.
                self.replies = self.requests;
            }
            self.requests.grow(1);
            if !self.is_torn && (is_requester || !is_addressed) {
                out.requests(self.requests, extent);
            }
        } else if own == Some(SocketType::Replier) || other == Some(SocketType::Requester) {
            self.replies.grow(1);
            if !self.is_torn {
                out.note(FrameNote::Reply { number: self.replies, extent });
            }
        }
    }

    /// Bytes are missing.
    pub fn gap(&mut self) {
        self.is_torn = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameNote;
    use SocketType::{Replier, Requester, Router};
    use wirelap_events::{Frame, Offset};

    /// What is reported: true for a reply, and its number.
    #[derive(Default)]
    struct Reported(Vec<(bool, u64)>);

    impl FrameSink for Reported {
        fn frame(&mut self, _: &Frame<'_>) {}

        fn note(&mut self, note: FrameNote<'_>) {
            match note {
                FrameNote::Request { number, .. } => self.0.push((false, number)),
                FrameNote::Reply { number, .. } => self.0.push((true, number)),
                _ => {}
            }
        }
    }

    /// The messages that are reported of these sides, each with an addressed envelope or not, between two sockets.
    fn reported(sockets: [Option<SocketType>; 2], messages: &[(Side, bool)]) -> Vec<(bool, u64)> {
        let (mut exchanges, mut out) = (Exchanges::default(), Reported::default());
        for &(side, is_addressed) in messages {
            let extent = ByteRange::new(Offset(0), 1);
            exchanges.message((side, sockets), is_addressed, extent, &mut out);
        }
        out.0
    }

    const ASK: (Side, bool) = (Side::A, false);
    const ANSWER: (Side, bool) = (Side::B, false);

    #[test]
    fn a_requester_asks_and_whoever_is_at_the_other_end_answers() {
        for other in [Some(Replier), Some(Router), None] {
            let found = reported([Some(Requester), other], &[ASK, ANSWER, ASK, ANSWER]);
            assert_eq!(found, [(false, 1), (true, 1), (false, 2), (true, 2)], "{other:?}");
        }
        // With REQ_CORRELATE, its own number is before the empty part.
        let correlated = [(Side::A, true), (Side::B, true)];
        assert_eq!(reported([Some(Requester), None], &correlated), [(false, 1), (true, 1)]);
    }

    #[test]
    fn a_replier_answers_in_order() {
        let found = reported([Some(Router), Some(Replier)], &[ASK, ASK, ANSWER, ANSWER]);
        assert_eq!(found, [(false, 1), (false, 2), (true, 1), (true, 2)]);
        let passed_on = [(Side::A, true), ASK, (Side::B, true), ANSWER];
        let found = reported([Some(Router), Some(Replier)], &passed_on);
        assert_eq!(found, [(false, 2), (true, 1), (true, 2)], "nobody waits for the reply to 1");
        for sockets in [[Some(Router), Some(Router)], [None, None], [None, Some(Router)]] {
            assert_eq!(reported(sockets, &[ASK, ANSWER]), []);
        }
    }

    #[test]
    fn after_missing_bytes_a_requester_begins_anew() {
        let (mut exchanges, mut out) = (Exchanges::default(), Reported::default());
        let mut send = |exchanges: &mut Exchanges, (side, _): (Side, bool), sockets| {
            exchanges.message((side, sockets), false, ByteRange::new(Offset(0), 1), &mut out);
        };
        let strict = [Some(Requester), Some(Replier)];
        send(&mut exchanges, ASK, strict);
        exchanges.gap();
        for one in [ANSWER, ASK, ANSWER] {
            send(&mut exchanges, one, strict);
        }
        let loose = [Some(Router), Some(Replier)];
        exchanges.gap();
        for one in [ASK, ANSWER] {
            send(&mut exchanges, one, loose);
        }
        assert_eq!(out.0, [(false, 1), (false, 2), (true, 2)]);
    }
}
