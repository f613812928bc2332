//! Rows by topic, client, connection, process, host, protocol or broker, nested if more than one is named.
//!
//! | module | what |
//! |---|---|
//! | [`Dimension`] | what rows can be told apart by |
//! | [`BreakdownQuery`], [`RowFigure`] | which rows are made, and in which order a snapshot lists them |
//! | `clients` | the names that clients gave themselves |
//! | `bins` | times in bins whose number is bounded |
//! | `table` | the rows, of which the least go into the rest when there are too many |
//! | `view` | what a snapshot has of them |

mod bins;
mod clients;
mod dimension;
mod query;
mod table;
mod view;

pub use clients::ClientNames;
pub use dimension::{Dimension, MAX_NESTED};
pub use query::{BreakdownQuery, RowFigure, has_text};
pub use table::{BreakdownTable, MessageEnd, RowFigures, RowKey, UNKNOWN};
pub use view::{Breakdown, BreakdownRow};
