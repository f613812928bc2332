//! Remedies that usually help against delays and losses, in a middleware's own words.
//!
//! Whoever names a cause has a general sentence for it. A protocol that has a setting of its own against it says so in a
//! file `remedies.rs` beside its decoder, and its brokers with it.

/// A middleware's own sentences; `None` where the general one holds. Each has no full stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remedies {
    /// Against Nagle's algorithm in a client.
    pub nagle: Option<&'static str>,
    /// Against a library that keeps messages before it sends them.
    pub batching: Option<&'static str>,
    /// Against messages that wait at the broker until they are fetched.
    pub fetch: Option<&'static str>,
    /// Against messages that wait at the broker until messages before them are acknowledged.
    pub unacknowledged: Option<&'static str>,
    /// Against a full send buffer.
    pub send_buffer: Option<&'static str>,
    /// Against a sender that is late with the rest of a message.
    pub late_write: Option<&'static str>,
    /// Against messages that a full queue throws away.
    pub overflow: Option<&'static str>,
    /// Against a broker that is short of CPU.
    pub broker_cpu: Option<&'static str>,
    /// Against subscribers that are served one after the other.
    pub fan_out: Option<&'static str>,
    /// Against messages that are sent and never delivered.
    pub never_delivered: Option<&'static str>,
    /// The same where its subscriber got other messages of the same topic, before and after: subscriptions and bindings are right.
    pub swallowed: Option<&'static str>,
    /// Against duplicates.
    pub duplicates: Option<&'static str>,
    /// Brokers that have settings of their own.
    pub brokers: &'static [BrokerRemedies],
    /// Implementations that have settings of their own, where messages tell which one sends them.
    pub implementations: &'static [ImplementationRemedies],
}

/// An implementation's own sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImplementationRemedies {
    /// The implementation's name.
    pub name: &'static str,
    /// The implementation's own sentences; `None` where the protocol's sentence holds.
    pub remedies: Remedies,
}

/// A broker's own sentences, by the name of its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BrokerRemedies {
    /// The process's name.
    pub process: &'static str,
    /// Against Nagle's algorithm in it.
    pub nagle: Option<&'static str>,
    /// Against being short of CPU.
    pub cpu: Option<&'static str>,
}

impl Remedies {
    /// None of its own.
    pub const GENERAL: Remedies = Remedies {
        nagle: None,
        batching: None,
        fetch: None,
        unacknowledged: None,
        send_buffer: None,
        late_write: None,
        overflow: None,
        broker_cpu: None,
        fan_out: None,
        never_delivered: None,
        swallowed: None,
        duplicates: None,
        brokers: &[],
        implementations: &[],
    };

    /// The sentences of an implementation, none of its own if it has none.
    pub fn of(&self, implementation: &str) -> &Remedies {
        let own = self.implementations.iter().find(|one| one.name == implementation);
        own.map_or(&Remedies::GENERAL, |one| &one.remedies)
    }
}
