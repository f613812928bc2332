//! The names of topics, or of clients, each kept once.

use rustc_hash::{FxHashMap, FxHashSet};
use wirelap_events::{Saturate, TopicId};
use wirelap_protocols::ros2::RosName;

/// Names that are kept.
const LIMIT: usize = 131_072;

/// Their bytes, all together.
const BYTES: usize = 16 << 20;

/// Types of topics of ROS 2 that are kept.
const TYPES: usize = 4096;

/// The names of topics.
#[derive(Debug, Default)]
pub struct Topics {
    /// True if names are kept at all.
    kept: bool,
    ids: FxHashMap<Box<[u8]>, TopicId>,
    names: Vec<Box<[u8]>>,
    bytes: usize,
    /// Topics that were found in the text of encrypted connections.
    secret: FxHashSet<TopicId>,
    /// The types of topics of ROS 2 whose names do not have them, by the names on the wire.
    types: FxHashMap<Box<str>, Box<str>>,
}

impl Topics {
    /// No names yet; they are `kept`, or only told apart.
    pub fn new(kept: bool) -> Topics {
        Topics { kept, ..Topics::default() }
    }

    /// Names are kept from now on.
    pub fn keep(&mut self) {
        self.kept = true;
    }

    /// The number of a name; `None` for none, and when there are too many.
    pub fn id_of(&mut self, name: &[u8]) -> Option<TopicId> {
        if !self.kept || name.is_empty() {
            return None;
        }
        if let Some(&id) = self.ids.get(name) {
            return Some(id);
        }
        if self.names.len() >= LIMIT || self.bytes.saturating_add(name.len()) > BYTES {
            return None;
        }
        let id = TopicId(u32::try_from(self.names.len()).ok()?);
        self.bytes.grow(name.len());
        self.names.push(name.into());
        self.ids.insert(name.into(), id);
        Some(id)
    }

    /// A name is shown with a title before it, which others may have, too.
    pub fn entitle(&mut self, name: &[u8], title: &[u8]) {
        let Some(place) = self.id_of(name).and_then(|id| self.names.get_mut(id.0 as usize)) else {
            return;
        };
        let titled = [title, b" (", name, b")"].concat();
        let bytes = self.bytes.saturating_sub(place.len()).saturating_add(titled.len());
        if bytes <= BYTES && **place != *titled {
            self.bytes = bytes;
            *place = titled.into();
        }
    }

    /// The number of a topic of a protocol. A topic of ROS 2 is shown by its name there and its type, with the protocol's own
    /// name beside them.
    pub fn id_of_topic(&mut self, topic: &[u8], protocol: &str) -> Option<TopicId> {
        let known = self.names.len();
        let id = self.id_of(topic)?;
        if self.names.len() > known {
            self.show(id, topic, protocol);
        }
        Some(id)
    }

    /// This name was found in the text of an encrypted connection.
    pub fn hide(&mut self, id: TopicId) {
        self.secret.insert(id);
    }

    /// The name of a number, unless it was found in the text of an encrypted connection.
    pub fn public_name(&self, id: TopicId) -> Option<&[u8]> {
        self.name(id).filter(|_| !self.secret.contains(&id))
    }

    /// Discovery says which type a topic of ROS 2 has.
    pub fn learn_type(&mut self, topic: &str, type_name: &str, protocol: &str) {
        let is_known = self.types.get(topic).is_some_and(|known| **known == *type_name);
        if !self.kept || is_known || self.types.len() >= TYPES {
            return;
        }
        self.types.insert(topic.into(), type_name.into());
        if let Some(&id) = self.ids.get(topic.as_bytes()) {
            self.show(id, topic.as_bytes(), protocol);
        }
    }

    /// Makes the text that a topic is shown by.
    fn show(&mut self, id: TopicId, topic: &[u8], protocol: &str) {
        let Some(mut ros) = RosName::of(protocol, topic) else { return };
        let Some(name) = self.names.get_mut(id.0 as usize) else { return };
        let wire = String::from_utf8_lossy(topic);
        let discovered = || self.types.get(&*wire).map(ToString::to_string);
        let shown = match ros.type_name.take().or_else(discovered) {
            Some(type_name) => format!("{ros} [{type_name}] ({wire})"),
            None => format!("{ros} ({wire})"),
        };
        self.bytes.grow(shown.len().saturating_sub(name.len()));
        *name = shown.into_bytes().into();
    }

    /// The name of a number.
    pub fn name(&self, id: TopicId) -> Option<&[u8]> {
        self.names.get(id.0 as usize).map(|name| &**name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number_and_there_is_an_end_to_them() {
        let mut topics = Topics::new(true);
        let first = topics.id_of(b"a/b").unwrap();
        assert_eq!(topics.id_of(b"a/b"), Some(first));
        assert_eq!(topics.name(first), Some(&b"a/b"[..]));
        assert_eq!(topics.id_of(b""), None);
        assert_eq!(topics.id_of(&vec![0; BYTES]), None);
        for index in 0..140_000_u32 {
            topics.id_of(&index.to_le_bytes());
        }
        assert_eq!(topics.names.len(), LIMIT);
        assert_eq!(topics.id_of(b"one more"), None);
        assert_eq!(topics.id_of(b"a/b"), Some(first));
    }

    #[test]
    fn a_topic_of_ros_has_both_names() {
        let mut topics = Topics::new(true);
        let id = topics.id_of_topic(b"rt/chatter", "dds").unwrap();
        assert_eq!(topics.name(id), Some(&b"/chatter (rt/chatter)"[..]));
        assert_eq!(topics.id_of_topic(b"rt/chatter", "dds"), Some(id));
        topics.learn_type("rt/chatter", "std_msgs/msg/String", "dds");
        let typed = &b"/chatter [std_msgs/msg/String] (rt/chatter)"[..];
        assert_eq!(topics.name(id), Some(typed));
        topics.learn_type("rt/a", "b/msg/C", "dds");
        let id = topics.id_of_topic(b"rt/a", "dds").unwrap();
        assert_eq!(topics.name(id), Some(&b"/a [b/msg/C] (rt/a)"[..]));
        let other = topics.id_of_topic(b"rt/b", "mqtt").unwrap();
        assert_eq!(topics.name(other), Some(&b"rt/b"[..]));
    }

    #[test]
    fn a_name_that_was_encrypted_is_not_public() {
        let mut topics = Topics::new(true);
        let [open, secret] = [&b"open"[..], b"secret"].map(|name| topics.id_of(name).unwrap());
        topics.hide(secret);
        assert_eq!(topics.name(secret), Some(&b"secret"[..]));
        assert_eq!(topics.public_name(secret), None);
        assert_eq!(topics.public_name(open), Some(&b"open"[..]));
    }

    #[test]
    fn a_name_can_have_a_title_which_may_change() {
        let mut names = Topics::new(true);
        let id = names.id_of(b"0110:1").unwrap();
        for (title, shown) in [("talker", "talker (0110:1)"), ("x", "x (0110:1)")] {
            names.entitle(b"0110:1", title.as_bytes());
            assert_eq!(names.name(id), Some(shown.as_bytes()));
            assert_eq!((names.id_of(b"0110:1"), names.bytes), (Some(id), shown.len()));
        }
        names.entitle(b"0110:1", &vec![b't'; BYTES]);
        assert_eq!(names.name(id), Some(&b"x (0110:1)"[..]));
    }

    #[test]
    fn nothing_is_kept_unasked() {
        let mut topics = Topics::default();
        assert_eq!(topics.id_of(b"a"), None);
        assert!(topics.names.is_empty());
    }
}
