//! Several hosts whose events are put together: numbers that tell the hosts apart, and the error of times between two of them.
//!
//! Hosts have numbers from 1 on. Numbers that each kernel gives by itself (sockets, packets, cgroups, namespaces) are changed so that
//! no two hosts share one; the first host's stay. [`Pid`](crate::Pid), [`Tid`](crate::Tid) and [`Cpu`](crate::Cpu) do the same in decimal.

use crate::event::PacketId;
use crate::{CgroupId, Nanos, NetNs, SocketId};

/// Bits that make numbers of another host differ from those of the first one, beside the host's number in the highest eight.
const OTHER_HOST: u64 = 0x5555_5555_5555_5555;
const OTHER_HOST_NETNS: u32 = 0x5555_5555;

/// The bits that change in a number of a host. Changed twice, it is as it was.
fn bits_of(host: u8) -> u64 {
    match host.checked_sub(2) {
        Some(after_second) => OTHER_HOST ^ u64::from(after_second) << 56,
        None => 0,
    }
}

macro_rules! of_several_hosts {
    ($($type:ident),*) => { $(
        impl $type {
            /// The same number of another host, 2 for the second.
            #[must_use]
            pub fn on_host(self, host: u8) -> $type {
                $type(self.0 ^ bits_of(host))
            }
        }
    )* };
}
of_several_hosts!(SocketId, PacketId);

impl CgroupId {
    /// The same number of another host, 2 for the second. 0, which means none, stays.
    #[must_use]
    pub fn on_host(self, host: u8) -> CgroupId {
        if self.0 == 0 { self } else { CgroupId(self.0 ^ bits_of(host)) }
    }
}

impl SocketId {
    /// The number of its host, 1 for the first. Cookies count up from 1 and stay far below 2^48.
    pub fn host(self) -> u8 {
        if self.0 >> 48 & 0xFF == OTHER_HOST >> 48 & 0xFF {
            u8::try_from((self.0 ^ OTHER_HOST) >> 56).unwrap_or(u8::MAX).saturating_add(2)
        } else {
            1
        }
    }
}

/// The highest eight bits of the numbers of namespaces that were made after the boot (`PROC_DYNAMIC_FIRST` in `fs/proc/generic.c`).
const MADE_LATER: u32 = 0xF0;

/// The highest eight bits of the first namespace's number, and its others from some number on (`PROC_NET_INIT_INO` in
/// `include/linux/proc_ns.h` of Linux 6.16).
const FIRST: (u32, u32) = (0xEF, 0x00FF_FF00);

impl NetNs {
    /// The same namespace of another host, 2 for the second.
    #[must_use]
    pub fn on_host(self, host: u8) -> NetNs {
        NetNs(self.0 ^ u32::try_from(bits_of(host) >> 32).unwrap_or(0))
    }

    /// The number of its host, 1 for the first; exact up to the 65th. A namespace has the number of its inode in `nsfs`, or a small one
    /// where a capture does not name it.
    pub fn host(self) -> u8 {
        let (top, own) = (self.0 >> 24, (self.0 ^ OTHER_HOST_NETNS) & 0x00FF_FFFF);
        let before = match top {
            0x40..0x80 => 0,
            0x80..0xC0 if own >= FIRST.1 => FIRST.0,
            0x80..0xC0 => MADE_LATER,
            _ => return 1,
        };
        u8::try_from(top ^ before ^ OTHER_HOST_NETNS >> 24).unwrap_or(u8::MAX).saturating_add(2)
    }
}

/// The largest error of a difference between a time of one host and a time of another, for pairs of hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostBounds {
    /// The pairs (2, 1), (3, 1), (3, 2), (4, 1) … as far as one is known.
    pairs: Vec<Option<Nanos>>,
}

impl HostBounds {
    /// The largest error of a difference between times of two hosts, whose numbers are from 1 on; 0 for one host, `None` if it is not
    /// known. Then nothing can be said of such a difference.
    pub fn bound(&self, a: u8, b: u8) -> Option<Nanos> {
        match place(a, b) {
            Some(place) => self.pairs.get(place).copied().flatten(),
            None => Some(Nanos(0)),
        }
    }

    /// Sets the largest error between two hosts, or that it is not known.
    pub fn set(&mut self, a: u8, b: u8, bound: Option<Nanos>) {
        let Some(place) = place(a, b) else { return };
        if self.pairs.len() <= place {
            self.pairs.resize(place.saturating_add(1), None);
        }
        if let Some(pair) = self.pairs.get_mut(place) {
            *pair = bound;
        }
    }

    /// The largest error between any two hosts of which it is known.
    pub fn largest(&self) -> Option<Nanos> {
        self.pairs.iter().copied().flatten().max()
    }
}

/// The place of a pair of hosts; `None` for one host.
fn place(a: u8, b: u8) -> Option<usize> {
    let (low, high) = (usize::from(a.min(b)), usize::from(a.max(b)));
    let before = high.checked_sub(1)?.saturating_mul(high.saturating_sub(2)) / 2;
    (low != high).then(|| before.saturating_add(low.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_number_is_known() {
        // Of captures, of the first namespace of old and new kernels, of others.
        let namespaces = [0, 1, 0xF000_0098, 0xEFFF_FFF9, 0xF000_0000, 0xF000_5555, 0xF012_3456];
        for host in 1..=65 {
            for own in namespaces {
                let there = NetNs(own).on_host(host);
                assert_eq!((there.host(), there.on_host(host)), (host, NetNs(own)), "{own:x}");
            }
        }
        for host in 1..=255 {
            for own in [1, 0x5555, 0x7FFF_FFFF_FFFF] {
                let there = SocketId(own).on_host(host);
                assert_eq!((there.host(), there.on_host(host)), (host, SocketId(own)), "{own:x}");
            }
        }
    }

    #[test]
    fn each_pair_has_a_bound_of_its_own() {
        let mut bounds = HostBounds::default();
        assert_eq!((bounds.bound(3, 3), bounds.bound(1, 2)), (Some(Nanos(0)), None));
        for (a, b) in (1..=20).flat_map(|b| (1..b).map(move |a| (a, b))) {
            bounds.set(b, a, Some(Nanos(u64::from(a) * 100 + u64::from(b))));
        }
        for (a, b) in (1..=20).flat_map(|b| (1..b).map(move |a| (a, b))) {
            let bound = Some(Nanos(u64::from(a) * 100 + u64::from(b)));
            assert_eq!([bounds.bound(a, b), bounds.bound(b, a)], [bound; 2]);
        }
        assert_eq!(bounds.largest(), Some(Nanos(1_920)));
        bounds.set(1, 2, None);
        assert_eq!((bounds.bound(2, 1), bounds.bound(1, 21)), (None, None));
        bounds.set(255, 254, Some(Nanos(1)));
        assert_eq!(bounds.pairs.len(), 255 * 254 / 2);
    }
}
