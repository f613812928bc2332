//! Checks before a session is started.

use crate::settings::SessionView;
use std::sync::OnceLock;
use wirelap_capture::packets::PacketError;
use wirelap_process::{Failure, memory_limit, rights};

/// Checks that this process has the capabilities to attach probes. Nothing is loaded for this.
///
/// # Errors
/// `Failure::Machine` if a capability is missing.
pub fn preflight() -> Result<(), Failure> {
    let missing = rights::missing_to_attach();
    if missing.is_empty() { Ok(()) } else { Err(needs_root(&missing.join(", "))) }
}

/// Checks that this process has the capabilities for a session of this view. Nothing is opened or loaded for this.
///
/// # Errors
/// `Failure::Machine` if a capability is missing.
pub fn preflight_of(view: &SessionView) -> Result<(), Failure> {
    match view {
        SessionView::Probes => preflight(),
        SessionView::ProbesOrPackets | SessionView::Packets { .. }
            if rights::may_capture_packets() =>
        {
            Ok(())
        }
        SessionView::ProbesOrPackets => preflight().map_err(|failure| {
            Failure::Machine(format!("{failure}; packets alone need only CAP_NET_RAW"))
        }),
        SessionView::Packets { .. } => Err(Failure::Machine(PacketError::NoPrivileges.to_string())),
    }
}

/// The most of the memory of this process that the ring buffer takes if nobody chose its size: a 64th.
const RING_SHARE: u64 = 64;

/// The size of the ring buffer in bytes that the kernel accepts for the wanted one: the next power of two, at least a page
/// and at most 1 GiB. `None` is the size that suits this host and the
/// control group of this process.
pub fn ring_bytes(wanted: Option<u32>) -> u32 {
    wanted.map_or_else(
        || suited_to(own_memory()),
        |bytes| bytes.clamp(4096, 1 << 30).next_power_of_two(),
    )
}

/// The size of the ring buffer that suits a process with so many bytes of memory: 4 MiB to 64 MiB.
fn suited_to(memory: u64) -> u32 {
    let most = u32::try_from(memory / RING_SHARE).unwrap_or(u32::MAX).clamp(4 << 20, 64 << 20);
    1 << most.ilog2()
}

/// The memory that this process may use in bytes. It is read once: the files are out of reach when rights have been given up.
fn own_memory() -> u64 {
    static MEMORY: OnceLock<u64> = OnceLock::new();
    *MEMORY.get_or_init(|| {
        let limit = memory_limit().map_or(u64::MAX, |limit| limit.bytes);
        host_memory().min(limit)
    })
}

/// The memory of this host in bytes.
fn host_memory() -> u64 {
    let info = rustix::system::sysinfo();
    let unit = u64::from(info.mem_unit.max(1));
    // The field is a long, which has 32 bits on some architectures.
    #[allow(clippy::useless_conversion)]
    let total = u64::from(info.totalram);
    total.saturating_mul(unit)
}

/// The failure of a process that lacks capabilities, because it is not root or because root's capabilities were removed.
pub fn needs_root(missing: &str) -> Failure {
    Failure::Machine(if rustix::process::geteuid().is_root() {
        format!(
            "attaching probes needs {missing}, which root does not have here: run wirelap with all of root's capabilities \
             (in a container: with --privileged)"
        )
    } else {
        format!(
            "attaching probes needs root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN (missing: {missing}): run `sudo wirelap …`; \
             `wirelap doctor` says how to do without sudo"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_has_a_size_that_the_kernel_takes() {
        let sizes = [0, 5000, 1 << 16, u32::MAX].map(|wanted| ring_bytes(Some(wanted)));
        assert_eq!(sizes, [4096, 8192, 1 << 16, 1 << 30]);
        assert!(ring_bytes(None).is_power_of_two());
    }

    #[test]
    fn a_small_control_group_is_like_a_small_host() {
        assert_eq!(suited_to(128 << 20), 4 << 20);
    }

    #[test]
    fn a_small_host_gets_a_small_ring() {
        let sizes = [64 << 20, 512 << 20, 1 << 30, 3 << 30, 4 << 30, 1 << 40].map(suited_to);
        assert_eq!(sizes.map(|bytes| bytes >> 20), [4, 8, 16, 32, 64, 64]);
    }
}
