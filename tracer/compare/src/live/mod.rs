//! Compares two sides while they are watched: their figures come second by second, and the answer is looked at again and again.
//!
//! It differs from the comparison of runs in four ways:
//!
//! - **There are no repetitions.** The unit is a block of successive seconds. Successive seconds depend on each other (same connections, same
//!   state of the caches, the same guest of the host next door), so blocks grow with the root of the time that is known: 7 seconds are 7 blocks
//!   of one, 100 seconds are 10 blocks of 10. As far as successive blocks still resemble each other, the interval is widened.
//! - **Everybody looks every second.** An interval of 95 % that is looked at a hundred times excludes the truth much more often than once in
//!   twenty. So it is widened until it holds at all times at once (Robbins 1970; Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, Time-uniform
//!   central limit theory and asymptotic confidence sequences, 2021, equation 12), and for all figures that are shown at once (Bonferroni).
//! - **A small difference is none.** Two times on one machine are never quite the same; a difference within the margin is no answer,
//!   however sure it is.
//! - **Sides that are seen at once are pairs**: second by second they are on the same machine, so that what slows down both is no difference.

mod blocks;
mod looks;
mod rule;
#[cfg(test)]
mod tests;

pub use blocks::LiveSide;
pub use rule::{AnswerRule, FigureComparison, FigureDifference, Wait};

use crate::estimate::{Means, means};
use crate::metric::Answer;
use crate::statistics::bootstrap::Drawing;
use crate::statistics::interval::{Interval, Spread};
use crate::statistics::{mann_whitney, signed_rank};
use blocks::{BlockFigures, Cut};
use rule::seconds_from;

/// The ranks of the blocks are significant at this p-value, divided by the number of figures.
const SIGNIFICANT: f64 = 0.05;

/// Draws of the bootstrap.
const DRAWS: usize = 400;

/// Fewer blocks than these are not compared.
const LEAST_BLOCKS: usize = 5;

/// Compares one figure of the sides.
pub fn compare(
    a: &LiveSide<'_>,
    b: &LiveSide<'_>,
    rule: AnswerRule,
    seed: u64,
) -> FigureComparison {
    let least = least_blocks(rule);
    match BlockFigures::cut(a, b, rule, least) {
        Cut::Blocks(blocks) => judge(&blocks, rule, least, seed),
        Cut::TooFew(wait) => {
            FigureComparison { answer: Answer::CannotTell, difference: None, wait: Some(wait) }
        }
    }
}

fn drawing(rule: AnswerRule) -> Drawing {
    if rule.at_once { Drawing::Pairs } else { Drawing::Independent }
}

fn significant(rule: AnswerRule) -> f64 {
    SIGNIFICANT / rule.figures.max(1) as f64
}

/// With fewer blocks on each side, even the most extreme ranks are not significant.
fn least_blocks(rule: AnswerRule) -> usize {
    let enough = |n: &usize| match drawing(rule) {
        Drawing::Independent => mann_whitney::smallest_p(*n, *n) <= significant(rule),
        Drawing::Pairs => signed_rank::smallest_p(*n) <= significant(rule),
    };
    (LEAST_BLOCKS..64).find(enough).unwrap_or(64)
}

fn judge(blocks: &BlockFigures, rule: AnswerRule, least: usize, seed: u64) -> FigureComparison {
    let (a, b): (Vec<&f64>, Vec<&f64>) = (blocks.a.iter().collect(), blocks.b.iter().collect());
    let found: Option<[Means; 1]> = means((&a, &b), drawing(rule), DRAWS, seed);
    let Some([Means { uncertainty: Some(known), a, b }]) = found else {
        return FigureComparison {
            answer: Answer::CannotTell,
            difference: None,
            wait: Some(Wait::Long),
        };
    };
    let centre = b - a;
    let varying = blocks.varying(drawing(rule));
    let varying: Vec<&[f64]> = varying.iter().map(Vec::as_slice).collect();
    let spreads: Vec<Spread> = varying.iter().map(|one| Spread::of(one)).collect();
    let factor = looks::factor(&spreads, blocks.seconds(), significant(rule))
        * looks::for_dependence(&varying);
    let low = centre - factor * (centre - known.likely.low);
    let high = centre + factor * (known.likely.high - centre);
    let (interval, margin) = (Interval { low, high }, rule.margin);
    let sure = known.p <= significant(rule) && centre.abs() > margin;
    let answer = if -margin < low && high < margin {
        Answer::Same
    } else if sure && low > 0.0 {
        rule.if_more
    } else if sure && high < 0.0 {
        rule.if_more.opposite()
    } else {
        Answer::CannotTell
    };
    let undecided = answer == Answer::CannotTell;
    let wait = undecided.then(|| wait(interval, centre, blocks, &spreads, rule, least));
    let counts = (blocks.a.len(), blocks.b.len());
    let difference =
        FigureDifference { centre, low, high, blocks: counts, block_seconds: blocks.block_seconds };
    FigureComparison { answer, difference: Some(difference), wait }
}

/// Time until the interval is narrow enough. Its width shrinks with the root of the time, but a baseline's part of it stays.
fn wait(
    interval: Interval,
    centre: f64,
    blocks: &BlockFigures,
    spreads: &[Spread],
    rule: AnswerRule,
    least: usize,
) -> Wait {
    let half = (interval.high - interval.low) / 2.0;
    let wanted = if centre.abs() > rule.margin {
        centre.abs()
    } else {
        // It is the same once the interval lies within the margin; where its centre will be by then is not known.
        (rule.margin - centre.abs()).max(rule.margin / 2.0)
    };
    let stays = if rule.at_once { 0.0 } else { first_share(spreads) };
    let room = (wanted / half).powi(2) - stays;
    let seconds = blocks.seconds() as f64;
    if !room.is_finite() || room <= 0.0 {
        return if rule.at_once { Wait::Long } else { Wait::UnevenBaseline };
    }
    let needed = (seconds * (1.0 - stays) / room).max(least as f64);
    seconds_from(needed - seconds)
}

/// The share of A in the variance of the difference.
fn first_share(spreads: &[Spread]) -> f64 {
    let variance = |at: usize| spreads.get(at).map_or(0.0, Spread::variance);
    let share = variance(0) / (variance(0) + variance(1));
    if share.is_finite() { share } else { 0.0 }
}
