//! Numbers of a workload's clients, and their topics.
//!
//! A `pub` has all publishers, a `sub` all subscribers. Message *n* of a `pub` leaves from publisher *n* mod P, which
//! publishes on topic *p* mod K: so the messages are spread evenly, and both sides know how many deliveries to expect.

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;

/// Files that a process has open at most beside its connections.
pub const OTHER_FILES: u32 = 256;

/// The most publishers with a thread of their own: each has a stream number of its own in its stamps.
const MOST_THREADS: u32 = 64;

/// The topics of a subscriber.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubscribedTopics {
    /// Subscriber s has topic s mod K.
    #[default]
    Own,
    /// Each subscriber has all topics.
    All,
    /// All subscribers share all topics: each message is delivered to one of them.
    Shared,
}

/// The connections of publishers that publish from threads of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handles {
    /// Each publisher has a connection of its own.
    Own,
    /// All publishers share one connection, which a mutex guards.
    Shared,
}

/// How many clients there are, and on which topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Args)]
pub struct WorkloadTopology {
    /// Publishers of a `pub`, each with a connection of its own; they send in turn.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub publishers: u32,

    /// Subscribers of a `sub`, each with a connection of its own.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub subscribers: u32,

    /// Topics, at most as many as publishers; with more than one, they are TOPIC/0, TOPIC/1, …
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub topics: u32,

    /// Connections that a `connect` opens, and that a broker has to hold beside those of publishers and subscribers.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub connections: u32,

    /// The topics of each subscriber.
    #[arg(long, value_enum, default_value = "own")]
    pub subscription: SubscribedTopics,

    /// Publish from a thread for each publisher, each with a connection of its own or all with a shared one.
    #[arg(long, value_enum)]
    pub handles: Option<Handles>,
}

impl Default for WorkloadTopology {
    fn default() -> WorkloadTopology {
        WorkloadTopology {
            publishers: 1,
            subscribers: 1,
            topics: 1,
            connections: 0,
            subscription: SubscribedTopics::Own,
            handles: None,
        }
    }
}

impl WorkloadTopology {
    /// True if there is one publisher and one subscriber.
    pub fn is_pair(self) -> bool {
        self == WorkloadTopology { subscription: self.subscription, ..WorkloadTopology::default() }
    }

    /// The connections of all publishers.
    pub fn publisher_connections(self) -> u32 {
        match self.handles {
            Some(Handles::Shared) => 1,
            Some(Handles::Own) | None => self.publishers,
        }
    }

    /// The connections that a broker holds when all clients are there.
    pub fn broker_connections(self) -> u32 {
        let all = self.publisher_connections().saturating_add(self.subscribers);
        all.saturating_add(self.connections)
    }

    /// Checks that each publisher and each topic has subscribers.
    ///
    /// # Errors
    /// The numbers do not go together; the text is a message for the user.
    pub fn check(self) -> Result<(), String> {
        let WorkloadTopology { publishers, subscribers, topics, subscription, handles, .. } = self;
        let numbers =
            [("--publishers", publishers), ("--subscribers", subscribers), ("--topics", topics)];
        if let Some((name, _)) = numbers.iter().find(|(_, number)| *number == 0) {
            return Err(format!("{name} 0: at least 1 is needed"));
        }
        if topics > publishers {
            return Err(format!(
                "--topics {topics}: each publisher has one topic, so there are at most as many as publishers ({publishers})"
            ));
        }
        if subscription == SubscribedTopics::Own && topics > subscribers {
            return Err(format!(
                "--topics {topics}: with one topic each, there are at most as many as subscribers ({subscribers}); with \
                 --subscription all or shared, they have all topics"
            ));
        }
        if handles.is_some() && publishers > MOST_THREADS {
            return Err(format!(
                "--publishers {publishers}: at most {MOST_THREADS} with --handles"
            ));
        }
        if handles.is_some() && topics > 1 {
            return Err(format!("--topics {topics}: with --handles, there is one topic"));
        }
        Ok(())
    }

    /// The publisher of message `n`.
    pub fn publisher(self, n: u64) -> u32 {
        let publishers = u64::from(self.publishers.max(1));
        u32::try_from(n % publishers).unwrap_or(0)
    }

    /// The topic of a publisher.
    pub fn topic_of_publisher(self, publisher: u32) -> u32 {
        publisher % self.topics.max(1)
    }

    /// The topics of a subscriber.
    pub fn topics_of_subscriber(self, subscriber: u32) -> std::ops::Range<u32> {
        match self.subscription {
            SubscribedTopics::Own => {
                let topic = subscriber % self.topics.max(1);
                topic..topic + 1
            }
            SubscribedTopics::All | SubscribedTopics::Shared => 0..self.topics,
        }
    }

    /// Number of deliveries of a message on a topic.
    pub fn copies(self, topic: u32) -> u64 {
        match self.subscription {
            SubscribedTopics::Own => {
                let (topics, subscribers) = (self.topics.max(1), self.subscribers);
                u64::from(subscribers / topics + u32::from(topic < subscribers % topics))
            }
            SubscribedTopics::All => self.subscribers.into(),
            SubscribedTopics::Shared => 1,
        }
    }

    /// The most deliveries that one message has.
    pub fn most_copies(self) -> u64 {
        self.copies(0)
    }

    /// Number of deliveries that the first `messages` messages have in all.
    pub fn deliveries(self, messages: u64) -> u64 {
        let publishers = u64::from(self.publishers.max(1));
        let (rounds, rest) = (messages / publishers, messages % publishers);
        let of = |publisher: u32| self.copies(self.topic_of_publisher(publisher));
        let whole: u64 = (0..self.publishers.max(1)).map(of).sum();
        let more: u64 = (0..u32::try_from(rest).unwrap_or(0)).map(of).sum();
        rounds.saturating_mul(whole).saturating_add(more)
    }

    /// The name of a topic; `base` itself if there is only one.
    pub fn topic(self, base: &str, topic: u32) -> String {
        if self.topics == 1 { base.to_owned() } else { format!("{base}/{topic}") }
    }

    /// The arguments that give this topology when they are parsed.
    pub fn to_args(self) -> Vec<OsString> {
        let defaults = WorkloadTopology::default();
        let mut args: Vec<OsString> = Vec::new();
        let mut flag = |name: &str, value: String| args.extend([name.into(), value.into()]);
        if self.publishers != defaults.publishers {
            flag("--publishers", self.publishers.to_string());
        }
        if self.subscribers != defaults.subscribers {
            flag("--subscribers", self.subscribers.to_string());
        }
        if self.topics != defaults.topics {
            flag("--topics", self.topics.to_string());
        }
        if self.connections != defaults.connections {
            flag("--connections", self.connections.to_string());
        }
        if self.subscription != defaults.subscription {
            flag("--subscription", name(&self.subscription));
        }
        if let Some(handles) = self.handles {
            flag("--handles", name(&handles));
        }
        args
    }
}

/// The name of a choice on command lines and in results.
pub fn name<V: ValueEnum>(value: &V) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// All choices with their names.
pub fn choices<V: ValueEnum>() -> Vec<(String, V)> {
    V::value_variants().iter().map(|choice| (name(choice), choice.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(
        publishers: u32,
        subscribers: u32,
        topics: u32,
        subscription: SubscribedTopics,
    ) -> WorkloadTopology {
        WorkloadTopology {
            publishers,
            subscribers,
            topics,
            subscription,
            ..WorkloadTopology::default()
        }
    }

    /// The deliveries of a message, counted subscriber by subscriber.
    fn counted(topology: WorkloadTopology, messages: u64) -> u64 {
        let subscribers = match topology.subscription {
            SubscribedTopics::Shared => 0..1,
            SubscribedTopics::Own | SubscribedTopics::All => 0..topology.subscribers,
        };
        let of_message = |n| {
            let topic = topology.topic_of_publisher(topology.publisher(n));
            let has = |s: &u32| topology.topics_of_subscriber(*s).contains(&topic);
            subscribers.clone().filter(has).count() as u64
        };
        (0..messages).map(of_message).sum()
    }

    #[test]
    fn deliveries_are_those_of_all_subscribers() {
        for subscription in [SubscribedTopics::Own, SubscribedTopics::All, SubscribedTopics::Shared]
        {
            for publishers in 1..6 {
                for (subscribers, topics) in [(1, 1), (5, 1), (5, 2), (3, 3), (2, 5), (7, 4)] {
                    let topology = of(publishers, subscribers, topics, subscription);
                    for messages in [0, 1, 7, 30] {
                        let expected = counted(topology, messages);
                        assert_eq!(topology.deliveries(messages), expected, "{topology:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_published_suite_has_the_published_deliveries() {
        assert_eq!(of(1000, 1000, 1000, SubscribedTopics::Own).deliveries(1000), 1000);
        assert_eq!(of(1, 1000, 1, SubscribedTopics::Own).deliveries(1), 1000);
        assert_eq!(of(5, 1000, 5, SubscribedTopics::All).deliveries(250), 250_000);
        assert_eq!(of(1000, 5, 1000, SubscribedTopics::Shared).deliveries(1000), 1000);
    }

    #[test]
    fn topics_without_subscribers_or_publishers_are_refused() {
        let refused = |topology: WorkloadTopology| topology.check().unwrap_err();
        assert!(refused(of(2, 9, 3, SubscribedTopics::Own)).contains("as many as publishers (2)"));
        assert!(refused(of(9, 2, 3, SubscribedTopics::Own)).contains("as many as subscribers (2)"));
        assert!(refused(of(0, 1, 1, SubscribedTopics::Own)).contains("--publishers 0"));
        assert_eq!(of(9, 2, 3, SubscribedTopics::All).check(), Ok(()));
        let handles =
            WorkloadTopology { handles: Some(Handles::Own), ..of(65, 1, 1, SubscribedTopics::Own) };
        assert!(refused(handles).contains("at most 64"));
    }

    #[test]
    fn publishers_with_a_shared_handle_have_one_connection() {
        let topology = WorkloadTopology { connections: 7, ..of(5, 1000, 1, SubscribedTopics::Own) };
        assert_eq!((topology.publisher_connections(), topology.broker_connections()), (5, 1012));
        let shared = WorkloadTopology { handles: Some(Handles::Shared), ..topology };
        assert_eq!((shared.publisher_connections(), shared.broker_connections()), (1, 1008));
    }

    #[test]
    fn one_topic_has_the_name_itself() {
        assert_eq!(of(1, 9, 1, SubscribedTopics::All).topic("a", 0), "a");
        assert_eq!(of(2, 1, 2, SubscribedTopics::All).topic("a", 1), "a/1");
    }
}
