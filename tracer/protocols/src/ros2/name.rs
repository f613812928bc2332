//! A name of ROS 2.

use std::fmt;

/// A name of ROS 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RosName {
    /// The fully qualified name: `/robot1/chatter`.
    pub name: String,
    /// The kind of thing that has the name.
    pub kind: RosKind,
    /// The type, if the middleware's name has it: `std_msgs/msg/String`.
    pub type_name: Option<String>,
    /// The domain, if the middleware's name has it.
    pub domain: Option<u32>,
}

/// The kind of thing that a name of ROS 2 is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RosKind {
    /// A topic.
    Topic,
    /// The requests of a service.
    Request,
    /// The replies of a service.
    Reply,
    /// A service, requests and replies.
    Service,
    /// A part of an action: `feedback`, `status`, `send_goal`, `get_result` or `cancel_goal`.
    Action(&'static str),
}

/// The topics and services of an action.
const ACTION_PARTS: [&str; 5] = ["feedback", "status", "send_goal", "get_result", "cancel_goal"];

impl RosName {
    /// Separates the action from the part of it that `name` is of.
    pub(super) fn with_action(self) -> RosName {
        let found = self.name.rsplit_once("/_action/");
        let Some((action, part)) = found else { return self };
        let Some(part) = ACTION_PARTS.into_iter().find(|known| *known == part) else { return self };
        RosName { name: action.to_owned(), kind: RosKind::Action(part), ..self }
    }
}

impl fmt::Display for RosName {
    /// `/chatter`, `/add_two_ints request`, `/fibonacci action feedback`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match self.kind {
            RosKind::Topic => Ok(()),
            RosKind::Request => f.write_str(" request"),
            RosKind::Reply => f.write_str(" reply"),
            RosKind::Service => f.write_str(" service"),
            RosKind::Action(part) => write!(f, " action {part}"),
        }
    }
}

/// True if this is a name without its leading slash: words of letters, digits and underscores that start with no digit
/// (design.ros2.org, "Topic and Service names").
pub(super) fn is_relative_name(name: &str) -> bool {
    name.split('/').all(|word| {
        word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && word.chars().all(|one| one.is_ascii_alphanumeric() || one == '_')
    })
}

/// The fully qualified name of a node in a namespace, which is `/` or `/a/b`, or empty.
pub(super) fn node_name(namespace: &str, name: &str) -> Option<String> {
    let namespace = namespace.strip_suffix('/').unwrap_or(namespace);
    let is_valid =
        namespace.is_empty() || namespace.strip_prefix('/').is_some_and(is_relative_name);
    is_valid.then(|| format!("{namespace}/{name}"))
}

/// The name of a type from that in DDS: `std_msgs/msg/String` from `std_msgs::msg::dds_::String_`.
pub(super) fn type_name(dds: &str) -> Option<String> {
    let mut words = dds.split("::");
    let (package, kind, namespace, name) =
        (words.next()?, words.next()?, words.next()?, words.next()?.strip_suffix('_')?);
    let is_known = matches!(kind, "msg" | "srv" | "action") && namespace == "dds_";
    let is_whole = words.next().is_none() && [package, name].into_iter().all(is_relative_name);
    (is_known && is_whole).then(|| format!("{package}/{kind}/{name}"))
}
