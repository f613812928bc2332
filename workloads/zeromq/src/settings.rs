//! Settings of the sockets, and the pattern of the two ends.

use anyhow::{Result, bail};
use std::time::Duration;
use wirelap_contract::{Role, Spec};

/// Frames have 63 bits of length; this is for what one message may cost in memory.
pub const MAX_PAYLOAD: usize = 256 << 20;

pub const PATTERN: &str = "pattern";
pub const SNDHWM: &str = "ZMQ_SNDHWM";
pub const RCVHWM: &str = "ZMQ_RCVHWM";
pub const NODROP: &str = "ZMQ_XPUB_NODROP";
pub const LINGER: &str = "ZMQ_LINGER";

/// libzmq's default for both high-water marks, in messages.
pub const DEFAULT_HWM: usize = 1000;
/// Most bytes in a queue of large messages, by default.
pub const QUEUE_BYTES: usize = 64 << 20;
/// Longest time that an end which connects takes to meet its peer.
pub const MATCH_LIMIT: Duration = Duration::from_secs(10);
/// Interval at which a waiting call looks whether the run is over.
pub const TICK: Duration = Duration::from_millis(100);

pub const PATTERNS: &str =
    "pubsub (default) or pushpull one way, reqrep (default) or dealer for ping/pong";

pub const LINGER_MS: i32 = 30_000;

pub fn hwm_rule() -> String {
    format!("{DEFAULT_HWM}, or {} MiB", QUEUE_BYTES >> 20)
}

/// Pattern of the sockets of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// XPUB, which is PUB that sees its subscriptions, and SUB.
    PubSub,
    /// PUSH and PULL.
    PushPull,
    /// REQ and REP.
    ReqRep,
    /// DEALER and DEALER.
    Dealer,
}

impl Pattern {
    pub fn of(spec: &Spec) -> Result<Pattern> {
        let one_way = matches!(spec.role, Role::Pub | Role::Sub);
        Ok(match (spec.set_value(PATTERN), one_way) {
            (None | Some("pubsub"), true) => Pattern::PubSub,
            (Some("pushpull"), true) => Pattern::PushPull,
            (None | Some("reqrep"), false) => Pattern::ReqRep,
            (Some("dealer"), false) => Pattern::Dealer,
            (Some(told), _) => {
                bail!("--set {PATTERN}={told} with {}: {PATTERNS}", spec.role.name())
            }
        })
    }

    /// The types of the socket that connects and the one that is bound.
    pub fn sockets(self) -> (&'static str, &'static str) {
        match self {
            Pattern::PubSub => ("XPUB", "SUB"),
            Pattern::PushPull => ("PUSH", "PULL"),
            Pattern::ReqRep => ("REQ", "REP"),
            Pattern::Dealer => ("DEALER", "DEALER"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(role: Role, told: Option<&str>) -> Result<Pattern> {
        let set = told.map(|told| (PATTERN.to_owned(), told.to_owned())).into_iter().collect();
        Pattern::of(&Spec { set, ..Spec::new(role, "zeromq") })
    }

    #[test]
    fn each_role_has_its_patterns() {
        assert_eq!(pattern(Role::Pub, None).unwrap(), Pattern::PubSub);
        assert_eq!(pattern(Role::Sub, Some("pushpull")).unwrap(), Pattern::PushPull);
        assert_eq!(pattern(Role::Ping, None).unwrap(), Pattern::ReqRep);
        assert_eq!(pattern(Role::Pong, Some("dealer")).unwrap(), Pattern::Dealer);
        for (role, told) in [(Role::Pub, "reqrep"), (Role::Ping, "pubsub"), (Role::Sub, "pair")] {
            let sentence = pattern(role, Some(told)).unwrap_err().to_string();
            assert!(sentence.contains(told) && sentence.contains("pushpull"), "{sentence}");
        }
    }
}
