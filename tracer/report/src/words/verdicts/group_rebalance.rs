//! Words of `group_rebalance`.

use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "partition without a reader (consumer group rebalance)",
    short: "rebalance",
    means: "no member of the consumer group read the partition: one had left, hung or was killed, and another one had not taken it over yet",
    evidence: "a consumer that begins to read what another member of its group read before (Kafka); how long messages waited in the broker until then. No process is named",
    helps: "a shorter `session.timeout.ms`, `close()` at the end, the cooperative assignor or KIP-848; static membership for restarts; a longer `max.poll.interval.ms`, or less work between two polls",
    remedy: |_| "let the group find out and share out sooner: a shorter `session.timeout.ms`, close() at the end of a consumer, the cooperative assignor (`partition.assignment.strategy`) or KIP-848 (`group.protocol=consumer`); for restarts, static membership (`group.instance.id`); where a member left because it worked for too long between two polls, a longer `max.poll.interval.ms` or fewer records at a time (`max.poll.records`)",
    clause: |clause| {
        Some(match clause {
            Clause::HandedOver => "no member of its consumer group read the partition then: one had stopped, and the one that got the message had not yet taken it over".into(),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
