//! Words of `corked`.

use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "held back by TCP_CORK",
    short: "corked",
    means: "`TCP_CORK` or `MSG_MORE` holds it back",
    evidence: "the socket's state at the send; no window was full, and it waited no longer than a cork holds (200 ms)",
    helps: "end the cork with the message",
    remedy: |_| "take TCP_CORK (or MSG_MORE) away, or end it with the message",
    clause: |clause| {
        Some(match clause {
            Clause::Corked => "TCP_CORK or MSG_MORE was set when it was sent".into(),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
