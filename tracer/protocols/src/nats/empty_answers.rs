//! Reply subjects to which a server answers with nothing: between servers, that is no message of the application. A request may go to several servers
//! of which one answers, and between clusters its answer comes on another connection. A reply subject is that of one request.

use super::jetstream::subject_number;
use crate::memory::SharedStore;
use rustc_hash::FxHashSet;
use std::sync::{Mutex, PoisonError};

/// After so many new subjects, those that are older than as many others are forgotten.
const MAX_RECENT: usize = 4096;

/// The last reply subjects of empty answers, of all connections.
#[derive(Debug, Default)]
pub(super) struct EmptyAnswers(Mutex<RecentSubjects>);

/// Numbers of subjects.
#[derive(Debug, Default)]
struct RecentSubjects {
    recent: FxHashSet<u64>,
    older: FxHashSet<u64>,
}

impl EmptyAnswers {
    /// A message was sent to a server, which answers to this subject with nothing.
    pub fn note(&self, reply: &[u8]) {
        let mut subjects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if subjects.recent.len() >= MAX_RECENT {
            subjects.older = std::mem::take(&mut subjects.recent);
        }
        subjects.recent.insert(subject_number(reply));
    }

    /// True if a message with nothing in it is the answer to this subject.
    pub fn has(&self, subject: &[u8]) -> bool {
        let subjects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = subject_number(subject);
        subjects.recent.contains(&number) || subjects.older.contains(&number)
    }
}

impl SharedStore for EmptyAnswers {
    /// Answers come soon: what has gone is awaited no more.
    fn forgotten(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_subjects_are_known_and_their_number_is_bounded() {
        let all = EmptyAnswers::default();
        let subject = |n: usize| format!("_INBOX.{n}").into_bytes();
        for n in 0..50_000 {
            all.note(&subject(n));
            assert!(all.has(&subject(n.saturating_sub(MAX_RECENT - 1))), "{n}");
        }
        assert!(!all.has(&subject(0)) && !all.has(b"_INBOX.x"));
        let subjects = all.0.lock().unwrap();
        assert!(subjects.recent.len() + subjects.older.len() <= 2 * MAX_RECENT);
    }
}
