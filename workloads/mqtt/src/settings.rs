//! Settings of clients and brokers.

use anyhow::{Result, bail};
use wirelap_contract::Spec;

/// Largest packet in both directions: what MQTT's variable length can say, 256 MiB - 1.
pub const MAX_PACKET: usize = 268_435_455;
/// Largest payload: leaves room for the topic.
pub const MAX_PAYLOAD: usize = MAX_PACKET - 70_000;
/// `QoS` 1 and 2 messages on their way at once, on every hop. rumqttd has it built in for its
/// subscribers, so the others are set to the same: more than a round trip on a local network needs.
pub const IN_FLIGHT: u16 = 100;

pub const CLIENT_NODELAY: &str = "client.tcp_nodelay";
pub const BROKER_NODELAY: &str = "broker.tcp_nodelay";

/// One end's `TCP_NODELAY`: of `--set name=…`, or else what `--nodelay` says for both.
pub fn nodelay(spec: &Spec, name: &str) -> Result<bool> {
    match spec.set_value(name) {
        None => Ok(spec.nodelay),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(told) => bail!("--set {name}={told}: true or false"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_contract::Role;

    fn told(value: &str) -> Result<bool> {
        let set = vec![(CLIENT_NODELAY.to_owned(), value.to_owned())];
        let spec = Spec { set, nodelay: true, ..Spec::new(Role::Pub, "mqtt") };
        assert!(nodelay(&spec, BROKER_NODELAY).unwrap(), "the other end's is --nodelay");
        nodelay(&spec, CLIENT_NODELAY)
    }

    #[test]
    fn each_end_has_its_own_nodelay() {
        assert!(!told("false").unwrap());
        assert!(told("true").unwrap());
        let sentence = told("no").unwrap_err().to_string();
        assert_eq!(sentence, "--set client.tcp_nodelay=no: true or false");
    }
}
