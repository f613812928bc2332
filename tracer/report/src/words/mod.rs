//! Codes and numbers of `correlate` in sentences: verdicts, doubts, notes, traffic that is not decoded, nodes of ROS 2.

mod causes;
mod clauses;
mod doubts;
mod hosts;
mod losses;
mod notes;
mod phrases;
mod remedies;
mod ros;
mod titles;
mod traffic;
mod verdicts;

pub use causes::off_cpu;
pub use clauses::clause;
pub use doubts::doubt;
pub use losses::lost_because;
pub use notes::{group_notes, snapshot_notes, unix_server};
pub use remedies::remedy;
pub use ros::{ros_node, ros_notes};
pub use titles::place;
pub use traffic::{muted_sockets, traffic};
pub use verdicts::retransmission::{dropped_for, recovered};
pub use verdicts::{VerdictWords, heading, short, short_in, title, title_in};
