//! Liveliness tokens of `rmw_zenoh`, with which its nodes and their endpoints announce themselves.
//!
//! ```text
//! @ros2_lv/<domain>/<session>/<node>/<entity>/<kind>/<enclave>/<namespace>/<node name>
//!     [/<topic>/<type>/<hash of the type>/<QoS>]
//!
//! NN node · MP publisher · MS subscriber · SS service server · SC service client
//! % stands for / in names
//! ```
//!
//! Source: `rmw_zenoh`, docs/design.md, "Graph Cache".

use super::name::{RosKind, RosName, is_relative_name, node_name, type_name};

/// Prefix of all tokens.
pub const TOKEN_PREFIX: &[u8] = b"@ros2_lv/";

/// Content of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RosToken {
    /// The domain.
    pub domain: u32,
    /// The node's fully qualified name: `/robot1/talker`.
    pub node: String,
    /// The endpoint, if the token is of one.
    pub endpoint: Option<TokenEndpoint>,
}

/// An endpoint of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenEndpoint {
    /// True for a publisher or a server.
    pub serves: bool,
    /// The endpoint's name and type.
    pub name: RosName,
}

impl RosToken {
    /// Reads a token; `None` if the key expression is none.
    pub fn read(key: &[u8]) -> Option<RosToken> {
        let key = std::str::from_utf8(key.strip_prefix(TOKEN_PREFIX)?).ok()?;
        let mut words = key.split('/');
        let domain = words.next()?.parse().ok()?;
        let (_session, _node, _entity) = (words.next()?, words.next()?, words.next()?);
        let (kind, _enclave, namespace) = (words.next()?, words.next()?, words.next()?);
        let name = words.next().filter(|name| is_relative_name(name))?;
        let node = node_name(&namespace.replace('%', "/"), name)?;
        let (is_service, serves) = match kind {
            "NN" => return Some(RosToken { domain, node, endpoint: None }),
            "MP" => (false, true),
            "MS" => (false, false),
            "SS" => (true, true),
            "SC" => (true, false),
            _ => return None,
        };
        let (topic, dds_type) = (words.next()?.replace('%', "/"), words.next()?);
        is_relative_name(topic.strip_prefix('/')?).then_some(())?;
        let kind = if is_service { RosKind::Service } else { RosKind::Topic };
        let type_name = type_name(dds_type);
        let name = RosName { name: topic, kind, type_name, domain: Some(domain) }.with_action();
        Some(RosToken { domain, node, endpoint: Some(TokenEndpoint { serves, name }) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "@ros2_lv/2/8b20917502ee955ac4476e0266340d5c";

    fn read(rest: &str) -> Option<RosToken> {
        RosToken::read(format!("{SESSION}/{rest}").as_bytes())
    }

    #[test]
    fn the_tokens_of_the_design_document_are_read() {
        let node = read("0/0/NN/%/%/listener").unwrap();
        assert_eq!(node, RosToken { domain: 2, node: "/listener".into(), endpoint: None });
        let topic = "%chatter/std_msgs::msg::dds_::String_/RIHS01_df66/::,7:,:,:,,";
        let publisher = read(&format!("0/10/MP/%/%robot1/talker/{topic}")).unwrap();
        assert_eq!(publisher.node, "/robot1/talker");
        let endpoint = publisher.endpoint.unwrap();
        assert_eq!((endpoint.serves, endpoint.name.to_string().as_str()), (true, "/chatter"));
        assert_eq!(endpoint.name.type_name.as_deref(), Some("std_msgs/msg/String"));
        let service =
            "%add_two_ints/example_interfaces::srv::dds_::AddTwoInts_/RIHS01_e11/::,:,:,:,,";
        let client = read(&format!("0/8/SC/%/%/add_client/{service}")).unwrap().endpoint.unwrap();
        assert_eq!((client.serves, client.name.kind), (false, RosKind::Service));
        let part =
            "%fib%_action%send_goal/example_interfaces::action::dds_::Fibonacci_SendGoal_/R/:";
        let action = read(&format!("0/9/SS/%/%/fib_server/{part}")).unwrap().endpoint.unwrap();
        assert_eq!(action.name.to_string(), "/fib action send_goal");
    }

    #[test]
    fn other_tokens_are_left_alone() {
        for rest in ["0/0/NN/%/%", "0/0/XX/%/%/a", "0/0/MP/%/%/a", "0/0/NN/%/%/a b", ""] {
            assert_eq!(read(rest), None, "{rest}");
        }
        assert_eq!(RosToken::read(b"@/router/x"), None);
        assert_eq!(RosToken::read(b"@ros2_lv/x/s/0/0/NN/%/%/a"), None);
    }
}
