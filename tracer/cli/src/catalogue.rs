//! The middlewares that wirelap can run: one entry each.

use crate::plan::Pacing;
use wirelap_contract::{History, Middleware, Reliability, Spec};

/// A broker that can stand between publisher and subscriber.
#[derive(Debug)]
pub struct Broker {
    /// Its name on the command line and in results.
    pub name: &'static str,
    /// The program that must be installed; `None` when it is part of `wirelap-workload`.
    pub program: Option<&'static str>,
    /// How to get it.
    pub remedy: &'static str,
}

/// A middleware that wirelap can run.
#[derive(Debug)]
pub struct Entry {
    /// Which one.
    pub middleware: Middleware,
    /// What it is, for `wirelap list`.
    pub about: &'static str,
    /// Its brokers, the default first; none for peer to peer.
    pub brokers: &'static [Broker],
    /// The most payload that one message can have.
    pub max_payload: usize,
    /// The library's settings that published comparisons use, for a way of pacing.
    pub published: fn(&mut Spec, Pacing),
}

/// The largest message that is sent: 1 GiB.
const UNLIMITED: usize = 1 << 30;

/// Every middleware, in the order of tables.
pub const CATALOGUE: &[Entry] = &[
    Entry {
        middleware: Middleware::Tcp,
        about: "plain TCP, length-prefixed messages; the baseline",
        brokers: &[],
        max_payload: UNLIMITED,
        published: as_is,
    },
    Entry {
        middleware: Middleware::Udp,
        about: "plain UDP, one message a datagram; the baseline",
        brokers: &[],
        // 65,535 less the IPv4 and UDP headers.
        max_payload: 65_507,
        published: as_is,
    },
    Entry {
        middleware: Middleware::Mqtt,
        about: "MQTT through a broker (rumqttc)",
        brokers: &[
            Broker { name: "rumqttd", program: None, remedy: "part of wirelap-workload" },
            Broker {
                name: "mosquitto",
                program: Some("mosquitto"),
                remedy: "apt-get install mosquitto",
            },
        ],
        // MQTT 5.0 §2.1.4: what the remaining length can say.
        max_payload: 268_435_455 - 64,
        published: as_is,
    },
    Entry {
        middleware: Middleware::ZenohP2p,
        about: "Zenoh, peer to peer",
        brokers: &[],
        max_payload: UNLIMITED,
        published: |spec, pacing| {
            spec.reliability = match pacing {
                Pacing::PingPong => Reliability::BestEffort,
                Pacing::Rate(_) | Pacing::BackToBack => Reliability::Reliable,
            };
        },
    },
    Entry {
        middleware: Middleware::Dds,
        about: "DDS, peer to peer (Cyclone DDS)",
        brokers: &[],
        max_payload: UNLIMITED,
        published: |spec, pacing| {
            spec.reliability = Reliability::Reliable;
            spec.history = match pacing {
                Pacing::PingPong => History::KeepLast,
                Pacing::Rate(_) | Pacing::BackToBack => History::KeepAll,
            };
        },
    },
];

fn as_is(_: &mut Spec, _: Pacing) {}

/// A middleware's entry.
pub fn entry(middleware: Middleware) -> &'static Entry {
    // `every_middleware_has_an_entry` keeps the fallback from ever being taken.
    CATALOGUE.iter().find(|entry| entry.middleware == middleware).unwrap_or(&CATALOGUE[0])
}

/// A middleware's name on the command line.
pub fn parse(name: &str) -> Result<Middleware, String> {
    let known = || CATALOGUE.iter().map(|entry| entry.middleware);
    known().find(|middleware| middleware.name() == name).ok_or_else(|| {
        let known: Vec<_> = known().map(Middleware::name).collect();
        format!("there is no middleware `{name}`; known: {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_middleware_has_an_entry() {
        for &middleware in Middleware::value_variants() {
            assert_eq!(entry(middleware).middleware, middleware);
            assert_eq!(!entry(middleware).brokers.is_empty(), middleware.is_brokered());
            assert_eq!(parse(middleware.name()), Ok(middleware));
        }
    }
}
