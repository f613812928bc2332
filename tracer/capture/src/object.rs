//! Prepares the compiled probes for this kernel in places that the loader cannot resolve by itself.
//!
//! `ebpf/include/core_fixes.h` contains these places.

use crate::hooks::{ChosenHook, PAYLOAD_FROM_CGROUP, RefusedHook};
use crate::kernel::kernel_at_least;
use crate::percpu;
use crate::ring::RingKind;
use aya::Btf;
use aya_obj::btf::BtfKind;
use object::{Object, ObjectSection};
use std::ops::Range;
use wirelap_ebpf::{
    DYNPTR_FROM_SKB_MARKER, IRQ_RESTORE_MARKER, IRQ_SAVE_MARKER, PREEMPT_DISABLE_MARKER,
    PREEMPT_ENABLE_MARKER, RDONLY_CAST_MARKER, RING_BYTES_MARKER,
};

/// The size of a BPF instruction: opcode, registers (destination low, source high), offset, immediate.
const INSN_BYTES: usize = 8;
/// The opcode of `call imm`.
const CALL: u8 = 0x85;
/// The opcode of `r0 = imm`.
const MOVE: u8 = 0xb7;
/// The value of `src_reg` in a call to a kernel function.
const PSEUDO_KFUNC_CALL: u8 = 2;

/// Place where this kernel keeps `preempt_count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreemptCount {
    /// The place is not known.
    Unknown,
    /// In a per-CPU variable, at this distance in bytes from the run queue of its CPU.
    PerCpu(i32),
    /// In `task_struct.thread_info`.
    Task,
}

impl PreemptCount {
    /// The values of the globals `preempt_count_in` and `preempt_count_distance`.
    pub fn globals(self) -> (u8, i32) {
        match self {
            PreemptCount::Unknown => (0, 0),
            PreemptCount::PerCpu(distance) => (1, distance),
            PreemptCount::Task => (2, 0),
        }
    }
}

/// Symbols of this kernel that CO-RE cannot find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbols {
    /// The BTF id of the kfunc `bpf_dynptr_from_skb`, if tracing programs may call it.
    pub dynptr_from_skb: Option<u32>,
    /// The BTF id of the kfunc `bpf_rdonly_cast`, if it casts to `void`.
    pub rdonly_cast: Option<u32>,
    /// The kfuncs with which a program keeps its CPU, if there are all of them.
    pub keep_cpu: Option<KeepCpu>,
    /// The place of `preempt_count`.
    pub preempt_count: PreemptCount,
}

/// The BTF ids of kfuncs with which a program keeps its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepCpu {
    /// `bpf_preempt_disable`, since 6.10.
    pub preempt_disable: u32,
    /// `bpf_preempt_enable`, since 6.10.
    pub preempt_enable: u32,
    /// `bpf_local_irq_save`, since 6.14.
    pub irq_save: u32,
    /// `bpf_local_irq_restore`, since 6.14.
    pub irq_restore: u32,
}

/// Loss where only the linear part of packets can be read.
pub(crate) const ONLY_LINEAR: &str =
    "payload in page fragments, which is most of a TCP stream, is not captured";
/// Loss where a program on cgroups reads the payload: it sees what this host sends.
const ONLY_SENT: &str = "payload in page fragments of packets that other hosts send, which is most of it with many network cards, is not captured";

impl Symbols {
    /// The hook that reads the payload of packets.
    pub fn payload_hook(self) -> ChosenHook {
        let kfunc = "kfunc bpf_dynptr_from_skb";
        let mut refused = Vec::new();
        let mut refuse =
            |hook, reason: &str| refused.push(RefusedHook { hook, reason: reason.to_owned() });
        let hook = if self.dynptr_from_skb.is_some() {
            kfunc
        } else if self.payload_from_cgroup() {
            refuse(kfunc, "this kernel does not have it");
            PAYLOAD_FROM_CGROUP.name
        } else {
            refuse(kfunc, "this kernel does not have it");
            refuse(PAYLOAD_FROM_CGROUP.name, "no cgroup v2 hierarchy is mounted");
            "linear part of the packet"
        };
        let is_from_cgroup = hook == PAYLOAD_FROM_CGROUP.name;
        ChosenHook {
            observation: "payload",
            hook: Some(hook),
            without: if is_from_cgroup { ONLY_SENT } else { ONLY_LINEAR },
            remedy: "boot a kernel from 6.12 on, or mount cgroup v2 (mount -t cgroup2 none /sys/fs/cgroup)",
            refused,
        }
    }

    /// Returns the hook by which the probes know whether they run in an interrupt.
    pub fn interrupts_hook(self) -> ChosenHook {
        let per_cpu = "per-CPU preempt_count";
        let (hook, refused) = match self.preempt_count {
            PreemptCount::PerCpu(_) => (Some(per_cpu), Vec::new()),
            PreemptCount::Task => (Some("the thread's preempt_count"), Vec::new()),
            PreemptCount::Unknown => {
                let reason = "the kernel's types do not tell where it is".to_owned();
                (None, vec![RefusedHook { hook: per_cpu, reason }])
            }
        };
        ChosenHook {
            observation: "interrupts",
            hook,
            without: "what an interrupt does counts as done by the thread that it interrupts: its wakeups, and with a filter by process or cgroup the sockets that it sends from",
            remedy: "boot a kernel whose types (BTF) have its per-CPU variables",
            refused,
        }
    }

    /// Finds the symbols in the kernel's BTF.
    pub fn find(btf: &Btf) -> Symbols {
        let function = |name| btf.id_by_type_name_kind(name, BtfKind::Func).ok();
        Symbols {
            dynptr_from_skb: function("bpf_dynptr_from_skb").filter(|_| kernel_at_least(6, 12)),
            rdonly_cast: function("bpf_rdonly_cast").filter(|_| kernel_at_least(6, 17)),
            keep_cpu: KeepCpu::find(btf),
            preempt_count: find_preempt_count(btf),
        }
    }

    /// True if payload must be read by the program at the cgroup egress hook.
    pub fn payload_from_cgroup(self) -> bool {
        self.dynptr_from_skb.is_none() && crate::filter::cgroup_root().is_some()
    }

    /// The markers in calls of kfuncs, and the BTF id of each kfunc, if this kernel has it.
    fn kfuncs(self) -> [(u32, Option<u32>); 6] {
        let keep_cpu = |id: fn(KeepCpu) -> u32| self.keep_cpu.map(id);
        [
            (DYNPTR_FROM_SKB_MARKER, self.dynptr_from_skb),
            (RDONLY_CAST_MARKER, self.rdonly_cast),
            (PREEMPT_DISABLE_MARKER, keep_cpu(|kfuncs| kfuncs.preempt_disable)),
            (PREEMPT_ENABLE_MARKER, keep_cpu(|kfuncs| kfuncs.preempt_enable)),
            (IRQ_SAVE_MARKER, keep_cpu(|kfuncs| kfuncs.irq_save)),
            (IRQ_RESTORE_MARKER, keep_cpu(|kfuncs| kfuncs.irq_restore)),
        ]
    }
}

impl KeepCpu {
    fn find(btf: &Btf) -> Option<KeepCpu> {
        let function = |name| btf.id_by_type_name_kind(name, BtfKind::Func).ok();
        Some(KeepCpu {
            preempt_disable: function("bpf_preempt_disable")?,
            preempt_enable: function("bpf_preempt_enable")?,
            irq_save: function("bpf_local_irq_save")?,
            irq_restore: function("bpf_local_irq_restore")?,
        })
    }
}

fn find_preempt_count(btf: &Btf) -> PreemptCount {
    if cfg!(not(target_arch = "x86_64")) {
        return PreemptCount::Task;
    }
    let offsets = percpu::offsets(&btf.to_bytes(), ["runqueues", "__preempt_count", "pcpu_hot"]);
    match offsets {
        [Some(from), Some(to), _] | [Some(from), None, Some(to)] => {
            i32::try_from(i64::from(to) - i64::from(from))
                .map_or(PreemptCount::Unknown, PreemptCount::PerCpu)
        }
        _ => PreemptCount::Unknown,
    }
}

/// A copy of the object with memory for this ring, in which the marked calls go to this kernel's functions. A call of a function that this kernel does not have
/// becomes `r0 = -EOPNOTSUPP`.
pub fn patch(object: &[u8], symbols: &Symbols, ring: RingKind) -> Vec<u8> {
    let mut out = object.to_vec();
    if let Some(size) = ring_size(object).and_then(|place| out.get_mut(place)) {
        size.copy_from_slice(&ring.memory_bytes().to_le_bytes());
    }
    for insn in out.chunks_exact_mut(INSN_BYTES) {
        let (head, imm) = insn.split_at_mut(4);
        if head != [CALL, PSEUDO_KFUNC_CALL << 4, 0, 0] {
            continue;
        }
        let of_marker = |(marker, _): &(u32, _)| imm == marker.to_le_bytes();
        let Some((_, kfunc)) = symbols.kfuncs().into_iter().find(of_marker) else { continue };
        if let Some(id) = kfunc {
            imm.copy_from_slice(&id.to_le_bytes());
        } else {
            head.copy_from_slice(&[MOVE, 0, 0, 0]);
            imm.copy_from_slice(&(-libc::EOPNOTSUPP).to_le_bytes());
        }
    }
    out
}

/// Returns the place in the object of the size of the map `ring_memory`: the length of an array type in BTF, as which it has the
/// attributes of maps.
fn ring_size(object: &[u8]) -> Option<Range<usize>> {
    let file = object::File::parse(object).ok()?;
    let (start, len) = file.section_by_name(".BTF")?.file_range()?;
    let start = usize::try_from(start).ok()?;
    let types = object.get(start..)?.get(..usize::try_from(len).ok()?)?;
    let at = start + memchr::memmem::find(types, &RING_BYTES_MARKER.to_le_bytes())?;
    Some(at..at + size_of_val(&RING_BYTES_MARKER))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Symbols = Symbols {
        dynptr_from_skb: None,
        rdonly_cast: None,
        keep_cpu: None,
        preempt_count: PreemptCount::Unknown,
    };
    const KEEP_CPU: KeepCpu =
        KeepCpu { preempt_disable: 1, preempt_enable: 2, irq_save: 3, irq_restore: 4 };

    fn call(marker: u32) -> Vec<u8> {
        [&[CALL, 0x20, 0, 0], &marker.to_le_bytes()[..]].concat()
    }

    #[test]
    fn a_call_gets_the_functions_id() {
        let symbols = Symbols {
            dynptr_from_skb: Some(0x1234),
            rdonly_cast: Some(0x5678),
            keep_cpu: Some(KEEP_CPU),
            ..NOTHING
        };
        for (marker, id) in [
            (DYNPTR_FROM_SKB_MARKER, 0x1234),
            (RDONLY_CAST_MARKER, 0x5678),
            (PREEMPT_DISABLE_MARKER, 1),
            (PREEMPT_ENABLE_MARKER, 2),
            (IRQ_SAVE_MARKER, 3),
            (IRQ_RESTORE_MARKER, 4),
            (0x9abc, 0x9abc),
        ] {
            assert_eq!(patch(&call(marker), &symbols, RingKind::Kernel), call(id), "{marker:x}");
        }
    }

    #[test]
    fn a_missing_function_becomes_an_error_value() {
        let patched = patch(&call(DYNPTR_FROM_SKB_MARKER), &NOTHING, RingKind::Kernel);
        assert_eq!(patched[..4], [MOVE, 0, 0, 0]);
        assert_eq!(i32::from_le_bytes(patched[4..].try_into().unwrap()), -libc::EOPNOTSUPP);
    }

    #[test]
    fn the_compiled_probes_have_the_markers() {
        let changed = |symbols: &Symbols, id: u32| {
            patch(wirelap_ebpf::OBJECT, symbols, RingKind::Kernel)
                .chunks_exact(INSN_BYTES)
                .filter(|insn| insn[0] == CALL && insn[4..] == id.to_le_bytes())
                .count()
        };
        for marker in [
            DYNPTR_FROM_SKB_MARKER,
            RDONLY_CAST_MARKER,
            PREEMPT_DISABLE_MARKER,
            PREEMPT_ENABLE_MARKER,
            IRQ_SAVE_MARKER,
            IRQ_RESTORE_MARKER,
        ] {
            let same = |id| Symbols {
                dynptr_from_skb: Some(id),
                rdonly_cast: Some(id),
                keep_cpu: Some(KeepCpu {
                    preempt_disable: id,
                    preempt_enable: id,
                    irq_save: id,
                    irq_restore: id,
                }),
                ..NOTHING
            };
            assert!(changed(&same(marker), marker) > 0);
            assert_eq!(changed(&same(0x0123_4567), marker), 0);
        }
    }

    #[test]
    fn the_ring_gets_its_size() {
        let ring = RingKind::Own(1 << 16);
        let size = ring_size(wirelap_ebpf::OBJECT).unwrap();
        let patched = patch(wirelap_ebpf::OBJECT, &NOTHING, ring);
        assert_eq!(patched[size], ring.memory_bytes().to_le_bytes());
        assert_eq!(ring_size(&patched), None);
    }
}
