//! Compares two runs: what became slower or faster, how sure that is, and where the time went.
//!
//! The unit is the repetition, never the message: messages of one repetition resemble each other, and thousands of them are not
//! thousands of observations.
//!
//! | module | what |
//! |---|---|
//! | [`compare`](mod@compare) | the comparison of two runs, or of the variants of one |
//! | [`comparison`] | [`Comparison`], schema `wirelap/compare/1` |
//! | [`options`], [`criterion`] | the options; the criteria of `--fail-if` |
//! | [`metric`] | what is compared, and the answers |
//! | `pairs` | which result of A belongs to which of B |
//! | `prepared`, `figures`, `blocks` | the repetitions of a pair, decoded |
//! | `estimate`, `statistics` | ratios, intervals, p-values |
//! | `machine` | whether the machine itself was another one |
//! | `judge` | from estimates to answers |
//! | `breakdown` | where a difference is |
//! | `obstacles`, `differences` | why the sides are not comparable; what differs besides |
//! | `check` | what becomes of the criteria |
//! | [`live`] | two sides that are watched: blocks of seconds in place of repetitions |
//! | [`self_test`](mod@self_test) | how often a run, compared with itself, raises a false alarm |
//! | [`output`] | text, Markdown, files for Bencher and Otava |
//! | [`schema`] | the JSON Schema, generated from the types |

// Numbers from a file may have any value, so plain arithmetic could overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

mod blocks;
mod breakdown;
mod check;
pub mod compare;
pub mod comparison;
pub mod criterion;
mod differences;
mod estimate;
mod figures;
mod judge;
pub mod live;
mod machine;
pub mod metric;
mod obstacles;
pub mod options;
pub mod output;
mod pairs;
mod prepared;
#[cfg(test)]
mod samples;
pub mod schema;
pub mod self_test;
mod statistics;
#[cfg(test)]
mod tests;

pub use compare::{compare, compare_ab, compare_variants};
pub use comparison::{Comparison, CriterionOutcome, Design};
pub use criterion::Criterion;
pub use metric::{Answer, Metric};
pub use options::CompareOptions;
pub use output::{bencher, markdown, otava, text};
pub use self_test::{SelfTest, self_test};
