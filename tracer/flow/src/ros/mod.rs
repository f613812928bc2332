//! The nodes of ROS 2 and what they publish, subscribe to, serve and call, as their discovery says.
//!
//! | module | contents |
//! |---|---|
//! | `graph` | what was discovered so far |
//! | `view` | the nodes as a snapshot has them |

mod graph;
mod view;

pub use graph::RosGraph;
pub use view::{Ros, RosEndpoint, RosNode, RosRole};
