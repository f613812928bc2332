//! The dimensions by which rows are told apart.

use strum::{IntoStaticStr, VariantArray};
use wirelap_events::all_variants;

/// The most dimensions of one breakdown.
pub const MAX_NESTED: usize = 4;

/// The dimension by which rows are told apart.
///
/// Client, group, connection, process, container and host are those of the publisher for a message that is sent, and those of the subscriber for one
/// that is delivered. A message is in the row of each link that it has passed, with the time of that leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Dimension {
    /// The topic, subject or key expression.
    Topic,
    /// The name that a client gives itself.
    Client,
    /// The group in which a subscriber reads: a consumer group, a queue group, a shared subscription.
    Group,
    /// The connection, by its addresses.
    Connection,
    /// The process.
    Process,
    /// The place that the process runs in: its container, pod or unit.
    Container,
    /// The IP address.
    Host,
    /// The host that sends and the one that receives, of each leg of a message.
    Link,
    /// The protocol, or the middleware's name.
    Protocol,
    /// The broker, or the address that serves.
    Broker,
}

impl Dimension {
    /// Every dimension.
    pub const ALL: [Dimension; Dimension::VARIANTS.len()] = all_variants();

    /// The name on the command line, in tables and in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The dimension of this name.
    pub fn of_name(name: &str) -> Option<Dimension> {
        Dimension::ALL.into_iter().find(|dimension| dimension.name() == name)
    }
}
