//! The variants of an enumeration as an array.

use strum::VariantArray;

/// All variants of an enumeration in their order.
///
/// # Panics
/// If the array is longer than the list of the derive: for a constant, when it is compiled.
pub const fn all_variants<T: VariantArray + Copy, const N: usize>() -> [T; N] {
    match T::VARIANTS.first_chunk() {
        Some(all) => *all,
        None => panic!("an array of variants is longer than their list"),
    }
}
