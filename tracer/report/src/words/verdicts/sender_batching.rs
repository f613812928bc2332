//! Words of `sender_batching`.

use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "batching in the sender",
    short: "batching",
    means: "the library keeps the message before it sends it",
    evidence: "time from publish to send (our workloads), or from the time in a Kafka record to its send, while its thread sleeps and no reply is awaited; or until the reply to an earlier request, where it is sent at once then",
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
            Clause::AwaitedReply { median, p99, under_way } => format!(
                "{median} from the time that a message has from its publisher until the reply to an earlier request was there, in the median, {p99} at the 99th percentile, before {under_way} on the way: it was sent at once then, as the library has no more requests under way"
            ),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};

/// The remedy where messages wait for the reply to earlier requests.
pub const MORE_REQUESTS: &str = "let the producer have more requests under way (`max.in.flight.requests.per.connection`), or gather more records in each (`batch.size`, `linger.ms`), or shorten the way to the broker";
