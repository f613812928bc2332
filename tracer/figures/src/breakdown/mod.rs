//! Rows by topic, client, group, connection, process, container, host, link, protocol or broker, nested if more than one is named.
//!
//! | module | what |
//! |---|---|
//! | [`Dimension`] | what rows can be told apart by |
//! | [`BreakdownQuery`], [`RowFigure`] | which rows are made, and in which order a snapshot lists them |
//! | `bins` | times in bins whose number is bounded |
//! | `clients` | what the ends of conversations say of themselves: clients' names, groups |
//! | `parents` | the rows of the comparison whose messages a row counts |
//! | `table` | the rows, of which the least go into the rest when there are too many |
//! | `view` | what a snapshot has of them |

mod bins;
mod clients;
mod dimension;
mod parents;
mod query;
mod table;
mod view;

pub use clients::{ClientNames, Introduction, Owner, ReaderGroup};
pub use dimension::{Dimension, MAX_NESTED};
pub use query::{BreakdownQuery, RowFigure, has_text};
pub use table::{BreakdownTable, DimensionNumbers, LinkEnd, MessageEnd, NONE, RowFigures, UNKNOWN};
pub use view::{Breakdown, BreakdownRow, MutedExtent};
