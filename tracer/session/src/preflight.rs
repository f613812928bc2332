//! What must be there before anything is started.

use wirelap_process::{Failure, rights};

/// Whether probes can be attached at all. Nothing is loaded for it.
///
/// # Errors
/// Root is missing.
pub fn preflight() -> Result<(), Failure> {
    let missing = rights::missing_to_attach();
    if missing.is_empty() { Ok(()) } else { Err(needs_root(&missing.join(", "))) }
}

/// A size of the ring that the kernel takes: a power of two, at least a page, at most 1 GiB.
pub fn ring_bytes(told: u32) -> u32 {
    told.clamp(4096, 1 << 30).next_power_of_two()
}

/// The sentence for everyone who is not root, or is a root without some of its capabilities.
pub fn needs_root(missing: &str) -> Failure {
    Failure::Machine(if rustix::process::geteuid().is_root() {
        format!(
            "attaching probes needs {missing}, which this root does not have: run it with all of root's capabilities \
             (a container: with --privileged)"
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
