//! Words of `duplicates`.

use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "duplicates",
    short: "duplicates",
    means: "delivered or sent more than once",
    evidence: "the protocol's marks, repeated numbers; in MQTT, what the same client identifier had got on an earlier connection",
    helps: "longer retry intervals, acknowledge in time",
    remedy: |_| "acknowledge in time, and tell duplicates by an id of your own",
    own_remedy: |own, _| own.duplicates,
    clause: |clause| {
        Some(match clause {
            Clause::Repeated { repeats, sent } => {
                format!(
                    "{repeats} times, a message was sent or delivered again by the protocol ({sent} messages were sent)"
                )
            }
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
