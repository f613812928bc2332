//! OPC UA over TCP without security, client and server of open62541. There are two middlewares, for the two ways in
//! which applications use it:
//!
//! | middleware | what a message does |
//! |---|---|
//! | `opcua` | `pub` writes a variable of the server in between, which notifies the subscribed `sub` of it |
//! | `opcua-write` | `pub` writes a variable of the server that `sub` itself is; `ping` writes one and reads another |
//!
//! A message is a value, a `ByteString`; a topic is a variable, `ns=1;s=TOPIC`.

mod brokered;
mod client;
mod direct;
mod limits;
mod server;
mod writer;

pub use brokered::OpcuaBrokered;
pub use direct::Direct;

use anyhow::{Result, anyhow};
use open62541::ua;
use std::str::FromStr;
use wirelap_contract::{About, Spec};

/// The largest message that is offered. OPC UA has no limit of its own; values travel in chunks of 64 KiB and
/// are copied several times on their way.
const MAX_PAYLOAD: usize = 16 << 20;
/// Writes on their way at once: more than a round trip on a local network needs.
const WINDOW: usize = 100;
const WINDOW_SETTING: &str = "window";

fn about(name: &str, what: &str) -> About {
    let about = "writes that a publisher has on their way; 1 waits for each response";
    About::new(name, what, MAX_PAYLOAD, &[wirelap_contract::LinkTransport::Tcp]).setting(
        WINDOW_SETTING,
        WINDOW,
        about,
    )
}

/// The value of a setting.
fn told<T: FromStr>(spec: &Spec, name: &str, default: T) -> Result<T> {
    match spec.set_value(name) {
        None => Ok(default),
        Some(value) => value.parse().map_err(|_| anyhow!("--set {name}={value}: not a number")),
    }
}

/// The variable of a topic.
fn node(topic: &str) -> ua::NodeId {
    ua::NodeId::string(1, topic)
}

/// A message as a variant.
fn variant(payload: &[u8]) -> ua::Variant {
    ua::Variant::scalar(ua::ByteString::new(payload))
}

/// The message in a variant; `None` if it holds something else.
fn payload(value: &ua::Variant) -> Option<&[u8]> {
    value.as_scalar::<ua::ByteString>()?.as_bytes()
}
