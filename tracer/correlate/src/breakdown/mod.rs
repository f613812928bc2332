//! Rows by topic, client, connection, process, container, host, protocol or broker, nested if more than one is named.
//!
//! | module | what |
//! |---|---|
//! | [`Dimension`] | what rows can be told apart by |
//! | `bins` | times in bins whose number is bounded |
//! | `table` | the rows, of which the least go into the rest when there are too many |
//! | `view` | what a snapshot has of them |

mod bins;
mod dimension;
mod table;
mod view;

pub use dimension::{Dimension, MAX_NESTED};
pub use table::{BreakdownTable, MessageEnd, RowFigures, RowKey, UNKNOWN};
pub use view::{Breakdown, BreakdownRow};
