//! The probes, and the events that they have lost.

use crate::all_variants;
use strum::{IntoStaticStr, VariantArray};

/// A probe has lost events. The event's `at` is the time when that was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostEvents {
    /// The probe.
    pub probe: Probe,
    /// The number of events lost since the last report.
    pub count: u64,
    /// Why they were lost.
    pub cause: LossCause,
}

/// Why a probe has lost events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossCause {
    /// The ring buffer was full.
    #[default]
    RingFull,
    /// The kernel did not run the probe, because it ran already on the same CPU. Each such run counts as an event.
    RunSkipped,
    /// A capture of another program says itself that packets are missing in it, which that program or its kernel dropped.
    StatedByFile,
    /// An IP fragment of a datagram is missing, or two overlap. Each such datagram counts as an event.
    FragmentMissing,
    /// An agent on another host sent them too late to be put in order with those of other hosts.
    TooLate,
}

/// Numbers of lost events of all probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventLosses {
    /// All of them.
    pub events: u64,
    /// Those of [`LossCause::RunSkipped`].
    pub skipped: u64,
    /// Those of [`LossCause::StatedByFile`].
    pub stated: u64,
    /// Those of [`LossCause::FragmentMissing`].
    pub fragmented: u64,
    /// Those of [`LossCause::TooLate`].
    pub late: u64,
}

impl EventLosses {
    /// True if none of the lost events met a full ring buffer, so that a larger one would not help.
    pub fn are_all_skipped(self) -> bool {
        self.skipped > 0 && self.skipped >= self.events
    }

    /// True if all of them are packets that the file itself counts as missing.
    pub fn are_all_stated(self) -> bool {
        self.stated > 0 && self.stated >= self.events
    }

    /// True if all of them are datagrams of which a fragment is missing.
    pub fn are_all_fragmented(self) -> bool {
        self.fragmented > 0 && self.fragmented >= self.events
    }

    /// True if all of them came too late from other hosts.
    pub fn are_all_late(self) -> bool {
        self.late > 0 && self.late >= self.events
    }

    /// The losses since an earlier count.
    #[must_use]
    pub fn since(self, before: EventLosses) -> EventLosses {
        crate::fieldwise!(self - before => EventLosses { events, skipped, stated, fragmented, late })
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, more: EventLosses) -> EventLosses {
        crate::fieldwise!(self + more => EventLosses { events, skipped, stated, fragmented, late })
    }
}

/// A probe. The order of the variants is that of `enum wl_probe` in `ebpf/include/events.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[repr(u8)]
#[strum(serialize_all = "snake_case")]
pub enum Probe {
    /// Sockets that are found or closed.
    Socket,
    /// Entries of send calls.
    Send,
    /// Exits of receive calls.
    Read,
    /// Sockets that become ready.
    Ready,
    /// Packets that reach the qdisc and the NIC queue.
    Xmit,
    /// Packets that are received.
    Rx,
    /// Wakeups of threads, and switches to them.
    Sched,
    /// TCP retransmissions.
    Retransmit,
    /// Dropped packets.
    Drop,
}

impl Probe {
    /// Every probe, in the order of its number.
    pub const ALL: [Probe; Probe::VARIANTS.len()] = all_variants();

    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_are_numbered_as_listed() {
        for (number, probe) in Probe::ALL.into_iter().enumerate() {
            assert_eq!(probe as usize, number);
        }
    }
}
