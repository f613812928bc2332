//! Words of `run_queue_contention`.

use super::VerdictWords;
use wirelap_correlate::{Clause, CpuHolders, Named};
use wirelap_events::Segment;

/// The remedy where wirelap itself has the CPU.
pub const TRACE_LESS: &str = "let wirelap watch less (--ports, --pid), sample windows of time, or give it a CPU of its own (taskset)";

pub const WORDS: VerdictWords = VerdictWords {
    title: "contention for the CPU",
    short: "CPU contention",
    means: "a thread was woken, but another one had the CPU; or the packet was left to `ksoftirqd`, a thread that waits for the CPU like others; a note if threads that pass these messages to each other, or get them at the same time, have the CPU alternately, and if wirelap itself had it for most of the wait",
    evidence: "the threads that had the CPU, with shares that add up to the whole wait (including the unknown share), and whether they handle these messages; that `ksoftirqd` received the packet, and how long it had waited for the CPU before",
    helps: "a CPU of its own, other priorities; less work on the CPU of the interrupt; trace less (`--ports`, `--pid`)",
    remedy: |circumstance| match circumstance.segment {
        Segment::Wire => {
            "give receiving a CPU that is less loaded (RPS, IRQ affinity), or raise net.core.netdev_budget"
        }
        _ => {
            "give the threads CPUs of their own (taskset, cpuset, isolcpus), or let what holds the CPU run at a lower priority (nice, cpu.weight)"
        }
    },
    clause: |clause| {
        Some(match clause {
            Clause::TracerHadCpu => {
                "wirelap, which reads the events, had the CPU for most of the wait".into()
            }
            Clause::LeftToKsoftirqd => {
                "its packet was left to ksoftirqd, which had to be scheduled first".into()
            }
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
