//! Names and IDs of topics.

use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// The longest name that Kafka allows.
const LONGEST_NAME: usize = 249;

/// A topic, given by its name or its ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum KafkaTopic<'a> {
    Name(&'a [u8]),
    Id([u8; 16]),
}

/// True if Kafka allows this name (`org.apache.kafka.common.internals.Topic`).
pub(super) fn is_name(name: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    (1..=LONGEST_NAME).contains(&name.len()) && name.iter().all(allowed)
}

/// A hash of a value.
pub(super) fn hash(what: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    what.hash(&mut hasher);
    hasher.finish()
}
