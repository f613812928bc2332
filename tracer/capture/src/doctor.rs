//! What this machine can do, with and without root.

use crate::hooks::{Attach, ChosenHook, OBSERVATIONS, Observation, Program, Refusal};
use crate::object::Symbols;
use crate::{Config, attach, kernel};
use aya::Btf;
use aya_obj::btf::BtfKind;
use std::fs;
use wirelap_process::rights::missing_to_attach;

/// What this machine can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doctor {
    /// `uname -r`.
    pub kernel: String,
    /// `uname -m`.
    pub architecture: String,
    /// Whether the kernel describes its types, without which nothing works.
    pub has_btf: bool,
    /// The capabilities that this process lacks; with none missing it can attach.
    pub missing_capabilities: Vec<&'static str>,
    /// The clock behind `CLOCK_MONOTONIC` (`tsc`, `kvm-clock`, …); `None` if the kernel does not say.
    pub clock_source: Option<String>,
    /// Each observation and the hook that it uses, or would use as far as the kernel's BTF tells.
    pub observations: Vec<ChosenHook>,
    /// Why attaching was not possible, in a sentence with the remedy; `None` if it was.
    pub refused: Option<String>,
}

/// Looks at this machine. With the capabilities that attaching needs it attaches everything for a moment,
/// which is the only sure way to know; without, it tells what the kernel's BTF tells.
pub fn examine() -> Doctor {
    let uname = rustix::system::uname();
    let btf = Btf::from_sys_fs().ok();
    let (observations, refused) = match attach::attach(&trial()) {
        Ok(attached) => (attached.hooks, None),
        Err(error) => (expect_all(btf.as_ref()), Some(error.to_string())),
    };
    Doctor {
        kernel: uname.release().to_string_lossy().into_owned(),
        architecture: uname.machine().to_string_lossy().into_owned(),
        has_btf: btf.is_some(),
        missing_capabilities: missing_to_attach(),
        clock_source: fs::read_to_string(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        )
        .ok()
        .map(|name| name.trim().to_owned()),
        observations,
        refused,
    }
}

/// What is attached to find out: paused, with the smallest ring.
fn trial() -> Config {
    let ring_bytes = u32::try_from(rustix::param::page_size()).unwrap_or(4096);
    Config { ring_bytes, ..Config::default() }
}

fn expect_all(btf: Option<&Btf>) -> Vec<ChosenHook> {
    let mut observations: Vec<_> = OBSERVATIONS.iter().map(|o| expect(btf, o)).collect();
    if let Some(btf) = btf {
        observations.push(Symbols::find(btf).payload_hook());
        observations.push(kernel::quota_hook(btf));
    }
    observations
}

/// The first way whose hooks this kernel has.
fn expect(btf: Option<&Btf>, observation: &Observation) -> ChosenHook {
    let mut chosen = ChosenHook::untried(observation);
    for way in observation.ways {
        match way.programs.iter().find_map(|program| missing(btf, program)) {
            None => {
                chosen.hook = Some(way.hook);
                break;
            }
            Some(reason) => chosen.refused.push(Refusal { hook: way.hook, reason }),
        }
    }
    chosen
}

/// Why a program cannot attach here, as far as that can be known without trying.
fn missing(btf: Option<&Btf>, program: &Program) -> Option<String> {
    let Some(btf) = btf else { return Some("the kernel has no BTF".into()) };
    let has = |name: &str, kind| btf.id_by_type_name_kind(name, kind).is_ok();
    match program.attach {
        Attach::Tracepoint(name) => (!has(&format!("btf_trace_{name}"), BtfKind::Typedef))
            .then(|| format!("this kernel has no tracepoint {name}")),
        Attach::Entry(function) | Attach::Exit(function) => {
            if !has(function, BtfKind::Func) {
                Some(format!("this kernel has no function {function}"))
            } else if !can_trace_functions() {
                Some("this kernel cannot trace functions".into())
            } else {
                None
            }
        }
        Attach::Cgroup | Attach::Egress => crate::filter::cgroup_root()
            .is_none()
            .then(|| "no cgroup v2 hierarchy is mounted".into()),
        Attach::FileIterator => {
            (!has("bpf_iter_task_file", BtfKind::Func)).then(|| "no such iterator".into())
        }
    }
}

/// fentry needs ftrace; kernels with it list `ftrace_caller` among their symbols.
fn can_trace_functions() -> bool {
    fs::read_to_string("/proc/kallsyms")
        .is_ok_and(|symbols| symbols.lines().any(|line| line.ends_with(" ftrace_caller")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examining_needs_no_privileges_and_names_every_observation() {
        let doctor = examine();
        assert!(doctor.observations.len() >= OBSERVATIONS.len());
        for observation in &doctor.observations {
            assert!(observation.hook.is_some() || !observation.refused.is_empty());
            assert!(!observation.remedy.is_empty() && !observation.without.is_empty());
        }
    }
}
