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

    /// The functions that an observation's programs are at, as `place` tells.
    fn functions(
        observation: &KernelObservation,
        place: fn(AttachPoint) -> Option<&'static str>,
    ) -> Vec<&'static str> {
        let programs = observation.hooks.iter().flat_map(|hook| hook.programs);
        programs.filter_map(|program| place(program.attach)).collect()
    }

    #[test]
    fn entries_of_functions_are_attached_before_their_exits() {
        let entry = |at| if let AttachPoint::Entry(function) = at { Some(function) } else { None };
        let exit = |at| if let AttachPoint::Exit(function) = at { Some(function) } else { None };
        let mut shared = 0;
        for (place, enters) in OBSERVATIONS.iter().enumerate() {
            for function in functions(enters, entry) {
                let exits = |its: &KernelObservation| functions(its, exit).contains(&function);
                if let Some(at) = OBSERVATIONS.iter().position(exits) {
                    assert!(place < at, "{}", enters.name);
                    shared += 1;
                }
            }
        }
        assert_eq!(shared, 2, "udp_sendmsg and udpv6_sendmsg");
    }
}
