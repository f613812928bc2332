//! Words of `qdisc_queueing`.

use super::super::phrases::payload;
use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "queueing in the qdisc",
    short: "qdisc",
    means: "packets waited in front of the device, or bytes in the socket behind them",
    evidence: "qdisc → device, and the rate of payload that left",
    helps: "another qdisc, or less traffic on the device",
    remedy: |_| "send slower than the device's rate limit, shorten the queue (fq_codel), or give this traffic a class of its own",
    clause: |clause| {
        Some(match clause {
            Clause::QueueInQdisc { longest, rate } => format!(
                "packets of the connection were in the qdisc for up to {longest}; {} of payload came through",
                payload(*rate)
            ),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
