//! Tests and intervals for a few repetitions on each side. They know neither metrics nor messages.
//!
//! | module | what |
//! |---|---|
//! | [`mann_whitney`] | exact rank test of two independent samples |
//! | [`signed_rank`] | exact rank test of pairs |
//! | [`holm`] | correction for several tests |
//! | [`bootstrap`] | drawing repetitions, and blocks within them, with replacement |
//! | [`interval`] | intervals from the draws |
//! | [`proportion`] | the interval of a rate |

pub mod bootstrap;
pub mod holm;
pub mod interval;
pub mod mann_whitney;
pub mod proportion;
mod ranks;
pub mod signed_rank;
