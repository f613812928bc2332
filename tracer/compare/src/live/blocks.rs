//! Seconds put together to blocks.

use super::rule::{AnswerRule, Wait, seconds_from};
use crate::statistics::bootstrap::Drawing;
use std::ops::Range;
use wirelap_events::Total;

/// The messages and figures of one side.
#[derive(Clone, Copy)]
pub struct LiveSide<'a> {
    /// The messages of each second, the oldest first.
    pub messages: &'a [u64],
    /// The figure of these seconds together; `None` if they have none.
    pub figure: &'a dyn Fn(Range<usize>) -> Option<f64>,
}

impl std::fmt::Debug for LiveSide<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Side").field("messages", &self.messages).finish_non_exhaustive()
    }
}

/// The figures of the blocks of both sides.
#[derive(Clone, Debug)]
pub struct BlockFigures {
    /// Those of A.
    pub a: Vec<f64>,
    /// Those of B.
    pub b: Vec<f64>,
    /// Seconds of each block.
    pub block_seconds: usize,
}

/// The result of cutting seconds into blocks.
#[derive(Clone, Debug)]
pub enum Cut {
    /// Enough blocks with enough messages.
    Blocks(BlockFigures),
    /// There are too few.
    TooFew(Wait),
}

impl BlockFigures {
    /// Cuts both sides into blocks of the same length, at least `least` of them on each side. The newest seconds are used if some are left over.
    /// Blocks become longer until each has enough messages.
    pub fn cut(a: &LiveSide<'_>, b: &LiveSide<'_>, rule: AnswerRule, least: usize) -> Cut {
        let (of_a, of_b) = (a.messages.len(), b.messages.len());
        let seconds = of_a.min(of_b);
        let longest = seconds.checked_div(least).unwrap_or(0);
        if longest == 0 {
            return Cut::TooFew(missing(of_a, of_b, least, rule));
        }
        let mut block_seconds = seconds.isqrt().clamp(1, longest);
        while block_seconds <= longest {
            let cut = |side| figures(side, block_seconds, rule.least_messages);
            if let (Some(a), Some(b)) = (cut(a), cut(b)) {
                return Cut::Blocks(BlockFigures { a, b, block_seconds });
            }
            block_seconds = block_seconds.saturating_add((block_seconds / 2).max(1));
        }
        Cut::TooFew(too_few_messages(a, b, rule, least))
    }

    /// The time of the shorter side that is compared, in seconds.
    pub fn seconds(&self) -> usize {
        self.a.len().min(self.b.len()).saturating_mul(self.block_seconds)
    }

    /// The values that vary from block to block: the figures of A and of B, or the differences of pairs.
    pub fn varying(&self, drawing: Drawing) -> Vec<Vec<f64>> {
        match drawing {
            Drawing::Independent => vec![self.a.clone(), self.b.clone()],
            Drawing::Pairs => vec![self.a.iter().zip(&self.b).map(|(a, b)| b - a).collect()],
        }
    }
}

/// The figure of each block; `None` if a block has none, or too few messages.
fn figures(side: &LiveSide<'_>, block_seconds: usize, least_messages: u64) -> Option<Vec<f64>> {
    let blocks = side.messages.rchunks_exact(block_seconds);
    if blocks.clone().any(|block| block.iter().total::<u64>() < least_messages) {
        return None;
    }
    let skipped = blocks.remainder().len();
    let starts = (skipped..side.messages.len()).step_by(block_seconds);
    starts.map(|from| (side.figure)(from..from.saturating_add(block_seconds))).collect()
}

/// The wait for the side that has fewer seconds than blocks are necessary.
fn missing(of_a: usize, of_b: usize, least: usize, rule: AnswerRule) -> Wait {
    if of_a < least && !rule.at_once {
        return Wait::OfBaseline;
    }
    seconds_from(least.saturating_sub(of_a.min(of_b)) as f64)
}

/// Time until all blocks have enough messages, if as many come as before.
fn too_few_messages(a: &LiveSide<'_>, b: &LiveSide<'_>, rule: AnswerRule, least: usize) -> Wait {
    let needed = |side: &LiveSide<'_>| {
        let seconds = side.messages.len() as f64;
        let each_second = side.messages.iter().total::<u64>() as f64 / seconds;
        // Messages do not come evenly.
        (rule.least_messages as f64 * 1.2 / each_second).max(1.0) * least as f64 - seconds
    };
    if !rule.at_once && needed(a) > 0.0 {
        return Wait::OfBaseline;
    }
    seconds_from(needed(a).max(needed(b)))
}
