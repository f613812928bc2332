//! Words of `tracer_influence`.

use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "wirelap's own influence",
    short: "wirelap itself",
    means: "a thread was woken, but wirelap itself had the CPU; always a note",
    evidence: "the thread that had the CPU",
    helps: "trace less (`--ports`, `--pid`), a CPU of its own for wirelap",
    remedy: |_| "let wirelap watch less (--ports, --pid), sample windows of time, or give it a CPU of its own (taskset)",
    clause: |clause| {
        Some(match clause {
            Clause::TracerHadCpu => {
                "wirelap, which reads the events, had the CPU that the thread waited for".into()
            }
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
