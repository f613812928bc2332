//! The nodes of ROS 2 that discovery told of.

use crate::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelap_correlate::{RosEndpoint, RosNode, RosRole, snapshot};

/// The nodes of ROS 2 that discovery told of while wirelap ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ros2 {
    /// The nodes, by name.
    pub nodes: Vec<Ros2Node>,
    /// Announcements of nodes and endpoints that there was no room for.
    pub left_out: u64,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ros2Node {
    /// The fully qualified name: `/robot1/talker`.
    pub name: String,
    /// The protocol of its middleware: `dds` or `zenoh`.
    pub protocol: String,
    /// The domain; absent for DDS, whose announcements do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<u32>,
    /// Topics that it publishes.
    pub publishes: Vec<Ros2Interface>,
    /// Topics that it subscribes to.
    pub subscribes: Vec<Ros2Interface>,
    /// Services that it offers.
    pub services: Vec<Ros2Interface>,
    /// Services that it calls.
    pub clients: Vec<Ros2Interface>,
    /// Actions that it executes.
    pub action_servers: Vec<Ros2Interface>,
    /// Actions that it requests.
    pub action_clients: Vec<Ros2Interface>,
    /// This entry as a sentence.
    pub sentence: String,
}

/// A topic, service or action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ros2Interface {
    /// The name: `/chatter`.
    pub name: String,
    /// The type: `std_msgs/msg/String`; absent if discovery did not say it.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
}

impl Ros2 {
    /// The nodes of a snapshot; `None` if there are none.
    pub fn of(ros: &snapshot::Ros) -> Option<Ros2> {
        let nodes: Vec<_> = ros.nodes.iter().map(Ros2Node::from).collect();
        (!nodes.is_empty()).then_some(Ros2 { nodes, left_out: ros.left_out })
    }
}

impl From<&RosNode> for Ros2Node {
    fn from(node: &RosNode) -> Ros2Node {
        let all = |role: RosRole| {
            let some = node.endpoints.iter().filter(|endpoint| endpoint.role == role);
            some.map(Ros2Interface::from).collect()
        };
        Ros2Node {
            name: node.name.clone(),
            protocol: node.protocol.to_owned(),
            domain: node.domain,
            publishes: all(RosRole::Publishes),
            subscribes: all(RosRole::Subscribes),
            services: all(RosRole::Serves),
            clients: all(RosRole::Calls),
            action_servers: all(RosRole::Executes),
            action_clients: all(RosRole::Requests),
            sentence: words::ros_node(node),
        }
    }
}

impl From<&RosEndpoint> for Ros2Interface {
    fn from(endpoint: &RosEndpoint) -> Ros2Interface {
        Ros2Interface { name: endpoint.name.clone(), type_name: endpoint.type_name.clone() }
    }
}
