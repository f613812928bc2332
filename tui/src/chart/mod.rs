//! The arithmetic of charts: which cell a value is in, where the labels of an axis stand. Nothing here draws.
//!
//! | module | what |
//! |---|---|
//! | [`LogAxis`] | a logarithmic axis of times |
//! | [`Percentiles`] | an axis of percentiles by 1/(1−p): as much room for 99 to 99.9 as for 90 to 99 |
//! | [`TimeAxis`] | equal columns of the past, each a round time |
//! | [`Dots`] | lines of Braille dots, two beside and four above each other in a cell |

mod dots;
mod log;
mod percentiles;
mod time;

pub use dots::Dots;
pub use log::LogAxis;
pub use percentiles::{Percentiles, highest};
pub use time::{TimeAxis, length as column_length};

/// The part of a chart's cells that a value between 0 and 1 is at; values outside are at the ends.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
fn cell_at(part: f64, cells: usize) -> usize {
    let last = cells.saturating_sub(1);
    ((part.clamp(0.0, 1.0) * cells as f64) as usize).min(last)
}
