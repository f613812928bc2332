//! From which share on something reduces a row, and from which it makes it unusable.

/// From which share on something reduces a row, and from which it makes it unusable.
#[derive(Clone, Copy)]
pub struct Limits {
    pub reduced: f64,
    pub unusable: f64,
}

/// Never.
pub const NEVER: f64 = f64::INFINITY;

/// A single one makes the row unusable.
pub const ONE_IS_TOO_MANY: Limits = Limits { reduced: 0.0, unusable: 0.0 };

pub const EVENTS_LOST: Limits = Limits { reduced: 0.000_1, unusable: 0.02 };

/// A file does not say which packets are missing in it.
pub const LOSSES_STATED: Limits = Limits { reduced: 0.0, unusable: 0.02 };

/// Limits for events lost while sampling: what is left of a sample is a smaller one; the counts are
/// the programs' own.
pub const EVENTS_LOST_SAMPLED: Limits = Limits { reduced: 0.000_1, unusable: 0.5 };

pub const NOT_FOLLOWED: Limits = Limits { reduced: 0.01, unusable: 0.5 };

/// Limits for messages not followed while sampling: of those that windows cut off, some are always
/// missing.
pub const NOT_FOLLOWED_SAMPLED: Limits = Limits { reduced: 0.25, unusable: 0.75 };

pub const UNSEEN: Limits = Limits { reduced: 0.001, unusable: 0.1 };

/// No message can be in them.
pub const UNSEEN_BARE: Limits = Limits { reduced: 0.01, unusable: NEVER };

pub const UNDECODED: Limits = Limits { reduced: 0.01, unusable: 0.5 };

pub const UNREAD: Limits = Limits { reduced: 0.01, unusable: 0.5 };

pub const GIVEN_UP: Limits = Limits { reduced: 0.001, unusable: 0.1 };

pub const READER_NOT_SEEN: Limits = Limits { reduced: 0.01, unusable: NEVER };

pub const READ_TWICE: Limits = Limits { reduced: 0.0, unusable: 0.5 };

/// The figures of the other messages are right.
pub const CUT_SHORT: Limits = Limits { reduced: 0.0, unusable: NEVER };

pub const ENCRYPTED: Limits = Limits { reduced: 0.0, unusable: 0.5 };

/// Limits for messages in shared memory: the number of those that are not seen is not known; those
/// that are seen are right.
pub const SHARED_MEMORY: Limits = Limits { reduced: 0.0, unusable: NEVER };

/// The messages of such clients are not counted; the others are right.
pub const UNIX_CLIENTS: Limits = Limits { reduced: 0.0, unusable: NEVER };

pub const NAMELESS: Limits = Limits { reduced: 0.0, unusable: 0.5 };

/// The counts are right, whichever message it was.
pub const GUESSED: Limits = Limits { reduced: 0.01, unusable: NEVER };

pub const SEND_NOT_SEEN: Limits = Limits { reduced: 0.01, unusable: NEVER };

pub const CONTRADICTED: Limits = Limits { reduced: 0.0, unusable: 0.01 };

pub const TOO_MANY: Limits = Limits { reduced: 0.0, unusable: 0.01 };

pub const CLOCKS: Limits = Limits { reduced: 0.1, unusable: 1.0 };

/// A message whose packets are not in order may be in no count, or in two.
pub const UNSORTED: Limits = Limits { reduced: 0.0, unusable: 0.1 };

/// Limits for split subflows: nobody knows whether messages are missing because of them.
pub const SPLIT_SUBFLOWS: Limits = Limits { reduced: 0.0, unusable: NEVER };

/// A time is wrong by up to a unit of its file's times.
pub const COARSE_TIMES: Limits = Limits { reduced: 0.1, unusable: 1.0 };

pub const UNDELIVERED: Limits = Limits { reduced: 0.001, unusable: NEVER };
