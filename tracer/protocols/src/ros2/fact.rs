//! Facts that discovery tells of the nodes of ROS 2, as decoders report them.

use super::entities::{EndpointGuid, ParticipantNode};
use super::name::{RosKind, RosName, type_name};
use super::token::RosToken;

/// Something that discovery says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RosFact {
    /// DDS: a reader or writer of a topic of ROS 2 (SEDP).
    Endpoint(EndpointGuid, DdsEndpoint),
    /// DDS: a node of a participant, and its readers and writers (`ros_discovery_info`).
    Node(ParticipantNode),
    /// Zenoh: a node, or an endpoint of one (a liveliness token).
    Token(RosToken),
}

/// A reader or writer of a topic of ROS 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DdsEndpoint {
    /// The topic's name in DDS.
    pub topic: String,
    /// The endpoint's name and type in ROS 2.
    pub name: RosName,
    /// True if the endpoint publishes or serves.
    pub serves: bool,
}

impl DdsEndpoint {
    /// The endpoint, if the topic is one of ROS 2. `writes` tells a writer from a reader.
    pub fn new(topic: &[u8], dds_type: &[u8], writes: bool) -> Option<DdsEndpoint> {
        let mut name = RosName::of("dds", topic)?;
        let topic = std::str::from_utf8(topic).ok()?.to_owned();
        // Who serves reads requests and writes replies.
        let serves = writes != topic.starts_with("rq/");
        name.kind = match name.kind {
            RosKind::Request | RosKind::Reply => RosKind::Service,
            kind => kind,
        };
        name.type_name = std::str::from_utf8(dds_type).ok().and_then(type_name);
        Some(DdsEndpoint { topic, name, serves })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_serves_is_known_by_the_direction() {
        let serves = |topic: &[u8], writes| DdsEndpoint::new(topic, b"", writes).unwrap().serves;
        assert!(serves(b"rt/chatter", true) && !serves(b"rt/chatter", false));
        assert!(serves(b"rq/addRequest", false) && !serves(b"rq/addRequest", true));
        assert!(serves(b"rr/addReply", true) && !serves(b"rr/addReply", false));
        let named = DdsEndpoint::new(b"rt/a", b"std_msgs::msg::dds_::String_", true).unwrap();
        assert_eq!(named.name.type_name.as_deref(), Some("std_msgs/msg/String"));
        assert_eq!(DdsEndpoint::new(b"ros_discovery_info", b"", true), None);
    }
}
