//! Reply subjects that a client has given. They need not be inboxes by their names: clients can be set to another prefix than
//! `_INBOX` (docs.nats.io, "Request-Reply"; nats.go: `CustomInboxPrefix`).
//!
//! An answer has exactly the subject that was given. Other messages may have it, too, if the application chose it: each
//! publish expects only one answer. The server's answer to a publish names its place in a stream, so that each subject has a number
//! for its publish.

use super::jetstream::subject_number;
use rustc_hash::FxHashMap;
use wirelap_events::{Saturate, Size};

/// After so many new subjects, those that are older than as many others are forgotten. Clients wait for up to 4000 acks of
/// `JetStream` at once (nats.go: `PublishAsyncMaxPending`).
const MAX_RECENT_SUBJECTS: usize = 4096;

/// The reply subjects of one client for which no answer was seen.
#[derive(Debug, Default)]
pub(super) struct Replies {
    /// By the subject's number.
    recent: FxHashMap<u64, Expected>,
    older: FxHashMap<u64, Expected>,
    /// Number of publishes so far with a reply subject.
    given: u64,
}

/// The answers that a subject expects.
#[derive(Clone, Copy, Debug)]
struct Expected {
    answers: u32,
    /// The number of the first publish that gave it.
    publish: u64,
    /// True if the server's answer is empty.
    is_empty: bool,
}

impl Replies {
    /// A client publishes a message with this reply subject, which the server answers with nothing if `is_empty`. Returns a number for
    /// the publish, greater than those before.
    pub fn given(&mut self, reply: &[u8], is_empty: bool) -> u64 {
        let publish = self.given;
        self.given = publish.wrapping_add(1);
        let number = subject_number(reply);
        if let Some(expected) = self.older.get_mut(&number) {
            expected.answers.grow(1);
            return publish;
        }
        if self.recent.len() >= MAX_RECENT_SUBJECTS && !self.recent.contains_key(&number) {
            std::mem::swap(&mut self.recent, &mut self.older);
            self.recent.clear();
        }
        let new = Expected { answers: 0, publish, is_empty };
        self.recent.entry(number).or_insert(new).answers.grow(1);
        publish
    }

    /// True if a message to this subject can be an answer.
    pub fn expects(&self, subject: &[u8]) -> bool {
        if self.recent.is_empty() && self.older.is_empty() {
            return false;
        }
        let number = subject_number(subject);
        self.recent.contains_key(&number) || self.older.contains_key(&number)
    }

    /// True if the server's answer to this subject is empty.
    pub fn expects_nothing(&self, subject: &[u8]) -> bool {
        let number = subject_number(subject);
        let mut all = [&self.recent, &self.older].into_iter();
        all.any(|subjects| subjects.get(&number).is_some_and(|expected| expected.is_empty))
    }

    /// A client gets a message to this subject. Returns the number of the publish that it answers, if it is certain.
    pub fn answered(&mut self, subject: &[u8]) -> Option<u64> {
        let number = subject_number(subject);
        let mut publish = None;
        for subjects in [&mut self.recent, &mut self.older] {
            if let Some(expected) = subjects.get_mut(&number) {
                publish = Some(expected.publish).filter(|_| expected.answers == 1);
                expected.answers.shrink(1);
                if expected.answers == 0 {
                    subjects.remove(&number);
                }
            }
        }
        publish
    }

    /// Bytes of memory that they use.
    pub fn held_bytes(&self) -> Size {
        const ENTRY: usize = size_of::<(u64, Expected)>() + 1;
        (Size(self.recent.capacity()) + self.older.capacity()) * ENTRY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_publish_expects_one_answer() {
        let mut replies = Replies::default();
        for reply in [&b"me.box.a"[..], b"results", b"results"] {
            replies.given(reply, false);
        }
        assert!(!replies.expects(b"me.box.b"));
        assert_eq!(replies.answered(b"me.box.a"), Some(0));
        assert!(!replies.expects(b"me.box.a"));
        assert_eq!(replies.answered(b"results"), None, "the answer to which of two?");
        assert!(replies.expects(b"results"));
        replies.answered(b"results");
        assert!(!replies.expects(b"results"));
    }

    #[test]
    fn their_number_is_bounded_and_the_oldest_go_first() {
        let subject = |n: usize| format!("me.box.{n}").into_bytes();
        let mut replies = Replies::default();
        for n in 0..50_000 {
            replies.given(&subject(n), false);
        }
        assert!((50_000 - MAX_RECENT_SUBJECTS..50_000).all(|n| replies.expects(&subject(n))));
        assert!(!replies.expects(&subject(0)));
        assert!(replies.held_bytes() < 512 * 1024);
    }
}
