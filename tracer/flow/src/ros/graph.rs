//! The nodes and endpoints of ROS 2 that were discovered so far.

use super::view::{Ros, RosEndpoint, RosNode, RosRole};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use wirelap_events::Saturate;
use wirelap_protocols::ros2::{EndpointGuid, RosFact};

/// Nodes that are kept.
const NODES: usize = 4096;

/// Endpoints that are kept, of all nodes together.
const ENDPOINTS: usize = 65_536;

/// A node's name, protocol and domain.
type NodeKey = (String, &'static str, Option<u32>);

/// The endpoints of a node.
#[derive(Debug, Default)]
struct NodeEndpoints {
    /// DDS: its readers and writers.
    guids: Vec<EndpointGuid>,
    /// Zenoh: its endpoints, with their types.
    endpoints: BTreeMap<(RosRole, String), Option<String>>,
}

/// The nodes and endpoints that were discovered so far.
#[derive(Debug, Default)]
pub struct RosGraph {
    nodes: BTreeMap<NodeKey, NodeEndpoints>,
    /// DDS: readers and writers.
    endpoints: FxHashMap<EndpointGuid, RosEndpoint>,
    /// Endpoints of all nodes.
    count: usize,
    left_out: u64,
    /// True while the text of an encrypted connection is read, of which nothing may be told.
    is_paused: bool,
}

impl RosGraph {
    /// Sets whether discovery is left out from now on, because it is the text of an encrypted
    /// connection.
    pub fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// Adds what discovery says.
    pub fn learn(&mut self, fact: &RosFact) {
        if self.is_paused {
            return;
        }
        match fact {
            RosFact::Endpoint(guid, endpoint) => {
                if self.endpoints.len() >= ENDPOINTS && !self.endpoints.contains_key(guid) {
                    return self.left_out.grow(1);
                }
                self.endpoints.insert(*guid, RosEndpoint::new(&endpoint.name, endpoint.serves));
            }
            RosFact::Node(node) => {
                let Some(known) = self.node((node.name.clone(), "dds", None)) else { return };
                let mut guids = node.endpoints.clone();
                // Each message has all of them. What is gone is kept: it was there.
                guids.retain(|guid| !known.guids.contains(guid));
                let added = guids.len();
                known.guids.extend(guids);
                self.count(added);
            }
            RosFact::Token(token) => {
                let key = (token.node.clone(), "zenoh", Some(token.domain));
                let Some(known) = self.node(key) else { return };
                let Some(endpoint) = &token.endpoint else { return };
                let RosEndpoint { role, name, type_name } =
                    RosEndpoint::new(&endpoint.name, endpoint.serves);
                let before = known.endpoints.len();
                let known_type = known.endpoints.entry((role, name)).or_default();
                *known_type = known_type.take().or(type_name);
                let added = known.endpoints.len().saturating_sub(before);
                self.count(added);
            }
        }
    }

    /// The node, if there is room for it and its endpoints.
    fn node(&mut self, key: NodeKey) -> Option<&mut NodeEndpoints> {
        let is_full = self.nodes.len() >= NODES && !self.nodes.contains_key(&key);
        if is_full || self.count >= ENDPOINTS {
            self.left_out.grow(1);
            return None;
        }
        Some(self.nodes.entry(key).or_default())
    }

    fn count(&mut self, added: usize) {
        self.count.grow(added);
    }

    /// The nodes, and what they do as far as that is known.
    pub fn view(&self) -> Ros {
        let nodes = self.nodes.iter().map(|((name, protocol, domain), node)| {
            let mut all = node.endpoints.clone();
            for endpoint in node.guids.iter().filter_map(|guid| self.endpoints.get(guid)) {
                let RosEndpoint { role, name, type_name } = endpoint.clone();
                let known = all.entry((role, name)).or_default();
                *known = known.take().or(type_name);
            }
            let endpoints = all
                .into_iter()
                .map(|((role, name), type_name)| RosEndpoint { role, name, type_name })
                .collect();
            RosNode { name: name.clone(), protocol, domain: *domain, endpoints }
        });
        Ros { nodes: nodes.collect(), left_out: self.left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_protocols::ros2::{DdsEndpoint, ParticipantNode, RosToken};

    fn endpoint(guid: u8, topic: &str, dds_type: &str, writes: bool) -> RosFact {
        let found = DdsEndpoint::new(topic.as_bytes(), dds_type.as_bytes(), writes).unwrap();
        RosFact::Endpoint([guid; 16], found)
    }

    fn shown(graph: &RosGraph) -> Vec<String> {
        let nodes = graph.view().nodes;
        let one = |node: &RosNode| {
            let all = node.endpoints.iter().map(|one| {
                let type_name = one.type_name.as_deref().unwrap_or("?");
                format!("{:?} {} {type_name}", one.role, one.name)
            });
            format!("{}: {}", node.name, all.collect::<Vec<_>>().join(", "))
        };
        nodes.iter().map(one).collect()
    }

    #[test]
    fn nodes_of_dds_have_the_endpoints_of_their_guids_in_any_order() {
        let mut graph = RosGraph::default();
        graph.learn(&endpoint(1, "rt/chatter", "std_msgs::msg::dds_::String_", true));
        let endpoints = (1..=6).map(|guid| [guid; 16]).collect();
        let node = ParticipantNode { name: "/talker".into(), endpoints };
        graph.learn(&RosFact::Node(node.clone()));
        graph.learn(&endpoint(2, "rq/addRequest", "a::srv::dds_::Add_Request_", false));
        graph.learn(&endpoint(3, "rr/addReply", "a::srv::dds_::Add_Response_", true));
        graph.learn(&endpoint(4, "rt/fib/_action/status", "b::msg::dds_::Status_", false));
        let goal = "rq/fib/_action/send_goalRequest";
        graph.learn(&endpoint(5, goal, "a::action::dds_::Fib_SendGoal_Request_", true));
        graph.learn(&RosFact::Node(node));
        let what = "Publishes /chatter std_msgs/msg/String, Serves /add a/srv/Add, \
                    Requests /fib a/action/Fib";
        assert_eq!(shown(&graph), [format!("/talker: {what}")]);
    }

    #[test]
    fn nodes_of_zenoh_have_the_endpoints_of_their_tokens() {
        let mut graph = RosGraph::default();
        for rest in [
            "NN/%/%/talker",
            "MP/%/%/talker/%chatter/std_msgs::msg::dds_::String_/RIHS01_1/::",
            "MP/%/%/talker/%chatter/std_msgs::msg::dds_::String_/RIHS01_1/::",
        ] {
            let key = format!("@ros2_lv/0/aa/0/0/{rest}");
            graph.learn(&RosFact::Token(RosToken::read(key.as_bytes()).unwrap()));
        }
        assert_eq!(shown(&graph), ["/talker: Publishes /chatter std_msgs/msg/String"]);
        assert_eq!(graph.view().nodes[0].domain, Some(0));
    }

    #[test]
    fn there_is_an_end_to_them() {
        let mut graph = RosGraph::default();
        for n in 0..5000 {
            let node = ParticipantNode { name: format!("/n{n}"), endpoints: vec![[1; 16]] };
            graph.learn(&RosFact::Node(node));
        }
        let view = graph.view();
        assert_eq!((view.nodes.len(), view.left_out), (NODES, 5000 - NODES as u64));
    }
}
