//! Real traffic of ROS 2 (`rmw_fastrtps`), recorded by `captures/record_ros.sh`: nodes, endpoints and types.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use wirelap_events::{ByteRange, Frame, Offset, Transport};
use wirelap_protocols::ros2::{DdsEndpoint, EndpointGuid, RosFact};
use wirelap_protocols::rtps::PROTOCOL;
use wirelap_protocols::{FrameNote, FrameSink, Pdu, Protocol, Side};
use wirelap_test_support::committed::of_protocols;
use wirelap_test_support::pcap::{packets, read};

/// Facts that discovery told.
#[derive(Default)]
struct Facts {
    endpoints: HashMap<EndpointGuid, DdsEndpoint>,
    nodes: BTreeMap<String, BTreeSet<EndpointGuid>>,
}

impl FrameSink for Facts {
    fn frame(&mut self, _frame: &Frame<'_>) {}

    fn note(&mut self, note: FrameNote<'_>) {
        let FrameNote::Ros(fact) = note else { return };
        match fact.clone() {
            RosFact::Endpoint(guid, endpoint) => drop(self.endpoints.insert(guid, endpoint)),
            RosFact::Node(node) => self.nodes.entry(node.name).or_default().extend(node.endpoints),
            RosFact::Token(token) => panic!("no Zenoh: {token:?}"),
        }
    }
}

/// The endpoints of each node with their types, except those that all nodes have.
fn nodes() -> Vec<(String, Vec<String>)> {
    let (memory, mut facts) = (PROTOCOL.memory(), Facts::default());
    for packet in packets(&read(&of_protocols("rtps/captures/ros.pcap"))) {
        let range = ByteRange::new(Offset::START, packet.payload.len() as u64);
        let mut connection = PROTOCOL.connection_with(Transport::Udp, &memory);
        connection.pdu(Side::A, Pdu { range, bytes: &packet.payload }, &mut facts);
    }
    let Facts { endpoints, nodes } = facts;
    let of = |(node, guids): (String, BTreeSet<EndpointGuid>)| {
        let shown = guids.iter().filter_map(|guid| {
            let DdsEndpoint { name, serves, .. } = endpoints.get(guid)?;
            let end = if *serves { "<" } else { ">" };
            Some(format!("{end} {name} {}", name.type_name.as_deref().unwrap_or("?")))
        });
        let own = shown.filter(|text| {
            !["parameter", "rosout", "get_type_description"].iter().any(|all| text.contains(all))
        });
        (node, own.collect::<BTreeSet<_>>().into_iter().collect())
    };
    nodes.into_iter().map(of).collect()
}

#[test]
fn nodes_have_their_topics_services_and_actions() {
    let nodes = nodes();
    let names: Vec<_> = nodes.iter().map(|(name, _)| name.as_str()).collect();
    let all = ["/actor", "/client", "/requester", "/robot1/listener", "/robot1/talker", "/server"];
    assert_eq!(names, all);
    let of = |node: &str| nodes.iter().find(|(name, _)| name == node).unwrap().1.clone();
    assert_eq!(of("/robot1/talker"), ["< /robot1/chatter std_msgs/msg/String"]);
    assert_eq!(of("/robot1/listener"), ["> /robot1/chatter std_msgs/msg/String"]);
    let switch =
        ["_Request", "_Response"].map(|part| format!("/switch service std_srvs/srv/SetBool{part}"));
    assert_eq!(of("/server"), switch.clone().map(|one| format!("< {one}")));
    assert_eq!(of("/client"), switch.map(|one| format!("> {one}")));
    for (node, end) in [("/actor", '<'), ("/requester", '>')] {
        let parts = of(node);
        assert_eq!(parts.len(), 8, "three services and two topics: {parts:?}");
        assert!(parts.iter().all(|part| part.starts_with(&format!("{end} /fibonacci action "))));
        let goal = "send_goal test_msgs/action/Fibonacci_SendGoal_Request";
        assert!(parts.iter().any(|part| part.ends_with(goal)), "{parts:?}");
    }
}
