//! Conditions on what happens, for a flight recorder: it writes down what it has kept once one of them holds.
//!
//! | module | what |
//! |---|---|
//! | `condition` | a condition as it is written: `p99>10ms for 5s` |
//! | `watcher` | which conditions have begun to hold |
//! | `schedule` | when what is kept is written |

mod condition;
mod schedule;
mod watcher;

pub use condition::{Condition, ConditionSubject, Figure, Happening};
pub use schedule::FlightSchedule;
pub use watcher::{ConditionEvidence, MetCondition, Watcher};
