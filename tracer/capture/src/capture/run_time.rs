//! The CPU time that the probes take, as the kernel counts it.

use super::Capture;
use aya::sys::{Stats, enable_stats};
use std::os::fd::OwnedFd;
use wirelap_events::Nanos;

/// While it exists, the kernel counts the CPU time of all eBPF programs on this machine, for which it reads two clocks at each of
/// their runs (`include/linux/filter.h`, `__bpf_prog_run()`). Needs `CAP_SYS_ADMIN`.
#[derive(Debug)]
pub struct RunTimeCount {
    _counts: OwnedFd,
}

impl RunTimeCount {
    /// Begins to count; `None` if the kernel (before 5.8) or the rights of this process do not allow it.
    pub fn begin() -> Option<RunTimeCount> {
        enable_stats(Stats::RunTime).ok().map(|counts| RunTimeCount { _counts: counts })
    }
}

impl Capture {
    /// The CPU time of this capture's probes while it was counted.
    pub fn run_time(&self) -> Nanos {
        let time = self.ebpf.programs().filter_map(|(_, program)| program.info().ok());
        time.fold(Nanos(0), |sum, info| {
            sum + Nanos(u64::try_from(info.run_time().as_nanos()).unwrap_or(u64::MAX))
        })
    }
}
