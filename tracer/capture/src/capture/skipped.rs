//! Runs of the probes that the kernel has skipped.
//!
//! While a tracing program runs on a CPU, the kernel does not run it there once more: for an interrupt, or for a thread that has taken
//! the CPU from the one for which it runs (`kernel/trace/bpf_trace.c`, `__bpf_trace_run()`; `kernel/bpf/trampoline.c`,
//! `__bpf_prog_enter_recur()`). It counts for each program how often that was so, since 5.12 (9ed9e9ba2337), whatever process it was.
//!
//! The count is in what the kernel tells of a program, which needs no right that reading a map does not need: it is written before the
//! part that only `CAP_BPF` may see (`kernel/bpf/syscall.c`, `bpf_prog_get_info_by_fd()`), and no /proc must be mounted.

use crate::hooks;
use aya::Ebpf;
use aya_obj::generated::{bpf_cmd, bpf_prog_info};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};
use wirelap_events::Probe;

/// Time between two readings of the counts for events.
const CHECK: Duration = Duration::from_millis(100);

/// A count for each probe.
type SkippedCounts = [u64; Probe::ALL.len()];

/// Runs that the kernel has skipped since tracing began.
pub struct SkippedRuns {
    before: SkippedCounts,
    latest: SkippedCounts,
    next: Instant,
}

impl SkippedRuns {
    /// Counts from now on.
    pub fn since_now(ebpf: &Ebpf) -> SkippedRuns {
        let before = read(ebpf);
        SkippedRuns { before, latest: SkippedCounts::default(), next: Instant::now() }
    }

    /// The counts as they are now.
    pub fn of(&self, ebpf: &Ebpf) -> SkippedCounts {
        since(self.before, read(ebpf))
    }

    /// The counts as they were a moment ago at most.
    pub fn at(&mut self, now: Instant, ebpf: &Ebpf) -> SkippedCounts {
        if now >= self.next {
            self.next = now + CHECK;
            self.latest = self.of(ebpf);
        }
        self.latest
    }
}

fn since(before: SkippedCounts, mut now: SkippedCounts) -> SkippedCounts {
    now.iter_mut().zip(before).for_each(|(now, before)| *now = now.saturating_sub(before));
    now
}

/// The counts of the programs that are loaded; whether they are attached does not matter.
fn read(ebpf: &Ebpf) -> SkippedCounts {
    sum(ebpf.programs().filter_map(|(name, program)| {
        let probe = hooks::probe_of(name)?;
        Some((probe, skipped_runs(program.fd().ok()?.as_fd())))
    }))
}

fn sum(programs: impl Iterator<Item = (Probe, u64)>) -> SkippedCounts {
    let mut counts = SkippedCounts::default();
    for (probe, runs) in programs {
        let count = &mut counts[probe as usize];
        *count = count.saturating_add(runs);
    }
    counts
}

/// The part of the kernel's `union bpf_attr` that this call has.
#[repr(C)]
struct InfoCall {
    program: u32,
    room: u32,
    info: u64,
}

/// Returns the number of times that the kernel has skipped a program; 0 if it does not count that.
#[allow(unsafe_code)]
fn skipped_runs(program: BorrowedFd<'_>) -> u64 {
    let Ok(fd) = u32::try_from(program.as_raw_fd()) else { return 0 };
    // SAFETY: the struct has only numbers, for which zero is a value.
    let mut info: bpf_prog_info = unsafe { std::mem::zeroed() };
    let Ok(room) = u32::try_from(size_of::<bpf_prog_info>()) else { return 0 };
    let call = InfoCall { program: fd, room, info: (&raw mut info) as u64 };
    let command = bpf_cmd::BPF_OBJ_GET_INFO_BY_FD as libc::c_int;
    // SAFETY: the kernel reads `call` and writes at most `room` bytes into `info`, and both live longer than the call. An older kernel
    // writes less. No pointer in `info` is set, so it writes nothing elsewhere.
    let done =
        unsafe { libc::syscall(libc::SYS_bpf, command, &raw const call, size_of::<InfoCall>()) };
    if done == 0 { info.recursion_misses } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::OBSERVATIONS;
    use std::fs::File;

    #[test]
    fn runs_of_a_probes_programs_are_added_up_from_the_beginning_on() {
        let programs = |read, fentry| {
            let named = [("read_exit", read), ("send_tcp_fentry", fentry), ("send_page_fentry", 3)];
            sum(named.into_iter().map(|(name, runs)| (hooks::probe_of(name).unwrap(), runs)))
        };
        let counts = since(programs(2, 1), programs(7, 2));
        assert_eq!((counts[Probe::Read as usize], counts[Probe::Send as usize]), (5, 1));
        assert_eq!(counts.iter().sum::<u64>(), 6);
        assert_eq!(since(programs(9, 0), programs(0, 0)), SkippedCounts::default());
        let most = sum([(Probe::Rx, u64::MAX), (Probe::Rx, 1)].into_iter());
        assert_eq!(most[Probe::Rx as usize], u64::MAX);
    }

    /// The entry of a send is the exception: without it the send is reported all the same.
    #[test]
    fn each_program_belongs_to_a_probe() {
        for observation in OBSERVATIONS {
            for program in observation.hooks.iter().flat_map(|hook| hook.programs) {
                let is_reported = hooks::probe_of(program.name).is_some();
                assert_eq!(is_reported, observation.name != "send (UDP), entry", "{program:?}");
            }
        }
        assert_eq!(hooks::probe_of("no program of the object"), None);
    }

    #[test]
    fn what_is_no_program_has_skipped_nothing() {
        assert_eq!(skipped_runs(File::open("/dev/null").unwrap().as_fd()), 0);
    }
    /// The same count as in /proc, of programs that run meanwhile for all processes.
    #[cfg(feature = "privileged")]
    #[test]
    fn the_count_of_a_program_is_that_of_its_descriptor() {
        let config =
            crate::CaptureConfig { exclude_self: false, ..crate::CaptureConfig::default() };
        let capture = crate::Capture::attach(&config).expect("these tests need root");
        let mut compared = 0;
        for (name, program) in capture.ebpf.programs() {
            let Ok(program) = program.fd() else { continue };
            let fd = program.as_fd();
            let before = skipped_runs(fd);
            let path = format!("/proc/self/fdinfo/{}", fd.as_raw_fd());
            let told = in_fdinfo(&std::fs::read_to_string(path).unwrap());
            let after = skipped_runs(fd);
            // Before 5.12 there is no such line.
            let told = told.unwrap_or_default();
            assert!((before..=after).contains(&told), "{name}: {before} {told} {after}");
            compared += 1;
        }
        assert!(compared >= 12, "{compared}");
    }

    #[cfg(feature = "privileged")]
    fn in_fdinfo(text: &str) -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix("recursion_misses:"))?.trim().parse().ok()
    }
}
