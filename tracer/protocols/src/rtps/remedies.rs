//! Remedies for DDS: in the words of an implementation where it is known, and in those that hold for all otherwise.

use super::vendor::{CONNEXT, CYCLONE_DDS, FAST_DDS, OPEN_DDS};
use crate::remedies::{ImplementationRemedies, Remedies};

pub const REMEDIES: Remedies = Remedies {
    overflow: Some(
        "raise the receive buffer of the implementation's sockets and net.core.rmem_max, or use reliable QoS",
    ),
    fan_out: Some("use multicast, or spread the subscribers over several routers or hosts"),
    never_delivered: Some(
        "use reliable, and for late joiners transient-local, QoS, with a history that is deep enough",
    ),
    implementations: &[
        ImplementationRemedies { name: CYCLONE_DDS, remedies: CYCLONE },
        ImplementationRemedies { name: FAST_DDS, remedies: FAST },
        ImplementationRemedies { name: CONNEXT, remedies: RTI },
        ImplementationRemedies { name: OPEN_DDS, remedies: OPEN },
    ],
    ..Remedies::GENERAL
};

/// Eclipse Cyclone DDS: its configuration (`docs/manual/options.md`) and C API.
const CYCLONE: Remedies = Remedies {
    batching: Some(
        "switch write batching off (`dds_write_set_batch`, `WriteBatch`), or call `dds_write_flush`",
    ),
    overflow: Some(
        "raise `SocketReceiveBufferSize` (Internal/SocketReceiveBufferSize) and net.core.rmem_max, or use reliable QoS",
    ),
    ..Remedies::GENERAL
};

/// eProsima Fast DDS: its XML profiles.
const FAST: Remedies = Remedies {
    overflow: Some(
        "raise `listenSocketBufferSize` of the participant (or `receiveBufferSize` of its transport) and net.core.rmem_max, or use reliable \
         QoS",
    ),
    ..Remedies::GENERAL
};

/// RTI Connext DDS: its `QoS` policies and transport properties.
const RTI: Remedies = Remedies {
    batching: Some(
        "switch the BATCH QoS policy off (`batch.enable`), or call `flush` on the writer",
    ),
    overflow: Some(
        "raise `dds.transport.UDPv4.builtin.recv_socket_buffer_size` and net.core.rmem_max, or use reliable QoS",
    ),
    ..Remedies::GENERAL
};

/// `OpenDDS`: its configuration file.
const OPEN: Remedies = Remedies {
    overflow: Some(
        "raise `rcv_buffer_size` of the transport and net.core.rmem_max, or use reliable QoS",
    ),
    ..Remedies::GENERAL
};
