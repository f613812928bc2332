//! The comparison of two variants, `--ab`: which trial is of which variant, and the order in which drift cancels.

use std::fmt;
use strum::VariantArray;
use wirelap_events::all_variants;

/// One of two settings under comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, VariantArray)]
pub enum Variant {
    /// The first.
    A,
    /// The second.
    B,
}

impl Variant {
    /// Both, in order.
    pub const BOTH: [Variant; Variant::VARIANTS.len()] = all_variants();
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Variant::A => "A",
            Variant::B => "B",
        })
    }
}

/// The repetitions of each variant: whole blocks have two.
pub fn repetitions(wanted: u32) -> u32 {
    wanted.div_ceil(2).saturating_mul(2)
}

/// A block of four trials, A B B A, with the number of the repetition of each. What changes evenly over the time of a block
/// (temperature, load) then adds the same to both sides. `first` is the block's first repetition. One side may lack.
pub fn block<T: Clone>(a: Option<&T>, b: Option<&T>, first: u32) -> Vec<(T, u32)> {
    let second = first.saturating_add(1);
    let trials = [(a, first), (b, first), (b, second), (a, second)];
    trials.into_iter().filter_map(|(side, repetition)| Some((side?.clone(), repetition))).collect()
}

/// The pairs of two lists; what has no partner is a pair with nothing.
pub fn pairs<T: Clone>(a: &[T], b: &[T]) -> Vec<(Option<T>, Option<T>)> {
    (0..a.len().max(b.len())).map(|at| (a.get(at).cloned(), b.get(at).cloned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_symmetric() {
        let expected = [("a", 3), ("b", 3), ("b", 4), ("a", 4)];
        assert_eq!(block(Some(&"a"), Some(&"b"), 3), expected);
        assert_eq!(block(None, Some(&"b"), 1), [("b", 1), ("b", 2)]);
        assert_eq!([1, 2, 5].map(repetitions), [2, 2, 6]);
    }

    #[test]
    fn what_has_no_partner_is_measured_alone() {
        assert_eq!(pairs(&[1, 2], &[3]), [(Some(1), Some(3)), (Some(2), None)]);
    }
}
