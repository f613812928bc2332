//! The observations that wirelap makes, and the hooks for each, best first.
//!
//! To add a hook: write its program in `ebpf/probes/`, and add it to the table in `table.rs`.

mod chosen;
mod observation;
mod table;

pub(crate) use chosen::missing_right;
pub use chosen::{ChosenHook, RefusedHook};
pub use observation::{
    AttachPoint, AttachTime, BelowDetail, KernelObservation, ObservationHook, ProbeProgram,
};
pub use table::OBSERVATIONS;
pub(crate) use table::{EXISTING_SOCKETS, PAYLOAD_FROM_CGROUP, UNIX_CONNECTIONS};

use wirelap_events::{Probe, TraceDetail};

/// The programs of all hooks.
pub(crate) fn programs() -> impl Iterator<Item = ProbeProgram> {
    OBSERVATIONS.iter().flat_map(|o| o.hooks).flat_map(|hook| hook.programs).copied()
}

/// True if a program of the object runs for every message, and not only when sockets or processes are created or end.
pub(crate) fn is_per_message(program: &str) -> bool {
    let is_its = |hook: &ObservationHook| hook.programs.iter().any(|its| its.name == program);
    is_its(&PAYLOAD_FROM_CGROUP)
        || OBSERVATIONS.iter().any(|o| o.per_message && o.hooks.iter().any(is_its))
}

/// The least detail that a program of the object is needed for.
pub(crate) fn detail_of(program: &str) -> TraceDetail {
    let is_its = |hook: &ObservationHook| hook.programs.iter().any(|its| its.name == program);
    if is_its(&PAYLOAD_FROM_CGROUP) {
        return TraceDetail::Path;
    }
    let its = OBSERVATIONS.iter().find(|observation| observation.hooks.iter().any(is_its));
    its.map_or(TraceDetail::Ends, |observation| observation.detail)
}

/// The probe that has lost an event when the kernel skips a run of this program of the object.
pub(crate) fn probe_of(program: &str) -> Option<Probe> {
    let is_its = |hook: &ObservationHook| hook.programs.iter().any(|its| its.name == program);
    let its = OBSERVATIONS.iter().find(|observation| observation.hooks.iter().any(is_its));
    its.and_then(|observation| observation.probe)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hooks of an observation that enter a function whose exit another observation's programs are at.
    fn sharing(name: &str) -> Vec<&'static str> {
        let its = OBSERVATIONS.iter().filter(|observation| observation.name == name);
        let shares = |hook: &&ObservationHook| programs().any(|program| hook.enters_what(program));
        its.flat_map(|observation| observation.hooks).filter(shares).map(|hook| hook.name).collect()
    }

    #[test]
    fn only_the_entry_of_udp_sends_shares_functions_with_an_exit() {
        for observation in OBSERVATIONS {
            let expected: &[&str] = match observation.name {
                "send (UDP), entry" => &["fentry udp_sendmsg, udpv6_sendmsg"],
                _ => &[],
            };
            assert_eq!(sharing(observation.name), expected, "{}", observation.name);
        }
    }
}
