//! `ZeroMQ`, peer to peer over TCP, by two libraries: `zeromq` is libzmq (`libzmq`), `zeromq-rust` is the crate zeromq
//! (`native`), which published comparisons used.
//!
//! One side binds (`sub`, `pong`), the other connects. Publish/subscribe messages have two parts, topic and payload; all others are
//! the payload alone.

#[cfg(feature = "libzmq")]
mod libzmq;
#[cfg(feature = "libzmq")]
mod monitor;
#[cfg(feature = "native")]
mod native;
#[cfg(feature = "libzmq")]
mod nodrop;
#[cfg_attr(
    not(all(feature = "libzmq", feature = "native")),
    allow(dead_code, reason = "each of the two libraries needs a part of the settings")
)]
mod settings;

use anyhow::Result;
#[cfg(feature = "libzmq")]
use settings::{LINGER, LINGER_MS, NODROP, RCVHWM, SNDHWM, hwm_rule};
use settings::{MAX_PAYLOAD, PATTERN, PATTERNS};
use wirelap_contract::{About, LinkTransport, Scaling, Spec};
use wirelap_harness::control::Control;
use wirelap_harness::link::{Family, Handler, Opened};

/// A subscriber binds, and a second one would need an address of its own.
const SCALING: Scaling = Scaling {
    publishers: true,
    handles: true,
    subscribers: false,
    topics: false,
    wildcards: false,
    shared: false,
};

/// The middleware `zeromq`: libzmq.
#[cfg(feature = "libzmq")]
pub struct Libzmq;

/// The middleware `zeromq-rust`: the crate zeromq.
#[cfg(feature = "native")]
pub struct Native;

#[cfg(feature = "libzmq")]
impl Family for Libzmq {
    fn about(&self) -> About {
        About::new("zeromq", "ZeroMQ, peer to peer (libzmq)", MAX_PAYLOAD, &[LinkTransport::Tcp])
            .scaling(SCALING)
            .setting(PATTERN, "by role", PATTERNS)
            .setting(SNDHWM, hwm_rule(), "messages that may wait to be sent; 0: no limit")
            .setting(RCVHWM, hwm_rule(), "messages that may wait to be received; 0: no limit")
            .setting(NODROP, 1, "pubsub at the high-water mark: 1 waits, 0 drops the message")
            .setting(LINGER, LINGER_MS, "ms that closing waits for unsent messages; -1: for ever")
    }

    fn open(&self, spec: &Spec, handler: Option<Handler>, control: &Control) -> Result<Opened> {
        libzmq::open(spec, handler, control)
    }
}

#[cfg(feature = "native")]
impl Family for Native {
    fn about(&self) -> About {
        let about = "ZeroMQ, peer to peer (crate zeromq)";
        About::new("zeromq-rust", about, MAX_PAYLOAD, &[LinkTransport::Tcp])
            .scaling(SCALING)
            .setting(PATTERN, "by role", PATTERNS)
    }

    fn open(&self, spec: &Spec, handler: Option<Handler>, control: &Control) -> Result<Opened> {
        native::open(spec, handler, control)
    }
}
