//! Remedies for Zenoh, its peers and its routers.

use crate::remedies::Remedies;

pub const REMEDIES: Remedies = Remedies {
    batching: Some(
        "publish with `express(true)`, or lower `transport/link/tx/queue/batching/time_limit`",
    ),
    send_buffer: Some(
        "send slower, or widen `transport/link/tx/queue/size`; congestion control decides whether it blocks or drops",
    ),
    overflow: Some(
        "publish with `CongestionControl::Block`, or raise the socket's buffers (net.core.rmem_max)",
    ),
    broker_cpu: Some("let peers talk to each other directly, or add routers"),
    fan_out: Some("use multicast, or spread the subscribers over several routers or hosts"),
    never_delivered: Some(
        "publish with `Reliability::Reliable` and `CongestionControl::Block`, and compare the key expressions",
    ),
    ..Remedies::GENERAL
};
