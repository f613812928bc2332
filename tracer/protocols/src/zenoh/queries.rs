//! Replies that a getter's library discards.
//!
//! A query says how many replies of a key its sender's application gets, however many come (zenoh 1.10, `send_response` in
//! `src/api/session.rs`):
//!
//! | consolidation | the application gets |
//! |---|---|
//! | 0 auto, 3 latest | one reply of each key, when all have come |
//! | 1 none | every reply |
//! | 2 monotonic | every reply that is not older than the last one of its key |

use rustc_hash::FxHashMap;
use wirelap_events::Size;

/// So many open queries of one side are known; the replies to further ones are not compared.
const MAX_QUERIES: usize = 1 << 10;

/// So many keys are known of one query; replies with further ones are not compared.
const MAX_KEYS: usize = 1 << 12;

/// An estimate of the memory of an open query, and of a key of one.
const ENTRY_BYTES: usize = 48;

/// The open queries of one side whose library may discard replies.
#[derive(Debug, Default)]
pub struct OpenQueries {
    queries: FxHashMap<u32, OpenQuery>,
    /// Keys of all queries.
    keys: Size,
}

#[derive(Debug)]
struct OpenQuery {
    is_monotonic: bool,
    /// The time of the last reply that was taken, by a digest of its key.
    taken: FxHashMap<u64, u64>,
}

impl OpenQueries {
    /// Bytes of memory that the queries use.
    pub fn held_bytes(&self) -> Size {
        (self.keys + self.queries.len()) * ENTRY_BYTES
    }

    /// A query with this number begins.
    pub fn begin(&mut self, number: u32, consolidation: u64) {
        const NONE: u64 = 1;
        const MONOTONIC: u64 = 2;
        self.end(number);
        if consolidation != NONE && self.queries.len() < MAX_QUERIES {
            let is_monotonic = consolidation == MONOTONIC;
            self.queries.insert(number, OpenQuery { is_monotonic, taken: FxHashMap::default() });
        }
    }

    /// A reply to the query comes, with this key and time; without a timestamp, the time is 0. Returns whether it, or one that it
    /// takes the place of, does not reach the application.
    pub fn reply(&mut self, number: u32, key: u64, time: u64) -> bool {
        let Some(query) = self.queries.get_mut(&number) else { return false };
        match query.taken.get_mut(&key) {
            Some(last) if time < *last => true,
            Some(last) => {
                *last = time;
                !query.is_monotonic
            }
            None => {
                if query.taken.len() < MAX_KEYS {
                    query.taken.insert(key, time);
                    self.keys += 1;
                }
                false
            }
        }
    }

    /// All replies to the query have come.
    pub fn end(&mut self, number: u32) {
        let keys = self.queries.remove(&number).map_or(0, |query| query.taken.len());
        self.keys -= keys;
    }

    /// A session begins, or bytes are missing.
    pub fn clear(&mut self) {
        *self = OpenQueries::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many of three replies of one key and one of another do not reach the application.
    fn discarded(consolidation: u64, times: [u64; 3]) -> usize {
        let mut queries = OpenQueries::default();
        queries.begin(7, consolidation);
        let same = times.map(|time| queries.reply(7, 1, time));
        assert!(!queries.reply(7, 2, 0), "another key");
        same.into_iter().filter(|is_discarded| *is_discarded).count()
    }

    #[test]
    fn consolidation_decides_how_many_reach_the_application() {
        assert_eq!([0, 1, 2, 3].map(|one| discarded(one, [0; 3])), [2, 0, 0, 2]);
        assert_eq!([0, 1, 2, 3].map(|one| discarded(one, [9, 4, 9])), [2, 0, 1, 2]);
        assert_eq!([0, 1, 2, 3].map(|one| discarded(one, [4, 5, 6])), [2, 0, 0, 2]);
    }

    #[test]
    fn a_number_is_used_again_and_memory_is_bounded() {
        let mut queries = OpenQueries::default();
        queries.begin(7, 3);
        assert!(!queries.reply(7, 1, 0) && queries.reply(7, 1, 0));
        queries.end(7);
        assert!(!queries.reply(7, 1, 0), "the query is over");
        queries.begin(7, 3);
        assert!(!queries.reply(7, 1, 0) && queries.reply(7, 1, 0));
        (0..100_000).for_each(|number| queries.begin(number, 3));
        (0..100_000).for_each(|key| _ = queries.reply(0, key, 0));
        assert!(queries.held_bytes() <= (MAX_QUERIES + MAX_KEYS) * ENTRY_BYTES);
        queries.clear();
        assert_eq!(queries.held_bytes(), 0);
    }
}
