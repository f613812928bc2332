//! Remedies for `ZeroMQ`.

use crate::remedies::Remedies;

pub const REMEDIES: Remedies = Remedies {
    batching: Some("see what keeps the I/O thread: ZeroMQ batches only what waits already"),
    overflow: Some(
        "raise ZMQ_SNDHWM and ZMQ_RCVHWM (0: no limit), or send slower: PUB drops at its high-water mark",
    ),
    never_delivered: Some(
        "PUB drops what nobody subscribes to yet, and what exceeds its high-water mark: subscribe first, raise ZMQ_SNDHWM",
    ),
    ..Remedies::GENERAL
};
