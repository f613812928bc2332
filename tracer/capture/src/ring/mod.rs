//! The ring buffer out of which the records come (`ebpf/include/ring.h`): the kernel's, or one of our own.

mod own;

use crate::hooks::{ChosenHook, RefusedHook};
use crate::kernel::kernel_at_least;
use crate::{CaptureConfig, CaptureError};
use aya::Ebpf;
use aya::maps::ring_buf::RingBufItem;
use aya::maps::{Map, MapData, RingBuf};
use own::OwnRing;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};
use wirelap_ebpf::layout::{WL_RING_LONGEST, WL_RING_RECORDS};

/// The largest ring of our own: the verifier lets no access begin further into a map (`BPF_MAX_VAR_OFF`, `kernel/bpf/verifier.c`).
const MAX_OWN: u32 = 1 << 28;

/// The ring buffer that the probes put their records into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RingKind {
    /// The kernel's.
    Kernel,
    /// Our own, of this size in bytes.
    Own(u32),
}

impl RingKind {
    /// The ring buffer for this kernel.
    pub fn choose(config: &CaptureConfig) -> RingKind {
        match why_not_own(config) {
            None => RingKind::Own(config.ring_bytes),
            Some(_) => RingKind::Kernel,
        }
    }

    /// The bytes of the only element of `ring_memory`.
    pub fn memory_bytes(self) -> u32 {
        match self {
            RingKind::Kernel => 8,
            RingKind::Own(bytes) => WL_RING_RECORDS + bytes + WL_RING_LONGEST,
        }
    }

    /// The size of the kernel's ring buffer if that of the ring buffer is `wanted`: a page if it only wakes the reader.
    pub fn kernels_bytes(self, wanted: u32) -> u32 {
        match self {
            RingKind::Kernel => wanted,
            RingKind::Own(_) => u32::try_from(rustix::param::page_size()).unwrap_or(wanted),
        }
    }
}

/// Why the ring buffer is not one of our own; `None` if it is.
fn why_not_own(config: &CaptureConfig) -> Option<&'static str> {
    if config.kernel_ring {
        Some("the kernel's was asked for")
    } else if !is_tried() {
        Some("it was not tried on this architecture")
    } else if !has_large_elements() {
        Some("the elements of this kernel's maps are too small")
    } else if config.ring_bytes > MAX_OWN {
        Some("the size of the ring buffer is larger than 256 MiB")
    } else {
        None
    }
}

/// The ring buffer as `doctor` shows it.
pub(crate) fn ring_hook(config: &CaptureConfig) -> ChosenHook {
    let own = "memory shared with the probes";
    let why_not = why_not_own(config);
    let refused = |reason: &str| RefusedHook { hook: own, reason: reason.to_owned() };
    ChosenHook {
        observation: "ring buffer",
        hook: Some(if why_not.is_none() { own } else { "the kernel's" }),
        without: "nothing is lost, but each record takes longer to write",
        remedy: if has_large_elements() {
            "use a ring buffer of at most 256 MiB on x86-64 (--ring-size)"
        } else {
            "boot a kernel from 6.0 on"
        },
        refused: why_not.map(refused).into_iter().collect(),
    }
}

/// True if an element of an array may be larger than 4 MiB: since 6.0 (63b8ce77b15e).
fn has_large_elements() -> bool {
    kernel_at_least(6, 0)
}

/// True if a ring of our own was tried on this architecture, where its own order of stores holds.
fn is_tried() -> bool {
    cfg!(target_arch = "x86_64")
}

/// The end of the ring buffer at which records are taken out.
pub(crate) enum RingConsumer {
    Kernel(RingBuf<MapData>),
    Own {
        ring: OwnRing,
        /// A small ring buffer of the kernel, through which the probes wake the reader.
        bell: RingBuf<MapData>,
    },
}

impl RingConsumer {
    /// The ring of a loaded object.
    pub fn of(ebpf: &mut Ebpf, kind: RingKind) -> Result<RingConsumer, CaptureError> {
        let kernels = ebpf.take_map("ring").ok_or(CaptureError::NoMap("ring"))?;
        let failed = |source| CaptureError::Map { map: "ring", source: Box::new(source) };
        let kernels = RingBuf::try_from(kernels).map_err(failed)?;
        let RingKind::Own(bytes) = kind else { return Ok(RingConsumer::Kernel(kernels)) };
        let Some(Map::Array(memory)) = ebpf.map("ring_memory") else {
            return Err(CaptureError::NoMap("ring_memory"));
        };
        let ring = OwnRing::map(memory.fd().as_fd(), bytes).map_err(CaptureError::Memory)?;
        Ok(RingConsumer::Own { ring, bell: kernels })
    }

    /// The next record; `None` if there is none, or if the next one is still being written.
    pub fn next(&mut self) -> Option<RingRecord<'_>> {
        match self {
            RingConsumer::Kernel(ring) => ring.next().map(RingRecord::Kernel),
            RingConsumer::Own { ring, .. } => ring.next().map(RingRecord::Own),
        }
    }

    /// Gives the room of the records that were taken back to the probes. [`RingConsumer::next`] does so only now and then.
    pub fn give_back(&mut self) {
        if let RingConsumer::Own { ring, .. } = self {
            ring.give_back();
        }
    }

    /// Answers the wakeup for which the descriptor was readable.
    pub fn answer(&mut self) {
        if let RingConsumer::Own { bell, .. } = self {
            while bell.next().is_some() {}
        }
    }

    /// True for the kernel's ring buffer.
    pub fn is_kernels(&self) -> bool {
        matches!(self, RingConsumer::Kernel(_))
    }
}

impl AsFd for RingConsumer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            RingConsumer::Kernel(ring) | RingConsumer::Own { bell: ring, .. } => ring.as_fd(),
        }
    }
}

/// A record in the ring buffer.
pub(crate) enum RingRecord<'a> {
    Kernel(RingBufItem<'a>),
    Own(&'a [u8]),
}

impl Deref for RingRecord<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            RingRecord::Kernel(item) => item,
            RingRecord::Own(bytes) => bytes,
        }
    }
}
