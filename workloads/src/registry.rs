//! The middlewares: one line each.

use anyhow::{Result, anyhow};
use wirelap_harness::link::Family;

static ALL: &[&dyn Family] = &[
    &baselines::Icmp,
    &baselines::Iperf3,
    &baselines::Tcp,
    &baselines::Udp,
    &mqtt::Mqtt,
    &kafka::Kafka,
    &zenoh::Peer,
    &zenoh::Brokered,
    &pico::Pico,
    &pico::PicoMulticast,
    &dds::Dds,
    &nats::Nats,
    &zeromq::Libzmq,
    &zeromq::Native,
    &opcua::Brokered,
    &opcua::Direct,
    &xrce::Xrce,
];

/// Every middleware, in the order of tables.
pub fn all() -> &'static [&'static dyn Family] {
    ALL
}

/// The middleware of this name.
pub fn family(name: &str) -> Result<&'static dyn Family> {
    let found = all().iter().find(|family| family.about().name == name);
    found.copied().ok_or_else(|| {
        let known: Vec<_> = all().iter().map(|family| family.about().name).collect();
        anyhow!("there is no middleware `{name}`; known: {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_told_once_and_describes_itself() {
        let all: Vec<_> = all().iter().map(|family| family.about()).collect();
        let names: BTreeSet<_> = all.iter().map(|about| &about.name).collect();
        assert_eq!(names.len(), all.len());
        for about in &all {
            assert!(!about.about.is_empty() && !about.roles.is_empty(), "{about:?}");
            assert!(about.max_payload >= 8, "{about:?}");
        }
    }
}
