//! Preemption of threads while a probe runs for them, and whether the probes prevent that.
//!
//! Until such a thread goes on, the kernel runs this probe for no other thread of the CPU (`recursion_misses` of `bpf_prog_stats`).

use crate::CaptureConfig;
use crate::kernel::kernel_at_least;
use crate::object::Symbols;
use aya::Btf;
use std::fs;

/// The file in which the kernel lists its ways to preempt, the chosen one in parentheses (`kernel/sched/debug.c`). It is there where
/// debugfs is mounted, for root, and if the way can be chosen at the start.
const MODES: &str = "/sys/kernel/debug/sched/preempt";

/// From which threads a kernel takes the CPU while they are in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KernelPreemption {
    /// From none.
    No,
    /// From those that run with interrupts and softirqs enabled.
    Tasks,
    /// Also from those that serve softirqs or have disabled them (`PREEMPT_RT`).
    Softirqs,
    /// No answer: the kernel does not tell.
    Unknown,
}

/// True if the probes of a capture keep their CPU while they run.
pub fn keeps_cpu(config: &CaptureConfig, symbols: Symbols) -> bool {
    symbols.keep_cpu.is_some()
        && config.keeps_cpu.unwrap_or_else(|| {
            matches!(of_this_kernel(), KernelPreemption::Tasks | KernelPreemption::Softirqs)
        })
}

/// True if this kernel takes a CPU from a thread for which a probe runs, and the probes cannot prevent that.
pub fn skips_probes(btf: &Btf) -> bool {
    match of_this_kernel() {
        KernelPreemption::No | KernelPreemption::Unknown => false,
        KernelPreemption::Tasks => Symbols::find(btf).keep_cpu.is_none(),
        // The probes of packets keep nothing: it would be wasted on each packet of all other kernels.
        KernelPreemption::Softirqs => true,
    }
}

fn of_this_kernel() -> KernelPreemption {
    let version = rustix::system::uname().version().to_string_lossy().into_owned();
    let modes = fs::read_to_string(MODES).ok();
    let preemption = preemption(&version, modes.as_deref());
    // Newer kernels have no other ways than full and lazy preemption: 7.2 on x86-64 lists these two.
    if preemption == KernelPreemption::Unknown && kernel_at_least(7, 0) {
        return KernelPreemption::Tasks;
    }
    preemption
}

/// `version`: as `uname -v` shows it. `modes`: what is in [`MODES`].
fn preemption(version: &str, modes: Option<&str>) -> KernelPreemption {
    let is_built = |way: &str| version.split_whitespace().any(|word| word == way);
    if is_built("PREEMPT_RT") {
        KernelPreemption::Softirqs
    } else if is_built("PREEMPT") {
        KernelPreemption::Tasks
    } else if is_built("PREEMPT_DYNAMIC") {
        let chosen = modes.and_then(|modes| modes.split_once('(')?.1.split_once(')'));
        match chosen {
            Some(("full" | "lazy", _)) => KernelPreemption::Tasks,
            Some(_) => KernelPreemption::No,
            None => KernelPreemption::Unknown,
        }
    } else if is_built("SMP") {
        KernelPreemption::No
    } else {
        KernelPreemption::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_is_that_of_the_build_or_the_chosen_one() {
        let dynamic = "#1 SMP PREEMPT_DYNAMIC Debian 7.2.13-1 (2026-11-20)";
        let of = |modes| preemption(dynamic, Some(modes));
        assert_eq!(of("full (lazy) \n"), KernelPreemption::Tasks);
        assert_eq!(of("none voluntary (full) lazy\n"), KernelPreemption::Tasks);
        assert_eq!(of("none (voluntary) full\n"), KernelPreemption::No);
        assert_eq!(
            (of(""), preemption(dynamic, None)),
            (KernelPreemption::Unknown, KernelPreemption::Unknown)
        );
        assert_eq!(preemption("#1 SMP PREEMPT_RT Debian", None), KernelPreemption::Softirqs);
        assert_eq!(preemption("#1 SMP PREEMPT Thu", None), KernelPreemption::Tasks);
        assert_eq!(preemption("#1 SMP Debian 5.10", None), KernelPreemption::No);
        assert_eq!(preemption("", None), KernelPreemption::Unknown);
    }
}
