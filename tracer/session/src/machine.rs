//! This machine: its kernel, its processors, and the CPU time and memory that processes use.

use procfs::CurrentSI;
use procfs::{Current, WithCurrentSystemInfo};
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;
use wirelap_events::{Nanos, Pid, TaskId, ThreadActivity, ThreadState, Tid};

/// The number of logical CPUs; at least 1.
pub fn cpus() -> usize {
    procfs::CpuInfo::current().map_or(1, |info| info.num_cores().max(1))
}

/// Time in which CPUs of this machine did nothing or waited for disks, all CPUs together.
pub fn idle_time() -> Option<Nanos> {
    let total = procfs::KernelStats::current().ok()?.total;
    let ticks = total.idle.saturating_add(total.iowait.unwrap_or(0));
    let nanos = u128::from(ticks).saturating_mul(1_000_000_000);
    let nanos = nanos.checked_div(u128::from(procfs::ticks_per_second()))?;
    Some(Nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
}

/// The kernel's release, as `uname -r` shows it.
pub fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Identity of the present run of this host, which a reboot changes (`random(4)`); empty if it is not known.
pub fn boot_id() -> String {
    line("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// The host name; `None` if it is empty.
pub fn hostname() -> Option<String> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    (!name.is_empty()).then_some(name)
}

/// The processor's model name; empty if `/proc/cpuinfo` has none.
pub fn cpu_model() -> String {
    let info = procfs::CpuInfo::current();
    info.ok().and_then(|info| info.model_name(0).map(str::to_owned)).unwrap_or_default()
}

/// The frequency governor of CPU 0; `None` if there is none.
pub fn governor() -> Option<String> {
    line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
}

/// Measures of the kernel against vulnerabilities of the CPU, by vulnerability; empty if it does not say.
pub fn mitigations() -> BTreeMap<String, String> {
    let folder = fs::read_dir("/sys/devices/system/cpu/vulnerabilities");
    let files = folder.into_iter().flatten().flatten();
    files
        .filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            Some((name, line(file.path().to_str()?)?))
        })
        .collect()
}

/// The kernel's clock source; `None` if it is not known.
pub fn clock_source() -> Option<String> {
    line("/sys/devices/system/clocksource/clocksource0/current_clocksource")
}

/// The memory of the machine in bytes; 0 if it is not known.
pub fn memory_bytes() -> u64 {
    procfs::Meminfo::current().map_or(0, |info| info.mem_total)
}

fn line(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// The present time of the monotonic clock that the times of events are of.
pub fn now() -> Nanos {
    wirelap_capture::clock::now()
}

/// The difference from the monotonic clock to the wall clock in nanoseconds.
pub fn wall_offset() -> i64 {
    wirelap_capture::clock::wall_offset()
}

/// A number of the present run of this host, which a reboot changes; 0 if it is not known.
pub fn kernel_run() -> u64 {
    let id: String = boot_id().chars().filter(char::is_ascii_hexdigit).take(16).collect();
    u64::from_str_radix(&id, 16).unwrap_or(0)
}

/// The present time, and the nanoseconds by which the oscillator's clock, which nobody steers, is ahead of it.
pub fn oscillator() -> (Nanos, i64) {
    wirelap_capture::clock::oscillator()
}

/// The most threads of one process whose state is read.
const MAX_THREADS: usize = 64;

/// The states of the threads of a process; empty once the process has ended.
pub fn thread_states(pid: Pid) -> Vec<ThreadState> {
    let process = i32::try_from(pid.0).ok().and_then(|pid| procfs::process::Process::new(pid).ok());
    let tasks = process.and_then(|process| process.tasks().ok());
    let cpu_time = i32::try_from(pid.0).ok().and_then(cpu_clock);
    let cpu_time = cpu_time.and_then(|time| u64::try_from(time.as_nanos()).ok()).map(Nanos);
    let state = |task: procfs::process::Task| {
        let stat = task.stat().ok()?;
        let activity = match stat.state {
            'T' | 't' => ThreadActivity::Stopped,
            'D' => ThreadActivity::Blocked,
            'R' => ThreadActivity::Running,
            'S' | 'I' => ThreadActivity::Asleep,
            _ => return None,
        };
        let tid = Tid(u32::try_from(stat.pid).ok()?);
        // Without the kernel's statistics of the scheduler, all of its numbers are 0.
        let schedstat = task.schedstat().ok().filter(|seen| seen.sum_exec_runtime > 0);
        let (waited, ran) = (
            schedstat.as_ref().map(|seen| Nanos(seen.run_delay)),
            schedstat.as_ref().map(|seen| Nanos(seen.sum_exec_runtime)),
        );
        Some(ThreadState { task: TaskId { pid, tid }, activity, cpu_time, waited, ran })
    };
    tasks.into_iter().flatten().filter_map(|task| state(task.ok()?)).take(MAX_THREADS).collect()
}

/// The CPU time and memory that a process has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessUsage {
    /// CPU time in user and kernel mode.
    pub cpu: Duration,
    /// Resident memory in bytes; 0 once the process has exited.
    pub rss_bytes: u64,
    /// Pages of memory that had to be read from a disk first (major faults).
    pub major_faults: u64,
}

/// The CPU time of a process by the kernel's clock of it, in nanoseconds and not in ticks of ten milliseconds.
fn cpu_clock(pid: i32) -> Option<Duration> {
    let clock = nix::time::clock_getcpuclockid(nix::unistd::Pid::from_raw(pid)).ok()?;
    Some(clock.now().ok()?.into())
}

/// The usage of a process; `None` if there is no such process. The CPU time of a process that has exited can be read until
/// its parent has waited for it.
pub fn usage(pid: u32) -> Option<ProcessUsage> {
    let id = i32::try_from(pid).ok()?;
    let stat = procfs::process::Process::new(id).ok()?.stat().ok()?;
    let in_ticks = || {
        let ticks = stat.utime.saturating_add(stat.stime);
        Duration::from_secs_f64(ticks as f64 / procfs::ticks_per_second() as f64)
    };
    let cpu = cpu_clock(id).unwrap_or_else(in_ticks);
    let (rss_bytes, major_faults) = (stat.rss_bytes().get(), stat.majflt);
    Some(ProcessUsage { cpu, rss_bytes, major_faults })
}

/// The name of a process; empty once the process has ended.
pub fn name(pid: u32) -> String {
    line(&format!("/proc/{pid}/comm")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_memory_and_has_a_name() {
        assert!(usage(std::process::id()).unwrap().rss_bytes > 0);
        assert!(usage(u32::MAX).is_none());
        assert!(cpus() >= 1);
        assert!(!name(std::process::id()).is_empty());
    }

    #[test]
    fn cpu_time_is_exact_to_less_than_a_tick() {
        let is_of_ticks = || {
            let cpu = usage(std::process::id()).unwrap().cpu;
            cpu.as_nanos().is_multiple_of(Duration::from_millis(10).as_nanos())
        };
        let deadline = now() + Nanos::from_millis(5_000);
        while is_of_ticks() && now() < deadline {}
        assert!(!is_of_ticks() || !is_of_ticks());
    }
}
