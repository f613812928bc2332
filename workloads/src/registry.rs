//! The middlewares that this program is built with: one line and one cargo feature each.

use anyhow::{Result, anyhow};
use wirelap_contract::About;
use wirelap_harness::link::Family;

static ALL: &[&dyn Family] = &[
    #[cfg(feature = "baselines")]
    &baselines::Icmp,
    #[cfg(feature = "baselines")]
    &baselines::Iperf3,
    #[cfg(feature = "baselines")]
    &baselines::Tcp,
    #[cfg(feature = "baselines")]
    &baselines::Udp,
    #[cfg(feature = "mqtt")]
    &mqtt::MqttWorkload,
    #[cfg(feature = "kafka")]
    &kafka::KafkaWorkload,
    #[cfg(feature = "zenoh")]
    &zenoh::ZenohPeerToPeer,
    #[cfg(feature = "zenoh")]
    &zenoh::ZenohBrokered,
    #[cfg(feature = "pico")]
    &pico::Pico,
    #[cfg(feature = "pico")]
    &pico::PicoMulticast,
    #[cfg(feature = "dds")]
    &dds::Dds,
    #[cfg(feature = "nats")]
    &nats::NatsWorkload,
    #[cfg(feature = "amqp")]
    &amqp::AmqpWorkload,
    #[cfg(feature = "zeromq")]
    &zeromq::Libzmq,
    #[cfg(feature = "zeromq-rust")]
    &zeromq::Native,
    #[cfg(feature = "opcua")]
    &opcua::OpcuaBrokered,
    #[cfg(feature = "opcua")]
    &opcua::Direct,
    #[cfg(feature = "xrce")]
    &xrce::XrceWorkload,
];

/// The description of every middleware, in the order of tables.
pub fn described() -> Vec<About> {
    ALL.iter().map(|family| family.about()).collect()
}

/// The middleware of this name.
pub fn family(name: &str) -> Result<&'static dyn Family> {
    let found = ALL.iter().find(|family| family.about().name == name);
    found.copied().ok_or_else(|| {
        let known: Vec<_> = described().into_iter().map(|about| about.name).collect();
        anyhow!("there is no middleware `{name}`; known: {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_told_once_and_describes_itself() {
        let all = described();
        let names: BTreeSet<_> = all.iter().map(|about| &about.name).collect();
        assert_eq!(names.len(), all.len());
        for about in &all {
            assert!(!about.about.is_empty() && !about.roles.is_empty(), "{about:?}");
            assert!(about.max_payload >= 8, "{about:?}");
        }
    }
}
