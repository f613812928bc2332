//! Words of `late_write`.

use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "sender late with the rest of the message",
    short: "late write",
    means: "the sender wrote a part of the message and came back for the rest long after there was room",
    evidence: "the socket was empty, with nothing under way, when the rest came; what it had to wait for room before is `send_buffer`",
    helps: "a client that waits for the socket to become writable (POLLOUT), a slower sender, a larger `net.ipv4.tcp_wmem`",
    remedy: |_| "let the sender wait until the socket takes more (POLLOUT) rather than look now and then, send slower, or raise net.ipv4.tcp_wmem",
    own_remedy: |own, _| own.late_write,
    clause: |clause| {
        Some(match clause {
            Clause::LateWrite => {
                "when the sender came with the rest, its socket was empty and nothing was under way"
                    .into()
            }
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
