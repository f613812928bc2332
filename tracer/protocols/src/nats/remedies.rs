//! Remedies for NATS, its clients and its servers.

use crate::remedies::Remedies;

pub const REMEDIES: Remedies = Remedies {
    batching: Some("call `flush()` after publishing, or lower the client's write buffer's delay"),
    unacknowledged: Some(
        "raise the consumer's `max_ack_pending`, let it acknowledge sooner, or use the ack policy `none`",
    ),
    overflow: Some("raise the client's pending limits, or send slower: a slow consumer is cut off"),
    fan_out: Some(
        "spread the subscribers over several servers of a cluster; where each message needs one reader only, use a queue group",
    ),
    never_delivered: Some(
        "core NATS delivers at most once: use JetStream, and see the server's slow consumers",
    ),
    ..Remedies::GENERAL
};
