//! Words of `bottleneck_link`.

use super::super::phrases::payload;
use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "slow link on the path",
    short: "slow link",
    means: "a link on the path takes less than is sent: bytes wait in its queue, and others in the socket behind them, whichever window is full. No process is named",
    evidence: "acknowledgements that come all the time and late, or, where the receiver is on this host, packets that do: the longest and the shortest round trip, the rate of payload that came through",
    helps: "less traffic, a faster link, a shorter queue (fq_codel), a class of its own",
    remedy: |_| "send less than the link takes, or give it more: find the device or limit on the path whose queue is long (`tc -s qdisc` on each host and router, a slow uplink), shorten the queue (fq_codel), or give this traffic a class of its own",
    clause: |clause| {
        Some(match clause {
            Clause::QueueOnPath { longest, least, rate } => format!(
                "bytes of the connection waited in a queue on the path: a round trip took up to {longest}, and {least} at the shortest; {} of payload came through",
                payload(*rate)
            ),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
