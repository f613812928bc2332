//! What usually helps with DDS, whichever implementation.

use crate::remedies::Remedies;

pub const REMEDIES: Remedies = Remedies {
    batching: Some(
        "switch write batching off (`dds_write_set_batch`, `WriteBatch`), or call `dds_write_flush`",
    ),
    overflow: Some(
        "raise `SocketReceiveBufferSize` (Internal/SocketReceiveBufferSize) and net.core.rmem_max, or use reliable QoS",
    ),
    fan_out: Some("use multicast, or spread the subscribers over several routers or hosts"),
    never_delivered: Some(
        "use reliable, and for late joiners transient-local, QoS, with a history that is deep enough",
    ),
    upkeep: Some(
        "lower the rate of discovery (SPDPInterval, LeaseDuration), or give it an interface of its own",
    ),
    ..Remedies::GENERAL
};
