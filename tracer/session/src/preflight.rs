//! Checks before a session is started.

use wirelap_process::{Failure, rights};

/// Checks that this process has the capabilities to attach probes. Nothing is loaded for this.
///
/// # Errors
/// `Failure::Machine` if a capability is missing.
pub fn preflight() -> Result<(), Failure> {
    let missing = rights::missing_to_attach();
    if missing.is_empty() { Ok(()) } else { Err(needs_root(&missing.join(", "))) }
}

/// The size of the ring buffer in bytes that the kernel accepts for the wanted one: the next power of two, at least a page
/// and at most 1 GiB.
pub fn ring_bytes(wanted: u32) -> u32 {
    wanted.clamp(4096, 1 << 30).next_power_of_two()
}

/// The failure of a process that lacks capabilities, because it is not root or because root's capabilities were removed.
pub fn needs_root(missing: &str) -> Failure {
    Failure::Machine(if rustix::process::geteuid().is_root() {
        format!(
            "attaching probes needs {missing}, which root does not have here: run wirelap with all of root's capabilities \
             (in a container: with --privileged)"
        )
    } else {
        "attaching probes needs root (CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN): run `sudo wirelap …`"
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_has_a_size_that_the_kernel_takes() {
        let sizes = [0, 5000, 1 << 16, u32::MAX].map(ring_bytes);
        assert_eq!(sizes, [4096, 8192, 1 << 16, 1 << 30]);
    }
}
