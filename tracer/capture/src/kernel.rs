//! Facts about the running kernel: its version, and abilities that follow from it alone.

use crate::hooks::{ChosenHook, RefusedHook};
use aya::Btf;
use aya_obj::btf::BtfKind;
use rustix::thread::CapabilitySet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The hook that observes used-up CPU quotas. A kernel with quotas has the function that walks down from the cgroup without
/// quota (`kernel/sched/fair.c`).
pub(crate) fn quota_hook(btf: &Btf) -> ChosenHook {
    let hook = "tracepoint sched_switch";
    let has_quotas = btf.id_by_type_name_kind("tg_throttle_down", BtfKind::Func).is_ok();
    let reason = "this kernel has no CPU quotas (CONFIG_CFS_BANDWIDTH)".to_owned();
    ChosenHook {
        observation: "CPU quotas",
        hook: has_quotas.then_some(hook),
        without: "waiting for CPU quota is shown as waiting for the CPU",
        remedy: "none is needed: without CPU quotas, no thread waits for quota",
        refused: if has_quotas { Vec::new() } else { vec![RefusedHook { hook, reason }] },
    }
}

/// The capabilities that maps and links need once everything is loaded, and those of a program on a cgroup if one is to be
/// attached once more.
pub(crate) fn needed_after_attaching(cgroup: bool) -> CapabilitySet {
    // Since 5.19, the setting concerns only loading (kernel/bpf/syscall.c, __sys_bpf; commit c8644cd0efe7).
    let is_open = kernel_at_least(5, 19)
        || fs::read_to_string("/proc/sys/kernel/unprivileged_bpf_disabled")
            .is_ok_and(|setting| setting.trim() == "0");
    let maps = if is_open { CapabilitySet::empty() } else { CapabilitySet::BPF };
    // The rights for programs on cgroups are checked when they are attached, not when they are loaded.
    let cgroup = if cgroup { CapabilitySet::NET_ADMIN } else { CapabilitySet::empty() };
    maps | cgroup
}

/// True if threads can have storage of their own, which all probes need: since 5.11 (4cf1bc1f1045), or where a distribution has added it
/// to an older kernel.
pub(crate) fn has_task_storage(btf: &Btf) -> bool {
    kernel_at_least(5, 11)
        || btf.id_by_type_name_kind("bpf_task_storage_get", BtfKind::Func).is_ok()
}

/// The inode number of the machine's own PID namespace (`PROC_PID_INIT_INO`, `include/linux/proc_ns.h`).
const INITIAL_PID_NAMESPACE: u64 = 0xefff_fffc;

/// The inode number of this process's PID namespace; 0 if that is the machine's own, or not known.
pub(crate) fn pid_namespace() -> u32 {
    let number = fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino());
    if number == INITIAL_PID_NAMESPACE { 0 } else { u32::try_from(number).unwrap_or(0) }
}

/// True if `/proc` has the processes of this process's PID namespace, under their numbers there.
pub(crate) fn proc_is_own() -> bool {
    match fs::read_link("/proc/self") {
        Ok(own) => own.to_str() == Some(&std::process::id().to_string()),
        // Where nothing is mounted there, the link is missing like everything else.
        Err(_) => !Path::new("/proc/stat").exists(),
    }
}

/// True if the running kernel is of this version or newer.
pub(crate) fn kernel_at_least(major: u32, minor: u32) -> bool {
    let uname = rustix::system::uname();
    parse_version(&uname.release().to_string_lossy()).is_some_and(|found| found >= (major, minor))
}

fn parse_version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_number_in_proc() {
        assert!(proc_is_own());
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(parse_version("6.18.44-fc-v657"), Some((6, 18)));
        assert_eq!(parse_version("6.1.0-32-amd64"), Some((6, 1)));
        assert!(parse_version("6.10").unwrap() > parse_version("6.4").unwrap());
        assert_eq!(parse_version("unknown"), None);
    }
}
