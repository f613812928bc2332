//! Why hooks are missing: whether it is a right of this process, a feature of the kernel or a setting of the machine.

use crate::AttachError;
use crate::hooks::{AttachPoint, ChosenHook, OBSERVATIONS, ObservationHook, PAYLOAD_FROM_CGROUP};
use aya::Btf;
use aya_obj::btf::BtfKind;
use std::fs;
use std::path::Path;
use wirelap_process::mend::Lack;
use wirelap_process::remedy::{self, Barrier};
use wirelap_process::rights::{FOR_CGROUPS, may_attach_to_programs, may_hurry, may_use_cgroups};

/// Hooks that are second best because something is lost with them, and not only slower.
const PARTIAL: [&str; 3] =
    ["the socket's queue", "linear part of the packet", PAYLOAD_FROM_CGROUP.name];

/// Something that is lacking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// The kind of thing that is lacking.
    pub lack: Lack,
    /// Name of the capability, or of the lack.
    pub name: String,
    /// Results that are lost until the lack is mended, a sentence each.
    pub lost: Vec<&'static str>,
}

impl Lacking {
    /// True if only the text of TLS needs it.
    pub fn is_for_tls(&self) -> bool {
        self.lack == Lack::Capability && self.lost == [TLS_IS_LOST]
    }
}

/// Facts about the machine and this process that decide why a hook is missing.
#[derive(Clone, Copy, Debug)]
struct MachineFacts {
    may_use_cgroups: bool,
    has_cgroup_v2: bool,
    has_jit: bool,
}

impl MachineFacts {
    fn here() -> MachineFacts {
        let jit = fs::read_to_string("/proc/sys/net/core/bpf_jit_enable");
        MachineFacts {
            may_use_cgroups: may_use_cgroups(),
            has_cgroup_v2: crate::filter::cgroup_root().is_some(),
            // A kernel without the setting compiles always.
            has_jit: !jit.is_ok_and(|setting| setting.trim() == "0"),
        }
    }
}

/// Returns everything that is lacking on this machine, each once, worst first.
pub(super) fn find(
    observations: &[ChosenHook],
    btf: Option<&Btf>,
    capabilities: &[&'static str],
    refused: Option<&AttachError>,
) -> Vec<Lacking> {
    let mut all = Vec::new();
    if !capabilities.is_empty() {
        let for_cgroups = (!may_use_cgroups()).then_some(FOR_CGROUPS);
        let names: Vec<_> = capabilities.iter().copied().chain(for_cgroups).collect();
        all.push(lacking(Lack::Capability, Some(&names.join(", ")), NOTHING));
    }
    if refused.is_some()
        && let Some(barrier) = remedy::barrier()
    {
        let lack = match barrier {
            Barrier::UserNamespace => Lack::InitialNamespace,
            Barrier::Lockdown => Lack::Openness,
            Barrier::Seccomp => Lack::SystemCalls,
        };
        // A filter of system calls may have nothing to do with it, if something else is missing.
        if lack != Lack::SystemCalls || (capabilities.is_empty() && btf.is_some()) {
            all.push(lacking(lack, None, NOTHING));
        }
    }
    let Some(btf) = btf else {
        all.push(lacking(Lack::Btf, None, NOTHING));
        return all;
    };
    if all.is_empty() && refused.is_some_and(AttachError::is_of_old_kernel) {
        all.push(lacking(Lack::NewerKernel, None, NOTHING));
        return all;
    }
    let facts = MachineFacts::here();
    for chosen in observations {
        let is_whole = chosen.hook.is_some_and(|hook| !PARTIAL.contains(&hook));
        if !is_whole && let Some(lack) = of(chosen, btf, facts) {
            let name = (lack == Lack::Capability).then_some(FOR_CGROUPS);
            add(&mut all, lacking(lack, name, chosen.without));
        }
    }
    if !Path::new("/sys/bus/event_source/devices/uprobe").exists() {
        add(&mut all, lacking(Lack::Uprobes, None, TLS_IS_LOST));
    } else if capabilities.is_empty() && !may_attach_to_programs() {
        let name = "CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH";
        add(&mut all, lacking(Lack::Capability, Some(name), TLS_IS_LOST));
    }
    if !may_hurry() {
        add(&mut all, lacking(Lack::RealTime, None, HURRY_IS_LOST));
    }
    all
}

const NOTHING: &str = "nothing can be traced";
const TLS_IS_LOST: &str = "--tls reads no message that other programs encrypt";
const HURRY_IS_LOST: &str = "events are lost sooner while other programs take all CPUs, because wirelap's reading thread waits as they do";

fn lacking(lack: Lack, name: Option<&str>, lost: &'static str) -> Lacking {
    Lacking { lack, name: name.unwrap_or(lack.name()).to_owned(), lost: vec![lost] }
}

fn add(all: &mut Vec<Lacking>, more: Lacking) {
    match all.iter_mut().find(|one| (one.lack, &one.name) == (more.lack, &more.name)) {
        Some(one) => {
            let news = more.lost.into_iter().filter(|lost| !one.lost.contains(lost));
            let news: Vec<_> = news.collect();
            one.lost.extend(news);
        }
        None => all.push(more),
    }
}

/// Returns the lack of an observation without its best hook; `None` if nothing can mend it.
fn of(chosen: &ChosenHook, btf: &Btf, facts: MachineFacts) -> Option<Lack> {
    if chosen.observation == "payload" {
        let cgroup = of_cgroup(facts).filter(|lack| *lack != Lack::NewerKernel);
        return cgroup.or(Some(Lack::NewerKernel));
    }
    let known = OBSERVATIONS.iter().find(|known| known.name == chosen.observation)?;
    let first = known.hooks.first()?;
    Some(of_hook(first, btf, facts))
}

fn of_hook(hook: &ObservationHook, btf: &Btf, facts: MachineFacts) -> Lack {
    let has = |name: &str| btf.id_by_type_name_kind(name, BtfKind::Func).is_ok();
    let lacks = hook.programs.iter().filter_map(|program| match program.attach {
        AttachPoint::Cgroup | AttachPoint::Egress => of_cgroup(facts),
        AttachPoint::Entry(name) | AttachPoint::Exit(name) if has(name) => {
            Some(if facts.has_jit { Lack::FunctionTracing } else { Lack::Jit })
        }
        _ => None,
    });
    lacks.min().unwrap_or(Lack::NewerKernel)
}

/// Returns the lack of programs on cgroups; `None` if they can be attached.
fn of_cgroup(facts: MachineFacts) -> Option<Lack> {
    match facts {
        MachineFacts { may_use_cgroups: false, .. } => Some(Lack::Capability),
        MachineFacts { has_cgroup_v2: false, .. } => Some(Lack::CgroupV2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::RefusedHook;

    const ALL_RIGHT: MachineFacts =
        MachineFacts { may_use_cgroups: true, has_cgroup_v2: true, has_jit: true };

    fn observation(name: &str) -> ChosenHook {
        let known = OBSERVATIONS.iter().find(|known| known.name == name).unwrap();
        let refused = RefusedHook { hook: known.hooks[0].name, reason: "refused".into() };
        ChosenHook { refused: vec![refused], ..ChosenHook::untried(known) }
    }

    #[test]
    fn a_missing_right_is_not_taken_for_a_missing_feature() {
        let Ok(btf) = Btf::from_sys_fs() else { return };
        let of = |name, facts| of(&observation(name), &btf, facts);
        let without_right = MachineFacts { may_use_cgroups: false, ..ALL_RIGHT };
        let without_mount = MachineFacts { has_cgroup_v2: false, ..ALL_RIGHT };
        assert_eq!(of("sockets", without_right), Some(Lack::Capability));
        assert_eq!(of("sockets", without_mount), Some(Lack::CgroupV2));
        assert_eq!(of("sockets", ALL_RIGHT), Some(Lack::NewerKernel));
        // A kernel without the tracepoint is too old, whatever rights there are.
        assert_eq!(of("data ready", without_right), Some(Lack::NewerKernel));
    }

    #[test]
    fn functions_that_the_kernel_has_and_cannot_trace_lack_tracing_or_the_compiler() {
        let Ok(btf) = Btf::from_sys_fs() else { return };
        if btf.id_by_type_name_kind("__skb_recv_udp", BtfKind::Func).is_err() {
            return;
        }
        let of = |facts| of(&observation("read (UDP), which"), &btf, facts);
        assert_eq!(of(ALL_RIGHT), Some(Lack::FunctionTracing));
        assert_eq!(of(MachineFacts { has_jit: false, ..ALL_RIGHT }), Some(Lack::Jit));
    }

    #[test]
    fn what_is_lost_for_one_reason_is_listed_together_and_once() {
        let mut all = Vec::new();
        for lost in ["a", "b", "a"] {
            add(&mut all, lacking(Lack::CgroupV2, None, lost));
        }
        add(&mut all, lacking(Lack::Capability, Some("CAP_BPF"), "a"));
        add(&mut all, lacking(Lack::Capability, Some(FOR_CGROUPS), "b"));
        assert_eq!(all.len(), 3);
        assert_eq!((all[0].name.as_str(), &all[0].lost[..]), ("cgroup v2", &["a", "b"][..]));
    }

    #[test]
    fn a_kernel_that_has_types_and_refuses_the_probes_is_too_old() {
        let Ok(btf) = Btf::from_sys_fs() else { return };
        let first =
            |error: &AttachError| find(&[], Some(&btf), &[], Some(error)).into_iter().next();
        let reason = "the kernel has no such map".to_owned();
        let old = AttachError::NothingAttached { observation: "packets out", reason };
        let Some(found) = first(&old) else { panic!("nothing is lacking") };
        // Where these tests run in a container, what keeps BPF from it comes first.
        assert!(remedy::barrier().is_some() || found.lack == Lack::NewerKernel, "{found:?}");
        assert_eq!(found.lost, [NOTHING]);
        let shortage = AttachError::NoMemory { ring_bytes: 4096 };
        assert_ne!(first(&shortage).map(|one| one.lack), Some(Lack::NewerKernel));
    }

    #[test]
    fn without_rights_and_without_btf_both_are_named() {
        let all = find(&[], None, &["CAP_BPF"], None);
        assert_eq!(all.len(), 2);
        assert!(all[0].lack == Lack::Capability && all[0].name.starts_with("CAP_BPF"));
        assert_eq!((all[1].lack, all[1].name.as_str()), (Lack::Btf, "BTF type information"));
    }
}
