//! `ZeroMQ`, peer to peer over TCP, by two libraries: `zeromq` is libzmq (`libzmq`), `zeromq-rust` is the crate zeromq
//! (`native`), which published comparisons used.
//!
//! One side binds (`sub`, `pong`), the other connects. Publish/subscribe messages have two parts, topic and payload; all others are
//! the payload alone.

mod libzmq;
mod monitor;
mod native;
mod nodrop;

use crate::control::Control;
use crate::link::{Family, Handler, Link};
use anyhow::{Result, bail};
use std::time::Duration;
use wirelap_contract::{About, LinkTransport, Role, Spec};

/// Frames have 63 bits of length; this is for what one message may cost in memory.
const MAX_PAYLOAD: usize = 256 << 20;

const PATTERN: &str = "pattern";
const SNDHWM: &str = "ZMQ_SNDHWM";
const RCVHWM: &str = "ZMQ_RCVHWM";
const NODROP: &str = "ZMQ_XPUB_NODROP";
const LINGER: &str = "ZMQ_LINGER";

/// libzmq's default for both high-water marks, in messages.
const DEFAULT_HWM: usize = 1000;
/// What a queue of large messages may hold at most, by default.
const QUEUE_BYTES: usize = 64 << 20;
/// How long an end that connects may take to meet its peer.
const MATCH_LIMIT: Duration = Duration::from_secs(10);
/// How often a waiting call looks whether the run is over.
const TICK: Duration = Duration::from_millis(100);

const PATTERNS: &str =
    "pubsub (default) or pushpull one way, reqrep (default) or dealer for ping/pong";

/// The middleware `zeromq`: libzmq.
pub struct Libzmq;

/// The middleware `zeromq-rust`: the crate zeromq.
pub struct Native;

impl Family for Libzmq {
    fn about(&self) -> About {
        About::new("zeromq", "ZeroMQ, peer to peer (libzmq)", MAX_PAYLOAD, &[LinkTransport::Tcp])
            .setting(PATTERN, "by role", PATTERNS)
            .setting(SNDHWM, hwm_rule(), "messages that may wait to be sent; 0: no limit")
            .setting(RCVHWM, hwm_rule(), "messages that may wait to be received; 0: no limit")
            .setting(NODROP, 1, "pubsub at the high-water mark: 1 waits, 0 drops the message")
            .setting(LINGER, LINGER_MS, "ms that closing waits for unsent messages; -1: for ever")
    }

    fn open(
        &self,
        spec: &Spec,
        handler: Option<Handler>,
        control: &Control,
    ) -> Result<Box<dyn Link>> {
        libzmq::open(spec, handler, control)
    }
}

impl Family for Native {
    fn about(&self) -> About {
        let about = "ZeroMQ, peer to peer (crate zeromq)";
        About::new("zeromq-rust", about, MAX_PAYLOAD, &[LinkTransport::Tcp])
            .setting(PATTERN, "by role", PATTERNS)
    }

    fn open(
        &self,
        spec: &Spec,
        handler: Option<Handler>,
        control: &Control,
    ) -> Result<Box<dyn Link>> {
        native::open(spec, handler, control)
    }
}

const LINGER_MS: i32 = 30_000;

fn hwm_rule() -> String {
    format!("{DEFAULT_HWM}, or {} MiB", QUEUE_BYTES >> 20)
}

/// Which sockets the two ends have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
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
    fn of(spec: &Spec) -> Result<Pattern> {
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
    fn sockets(self) -> (&'static str, &'static str) {
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
