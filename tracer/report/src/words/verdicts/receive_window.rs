//! Words of `receive_window`.

use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "receive window full",
    short: "receive window",
    means: "the receiver has no room",
    evidence: "its window, and the bytes under way, at the send",
    helps: "read faster, or a larger receive buffer",
    remedy: |_| "let the receiver read faster, or give it room: SO_RCVBUF, net.ipv4.tcp_rmem",
    clause: |clause| {
        Some(match clause {
            Clause::ReceiveWindow(tx) => format!(
                "the receiver had room for {} B, of which {} B were under way and {} B waited before it",
                tx.window, tx.in_flight, tx.unsent
            ),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
