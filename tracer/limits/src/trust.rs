//! Shares from which on something reduces how far a row can be trusted, and from which on it makes it unusable.

/// Shares from which on something reduces a row, and from which on it makes it unusable.
#[derive(Clone, Copy)]
pub struct TrustLimits {
    /// Share from which on the row is reduced.
    pub reduced: f64,
    /// Share from which on the row is unusable.
    pub unusable: f64,
}

/// Never.
pub const NEVER: f64 = f64::INFINITY;

/// A single one makes the row unusable.
pub const ONE_IS_TOO_MANY: TrustLimits = TrustLimits { reduced: 0.0, unusable: 0.0 };

/// The ring buffer was full, or the kernel skipped a probe: counts are too low by as much.
pub const EVENTS_LOST: TrustLimits = TrustLimits { reduced: 0.000_1, unusable: 0.02 };

/// A file does not say which packets are missing in it.
pub const LOSSES_STATED: TrustLimits = TrustLimits { reduced: 0.0, unusable: 0.02 };

/// Limits for events lost while sampling: what is left of a sample is a smaller one; the counts are
/// the programs' own.
pub const EVENTS_LOST_SAMPLED: TrustLimits = TrustLimits { reduced: 0.000_1, unusable: 0.5 };

/// Deliveries without a time are in the counts and not in the latencies.
pub const NOT_FOLLOWED: TrustLimits = TrustLimits { reduced: 0.01, unusable: 0.5 };

/// Limits for messages not followed while sampling: of those that windows cut off, some are always
/// missing.
pub const NOT_FOLLOWED_SAMPLED: TrustLimits = TrustLimits { reduced: 0.25, unusable: 0.75 };

/// Packets that no probe saw: messages in them are in no count.
pub const UNSEEN: TrustLimits = TrustLimits { reduced: 0.001, unusable: 0.1 };

/// No message can be in them.
pub const UNSEEN_BARE: TrustLimits = TrustLimits { reduced: 0.01, unusable: NEVER };

/// Bytes in which no frame was found: messages in them are in no count.
pub const UNDECODED: TrustLimits = TrustLimits { reduced: 0.01, unusable: 0.5 };

/// Packets of QUIC that were not read: messages in them are in no count.
pub const UNREAD_PACKETS: TrustLimits = TrustLimits { reduced: 0.0, unusable: 0.1 };

/// Messages in batches that could not be decoded are in no other count.
pub const UNREAD: TrustLimits = TrustLimits { reduced: 0.01, unusable: 0.5 };

/// Messages that were forgotten for want of memory look as if they had not arrived.
pub const GIVEN_UP: TrustLimits = TrustLimits { reduced: 0.001, unusable: 0.1 };

/// Legs whose end is not known, in a row that has others.
pub const READER_NOT_SEEN: TrustLimits = TrustLimits { reduced: 0.01, unusable: NEVER };

/// Which of two consumers used a message is not known.
pub const READ_TWICE: TrustLimits = TrustLimits { reduced: 0.0, unusable: 0.5 };

/// The figures of the other messages are right.
pub const CUT_SHORT: TrustLimits = TrustLimits { reduced: 0.0, unusable: NEVER };

/// Messages that nobody can count beside those that are counted.
pub const ENCRYPTED: TrustLimits = TrustLimits { reduced: 0.0, unusable: 0.5 };

/// Limits for encrypted connections: the number of messages in them is not known; the times of the others are right.
pub const ENCRYPTED_CONNECTIONS: TrustLimits = TrustLimits { reduced: 0.0, unusable: NEVER };

/// Limits for messages in shared memory: the number of those that are not seen is not known; those
/// that are seen are right.
pub const SHARED_MEMORY: TrustLimits = TrustLimits { reduced: 0.0, unusable: NEVER };

/// The messages of such clients are not counted; the others are right.
pub const UNIX_CLIENTS: TrustLimits = TrustLimits { reduced: 0.0, unusable: NEVER };

/// Messages that may count once more behind a router.
pub const NAMELESS: TrustLimits = TrustLimits { reduced: 0.0, unusable: 0.5 };

/// The counts are right, whichever message it was.
pub const GUESSED: TrustLimits = TrustLimits { reduced: 0.01, unusable: NEVER };

/// One of some hundred messages of a megabyte is as many datagrams as are read in a second: what is said to be missing has to be so.
pub const PERHAPS_READ: TrustLimits = TrustLimits { reduced: 0.001, unusable: 0.5 };

/// Latencies that begin after the send call.
pub const SEND_NOT_SEEN: TrustLimits = TrustLimits { reduced: 0.01, unusable: NEVER };

/// The programs' own records contradict the trace: one is a fault.
pub const CONTRADICTED: TrustLimits = TrustLimits { reduced: 0.0, unusable: 0.01 };

/// More was counted than the programs sent: one is a fault.
pub const TOO_MANY: TrustLimits = TrustLimits { reduced: 0.0, unusable: 0.01 };

/// The error between two hosts' clocks, as a part of the median latency.
pub const CLOCKS: TrustLimits = TrustLimits { reduced: 0.1, unusable: 1.0 };

/// A message whose packets are not in order may be in no count, or in two.
pub const UNSORTED: TrustLimits = TrustLimits { reduced: 0.0, unusable: 0.1 };

/// Limits for split subflows: nobody knows whether messages are missing because of them.
pub const SPLIT_SUBFLOWS: TrustLimits = TrustLimits { reduced: 0.0, unusable: NEVER };

/// A time is wrong by up to a unit of its file's times.
pub const COARSE_TIMES: TrustLimits = TrustLimits { reduced: 0.1, unusable: 1.0 };

/// Messages that the programs themselves lack are in no latency.
pub const UNDELIVERED: TrustLimits = TrustLimits { reduced: 0.001, unusable: NEVER };

/// Messages of a time that wirelap left out, because it did not keep up, are in no count. The figures of the rest are right.
pub const NOT_TRACED: TrustLimits = TrustLimits { reduced: 0.01, unusable: NEVER };

/// Parts in which the time that was left out is told.
pub const PARTS: f64 = 1_000.0;

/// Share of the time below which a row that is observed is a sample.
pub const WHOLE_TIME: f64 = 0.999;
