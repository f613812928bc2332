//! Words of `run_queue_contention`.

use super::VerdictWords;
use wirelap_correlate::{Clause, CpuHolders, Named};

pub const WORDS: VerdictWords = VerdictWords {
    title: "contention for the CPU",
    short: "CPU contention",
    means: "a thread was woken, but another one had the CPU; a note if threads that pass these messages to each other, or get them at the same time, have the CPU alternately",
    evidence: "the threads that had the CPU, with shares that add up to the whole wait (including the unknown share), and whether they handle these messages",
    helps: "a CPU of its own, other priorities",
    remedy: |_| "give the threads CPUs of their own (taskset, cpuset, isolcpus), or let what holds the CPU run at a lower priority (nice, cpu.weight)",
    clause: |clause| {
        Some(match clause {
            Clause::CpuHeld { by, named, more } => who_had_the_cpu(*by, named, *more),
            Clause::CpuHeldBySeveral(share) => format!(
                "many others, each for a short time, had the CPU for {:.0} % of the wait",
                share * 100.0
            ),
            Clause::CpuHolderUnknown(share) => {
                format!("who had the CPU for {:.0} % of the wait is not known", share * 100.0)
            }
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};

/// The threads that had the CPU, each with its part of the waits.
fn who_had_the_cpu(by: CpuHolders, named: &[(Named, f64)], more: Option<(usize, f64)>) -> String {
    let before = match by {
        CpuHolders::Foreign => "programs that have nothing to do with these messages had the CPU: ",
        CpuHolders::Members => "other processes of these messages had the CPU: ",
        CpuHolders::Own => "other threads of the waiting process had the CPU: ",
    };
    let one = |((pid, comm), share): &(Named, f64)| {
        format!("{} (pid {}) {:.0} %", comm.as_str(), pid.number(), share * 100.0)
    };
    let mut names: Vec<String> = named.iter().map(one).collect();
    names.extend(more.map(|(count, share)| format!("{count} more {:.0} %", share * 100.0)));
    format!("{before}{}", names.join(", "))
}
