//! Whether a thread can lose its CPU while a probe runs for it.

use std::fs;

/// Where the kernel lists its ways to preempt, the chosen one in parentheses (`kernel/sched/debug.c`). It is there where debugfs is
/// mounted, for root, and if the way can be chosen at the start.
const MODES: &str = "/sys/kernel/debug/sched/preempt";

/// Whether this kernel takes a CPU from a thread that is in the kernel: while a probe runs for that thread, the kernel then runs this
/// probe for no other one of the CPU (`recursion_misses` of `bpf_prog_stats`). `None` if it is not known.
pub fn preempts_in_kernel() -> Option<bool> {
    let release = rustix::system::uname().version().to_string_lossy().into_owned();
    let modes = fs::read_to_string(MODES).ok();
    preempts(&release, modes.as_deref())
}

/// `version`: as `uname -v` shows it. `modes`: what is in [`MODES`].
fn preempts(version: &str, modes: Option<&str>) -> Option<bool> {
    let is_built = |way: &str| version.split_whitespace().any(|word| word == way);
    if is_built("PREEMPT") || is_built("PREEMPT_RT") {
        return Some(true);
    }
    if !is_built("PREEMPT_DYNAMIC") {
        return is_built("SMP").then_some(false);
    }
    let (_, chosen) = modes?.split_once('(')?;
    let (chosen, _) = chosen.split_once(')')?;
    Some(matches!(chosen, "full" | "lazy"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_is_that_of_the_build_or_the_chosen_one() {
        let dynamic = "#1 SMP PREEMPT_DYNAMIC Debian 7.2.13-1 (2026-11-20)";
        let of = |modes| preempts(dynamic, Some(modes));
        assert_eq!(of("full (lazy) \n"), Some(true));
        assert_eq!(of("none voluntary (full) lazy\n"), Some(true));
        assert_eq!(of("none (voluntary) full\n"), Some(false));
        assert_eq!((of(""), preempts(dynamic, None)), (None, None));
        assert_eq!(preempts("#1 SMP PREEMPT_RT Debian", None), Some(true));
        assert_eq!(preempts("#1 SMP PREEMPT Thu", None), Some(true));
        assert_eq!(preempts("#1 SMP Debian 5.10", None), Some(false));
        assert_eq!(preempts("", None), None);
    }
}
