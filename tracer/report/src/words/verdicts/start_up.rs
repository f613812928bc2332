//! Words of `start_up`.

use super::VerdictWords;
use super::title;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "start-up",
    short: "start-up",
    means: "the first messages of connections took longer than the later ones (slow start, just-in-time compilation)",
    evidence: "both means",
    helps: "nothing is wrong",
    remedy: |_| "nothing is wrong with it; where the first messages matter, keep connections open and send some before they do",
    clause: |clause| {
        Some(match clause {
            Clause::FirstMessages { messages, mean, later } => format!(
                "the first {messages:.0} messages of their connections took {mean} in the mean, later ones {later}"
            ),
            Clause::FirstMessagesMost { time, segment, leg, kind, later } => format!(
                "most of it, {time}, in {} on leg {}{}; later ones spend {later} there",
                segment.name(),
                leg.saturating_add(1),
                kind.map(|kind| format!(" ({})", title(kind))).unwrap_or_default()
            ),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
