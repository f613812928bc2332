//! Reply subjects that a client has given and that are no inboxes by their names: clients can be set to another prefix than
//! `_INBOX` (docs.nats.io, "Request-Reply"; nats.go: `CustomInboxPrefix`).
//!
//! An answer has exactly the subject that was given. Other messages may have it, too, if the application chose it: each
//! publish expects only one answer.

use super::jetstream::{is_inbox, subject_number};
use rustc_hash::FxHashMap;
use wirelap_events::Saturate;

/// After so many new subjects, those that are older than as many others are forgotten. Clients wait for up to 4000 acks of
/// `JetStream` at once (nats.go: `PublishAsyncMaxPending`).
const MAX_RECENT_SUBJECTS: usize = 4096;

/// The reply subjects of one client for which no answer was seen.
#[derive(Debug, Default)]
pub(super) struct Replies {
    /// How many answers each subject expects, by the subject's number.
    recent: FxHashMap<u64, u32>,
    older: FxHashMap<u64, u32>,
}

impl Replies {
    /// A client publishes a message with this reply subject.
    pub fn given(&mut self, reply: &[u8]) {
        if is_inbox(reply) || reply.starts_with(b"$") {
            return;
        }
        let number = subject_number(reply);
        if let Some(expected) = self.older.get_mut(&number) {
            return expected.grow(1);
        }
        if self.recent.len() >= MAX_RECENT_SUBJECTS && !self.recent.contains_key(&number) {
            std::mem::swap(&mut self.recent, &mut self.older);
            self.recent.clear();
        }
        self.recent.entry(number).or_default().grow(1);
    }

    /// Whether a message to this subject can be an answer.
    pub fn expects(&self, subject: &[u8]) -> bool {
        if self.recent.is_empty() && self.older.is_empty() {
            return false;
        }
        let number = subject_number(subject);
        self.recent.contains_key(&number) || self.older.contains_key(&number)
    }

    /// A client gets a message to this subject.
    pub fn answered(&mut self, subject: &[u8]) {
        let number = subject_number(subject);
        for subjects in [&mut self.recent, &mut self.older] {
            if let Some(expected) = subjects.get_mut(&number) {
                expected.shrink(1);
                if *expected == 0 {
                    subjects.remove(&number);
                }
            }
        }
    }

    /// Bytes of memory that they use.
    pub fn held_bytes(&self) -> usize {
        const ENTRY: usize = size_of::<(u64, u32)>() + 1;
        self.recent.capacity().saturating_add(self.older.capacity()).saturating_mul(ENTRY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_publish_expects_one_answer() {
        let mut replies = Replies::default();
        for reply in [&b"me.box.a"[..], b"results", b"results"] {
            replies.given(reply);
        }
        assert!(!replies.expects(b"me.box.b"));
        replies.answered(b"me.box.a");
        assert!(!replies.expects(b"me.box.a"));
        replies.answered(b"results");
        assert!(replies.expects(b"results"));
        replies.answered(b"results");
        assert!(!replies.expects(b"results"));
    }

    #[test]
    fn subjects_that_are_known_by_their_names_are_not_kept() {
        let mut replies = Replies::default();
        replies.given(b"_INBOX.a");
        replies.given(b"$JS.ACK.S.C.1.2.3.4.5");
        assert_eq!(replies.held_bytes(), 0);
    }

    #[test]
    fn their_number_is_bounded_and_the_oldest_go_first() {
        let subject = |n: usize| format!("me.box.{n}").into_bytes();
        let mut replies = Replies::default();
        (0..50_000).for_each(|n| replies.given(&subject(n)));
        assert!((50_000 - MAX_RECENT_SUBJECTS..50_000).all(|n| replies.expects(&subject(n))));
        assert!(!replies.expects(&subject(0)));
        assert!(replies.held_bytes() < 512 * 1024);
    }
}
