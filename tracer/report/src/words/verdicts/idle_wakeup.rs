//! Words of `idle_wakeup`.

use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "idle CPUs being woken",
    short: "idle wakeups",
    means: "the CPU was in an idle state and had to wake up",
    evidence: "the idle task had the CPU meanwhile",
    helps: "higher rate, busy polling, shallower idle states; usually harmless",
    remedy: |_| "keep CPUs from sleeping deeply (cpupower idle-set, /dev/cpu_dma_latency), or let sender and reader share a core; it falls as the rate rises",
    clause: |clause| {
        Some(match clause {
            Clause::CpuIdle => "meanwhile the CPU was idle: it had to wake up first".into(),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
