//! Names of topics in DDS: `rmw_cyclonedds` and `rmw_fastrtps`.
//!
//! | prefix | what | example |
//! |---|---|---|
//! | `rt/` | topic | `rt/robot1/chatter` |
//! | `rq/` | requests of a service | `rq/add_two_intsRequest` |
//! | `rr/` | replies of a service | `rr/add_two_intsReply` |

use super::name::{RosKind, RosName, is_relative_name};

/// The name in ROS 2 of a topic of DDS.
pub(super) fn name(topic: &str) -> Option<RosName> {
    let (prefix, rest) = topic.split_once('/')?;
    let (kind, name) = match prefix {
        "rt" => (RosKind::Topic, rest),
        "rq" => (RosKind::Request, rest.strip_suffix("Request")?),
        "rr" => (RosKind::Reply, rest.strip_suffix("Reply")?),
        _ => return None,
    };
    let found = RosName { name: format!("/{name}"), kind, type_name: None, domain: None };
    is_relative_name(name).then(|| found.with_action())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(topic: &str) -> Option<String> {
        name(topic).map(|name| name.to_string())
    }

    #[test]
    fn names_are_those_of_the_mapping() {
        for (dds, ros) in [
            ("rt/foo", "/foo"),
            ("rt/robot1/camera_left/image_raw", "/robot1/camera_left/image_raw"),
            ("rt/rosout", "/rosout"),
            ("rq/add_two_intsRequest", "/add_two_ints request"),
            ("rr/ns/add_two_intsReply", "/ns/add_two_ints reply"),
            ("rt/fibonacci/_action/feedback", "/fibonacci action feedback"),
            ("rq/fibonacci/_action/send_goalRequest", "/fibonacci action send_goal"),
            ("rr/turtle/rotate/_action/get_resultReply", "/turtle/rotate action get_result"),
            ("rq/talker/get_parametersRequest", "/talker/get_parameters request"),
        ] {
            assert_eq!(shown(dds).as_deref(), Some(ros), "{dds}");
        }
    }

    #[test]
    fn other_topics_are_left_alone() {
        // `ros_discovery_info` is the layers' own and no topic of ROS 2.
        for dds in [
            "ros_discovery_info",
            "HelloWorldData_Msg",
            "rt",
            "rt/",
            "rt/a//b",
            "rt/1a",
            "rq/add",
            "art/x",
            "rt/a b",
        ] {
            assert_eq!(shown(dds), None, "{dds}");
        }
    }
}
