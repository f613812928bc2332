//! Words of `sender_batching`.

use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "batching in the sender",
    short: "batching",
    means: "the library keeps the message before it sends it",
    evidence: "time from publish to send (our workloads), or from the time in a Kafka record to its send, while its thread sleeps and no reply is awaited",
    helps: "`linger.ms=0`, `express`, a smaller batch",
    remedy: |_| "lower the sender's batching or linger time, or flush after publishing",
    own_remedy: |own, _| own.batching,
    clause: |clause| {
        Some(match clause {
            Clause::Kept { median, p99, under_way, is_told_by_messages } => {
                let begin = if *is_told_by_messages {
                    "from the time that a message has from its publisher"
                } else {
                    "from publish"
                };
                format!(
                    "{median} {begin} to the send call in the median, {p99} at the 99th percentile, before {under_way} on the way"
                )
            }
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
