//! Key expressions of `rmw_zenoh`.
//!
//! ```text
//! <domain>/<fully qualified name without its first slash>/<type>/<hash of the type>
//! 0/robot1/chatter/std_msgs::msg::dds_::String_/RIHS01_df668c74…
//! ```

use super::name::{RosKind, RosName, is_relative_name, type_name};

/// Prefix of the hash of a type (REP 2011), and the word in its place if there is none.
const HASHES: [&str; 2] = ["RIHS", "TypeHashNotSupported"];

/// The name in ROS 2 of a key expression.
pub(super) fn name(key: &str) -> Option<RosName> {
    let (domain, rest) = key.split_once('/')?;
    let (rest, hash) = rest.rsplit_once('/')?;
    let (name, dds_type) = rest.rsplit_once('/')?;
    if !HASHES.iter().any(|start| hash.starts_with(start)) || !is_relative_name(name) {
        return None;
    }
    let type_name = type_name(dds_type)?;
    // The topics of an action have types of the package's `action` and `msg`, its services of `action` and `srv`.
    let kind = if type_name.contains("/srv/") { RosKind::Service } else { RosKind::Topic };
    let domain = Some(domain.parse().ok()?);
    let found = RosName { name: format!("/{name}"), kind, type_name: Some(type_name), domain };
    Some(found.with_action())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_design_document() {
        const HASH: &str =
            "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";
        for (key, ros, type_name) in [
            ("0/chatter/std_msgs::msg::dds_::String_", "/chatter", "std_msgs/msg/String"),
            (
                "2/robot1/chatter/std_msgs::msg::dds_::String_",
                "/robot1/chatter",
                "std_msgs/msg/String",
            ),
            (
                "0/add_two_ints/example_interfaces::srv::dds_::AddTwoInts_",
                "/add_two_ints service",
                "example_interfaces/srv/AddTwoInts",
            ),
            (
                "0/fibonacci/_action/send_goal/example_interfaces::action::dds_::Fibonacci_SendGoal_",
                "/fibonacci action send_goal",
                "example_interfaces/action/Fibonacci_SendGoal",
            ),
        ] {
            let found = name(&format!("{key}/{HASH}")).unwrap();
            assert_eq!(found.to_string(), ros);
            assert_eq!(found.type_name.as_deref(), Some(type_name));
        }
        let key = format!("2/a/std_msgs::msg::dds_::String_/{HASH}");
        assert_eq!(name(&key).unwrap().domain, Some(2));
    }

    #[test]
    fn other_key_expressions_are_left_alone() {
        for key in [
            "demo/example/a",
            "0/chatter",
            "x/chatter/std_msgs::msg::dds_::String_/RIHS01_0",
            "0/chatter/std_msgs::msg::dds_::String_/0",
            "0//std_msgs::msg::dds_::String_/RIHS01_0",
            "@ros2_lv/0/aac3178e146ba6f1fc6e6a4085e77f21/0/0/NN/%/%/talker",
        ] {
            assert_eq!(name(key), None, "{key}");
        }
    }
}
