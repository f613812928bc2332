//! The kernel side of wirelap: probes in C, compiled by `build.rs`, and the layout of their records.
//!
//! | file | contents |
//! |---|---|
//! | `include/events.h` | the only description of the records; [`layout`] is generated from it |
//! | `include/vmlinux.h`, `include/core_fixes.h` | the kernel's types, and differences between kernels |
//! | `include/common.h` | settings, the state of sockets, threads and CPUs, helpers |
//! | `include/ring.h` | the ring buffer |
//! | `include/ports.h`, `include/sockets.h` | which ports and sockets are traced |
//! | `include/headers.h`, `include/fragments.h`, `include/packet.h`, `include/simple.h` | parsing packets, and their records |
//! | `include/datagrams.h`, `include/quota.h` | which datagram a read takes; CPU quotas |
//! | `probes/*.bpf.c` | the probes, one concern in each file |

#[cfg(test)]
mod header;

/// The compiled probes: an ELF object with BTF, for a loader that supports CO-RE. The loader must patch it, see the markers below.
pub static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/wirelap.bpf.o"));

/// Offsets and constants of `include/events.h`.
pub mod layout {
    include!(concat!(env!("OUT_DIR"), "/layout.rs"));
}

/// The `imm` of the instructions in [`OBJECT`] that call the kfunc `bpf_dynptr_from_skb`. They must be patched before
/// loading, see `include/core_fixes.h`.
pub const DYNPTR_FROM_SKB_MARKER: u32 = 0x77a9_0001;

/// The same for the kfunc `bpf_rdonly_cast`.
pub const RDONLY_CAST_MARKER: u32 = 0x77a9_0002;

/// The same for the kfunc `bpf_preempt_disable`.
pub const PREEMPT_DISABLE_MARKER: u32 = 0x77a9_0004;

/// The same for the kfunc `bpf_preempt_enable`.
pub const PREEMPT_ENABLE_MARKER: u32 = 0x77a9_0005;

/// The same for the kfunc `bpf_local_irq_save`.
pub const IRQ_SAVE_MARKER: u32 = 0x77a9_0006;

/// The same for the kfunc `bpf_local_irq_restore`.
pub const IRQ_RESTORE_MARKER: u32 = 0x77a9_0007;

/// The size of the map `ring_memory` in [`OBJECT`], which must be patched before loading, see `include/ring.h`.
pub const RING_BYTES_MARKER: u32 = 0x77a9_0003;
