//! Every protocol that wirelap can decode.

use crate::{
    BrokerRemedies, Protocol, amqp, kafka, mqtt, nats, opcua, plain, rtps, tls, xrce, zenoh, zmtp,
};

static REGISTRY: &[&dyn Protocol] = &[
    &mqtt::PROTOCOL,
    &nats::PROTOCOL,
    &amqp::PROTOCOL,
    &zenoh::PROTOCOL,
    &rtps::PROTOCOL,
    &zmtp::PROTOCOL,
    &opcua::PROTOCOL,
    &kafka::PROTOCOL,
    &xrce::PROTOCOL,
    &plain::TCP,
    &plain::UDP,
];

/// Protocols that nothing is recognised as, so that a port is named with them or not at all.
static BY_NAME_ONLY: &[&dyn Protocol] = &[&tls::PROTOCOL];

/// Every protocol that bytes may be recognised as, the most distinctive first: if two of them answer `Maybe`, the earlier one wins.
pub fn registry() -> &'static [&'static dyn Protocol] {
    REGISTRY
}

/// The protocol with this [`Protocol::name`], as in `--decode PORT=NAME`.
pub fn by_name(name: &str) -> Option<&'static dyn Protocol> {
    named().find(|protocol| protocol.name() == name)
}

/// Every protocol that has a name for `--decode PORT=NAME`.
pub fn named() -> impl Iterator<Item = &'static dyn Protocol> {
    registry().iter().chain(BY_NAME_ONLY).copied()
}

/// Returns the remedies for a broker by the name of its process; `None` if no protocol has any for it.
pub fn broker(process: &str) -> Option<&'static BrokerRemedies> {
    let mut all = registry().iter().flat_map(|protocol| protocol.remedies().brokers);
    all.find(|broker| broker.process == process)
}
