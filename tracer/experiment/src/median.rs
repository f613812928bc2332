//! The median of measured values.

use std::cmp::Ordering;

/// The median of at least one value; of an even number, the larger one of the two in the middle.
pub fn median<T: Copy>(mut values: Vec<T>, order: impl FnMut(&T, &T) -> Ordering) -> T {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, order).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_values_are_below() {
        assert_eq!(median(vec![5, 1, 9], u64::cmp), 5);
        assert_eq!(median(vec![4, 1, 3, 2], i32::cmp), 3);
        assert_eq!(median(vec![7], u64::cmp), 7);
    }
}
