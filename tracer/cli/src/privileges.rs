//! Root's rights that wirelap has no use for are given up before anything else is done.

use caps::{CapSet, Capability, CapsHashSet};

/// What is kept, and why.
const KEPT: [Capability; 9] = [
    // Attaching probes, opening and closing windows, following more processes and ports.
    Capability::CAP_BPF,
    Capability::CAP_PERFMON,
    Capability::CAP_NET_ADMIN,
    // Workloads run as somebody else, in a folder of theirs, and are stopped by us.
    Capability::CAP_SETUID,
    Capability::CAP_SETGID,
    Capability::CAP_KILL,
    Capability::CAP_CHOWN,
    // Their records are read, and results written where the user asks for them.
    Capability::CAP_DAC_OVERRIDE,
    Capability::CAP_FOWNER,
];

/// Gives up all other capabilities, for good. Of this thread and of those that it starts from now on,
/// so call it before there are others. Where the kernel does not let us, everything works as before.
pub fn shed() {
    let Ok(held) = caps::read(None, CapSet::Permitted) else { return };
    let kept: CapsHashSet =
        KEPT.into_iter().filter(|capability| held.contains(capability)).collect();
    let _ = caps::set(None, CapSet::Effective, &kept);
    let _ = caps::set(None, CapSet::Permitted, &kept);
}
