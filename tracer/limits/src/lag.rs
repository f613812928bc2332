//! Counts and times by which it is told who gets all messages of a topic, who has missed some, and who gets no more.

use super::ms;
use wirelap_events::Nanos;

/// Messages that a subscriber has got, from which on it is said of it that it gets all of its topic. A member of a group has skipped several
/// by then: in `nats-queue-group`, with three members, one gets ten in a row once in 59,049 times.
pub const MIN_GOT: u16 = 10;

/// Messages of which a subscriber that gets all may have skipped one: a broker drops some (`mqtt-socket-full`). A member of a group of two
/// (`mqtt-shared-subscription` has three) skips every second one.
pub const ONE_SKIPPED_OF: u32 = 10;

/// Messages in a row that a subscriber did not get count as so many at most. A broker that drops what it cannot send (`mqtt-socket-full`, two
/// stops of 1 s at 250 messages a second) drops hundreds at once, and the subscriber gets all again after that.
pub const MAX_SKIPPED_AT_ONCE: u16 = 4;

/// Messages back for which it is remembered whether a subscriber gets all: who begins to get only a share is told after some dozens.
pub const MAX_REMEMBERED: u16 = 256;

/// Messages that a subscriber gets in a row before those between are missed: it was there for all of them. A member of a group of two whose
/// turns are drawn gets as many in a row once in 2^30 times.
pub const MIN_RUN: u8 = 30;

/// Parts of a topic that the members of a group get together, at least: all of it, but for what is under way.
pub const PARTS_OF_A_GROUP: f64 = 0.9;

/// Messages of which a subscriber that gets all may have missed one: a comparison with one that misses more proves nothing, as it may get a
/// share of a group that is not seen.
pub const ONE_MISSED_OF: u64 = 100;

/// Time by which messages of several publishers may overtake each other on their way to a broker: a retransmission, and what waits behind it.
/// The shortest timeout of TCP is 200 ms, and each one after it twice as long as the one before.
pub const MAX_OVERTAKING: Nanos = ms(1_000);

/// Time for which a subscription lags behind another one of its connection, after which it is not used any more: a client that fetches
/// (`nats-jetstream-pull`) may subscribe anew each time.
pub const SUPERSEDED_AFTER: Nanos = ms(250);

/// Time without a message after which who gets only a share of a topic is not waited for, and a topic makes room for another one: as long
/// as a group may take to give what a member read to another one.
pub const IDLE_AFTER: Nanos = super::deliveries::LONGEST_REBALANCE;

/// Messages with which the longest time that one waited at its server is forgotten, as a divisor: after eight that were passed on at once,
/// about a third of it is left.
pub const DWELL_FADES: u64 = 8;

/// Time between two moments for which it is remembered how many messages a topic had: an age is told in seconds.
pub const AGE_INTERVAL: Nanos = ms(200);

/// Time without a message, while others get them and nothing hinders the broker, after which a subscriber has unsubscribed.
pub const UNSUBSCRIBED_AFTER: Nanos = ms(10_000);

/// Time within which a broker that has a message answers a request for it: who asked before and got nothing wants something else.
pub const ANSWERED_WITHIN: Nanos = ms(1_000);
