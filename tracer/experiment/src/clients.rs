//! The clients of a run: whether they go together with what is measured, and how many this machine can hold.

use crate::request::{Measure, Request};
use rustix::process::{Resource, getrlimit};
use std::fs;
use wirelap_contract::{Handles, Topology};
use wirelap_events::human::{counted, exact};
use wirelap_process::Failure;

/// Local ports for connections to one address that clients leave to others.
const SPARE_PORTS: u32 = 200;

/// Open files of a broker that are no connections.
const SPARE_FILES: u32 = 256;

/// Connections from which on local ports may not suffice, whatever the range of the machine.
const FEW: u32 = 1000;

/// The request with as many clients as this machine can hold, and a sentence if they are fewer than wanted.
///
/// # Errors
/// The clients do not go together, or there are more than this machine can hold and the request does not allow fewer.
pub fn fitted(request: &Request) -> Result<(Request, Option<String>), Failure> {
    let mut request = request.clone();
    if let Some(comparison) = &mut request.ab {
        for variant in &mut comparison.variants {
            *variant = fitted(variant)?.0;
        }
    }
    check(&request)?;
    let topology = request.workloads.topology;
    let wanted = connections(topology);
    if wanted <= FEW {
        return Ok((request, None));
    }
    let most = most_connections();
    if wanted <= most.connections {
        return Ok((request, None));
    }
    if !request.workloads.fit {
        return Err(Failure::Usage(format!(
            "{} are more than this machine can hold: {}. Choose fewer clients, allow wirelap to do so with --fit-clients, or {}",
            counted(wanted.into(), "connection"),
            most.why(),
            most.remedy
        )));
    }
    let share = f64::from(most.connections) / f64::from(wanted);
    let reduced = reduced(topology, share);
    let note = format!(
        "the wanted {} were reduced in proportion to {}, and the rate with them: {}",
        counted(wanted.into(), "connection"),
        counted(connections(reduced).into(), "connection"),
        most.why()
    );
    for rate in &mut request.rates {
        *rate = if request.measure == Measure::Connections { *rate } else { round(*rate * share) };
    }
    request.workloads.topology = reduced;
    Ok((request, Some(note)))
}

fn check(request: &Request) -> Result<(), Failure> {
    let topology = request.workloads.topology;
    topology.check().map_err(Failure::Usage)?;
    let wrong = match request.measure {
        Measure::Connections if topology.connections == 0 => {
            "how many connections are opened is not said: add --connections"
        }
        Measure::Latency | Measure::Throughput if topology.connections > 0 => {
            "--connections is for the scenario mqtt-connections, or others that measure connections"
        }
        Measure::Latency if !topology.is_pair() && request.rates.is_empty() => {
            "a ping-pong has one publisher and one subscriber: add a --rate, or measure throughput"
        }
        _ => return Ok(()),
    };
    Err(Failure::Usage(wrong.into()))
}

/// The connections of all clients to their broker.
fn connections(topology: Topology) -> u32 {
    if topology.connections > 0 {
        return topology.connections;
    }
    let publishers = match topology.handles {
        Some(Handles::Shared) => 1,
        Some(Handles::Own) | None => topology.publishers,
    };
    publishers.saturating_add(topology.subscribers)
}

/// The same clients in proportion, in round numbers. Few of one kind stay as they are: they are not what is too many.
fn reduced(topology: Topology, share: f64) -> Topology {
    let of = |number: u32| match number {
        0..=FEW => number,
        _ => whole(round(f64::from(number) * share)),
    };
    Topology {
        publishers: of(topology.publishers),
        subscribers: of(topology.subscribers),
        topics: of(topology.topics),
        connections: of(topology.connections),
        ..topology
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a part of a number of clients"
)]
fn whole(number: f64) -> u32 {
    number as u32
}

/// The number with its first two digits.
fn round(number: f64) -> f64 {
    let unit = 10f64.powf((number.log10().floor() - 1.0).max(0.0));
    (number / unit).floor() * unit
}

/// The most connections that this machine can hold, and what bounds them.
struct MostConnections {
    connections: u32,
    what: &'static str,
    remedy: &'static str,
}

impl MostConnections {
    fn why(&self) -> String {
        format!("{} has {}", self.what, exact(self.connections.into()))
    }
}

/// What bounds connections from one address to one broker: local ports, and the open files of the broker.
fn most_connections() -> MostConnections {
    let ports = MostConnections {
        connections: ports().saturating_sub(SPARE_PORTS),
        what: "one address, which needs a local port for each connection to another,",
        remedy: "widen net.ipv4.ip_local_port_range",
    };
    // The workloads run without privileges, so they cannot raise the hard limit.
    let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let files = MostConnections {
        connections: u32::try_from(limit).unwrap_or(u32::MAX).saturating_sub(SPARE_FILES),
        what: "a process, which needs an open file for each connection,",
        remedy: "raise the hard limit on open files (`ulimit -Hn`)",
    };
    if ports.connections <= files.connections { ports } else { files }
}

/// How many local ports this machine gives to connections; all there are if it does not say.
fn ports() -> u32 {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    range(&text).unwrap_or(u16::MAX.into())
}

/// The number of ports of a range `FIRST LAST`.
fn range(text: &str) -> Option<u32> {
    let mut ends = text.split_whitespace().map(str::parse::<u16>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    u32::from(last).checked_sub(first.into())?.checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::request;
    use wirelap_contract::Subscription;

    #[test]
    fn a_range_of_ports_has_both_ends() {
        assert_eq!(range("32768\t60999\n"), Some(28_232));
        assert_eq!(range("nonsense"), None);
    }

    #[test]
    fn clients_are_reduced_in_proportion_to_round_numbers() {
        let all = Topology {
            publishers: 50_000,
            subscribers: 500,
            topics: 50_000,
            subscription: Subscription::Shared,
            ..Topology::default()
        };
        let few = reduced(all, 28_032.0 / 50_500.0);
        assert_eq!((few.publishers, few.subscribers, few.topics), (27_000, 500, 27_000));
        assert!(connections(few) <= 28_032);
        assert_eq!(few.check(), Ok(()));
    }

    #[test]
    fn more_than_the_machine_holds_is_refused_or_reduced() {
        let words = "latency --on mqtt --rate 50000 --publishers 50000 --subscribers 50000";
        let mut wanted = request(words);
        let refused = fitted(&wanted).unwrap_err().to_string();
        assert!(
            refused.starts_with("100,000 connections are more than this machine can hold"),
            "{refused}"
        );
        wanted.workloads.fit = true;
        let (request, note) = fitted(&wanted).unwrap();
        let Topology { publishers, subscribers, .. } = request.workloads.topology;
        assert!(publishers == subscribers && (FEW / 2..32_768).contains(&publishers));
        assert!((request.rates[0] - f64::from(publishers)).abs() < 1.0, "{:?}", request.rates);
        assert!(note.unwrap_or_default().starts_with("the wanted 100,000 connections"));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let refused = |words: &str| fitted(&request(words)).unwrap_err().to_string();
        let sentence = refused("latency --on mqtt --publishers 2");
        assert!(sentence.contains("add a --rate"), "{sentence}");
        let sentence = refused("latency --on mqtt --rate 5 --topics 2");
        assert!(sentence.contains("as many as publishers"), "{sentence}");
    }
}
