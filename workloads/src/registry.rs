//! Which folder speaks which middleware: one line each.

use crate::link::Family;
use crate::{dds, mqtt, tcp, udp, zenoh};
use wirelap_contract::Middleware;

/// The folder that speaks `middleware`.
pub fn family(middleware: Middleware) -> &'static dyn Family {
    match middleware {
        Middleware::Tcp => &tcp::Tcp,
        Middleware::Udp => &udp::Udp,
        Middleware::Mqtt => &mqtt::Mqtt,
        Middleware::ZenohP2p => &zenoh::Zenoh,
        Middleware::Dds => &dds::Dds,
    }
}
