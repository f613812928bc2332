//! Words of `softirq_deferral`.

use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "packets deferred to ksoftirqd",
    short: "ksoftirqd",
    means: "the packet was left to `ksoftirqd`, a thread that waits for the CPU like others",
    evidence: "that this thread received it, and how long it had waited for the CPU before; no more than that is put down to it",
    helps: "keep other work off the CPU of the interrupt",
    remedy: |_| "give receiving a CPU that is less loaded (RPS, IRQ affinity), or raise net.core.netdev_budget",
    clause: |clause| {
        Some(match clause {
            Clause::LeftToKsoftirqd => {
                "its packet was left to ksoftirqd, which had to be scheduled first".into()
            }
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
