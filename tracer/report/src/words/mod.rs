//! Codes and numbers of `correlate` in sentences: verdicts, doubts, notes, traffic that is not decoded, nodes of ROS 2.

mod causes;
mod clauses;
mod doubts;
mod losses;
mod notes;
mod remedies;
mod ros;
mod titles;
mod traffic;

pub use causes::off_cpu;
pub use clauses::clause;
pub use doubts::doubt;
pub use losses::{dropped_for, lost_because, recovered};
pub use notes::{group_notes, snapshot_notes, unix_server};
pub use remedies::remedy;
pub use ros::{ros_node, ros_notes};
pub use titles::{place, title, title_in};
pub use traffic::{muted_sockets, traffic};
