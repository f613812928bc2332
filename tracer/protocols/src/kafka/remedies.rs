//! Remedies for Kafka, its producers, consumers and brokers.

use crate::remedies::Remedies;

pub const REMEDIES: Remedies = Remedies {
    nagle: Some("`socket.nagle.disable=true` in librdkafka"),
    batching: Some("lower `linger.ms` (`queue.buffering.max.ms`) or `batch.size` in the producer"),
    fetch: Some(
        "lower `fetch.min.bytes` (to 1) or `fetch.max.wait.ms` (`fetch.wait.max.ms`) in the consumer, and `fetch.queue.backoff.ms` in librdkafka",
    ),
    broker_cpu: Some(
        "raise `num.network.threads` and `num.io.threads`, or add partitions and brokers",
    ),
    duplicates: Some(
        "set `enable.idempotence=true` in the producer, and commit offsets after processing",
    ),
    ..Remedies::GENERAL
};
