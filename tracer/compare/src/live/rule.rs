//! The rule and the result of a comparison of two sides.

use crate::metric::Answer;

/// Longer waits are not proposed, in seconds.
const LONGEST_WAIT: f64 = 3_600.0;

/// The parameters of an answer beside the two sides.
#[derive(Clone, Copy, Debug)]
pub struct AnswerRule {
    /// True if the sides were seen at the same time: second n of one and of the other are the same second.
    pub at_once: bool,
    /// The largest difference that is none, in the unit of the figures (the logarithm of a ratio, for logarithms).
    pub margin: f64,
    /// Number of figures that are compared on the screen.
    pub figures: usize,
    /// Number of messages that a block needs for this figure.
    pub least_messages: u64,
    /// The answer if B has more of it.
    pub if_more: Answer,
}

/// The result of comparing a figure of two sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FigureComparison {
    /// The answer.
    pub answer: Answer,
    /// B − A, from the means over the blocks; `None` with too few blocks.
    pub difference: Option<FigureDifference>,
    /// Why there is no answer.
    pub wait: Option<Wait>,
}

/// A difference and the interval that holds the true one, with 95 % probability for all figures and at all times together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FigureDifference {
    /// B − A.
    pub centre: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// Blocks of A and of B.
    pub blocks: (usize, usize),
    /// Seconds of each block.
    pub block_seconds: usize,
}

/// The condition that an answer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// About so many more seconds.
    Seconds(u32),
    /// More seconds of A, which is a baseline and gets none.
    OfBaseline,
    /// Nothing: A is a baseline, and varied so much that no number of seconds of B decides.
    UnevenBaseline,
    /// Nothing that comes within an hour.
    Long,
}

/// A wait of at least a second.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // It is bounded before.
pub fn seconds_from(seconds: f64) -> Wait {
    if seconds > LONGEST_WAIT || seconds.is_nan() {
        return Wait::Long;
    }
    Wait::Seconds(seconds.ceil().max(1.0) as u32)
}
