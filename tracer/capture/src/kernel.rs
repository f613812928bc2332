//! Facts about the running kernel: its version, and abilities that follow from it alone.

use crate::hooks::{ChosenHook, RefusedHook};
use aya::Btf;
use aya_obj::btf::BtfKind;
use rustix::thread::CapabilitySet;
use std::fs;

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
    fn versions_are_compared_as_numbers() {
        assert_eq!(parse_version("6.18.44-fc-v657"), Some((6, 18)));
        assert_eq!(parse_version("6.1.0-32-amd64"), Some((6, 1)));
        assert!(parse_version("6.10").unwrap() > parse_version("6.4").unwrap());
        assert_eq!(parse_version("unknown"), None);
    }
}
