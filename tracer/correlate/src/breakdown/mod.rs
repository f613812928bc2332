//! Rows by topic, client, group, connection, process, container, host, protocol or broker, nested if more than one is named.
//!
//! | module | what |
//! |---|---|
//! | [`Dimension`] | what rows can be told apart by |
//! | `bins` | times in bins whose number is bounded |
//! | `clients` | what the ends of conversations say of themselves: clients' names, groups |
//! | `table` | the rows, of which the least go into the rest when there are too many |
//! | `view` | what a snapshot has of them |

mod bins;
mod clients;
mod dimension;
mod table;
mod view;

pub use clients::{ClientNames, Introduction, Owner, ReaderGroup};
pub use dimension::{Dimension, MAX_NESTED};
pub use table::{BreakdownTable, MessageEnd, NONE, RowFigures, RowKey, UNKNOWN};
pub use view::{Breakdown, BreakdownRow};
