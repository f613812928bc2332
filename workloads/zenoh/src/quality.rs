//! Quality that is asked of Zenoh for a message. As published comparisons use it: best effort where a lost ping is only sent
//! again, reliable where all messages count.

use wirelap_contract::{LinkReliability, Role, Spec};
use zenoh::qos::CongestionControl;

/// Reliable is Block, best effort is Drop.
pub fn congestion_control(spec: &Spec) -> CongestionControl {
    match reliability(spec) {
        LinkReliability::Reliable => CongestionControl::Block,
        LinkReliability::BestEffort => CongestionControl::Drop,
    }
}

/// Batching is right for a stream of messages and wrong for a ping that waits for its reply.
pub fn express(spec: &Spec) -> bool {
    matches!(spec.role, Role::Ping | Role::Pong)
}

fn reliability(spec: &Spec) -> LinkReliability {
    spec.reliability.unwrap_or(match spec.role {
        Role::Ping | Role::Pong => LinkReliability::BestEffort,
        Role::Pub | Role::Sub | Role::Broker | Role::Connect => LinkReliability::Reliable,
    })
}
