//! The pacing of a workload: when it sends the next message.

use wirelap_contract::Role;

/// Time at which the next message is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrialPacing {
    /// As soon as the reply to the previous message has arrived.
    PingPong,
    /// At a rate of this many messages a second.
    Rate(f64),
    /// As soon as the library accepts it.
    BackToBack,
}

impl TrialPacing {
    /// The role that sends: `ping` or `pub`.
    pub fn sender(self) -> Role {
        match self {
            TrialPacing::PingPong => Role::Ping,
            TrialPacing::Rate(_) | TrialPacing::BackToBack => Role::Pub,
        }
    }
}
