//! Subscriptions of a client, as far as they show in which group it gets a message (MQTT 5.0 §4.8.2), and whose RETAIN flag that has.
//!
//! ```text
//! $share/GROUP/FILTER
//! $queue/FILTER           one group of all (EMQX, "Shared Subscription")
//! ```
//!
//! Brokers accept shared subscriptions of clients of version 3.1.1, too.

use super::body::{MqttVersion, topic_filters};
use super::fields::MqttFields;
use super::header::{FixedHeader, PacketType};
use crate::{FrameSink, ReadIn};
use wirelap_events::Size;

/// The most subscriptions of a client that are kept.
const MOST: usize = 256;

/// Bytes of all kept subscriptions of a client.
const BYTES: usize = 64 << 10;

/// The option Retain As Published (MQTT 5.0 §3.8.3.1). Before version 5, no subscription has it.
const RETAIN_AS_PUBLISHED: u8 = 0x08;

/// A subscription.
#[derive(Debug)]
struct MqttSubscription {
    /// The filter as the client wrote it.
    filter: Box<[u8]>,
    /// The server leaves the publisher's RETAIN flag as it is.
    keeps_mark: bool,
}

/// The subscriptions of one client.
#[derive(Debug, Default)]
pub(super) struct MqttSubscriptions {
    /// The client is a bridge, for which the server leaves the RETAIN flag as it is.
    is_bridge: bool,
    /// True if nothing was missed since the client connected.
    is_gapless: bool,
    /// True if `all` holds every subscription: the session began here, and nothing was missed since.
    is_complete: bool,
    /// The oldest first.
    all: Vec<MqttSubscription>,
    /// Number of shared subscriptions among them.
    shared: Size,
    bytes: Size,
}

impl MqttSubscriptions {
    /// The client connects, perhaps as a bridge: it has the subscriptions of its session, which may be older.
    pub fn connect(&mut self, is_bridge: bool) {
        *self = MqttSubscriptions { is_bridge, is_gapless: true, ..MqttSubscriptions::default() };
    }

    /// The server accepts the client, with a session that it has kept or not.
    pub fn accept(&mut self, has_session: bool) {
        self.is_complete = self.is_gapless && !has_session;
    }

    /// Packets of the client were missed.
    pub fn gap(&mut self) {
        (self.is_gapless, self.is_complete) = (false, false);
    }

    /// Bytes of memory that they use.
    pub fn held_bytes(&self) -> Size {
        Size::of::<MqttSubscription>(self.all.capacity()) + self.bytes
    }

    /// Takes in a SUBSCRIBE or UNSUBSCRIBE. Reports which subscriptions begin, as far as the server leaves publishers' flags as they are.
    pub fn change(
        &mut self,
        header: &FixedHeader,
        version: MqttVersion,
        fields: MqttFields<'_>,
        out: &mut dyn FrameSink,
    ) {
        let subscribes = header.kind == PacketType::Subscribe;
        let whole = topic_filters(header.kind, version, fields, |filter, options| {
            let keeps_mark = options & RETAIN_AS_PUBLISHED != 0;
            if !subscribes {
                self.remove(filter);
            } else if self.add(filter, keeps_mark) && (keeps_mark || self.is_bridge) {
                out.subscribes(filter);
            }
        });
        if whole.is_err() {
            self.gap();
        }
    }

    /// Adds a subscription, or changes its options. Returns whether it is kept and was not there before.
    fn add(&mut self, filter: &[u8], keeps_mark: bool) -> bool {
        if let Some(known) = self.all.iter_mut().find(|known| *known.filter == *filter) {
            known.keeps_mark = keeps_mark;
            return false;
        }
        let bytes = self.bytes + filter.len();
        if self.all.len() >= MOST || bytes > BYTES {
            self.gap();
            return false;
        }
        self.bytes = bytes;
        self.shared += usize::from(shared(filter).is_some());
        self.all.push(MqttSubscription { filter: filter.into(), keeps_mark });
        true
    }

    fn remove(&mut self, filter: &[u8]) {
        let Some(at) = self.all.iter().position(|known| *known.filter == *filter) else { return };
        self.all.remove(at);
        self.bytes -= filter.len();
        self.shared -= usize::from(shared(filter).is_some());
    }

    /// The group in which the client gets a message of this topic; unknown if the client subscribed before, or in several ways.
    pub fn group_of(&self, topic: &[u8]) -> ReadIn<'_> {
        if self.shared == 0 {
            return if self.is_complete { ReadIn::NoGroup } else { ReadIn::Unknown };
        }
        let mut found = ReadIn::Unknown;
        for subscription in &self.all {
            let (group, filter) = match shared(&subscription.filter) {
                Some((group, filter)) => (ReadIn::Group(group), filter),
                None => (ReadIn::NoGroup, &*subscription.filter),
            };
            if is_match(filter, topic) {
                if found != ReadIn::Unknown && found != group {
                    return ReadIn::Unknown;
                }
                found = group;
            }
        }
        // Without a group it may also be there by a subscription that was not seen, which may be shared.
        if found == ReadIn::NoGroup && !self.is_complete { ReadIn::Unknown } else { found }
    }
}

impl MqttSubscriptions {
    /// True if the client has asked for the publisher's RETAIN flag in a message of this topic.
    pub fn keeps_mark(&self, topic: &[u8]) -> bool {
        self.is_bridge || self.matching(topic).any(|subscription| subscription.keeps_mark)
    }

    /// The filter of the client's first subscription to a topic that is known.
    pub fn first_for(&self, topic: &[u8]) -> Option<&[u8]> {
        self.matching(topic).next().map(|subscription| &*subscription.filter)
    }

    fn matching(&self, topic: &[u8]) -> impl Iterator<Item = &MqttSubscription> {
        self.all.iter().filter(move |subscription| {
            let filter = &*subscription.filter;
            is_match(shared(filter).map_or(filter, |(_, filter)| filter), topic)
        })
    }
}

/// The group and the filter of a shared subscription.
fn shared(subscription: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(filter) = subscription.strip_prefix(b"$queue/") {
        return (!filter.is_empty()).then_some((b"$queue", filter));
    }
    let rest = subscription.strip_prefix(b"$share/")?;
    let end = rest.iter().position(|&byte| byte == b'/')?;
    let (group, filter) = rest.split_at_checked(end)?;
    let filter = filter.strip_prefix(b"/")?;
    (!group.is_empty() && !filter.is_empty()).then_some((group, filter))
}

/// True if a topic matches a filter (MQTT 5.0 §4.7).
fn is_match(filter: &[u8], topic: &[u8]) -> bool {
    // Filters that start with a wildcard do not match the server's own topics.
    if topic.first() == Some(&b'$') && matches!(filter.first(), Some(b'+' | b'#')) {
        return false;
    }
    let mut levels = topic.split(|&byte| byte == b'/');
    for wanted in filter.split(|&byte| byte == b'/') {
        match (wanted, levels.next()) {
            // Also the level above: `a/#` matches `a`.
            (b"#", _) => return true,
            (b"+", Some(_)) => {}
            (wanted, Some(level)) if wanted == level => {}
            _ => return false,
        }
    }
    levels.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_match_as_the_specification_says() {
        let cases: [(&str, &str, bool); 14] = [
            ("a/b", "a/b", true),
            ("a/b", "a/b/c", false),
            ("a/b/c", "a/b", false),
            ("a/+", "a/b", true),
            ("a/+", "a/b/c", false),
            ("+/+", "/finance", true),
            ("+", "/finance", false),
            ("a/#", "a", true),
            ("a/#", "a/b/c", true),
            ("#", "a/b", true),
            ("#", "$SYS/a", false),
            ("+/a", "$SYS/a", false),
            ("$SYS/#", "$SYS/a", true),
            ("a", "A", false),
        ];
        for (filter, topic, fits) in cases {
            assert_eq!(is_match(filter.as_bytes(), topic.as_bytes()), fits, "{filter} {topic}");
        }
    }

    fn group<'s>(of: &'s MqttSubscriptions, topic: &str) -> ReadIn<'s> {
        of.group_of(topic.as_bytes())
    }

    #[test]
    fn the_subscription_that_matches_tells_the_group() {
        let mut client = MqttSubscriptions::default();
        assert_eq!(group(&client, "a"), ReadIn::Unknown, "it may have subscribed before");
        client.accept(false);
        assert_eq!(group(&client, "a"), ReadIn::Unknown, "or before it was accepted");
        client.connect(false);
        client.accept(false);
        assert_eq!(group(&client, "a"), ReadIn::NoGroup);
        for filter in
            ["$share/g/jobs/+", "plain/#", "$share/h/both", "both", "$share//x", "$share/x"]
        {
            client.add(filter.as_bytes(), false);
        }
        assert_eq!(group(&client, "jobs/1"), ReadIn::Group(b"g"));
        assert_eq!(group(&client, "plain/1"), ReadIn::NoGroup);
        assert_eq!(group(&client, "both"), ReadIn::Unknown, "in two ways");
        assert_eq!(group(&client, "other"), ReadIn::Unknown);
        client.remove(b"both");
        assert_eq!(group(&client, "both"), ReadIn::Group(b"h"));
        client.gap();
        assert_eq!(group(&client, "jobs/1"), ReadIn::Group(b"g"));
        assert_eq!(group(&client, "plain/1"), ReadIn::Unknown);
        client.connect(false);
        client.accept(true);
        assert_eq!(group(&client, "jobs/1"), ReadIn::Unknown, "the session is older");
    }

    #[test]
    fn a_queue_of_emqx_is_a_group() {
        let mut client = MqttSubscriptions::default();
        client.connect(false);
        client.accept(false);
        client.add(b"$queue/jobs/#", false);
        assert_eq!(group(&client, "jobs/1"), ReadIn::Group(b"$queue"));
        assert_eq!(group(&client, "other"), ReadIn::Unknown);
    }

    #[test]
    fn whose_mark_a_message_has_is_the_clients_choice() {
        let mut client = MqttSubscriptions::default();
        client.connect(false);
        client.add(b"own/#", true);
        client.add(b"$share/g/shared", true);
        client.add(b"plain", false);
        let keeps = |client: &MqttSubscriptions| {
            ["own/a", "shared", "plain"].map(|topic| client.keeps_mark(topic.as_bytes()))
        };
        assert_eq!(keeps(&client), [true, true, false]);
        let begins = [(&b"own/a"[..], true), (b"own/#", false), (b"own/#", false)]
            .map(|(filter, keeps_mark)| client.add(filter, keeps_mark));
        assert_eq!(begins, [true, false, false], "it changes the options of one that is there");
        assert_eq!(keeps(&client), [true, true, false]);
        assert_eq!(client.first_for(b"own/a"), Some(&b"own/#"[..]));
        client.remove(b"own/a");
        assert_eq!((keeps(&client), client.first_for(b"x")), ([false, true, false], None));
        client.connect(true);
        assert_eq!(keeps(&client), [true; 3], "a bridge");
    }

    #[test]
    fn their_number_and_bytes_are_bounded() {
        let mut client = MqttSubscriptions::default();
        client.connect(false);
        client.accept(false);
        for n in 0..10_000 {
            client.add(format!("$share/g/{n}").as_bytes(), false);
        }
        assert_eq!((client.all.len(), client.is_complete), (MOST, false));
        let mut client = MqttSubscriptions::default();
        for n in 0..10_u8 {
            client.add(&vec![b'a' + n; 20_000], false);
        }
        assert!(client.bytes <= BYTES && client.held_bytes() < 2 * BYTES);
    }
}
