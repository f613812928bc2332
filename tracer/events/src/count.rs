//! Numbers whose operators stop at their limits: they neither wrap nor panic.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

macro_rules! saturating {
    ($($(#[$doc:meta])* $name:ident($int:ident);)*) => { $(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        #[repr(transparent)]
        pub struct $name(pub $int);

        saturating!(operators $name $int $name |other| other.0);
        saturating!(operators $name $int $int |other| other);

        impl Mul<$int> for $name {
            type Output = $name;
            #[inline]
            fn mul(self, times: $int) -> $name {
                $name(self.0.saturating_mul(times))
            }
        }

        impl $name {
            /// The sum of these numbers.
            pub fn sum<N>(numbers: impl IntoIterator<Item = N>) -> $name
            where
                $name: Sum<N>,
            {
                Sum::sum(numbers.into_iter())
            }
        }

        impl From<$int> for $name {
            #[inline]
            fn from(number: $int) -> $name {
                $name(number)
            }
        }

        impl From<$name> for $int {
            #[inline]
            fn from(number: $name) -> $int {
                number.0
            }
        }

        impl PartialEq<$int> for $name {
            #[inline]
            fn eq(&self, other: &$int) -> bool {
                self.0 == *other
            }
        }

        impl PartialOrd<$int> for $name {
            #[inline]
            fn partial_cmp(&self, other: &$int) -> Option<Ordering> {
                self.0.partial_cmp(other)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )* };
    (operators $name:ident $int:ident $other:ident |$number:ident| $value:expr) => {
        impl Add<$other> for $name {
            type Output = $name;
            #[inline]
            fn add(self, $number: $other) -> $name {
                $name(self.0.saturating_add($value))
            }
        }

        impl Sub<$other> for $name {
            type Output = $name;
            #[inline]
            fn sub(self, $number: $other) -> $name {
                $name(self.0.saturating_sub($value))
            }
        }

        impl AddAssign<$other> for $name {
            #[inline]
            fn add_assign(&mut self, more: $other) {
                *self = *self + more;
            }
        }

        impl SubAssign<$other> for $name {
            #[inline]
            fn sub_assign(&mut self, less: $other) {
                *self = *self - less;
            }
        }

        impl Sum<$other> for $name {
            fn sum<I: Iterator<Item = $other>>(numbers: I) -> $name {
                numbers.fold($name(0), Add::add)
            }
        }
    };
}

saturating! {
    /// A number of things, or of bytes that were sent or read.
    Count(u64);
    /// A number of things of which there are not many, or of bits of evidence.
    SmallCount(u32);
    /// A number of bytes in memory, or of entries there.
    Size(usize);
}

/// A struct whose named fields, all of them `u64`, are the sums or the differences of those of two others.
///
/// ```
/// struct Seen { sent: u64, read: u64 }
/// let (a, b) = (Seen { sent: 3, read: 1 }, Seen { sent: 1, read: 2 });
/// let sum = wirelap_events::fieldwise!(a - b => Seen { sent, read });
/// assert_eq!((sum.sent, sum.read), (2, 0));
/// ```
#[macro_export]
macro_rules! fieldwise {
    ($a:ident $op:tt $b:ident => $type:ident { $($field:ident),* $(; $($others:tt)*)? }) => {
        $type { $($field: ($crate::Count($a.$field) $op $b.$field).0,)* $($($others)*)? }
    };
}

impl Size {
    /// The bytes of so many items of a type.
    #[inline]
    pub fn of<T>(items: usize) -> Size {
        Size(size_of::<T>()) * items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stop_at_their_limits() {
        let mut count = Count(u64::MAX - 1);
        count += 7;
        assert_eq!(count, u64::MAX);
        count -= Count(u64::MAX);
        count -= 1;
        assert_eq!(count, 0);
        assert_eq!(Count::sum([u64::MAX, 1]), u64::MAX);
        assert_eq!(Size::of::<u64>(usize::MAX), usize::MAX);
    }

    #[test]
    fn counters_are_compared_and_written_as_numbers() {
        assert!(Count(3) > 2 && Count(3) < Count(4));
        assert_eq!(format!("{:>3}", SmallCount(7)), "  7");
    }
}
