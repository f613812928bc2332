//! Words of `queue_overflow`.

use super::super::phrases::counted;
use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "loss by queue overflow",
    short: "queue overflow",
    means: "messages were dropped because a queue was full",
    evidence: "the kernel's drops by reason, messages that never arrived",
    helps: "a larger buffer or high-water mark, a slower sender",
    remedy: |_| "raise the receiving socket's buffer (SO_RCVBUF, net.core.rmem_max), or send slower",
    own_remedy: |own, _| own.overflow,
    clause: |clause| {
        Some(match clause {
            Clause::BufferFull(packets) => counted(
                *packets,
                "packet was thrown away because the receiving socket's buffer was full",
                "packets were thrown away because the receiving socket's buffer was full",
            ),
            Clause::QueueFull(packets) => counted(
                *packets,
                "packet was thrown away because a queue of the device was full",
                "packets were thrown away because a queue of the device was full",
            ),
            Clause::NeverLeft { missing, whole } => format!(
                "{missing} of {whole} messages were published and never reached a socket: the library threw them away, as at a high-water mark"
            ),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
