//! Words of `client_throttled`.

use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "client throttled by the broker",
    short: "throttled",
    means: "the broker did not read a client for a time, as it had said itself: messages lay unread in its socket, or the consumer's requests did",
    evidence: "Kafka's `throttle_time_ms` in Produce (from version 6) and Fetch responses (from version 8); `connection.blocked` of AMQP until `connection.unblocked`",
    helps: "a higher quota, or less traffic; the alarm of the broker (memory, disk)",
    remedy: |_| "raise the client's quota or send less (Kafka: `producer_byte_rate`, `consumer_byte_rate`, `request_percentage`), or see which alarm the broker raised (RabbitMQ: memory or disk)",
    clause: |clause| {
        Some(match clause {
            Clause::Throttled { is_publisher: true } => "the broker had said that it reads nothing from the publisher for a time: a quota, or an alarm for memory or disk".into(),
            Clause::Throttled { is_publisher: false } => "the broker had said that it reads nothing from the consumer for a time, its requests neither: a quota, or an alarm".into(),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
