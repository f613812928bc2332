//! Remedies for MQTT, its clients and its brokers.

use crate::remedies::{BrokerRemedies, Remedies};

pub const REMEDIES: Remedies = Remedies {
    nagle: Some(
        "set TCP_NODELAY in the client: `set_tcp_nodelay(true)` in rumqttc's NetworkOptions, a socket option in Paho's on_socket_open",
    ),
    unacknowledged: Some(
        "raise how many messages may be unacknowledged (`max_inflight_messages` at the broker, the subscriber's Receive Maximum in MQTT 5), let the subscriber acknowledge sooner, or use QoS 0",
    ),
    late_write: Some(
        "use a client whose event loop waits until the socket takes more (Paho C looks only about once a second), send slower, or raise net.ipv4.tcp_wmem so that the socket fills less often",
    ),
    overflow: Some(
        "raise `max_queued_messages` and `max_inflight_messages` at the broker, or send slower",
    ),
    fan_out: Some(
        "spread the subscribers over several brokers or threads (bridges, a broker that sends from several threads); where each message needs one reader only, use a shared subscription (`$share/…`)",
    ),
    never_delivered: Some(
        "see the broker's log for dropped messages; use QoS 1 and a queue that is long enough (`max_queued_messages`), and compare topic and filter",
    ),
    duplicates: Some(
        "QoS 1 delivers at least once: acknowledge in time (keep alive, retry interval), tell duplicates by an id of your own, or use QoS 2",
    ),
    brokers: BROKERS,
    ..Remedies::GENERAL
};

const BROKERS: &[BrokerRemedies] = &[
    BrokerRemedies {
        process: "mosquitto",
        nagle: Some("`set_tcp_nodelay true` in mosquitto.conf"),
        cpu: Some(
            "mosquitto has one thread: share the load among several brokers (bridges), or send fewer, larger messages",
        ),
    },
    BrokerRemedies {
        process: "rumqttd",
        nagle: Some(
            "set TCP_NODELAY on rumqttd's listening socket, whose connections inherit it (it has no setting of its own)",
        ),
        cpu: None,
    },
    BrokerRemedies {
        process: "nanomq",
        nagle: Some("`tcp.nodelay = true` in nanomq.conf"),
        cpu: None,
    },
];
