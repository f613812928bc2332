//! Arithmetic on numbers from files and packets that stops at the limits of the type: it neither panics nor wraps.
//!
//! In the crates that read such numbers, the lint `clippy::arithmetic_side_effects` forbids plain operators, and
//! `clippy::disallowed_methods` forbids plain sums (`Iterator::sum`).

use std::borrow::Borrow;

/// A number that stops at its limits.
pub trait Saturate: Copy + Default {
    /// Adds `by`, or stops at the largest number.
    fn grow(&mut self, by: Self);

    /// Subtracts `by`, or stops at the smallest number.
    fn shrink(&mut self, by: Self);
}

macro_rules! saturate {
    ($($type:ty),*) => { $(
        impl Saturate for $type {
            #[inline]
            fn grow(&mut self, by: $type) {
                *self = self.saturating_add(by);
            }

            #[inline]
            fn shrink(&mut self, by: $type) {
                *self = self.saturating_sub(by);
            }
        }
    )* };
}
saturate!(u8, u16, u32, u64, u128, usize, i16, i32, i64, i128, isize);

/// Floating point numbers stop at infinity by themselves.
impl Saturate for f64 {
    #[inline]
    fn grow(&mut self, by: f64) {
        *self += by;
    }

    #[inline]
    fn shrink(&mut self, by: f64) {
        *self -= by;
    }
}

/// A saturating variant of `Iterator::sum`.
pub trait Total: Iterator + Sized {
    /// The sum of all items.
    fn total<T: Saturate>(self) -> T
    where
        Self::Item: Borrow<T>,
    {
        let mut total = T::default();
        self.for_each(|one| total.grow(*one.borrow()));
        total
    }
}

impl<I: Iterator> Total for I {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stop_at_their_limits() {
        let mut count = u64::MAX - 1;
        count.grow(7);
        assert_eq!(count, u64::MAX);
        let mut rest = 3_u32;
        rest.shrink(4);
        assert_eq!(rest, 0);
        let mut signed = i64::MIN + 1;
        signed.shrink(5);
        assert_eq!(signed, i64::MIN);
    }

    #[test]
    fn totals_stop_at_their_limits() {
        assert_eq!([u64::MAX, 1].iter().total::<u64>(), u64::MAX);
        assert_eq!([1_u32, 2].into_iter().total::<u32>(), 3);
        let shares: f64 = [0.25, 0.5].iter().total();
        assert!((shares - 0.75).abs() < 1e-12);
    }
}
