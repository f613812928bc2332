//! The comparison's columns.

mod cell;
mod choice;
mod column;
mod names;
mod sort;

pub use cell::reliability;
pub use choice::ColumnChoice;
pub use column::Column;
pub use names::{is_shown, marked_name, matches, name, short_name};
pub use sort::Sort;
