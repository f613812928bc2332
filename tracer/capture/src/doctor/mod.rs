//! Examines which observations this machine allows, with and without root.

mod lack;

use crate::hooks::{
    AttachPoint, ChosenHook, KernelObservation, OBSERVATIONS, ProbeProgram, RefusedHook,
};
use crate::object::Symbols;
use crate::ring::ring_hook;
use crate::{AttachError, CaptureConfig, attach, btf, kernel, packets, preemption};
use aya::Btf;
use aya_obj::btf::BtfKind;
pub use lack::Lacking;
use std::fs;
use std::path::{Path, PathBuf};
use wirelap_process::rights::{FOR_CGROUPS, may_use_cgroups, missing_to_attach};

/// The result of examining this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doctor {
    /// The kernel's release, as `uname -r` shows it.
    pub kernel: String,
    /// The architecture, as `uname -m` shows it.
    pub architecture: String,
    /// The file with the kernel's BTF type information, without which nothing can be attached; `None` if there is none.
    pub btf: Option<PathBuf>,
    /// Why packets alone cannot be captured either; `None` if they can.
    pub no_packets: Option<String>,
    /// The capabilities for attaching that this process lacks. Without the last one of the three, only some hooks are missing.
    pub missing_capabilities: Vec<&'static str>,
    /// True if probes can be attached, as far as that is known: they were, or nothing but capabilities is missing.
    pub can_attach: bool,
    /// The clock behind `CLOCK_MONOTONIC` (`tsc`, `kvm-clock`, …); `None` if it is not known.
    pub clock_source: Option<String>,
    /// Each observation with its hook: the one that was attached, or the one that the kernel has by its BTF.
    pub observations: Vec<ChosenHook>,
    /// Why attaching failed, with the remedy; `None` if it succeeded.
    pub refused: Option<String>,
    /// True if this kernel takes a CPU from a thread for which a probe runs, so that it skips the probe for others.
    pub skips_probes: bool,
    /// Everything that is lacking, each once, with what is lost until it is mended.
    pub lacking: Vec<Lacking>,
}

/// Examines this machine. With the capabilities for attaching, all hooks are attached for a moment, which is the only certain
/// check; without them, the hooks are looked up in the kernel's BTF.
/// `btf` is the file with the kernel's types; `None` to find them.
pub fn examine(btf: Option<&Path>) -> Doctor {
    let uname = rustix::system::uname();
    let types = btf::find(btf).ok();
    let trial = CaptureConfig { btf: btf.map(Path::to_owned), ..trial() };
    let (observations, refused) = match attach::attach(&trial) {
        Ok(attached) => (attached.hooks, None),
        Err(error) if error.is_of_old_kernel() => (without_hooks(&error), Some(error)),
        Err(error) => (expect_all(types.as_ref().map(|types| &types.btf)), Some(error)),
    };
    let missing_capabilities = missing_to_attach();
    let can_attach = refused.is_none();
    let lacking = lack::find(
        &observations,
        types.as_ref().map(|types| &types.btf),
        &missing_capabilities,
        refused.as_ref(),
    );
    let skips_probes = types.as_ref().is_some_and(|types| preemption::skips_probes(&types.btf));
    let for_cgroups = (!may_use_cgroups()).then_some(FOR_CGROUPS);
    Doctor {
        kernel: uname.release().to_string_lossy().into_owned(),
        architecture: uname.machine().to_string_lossy().into_owned(),
        btf: types.map(|types| types.source),
        no_packets: packets::check().err().map(|error| error.to_string()),
        missing_capabilities: missing_capabilities.into_iter().chain(for_cgroups).collect(),
        can_attach,
        clock_source: fs::read_to_string(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        )
        .ok()
        .map(|name| name.trim().to_owned()),
        observations,
        refused: refused.map(|error| error.to_string()),
        skips_probes,
        lacking,
    }
}

/// The configuration of the check, with the smallest possible ring buffer.
fn trial() -> CaptureConfig {
    let ring_bytes = u32::try_from(rustix::param::page_size()).unwrap_or(4096);
    CaptureConfig { ring_bytes, ..CaptureConfig::default() }
}

/// Every observation without a hook: the kernel may have them, and refuses the probes all the same.
fn without_hooks(error: &AttachError) -> Vec<ChosenHook> {
    let refused = |hook| vec![RefusedHook { hook, reason: error.to_string() }];
    let without = |known: &KernelObservation| ChosenHook {
        refused: known.hooks.first().map(|hook| refused(hook.name)).unwrap_or_default(),
        remedy: "boot a kernel from 6.3 on, or on x86-64 from 6.1 on",
        ..ChosenHook::untried(known)
    };
    OBSERVATIONS.iter().map(without).collect()
}

fn expect_all(btf: Option<&Btf>) -> Vec<ChosenHook> {
    let mut observations: Vec<_> = OBSERVATIONS.iter().map(|o| expect(btf, o)).collect();
    if let Some(btf) = btf {
        let symbols = Symbols::find(btf);
        observations.push(symbols.payload_hook());
        observations.push(symbols.interrupts_hook());
        observations.push(kernel::quota_hook(btf));
        observations.push(ring_hook(&trial()));
    }
    observations
}

/// The first hook of an observation that this kernel has.
fn expect(btf: Option<&Btf>, observation: &KernelObservation) -> ChosenHook {
    let mut chosen = ChosenHook::untried(observation);
    for hook in observation.hooks {
        match hook.programs.iter().find_map(|program| missing(btf, program)) {
            None => {
                chosen.hook = Some(hook.name);
                break;
            }
            Some(reason) => chosen.refused.push(RefusedHook { hook: hook.name, reason }),
        }
    }
    chosen
}

/// Why a program cannot be attached to this kernel, as far as BTF shows it; `None` if it probably can.
fn missing(btf: Option<&Btf>, program: &ProbeProgram) -> Option<String> {
    let Some(btf) = btf else { return Some("the kernel has no BTF".into()) };
    let has = |name: &str, kind| btf.id_by_type_name_kind(name, kind).is_ok();
    match program.attach {
        AttachPoint::Tracepoint(name) => (!has(&format!("btf_trace_{name}"), BtfKind::Typedef))
            .then(|| format!("this kernel has no tracepoint {name}")),
        AttachPoint::Entry(function) | AttachPoint::Exit(function) => {
            if !has(function, BtfKind::Func) {
                Some(format!("this kernel has no function {function}"))
            } else if !can_trace_functions() {
                Some("this kernel cannot trace functions".into())
            } else {
                None
            }
        }
        AttachPoint::Cgroup | AttachPoint::Egress => crate::filter::cgroup_root()
            .is_none()
            .then(|| "no cgroup v2 hierarchy is mounted".into()),
        AttachPoint::FileIterator => (!has("bpf_iter_task_file", BtfKind::Func))
            .then(|| "this kernel has no iterator task_file".into()),
    }
}

/// True if the kernel has ftrace, which fentry needs: then `ftrace_caller` is among its symbols.
fn can_trace_functions() -> bool {
    fs::read_to_string("/proc/kallsyms")
        .is_ok_and(|symbols| symbols.lines().any(|line| line.ends_with(" ftrace_caller")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examining_needs_no_privileges_and_names_every_observation() {
        let doctor = examine(None);
        assert!(doctor.observations.len() >= OBSERVATIONS.len());
        let root = missing_to_attach().is_empty();
        assert!(root || doctor.lacking.iter().any(|one| one.name.starts_with("CAP_BPF")));
        for observation in &doctor.observations {
            assert!(observation.hook.is_some() || !observation.refused.is_empty());
            assert!(!observation.remedy.is_empty() && !observation.without.is_empty());
        }
    }
}
