//! The nodes as a snapshot has them.

use wirelap_protocols::ros2::{RosKind, RosName};

/// The nodes that were discovered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ros {
    /// The nodes, by name.
    pub nodes: Vec<RosNode>,
    /// Number of discovered endpoints that there was no room for.
    pub left_out: u64,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RosNode {
    /// The fully qualified name: `/robot1/talker`.
    pub name: String,
    /// The protocol that discovered it: `dds` or `zenoh`.
    pub protocol: &'static str,
    /// The domain, if the protocol's names have it.
    pub domain: Option<u32>,
    /// The node's endpoints, in the order of [`RosRole`].
    pub endpoints: Vec<RosEndpoint>,
}

/// Something that a node does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RosEndpoint {
    /// The role of the node at this endpoint.
    pub role: RosRole,
    /// The name of the topic, service or action.
    pub name: String,
    /// The type, if discovery said it: `std_msgs/msg/String`.
    pub type_name: Option<String>,
}

/// The role of a node at an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RosRole {
    /// The node publishes a topic.
    Publishes,
    /// The node subscribes to a topic.
    Subscribes,
    /// The node serves a service.
    Serves,
    /// The node calls a service.
    Calls,
    /// The node executes an action.
    Executes,
    /// The node requests an action.
    Requests,
}

impl RosEndpoint {
    /// The end of `name` that publishes or serves, or the other one.
    pub(super) fn new(name: &RosName, serves: bool) -> RosEndpoint {
        let (here, there) = match name.kind {
            RosKind::Topic => (RosRole::Publishes, RosRole::Subscribes),
            RosKind::Service | RosKind::Request | RosKind::Reply => {
                (RosRole::Serves, RosRole::Calls)
            }
            RosKind::Action(_) => (RosRole::Executes, RosRole::Requests),
        };
        RosEndpoint {
            role: if serves { here } else { there },
            name: name.name.clone(),
            type_name: name
                .type_name
                .as_deref()
                .and_then(|type_name| whole_type(type_name, name.kind)),
        }
    }
}

/// The type of a service or an action, of which a topic of DDS has only a part.
fn whole_type(part: &str, kind: RosKind) -> Option<String> {
    const OF_SERVICE: [&str; 2] = ["_Request", "_Response"];
    const OF_ACTION: [&str; 3] = ["_SendGoal", "_GetResult", "_FeedbackMessage"];
    let without = |name: &str, ends: &[&str]| {
        ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name).to_owned()
    };
    match kind {
        RosKind::Topic => Some(part.to_owned()),
        RosKind::Service | RosKind::Request | RosKind::Reply => Some(without(part, &OF_SERVICE)),
        // Its status and its cancelling have types of all actions.
        RosKind::Action(_) if !part.contains("/action/") => None,
        RosKind::Action(_) => Some(without(&without(part, &OF_SERVICE), &OF_ACTION)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_services_and_actions_have_the_whole_types_name() {
        let service = whole_type("a/srv/Add_Request", RosKind::Service);
        assert_eq!(service.as_deref(), Some("a/srv/Add"));
        for part in ["Fib_SendGoal_Request", "Fib_GetResult_Response", "Fib_FeedbackMessage"] {
            let action = whole_type(&format!("a/action/{part}"), RosKind::Action("feedback"));
            assert_eq!(action.as_deref(), Some("a/action/Fib"));
        }
        assert_eq!(whole_type("action_msgs/msg/GoalStatusArray", RosKind::Action("status")), None);
    }
}
