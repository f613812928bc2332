//! Words of `shared_memory`.

use super::super::phrases::counted;
use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "payload in shared memory",
    short: "shared memory",
    means: "the payload is in shared memory",
    evidence: "the protocol says so",
    helps: "nothing: it cannot be seen on the network",
    remedy: |_| "nothing is wrong; to see the payload on the network, switch shared memory off for the measurement",
    clause: |clause| {
        Some(match clause {
            Clause::InSharedMemory(messages) => counted(
                *messages,
                "message has its payload in shared memory: only where it lies is on the network",
                "messages have their payload in shared memory: only where it lies is on the network",
            ),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
