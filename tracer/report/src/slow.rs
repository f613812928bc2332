//! Subscribers that are or were behind: which, on which topic, by how much, and what holds up their messages.

use crate::grid::{Align, hang, lay_out};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use wirelap_correlate::{Snapshot, snapshot};
use wirelap_events::{Nanos, human};

/// Rows of the table.
const LISTED: usize = 10;

/// The widest name in the table, in characters.
const NAME: usize = 15;

/// Subscribers with messages that were published a second or longer ago and that they have not read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SlowSubscribers")]
pub struct ReportedSlowSubscribers {
    /// Pairs of subscriber and topic that were behind at the end.
    pub behind: u64,
    /// The pairs that are or were behind: those that were at the end first, and of these those by most messages.
    pub listed: Vec<ReportedSlowSubscriber>,
    /// Further pairs that are not listed.
    pub more: u64,
}

/// A subscriber that is or was behind on a topic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SlowSubscriber")]
pub struct ReportedSlowSubscriber {
    /// The protocol, or the middleware's name.
    pub middleware: String,
    /// The broker; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker: Option<String>,
    /// The name that the subscriber gave itself; null if it is not known.
    pub client: Option<String>,
    /// Its process, by name and number; null if it is on another host or not known.
    pub process: Option<String>,
    /// Its address.
    pub address: String,
    /// The topic; null if it is not known.
    pub topic: Option<String>,
    /// By how much it was behind at the end; null if it was not any more.
    pub now: Option<ReportedLag>,
    /// By how much it was behind when that was most.
    pub most: ReportedLag,
    /// When that was, since the start.
    pub most_at_ns: u64,
}

/// By how much a subscriber is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Lag")]
pub struct ReportedLag {
    /// Messages that were published after the last one that was sent to it: the broker has them, or has dropped them, or they are in its
    /// socket.
    pub unsent_messages: u64,
    /// Messages that were sent to it and have not arrived.
    pub in_network_messages: u64,
    /// Messages in its socket that it has not read.
    pub unread_messages: u64,
    /// The least age of the oldest of them, since it was published.
    pub oldest_ns: u64,
    /// What holds them up.
    pub held_up_by: HeldUpBy,
}

/// What holds up the messages that a subscriber has not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum HeldUpBy {
    /// The broker has not sent them, and nothing hinders it.
    Broker,
    /// They were sent, or what was sent before them, and have not arrived.
    Network,
    /// They lie in the subscriber's socket, or there is no room in it, or it has not asked for more.
    Subscriber,
}

impl HeldUpBy {
    /// The name in tables and on the screen.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl From<snapshot::LagHolder> for HeldUpBy {
    fn from(holder: snapshot::LagHolder) -> HeldUpBy {
        match holder {
            snapshot::LagHolder::Broker => HeldUpBy::Broker,
            snapshot::LagHolder::Network => HeldUpBy::Network,
            snapshot::LagHolder::Subscriber => HeldUpBy::Subscriber,
        }
    }
}

impl From<snapshot::Lag> for ReportedLag {
    fn from(lag: snapshot::Lag) -> ReportedLag {
        ReportedLag {
            unsent_messages: lag.unsent,
            in_network_messages: lag.in_network,
            unread_messages: lag.unread,
            oldest_ns: lag.oldest.0,
            held_up_by: lag.holder.into(),
        }
    }
}

impl ReportedLag {
    /// All messages that it has not read.
    pub fn messages(&self) -> u64 {
        let sent = self.in_network_messages.saturating_add(self.unread_messages);
        self.unsent_messages.saturating_add(sent)
    }
}

impl ReportedSlowSubscriber {
    /// The subscriber's name in a table: its own name, or else its process or address.
    pub fn name(&self) -> &str {
        self.client.as_deref().or(self.process.as_deref()).unwrap_or(&self.address)
    }
}

impl ReportedSlowSubscribers {
    /// Those of a snapshot; `None` if there are none.
    pub fn of(snapshot: &Snapshot) -> Option<ReportedSlowSubscribers> {
        let seen = &snapshot.slow;
        let listed = seen.listed.iter().map(|one| {
            let group = snapshot.groups.iter().find(|group| group.id == one.group);
            ReportedSlowSubscriber {
                middleware: group.map(|group| group.middleware.clone()).unwrap_or_default(),
                broker: group.and_then(|group| group.broker.clone()),
                client: one.client.clone(),
                process: one.process.clone(),
                address: one.address.to_string(),
                topic: one.topic.clone(),
                now: one.now.map(ReportedLag::from),
                most: one.most.into(),
                most_at_ns: (one.most_at - snapshot.since).0,
            }
        });
        let slow = ReportedSlowSubscribers {
            behind: seen.behind,
            listed: listed.collect(),
            more: seen.more,
        };
        (!slow.listed.is_empty()).then_some(slow)
    }

    /// The subscribers as a table, below a title.
    pub fn table(&self) -> String {
        let mut align = vec![Align::Left; 3];
        align.extend([Align::Right; 5]);
        align.push(Align::Left);
        let heading = [
            "slow subscriber",
            "topic",
            "when",
            "behind by",
            "oldest",
            "unread",
            "network",
            "unsent",
            "held up by",
        ];
        let mut rows = vec![heading.map(String::from).to_vec()];
        rows.extend(self.listed.iter().take(LISTED).map(cells));
        let mut out = lay_out(&align, &rows);
        let more = self.more.saturating_add(self.listed.len().saturating_sub(LISTED) as u64);
        if more > 0 {
            out.push_str(&hang("", &format!("and {} more", human::exact(more))));
        }
        out
    }
}

fn cells(one: &ReportedSlowSubscriber) -> Vec<String> {
    let (when, lag) = match one.now {
        Some(lag) => ("now".to_owned(), lag),
        None => (format!("at {}", human::moment(Nanos(one.most_at_ns))), one.most),
    };
    let count = |count: u64| match count {
        0 => human::NONE.to_owned(),
        count => human::count(count as f64),
    };
    vec![
        human::shortened(one.name(), NAME),
        human::shortened(one.topic.as_deref().unwrap_or("unknown"), NAME),
        when,
        count(lag.messages()),
        human::time_ns(Some(lag.oldest_ns)),
        count(lag.unread_messages),
        count(lag.in_network_messages),
        count(lag.unsent_messages),
        lag.held_up_by.name().to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(client: &str, now: bool) -> ReportedSlowSubscriber {
        let lag = ReportedLag {
            unsent_messages: 1_200,
            in_network_messages: 0,
            unread_messages: 34,
            oldest_ns: 5_000_000_000,
            held_up_by: HeldUpBy::Subscriber,
        };
        ReportedSlowSubscriber {
            middleware: "mqtt".into(),
            broker: None,
            client: Some(client.into()),
            process: None,
            address: "127.0.0.1:4000".into(),
            topic: Some("a/\u{1b}b".into()),
            now: now.then_some(lag),
            most: lag,
            most_at_ns: 61_000_000_000,
        }
    }

    #[test]
    fn who_is_behind_is_told_from_who_was() {
        let mut listed = vec![one("logger", true), one("screen", false)];
        listed.extend((0..20).map(|n| one(&format!("c{n}"), false)));
        let table = ReportedSlowSubscribers { behind: 1, listed, more: 3 }.table();
        assert!(table.contains("1.23 k") && table.contains("and 15 more"), "{table}");
        assert!(!table.contains('\u{1b}'));
        let line = |name: &str| table.lines().find(|line| line.contains(name)).unwrap().to_owned();
        assert!(line("logger").contains(" now ") && line("screen").contains(" at "), "{table}");
    }
}
