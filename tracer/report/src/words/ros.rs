//! The nodes of ROS 2.

use std::fmt::Write as _;
use wirelap_correlate::{Ros, RosEndpoint, RosNode, RosRole};

/// Nodes that get a sentence of their own among the notes.
const SENTENCES: usize = 8;

/// Topics that each node has by itself.
const TOPICS_OF_ALL: [&str; 2] = ["/rosout", "/parameter_events"];

/// Services that each node has by itself, below its own name.
const SERVICES_OF_ALL: [&str; 7] = [
    "/describe_parameters",
    "/get_parameter_types",
    "/get_parameters",
    "/get_type_description",
    "/list_parameters",
    "/set_parameters",
    "/set_parameters_atomically",
];

/// One sentence for each of the first nodes, and one for the rest.
pub fn ros_notes(ros: &Ros) -> Vec<String> {
    let mut notes: Vec<String> = ros.nodes.iter().take(SENTENCES).map(ros_node).collect();
    let rest = ros.nodes.len().saturating_sub(SENTENCES);
    if rest > 0 {
        notes.push(format!("{rest} more nodes of ROS 2 are in the JSON."));
    }
    if ros.left_out > 0 {
        notes.push(format!(
            "{} announcements of nodes of ROS 2 were left out: there are too many.",
            ros.left_out
        ));
    }
    notes
}

/// One node as a sentence: what it does, except what each node does.
pub fn ros_node(node: &RosNode) -> String {
    let domain = node.domain.map_or(String::new(), |domain| format!(", domain {domain}"));
    let mut sentence = format!("ROS 2 node {} ({}{domain})", node.name, node.protocol);
    let own: Vec<_> = node.endpoints.iter().filter(|one| !is_of_all(&node.name, one)).collect();
    let mut role = None;
    for endpoint in &own {
        let separator = match role {
            Some(role) if role == endpoint.role => ", ",
            Some(_) => "; ",
            None => ": ",
        };
        sentence.push_str(separator);
        if role != Some(endpoint.role) {
            sentence.push_str(verb(endpoint.role));
        }
        role = Some(endpoint.role);
        sentence.push_str(&endpoint.name);
        if let Some(type_name) = &endpoint.type_name {
            let _ = write!(sentence, " [{type_name}]");
        }
    }
    sentence.push('.');
    sentence
}

fn verb(role: RosRole) -> &'static str {
    match role {
        RosRole::Publishes => "publishes ",
        RosRole::Subscribes => "subscribes to ",
        RosRole::Serves => "serves ",
        RosRole::Calls => "calls ",
        RosRole::Executes => "executes action ",
        RosRole::Requests => "requests action ",
    }
}

fn is_of_all(node: &str, endpoint: &RosEndpoint) -> bool {
    match endpoint.role {
        RosRole::Publishes | RosRole::Subscribes => TOPICS_OF_ALL.contains(&&*endpoint.name),
        RosRole::Serves => {
            endpoint.name.strip_prefix(node).is_some_and(|own| SERVICES_OF_ALL.contains(&own))
        }
        RosRole::Calls | RosRole::Executes | RosRole::Requests => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(role: RosRole, name: &str, type_name: Option<&str>) -> RosEndpoint {
        RosEndpoint { role, name: name.into(), type_name: type_name.map(Into::into) }
    }

    fn node(name: &str, endpoints: Vec<RosEndpoint>) -> RosNode {
        RosNode { name: name.into(), protocol: "dds", domain: None, endpoints }
    }

    #[test]
    fn a_node_is_said_without_what_all_nodes_have() {
        let talker = node(
            "/talker",
            vec![
                endpoint(RosRole::Publishes, "/chatter", Some("std_msgs/msg/String")),
                endpoint(RosRole::Publishes, "/rosout", None),
                endpoint(RosRole::Publishes, "/b", None),
                endpoint(RosRole::Serves, "/talker/get_parameters", None),
                endpoint(RosRole::Calls, "/add", Some("a/srv/Add")),
            ],
        );
        let sentence = "ROS 2 node /talker (dds): publishes /chatter [std_msgs/msg/String], /b; calls /add [a/srv/Add].";
        assert_eq!(ros_node(&talker), sentence);
        let zenoh = RosNode { domain: Some(3), protocol: "zenoh", ..node("/a", vec![]) };
        assert_eq!(ros_node(&zenoh), "ROS 2 node /a (zenoh, domain 3).");
    }

    #[test]
    fn many_nodes_get_few_sentences() {
        let nodes = (0..20).map(|n| node(&format!("/n{n}"), vec![])).collect();
        let notes = ros_notes(&Ros { nodes, left_out: 0 });
        assert_eq!(notes.len(), SENTENCES + 1);
        assert_eq!(notes.last().unwrap(), "12 more nodes of ROS 2 are in the JSON.");
    }
}
