//! Remedies for AMQP, its clients and its brokers.

use crate::remedies::{BrokerRemedies, Remedies};

pub const REMEDIES: Remedies = Remedies {
    batching: Some("publish without waiting for each confirm, and confirm many messages at once"),
    unacknowledged: Some(
        "raise the consumer's prefetch count (`basic.qos`), let it acknowledge sooner, or consume without acknowledgements (`no-ack`)",
    ),
    overflow: Some(
        "bound the queues (`x-max-length`) and see which policy drops messages, add consumers, or send slower",
    ),
    fan_out: Some(
        "where each message needs one reader only, let the consumers share one queue; else spread the queues over several nodes of a cluster",
    ),
    never_delivered: Some(
        "compare bindings and routing keys; publish with `mandatory`, so that messages without a queue come back, and use confirms",
    ),
    swallowed: Some(
        "see the queue's limits and expiry (`x-max-length`, `x-message-ttl`, policies) and its dead-letter exchange; what the queue still holds is not lost",
    ),
    duplicates: Some(
        "messages that are rejected and put back, or that a channel leaves without an ack, are delivered again: reject without `requeue` what must not come again, acknowledge before the channel closes, and tell duplicates by an id of your own",
    ),
    brokers: BROKERS,
    ..Remedies::GENERAL
};

/// `RabbitMQ`'s process is Erlang's virtual machine.
const BROKERS: &[BrokerRemedies] = &[BrokerRemedies {
    process: "beam.smp",
    nagle: Some("`tcp_listen_options.nodelay = true` in rabbitmq.conf"),
    cpu: Some(
        "a queue has one Erlang process: spread the load over several queues, or send fewer, larger messages",
    ),
}];
