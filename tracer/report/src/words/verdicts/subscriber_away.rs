//! Words of `subscriber_away`.

use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "subscriber not connected or not subscribed",
    short: "subscriber away",
    means: "the subscriber connected, or subscribed, only after the broker had read the message: a persistent session, a durable consumer, a consumer that had cancelled",
    evidence: "the subscriber's process; the time until it had connected and subscribed",
    helps: "find why it was away; message expiry where late messages are of no use",
    remedy: |_| "the broker keeps messages for a subscriber that is away: find why it was, or let messages expire that are of no use later",
    clause: |clause| {
        Some(match clause {
            Clause::SubscribedLate => "the subscriber connected, or subscribed, only after the broker had the message, which the broker kept until then".into(),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
