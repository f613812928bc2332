//! The kernel side of wirelap: probes in C, compiled by `build.rs`, and the layout of what they report.
//!
//! | where | what |
//! |---|---|
//! | `include/events.h` | the one description of a record; [`layout`] is generated from it |
//! | `include/vmlinux.h`, `include/core_fixes.h` | the kernel's types, and what differs between kernels |
//! | `include/common.h`, `sockets.h`, `packet.h` | maps, which sockets are traced, reading packets |
//! | `probes/*.bpf.c` | the probes, one concern a file |

#[cfg(test)]
mod header;

/// The compiled probes: an ELF object with BTF, for a loader that knows CO-RE. It needs a patch:
/// [`DYNPTR_FROM_SKB_MARKER`].
pub static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/wirelap.bpf.o"));

/// Offsets and constants of `include/events.h`.
pub mod layout {
    include!(concat!(env!("OUT_DIR"), "/layout.rs"));
}

/// `imm` of the call instructions in [`OBJECT`] that stand for the kfunc `bpf_dynptr_from_skb`. They must
/// be patched before loading: see `include/core_fixes.h`.
pub const DYNPTR_FROM_SKB_MARKER: u32 = 0x77a9_0001;
