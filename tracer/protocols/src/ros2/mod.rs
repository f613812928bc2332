//! ROS 2's names of topics, services and actions, from the names that its middleware layers give them.
//!
//! | layer | name on the wire | source |
//! |---|---|---|
//! | `rmw_cyclonedds`, `rmw_fastrtps` | `rt/chatter`, `rq/add_two_intsRequest`, `rr/add_two_intsReply` | design.ros2.org, "Topic and Service name mapping to DDS" |
//! | `rmw_zenoh` | `0/chatter/std_msgs::msg::dds_::String_/RIHS01_…` | `rmw_zenoh`, docs/design.md, "Topic and Service name mapping to Zenoh key expressions" |
//!
//! An action consists of two topics and three services below `/NAME/_action/` (design.ros2.org, "Actions").
//!
//! | module | contents |
//! |---|---|
//! | `name` | a name in ROS 2 |
//! | `dds`, `zenoh` | names on the wire |
//! | `entities` | which nodes a participant of DDS has |
//! | `token` | what a node announces in Zenoh |
//! | `fact` | what decoders report of these |

mod dds;
mod entities;
mod fact;
mod name;
mod token;
mod zenoh;

pub use entities::{DISCOVERY_TOPIC, EndpointGuid, ParticipantNode, nodes};
pub use fact::{DdsEndpoint, RosFact};
pub use name::{RosKind, RosName};
pub use token::{RosToken, TOKEN_PREFIX, TokenEndpoint};

impl RosName {
    /// The name in ROS 2 of this topic or key expression; `None` if it is none of ROS 2. Only the protocols of the middleware
    /// layers have such names: another protocol's topic `rt/a` is a name like any other.
    pub fn of(protocol: &str, topic: &[u8]) -> Option<RosName> {
        let topic = std::str::from_utf8(topic).ok()?;
        match protocol {
            "dds" => dds::name(topic),
            "zenoh" => zenoh::name(topic),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::name::type_name;
    use super::*;

    #[test]
    fn types_have_the_names_of_the_interface() {
        let named = |dds| type_name(dds);
        assert_eq!(named("std_msgs::msg::dds_::String_").unwrap(), "std_msgs/msg/String");
        let service = named("example_interfaces::srv::dds_::AddTwoInts_Request_").unwrap();
        assert_eq!(service, "example_interfaces/srv/AddTwoInts_Request");
        for none in ["String", "std_msgs::msg::String", "a::msg::dds_::B", "a::msg::dds_::B_::c"] {
            assert_eq!(named(none), None, "{none}");
        }
    }

    #[test]
    fn only_the_layers_protocols_have_such_names() {
        assert!(RosName::of("dds", b"rt/chatter").is_some());
        assert_eq!(RosName::of("mqtt", b"rt/chatter"), None);
        assert_eq!(RosName::of("dds", b"rt/\xff"), None);
    }
}
