//! Words of `sender_batching`.

use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "batching in the sender",
    short: "batching",
    means: "the library keeps the message before it sends it",
    evidence: "time from publish to send (our workloads), or several messages in one send",
    helps: "`linger.ms=0`, `express`, a smaller batch",
    remedy: |_| "lower the sender's batching or linger time, or flush after publishing",
    own_remedy: |own, _| own.batching,
    clause: |clause| {
        Some(match clause {
            Clause::Kept { median, p99, under_way } => format!(
                "{median} from publish to the send call in the median, {p99} at the 99th percentile, before {under_way} on the way"
            ),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
