//! Words of `pacing`.

use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "paced by congestion control",
    short: "pacing",
    means: "congestion control (BBR) spreads the segments over time",
    evidence: "the rate that it had set at the send",
    helps: "a connection that is kept busy, another congestion control",
    remedy: |_| "keep the connection busy, so that BBR knows how fast the path is, or use another congestion control (net.ipv4.tcp_congestion_control); if the program limits the rate itself (SO_MAX_PACING_RATE), raise that",
    clause: |clause| {
        Some(match clause {
            Clause::Paced { tx, bytes } => {
                format!("TCP spread {bytes} B at {} B a second", tx.pacing)
            }
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
