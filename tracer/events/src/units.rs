//! Types for units and for identities of the kernel.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

/// A time in nanoseconds on the host's monotonic clock (`CLOCK_MONOTONIC`, `bpf_ktime_get_ns()`), or a duration.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The time from `earlier` to `self`, or `None` if `earlier` is later.
    pub fn since(self, earlier: Nanos) -> Option<Nanos> {
        self.0.checked_sub(earlier.0).map(Nanos)
    }

    /// The least and the most time from `earlier` to `self`, where their difference has this error. No time is less than none.
    pub fn range_since(self, earlier: Nanos, error: Nanos) -> [Nanos; 2] {
        [self - (earlier + error), (self + error) - earlier]
    }

    /// A duration in milliseconds.
    pub const fn from_millis(ms: u64) -> Nanos {
        Nanos(ms.saturating_mul(1_000_000))
    }

    /// A duration in microseconds.
    pub const fn from_micros(us: u64) -> Nanos {
        Nanos(us.saturating_mul(1_000))
    }

    /// A duration in fractional nanoseconds, rounded; a negative one becomes zero.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // `as` saturates.
    pub fn from_f64(ns: f64) -> Nanos {
        Nanos(ns.round() as u64)
    }

    /// The part of this duration that belongs to `part` of `whole`, rounded down; none of it if `whole` is nothing.
    #[inline]
    #[must_use]
    pub fn share(self, part: Nanos, whole: Nanos) -> Nanos {
        // Mostly all of it, or nothing. A division of 128 bits is slow.
        if part == whole && whole > Nanos(0) {
            return self;
        }
        if let Some(product) = self.0.checked_mul(part.0) {
            return Nanos(product.checked_div(whole.0).unwrap_or(0));
        }
        let product = u128::from(self.0).saturating_mul(u128::from(part.0));
        let share = product.checked_div(u128::from(whole.0)).unwrap_or(0);
        Nanos(u64::try_from(share).unwrap_or(u64::MAX))
    }

    /// The duration in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// Saturating: a sum of two times never wraps.
impl Add for Nanos {
    type Output = Nanos;
    fn add(self, rhs: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(rhs.0))
    }
}

/// Saturating: use [`Nanos::since`] where a negative difference must be noticed.
impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, rhs: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(rhs.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, rhs: Nanos) {
        *self = *self + rhs;
    }
}

impl SubAssign for Nanos {
    fn sub_assign(&mut self, rhs: Nanos) {
        *self = *self - rhs;
    }
}

/// Saturating, as [`Add`].
impl Mul<u64> for Nanos {
    type Output = Nanos;
    fn mul(self, times: u64) -> Nanos {
        Nanos(self.0.saturating_mul(times))
    }
}

/// Saturating, as [`Add`].
impl Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(times: I) -> Nanos {
        times.fold(Nanos(0), Add::add)
    }
}

/// Shows the duration in the unit in which it has at most three digits before the point.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n < 1_000 => write!(f, "{n} ns"),
            n if n < 1_000_000 => write!(f, "{:.1} µs", n as f64 / 1e3),
            n if n < 1_000_000_000 => write!(f, "{:.1} ms", n as f64 / 1e6),
            n => write!(f, "{:.2} s", n as f64 / 1e9),
        }
    }
}

/// A process (thread group) id in wirelap's pid namespace. One that has none there has its id in the initial one plus 5,000,000.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Pid(pub u32);

/// A thread id in wirelap's pid namespace, as [`Pid`].
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Tid(pub u32);

/// Number that is added to the ids of processes outside of wirelap's pid namespace (`WL_OUTSIDE` in `ebpf/include/common.h`): more than any id.
const OUTSIDE: u32 = 5_000_000;

impl Pid {
    /// True if the process is outside of wirelap's pid namespace, so that `/proc` tells nothing of it.
    pub fn is_outside(self) -> bool {
        self.number() > OUTSIDE
    }
}

/// The distance between the process ids of one host and those of the next, where events of several hosts are put together. It is
/// larger than any id (`PID_MAX_LIMIT` in `include/linux/threads.h` is 2^22), also with what is added in a pid namespace, and decimal so that people can read it.
const HOST_STRIDE: u32 = 10_000_000;

macro_rules! of_several_hosts {
    ($($type:ident),*) => { $(
        impl $type {
            /// The id for the same number on another host, 2 for the second. The id 0, which means none, stays 0.
            #[must_use]
            pub fn on_host(self, host: u8) -> $type {
                let hosts_before = u32::from(host).saturating_sub(1);
                if self.0 == 0 { self } else { $type(self.0.saturating_add(hosts_before.saturating_mul(HOST_STRIDE))) }
            }

            /// The number on its own host.
            pub fn number(self) -> u32 {
                self.0 % HOST_STRIDE
            }

            /// The number of its host, 1 for the first.
            pub fn host(self) -> u8 {
                u8::try_from(self.0.checked_div(HOST_STRIDE).unwrap_or(0).saturating_add(1)).unwrap_or(u8::MAX)
            }
        }
    )* };
}
of_several_hosts!(Pid, Tid);

/// A logical CPU number.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Cpu(pub u16);

impl Cpu {
    /// The number for the same CPU on another host, 2 for the second, where events of several hosts are put together; and of that number,
    /// the number on its own host. It changes the highest bits of the 4096 CPUs that are distinguished.
    #[must_use]
    pub fn on_host(self, host: u8) -> Cpu {
        Cpu(self.0 ^ u16::from(host.saturating_sub(1)).reverse_bits() >> 4)
    }
}

/// The index of a network interface in its network namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IfIndex(pub u32);

/// The id of a cgroup, which is the inode number of its directory; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CgroupId(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_rounded_and_never_below_zero() {
        assert_eq!([1.5, -3.0, 1e30].map(Nanos::from_f64), [Nanos(2), Nanos(0), Nanos(u64::MAX)]);
    }

    #[test]
    fn operators_stop_at_the_limits() {
        let (most, one) = (Nanos(u64::MAX), Nanos(1));
        assert_eq!([most + one, most * 2, [most, one].into_iter().sum()], [most; 3]);
        assert_eq!(one - most, Nanos(0));
        let (mut up, mut down) = (most, one);
        up += one;
        down -= most;
        assert_eq!([up, down], [most, Nanos(0)]);
        assert_eq!([Nanos::from_millis(u64::MAX), Nanos::from_micros(u64::MAX)], [most; 2]);
    }

    #[test]
    fn since_notices_a_negative_difference() {
        assert_eq!(Nanos(5).since(Nanos(3)), Some(Nanos(2)));
        assert_eq!(Nanos(3).since(Nanos(5)), None);
        assert_eq!(Nanos(3) - Nanos(5), Nanos(0));
    }

    #[test]
    fn the_same_number_on_another_host_is_another_process() {
        for host in [2, 3, 255] {
            let there = Pid(700).on_host(host);
            assert_ne!(there, Pid(700));
            assert_eq!((there.number(), there.host()), (700, host));
        }
        assert_eq!(Pid(700).on_host(1), Pid(700));
        assert_eq!((Pid(700).number(), Pid(700).host()), (700, 1));
        assert_eq!(Tid(0).on_host(2), Tid(0));
        assert_eq!(Pid(u32::MAX).on_host(2), Pid(u32::MAX));
    }

    #[test]
    fn display_picks_the_unit() {
        let shown: Vec<_> = [999, 1_500, 22_000_000, 3_000_000_000]
            .into_iter()
            .map(|n| Nanos(n).to_string())
            .collect();
        assert_eq!(shown, ["999 ns", "1.5 µs", "22.0 ms", "3.00 s"]);
    }
}
