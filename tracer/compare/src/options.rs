//! The options of a comparison.

use crate::criterion::Criterion;

/// The options of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareOptions {
    /// The names of A and B in the output: files, or variants.
    pub names: [String; 2],
    /// The seed of the random draws.
    pub seed: u64,
    /// Bootstrap draws; at least 100 are made.
    pub draws: usize,
    /// Differences up to this share are the same: 0.05 for ±5 %, as a ratio from 1/1.05 to 1.05.
    pub margin: f64,
    /// True if results that are not comparable get answers nevertheless. The reasons are listed in any case.
    pub anyway: bool,
    /// The criteria by which a comparison fails.
    pub fail_if: Vec<Criterion>,
}

impl Default for CompareOptions {
    fn default() -> CompareOptions {
        CompareOptions {
            names: ["A".into(), "B".into()],
            seed: 1,
            draws: 2000,
            margin: 0.05,
            anyway: false,
            fail_if: Vec::new(),
        }
    }
}
