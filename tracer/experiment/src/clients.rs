//! The clients of a run: whether they go together with what is measured, and how many this machine can hold.

use crate::request::{Measure, RunRequest};
use rustix::process::{Resource, getrlimit};
use std::fs;
use wirelap_contract::WorkloadTopology;
use wirelap_contract::topology::OTHER_FILES;
use wirelap_events::human::{counted, exact};
use wirelap_process::Failure;

/// Local ports for connections to one address that clients leave to others.
const SPARE_PORTS: u32 = 200;

/// The local ports of a new network namespace (`net/ipv4/af_inet.c`, 32768 to 60999).
const HOST_PORTS: u32 = 28_232;

/// Connections from which on local ports may not suffice, whatever the range of the machine.
const FEW: u32 = 1000;

/// The request with as many clients as this machine can hold, and sentences on those that are fewer than wanted.
///
/// # Errors
/// The clients do not go together, or there are more than this machine can hold and the request does not allow fewer.
pub fn fitted(request: &RunRequest) -> Result<(RunRequest, Vec<String>), Failure> {
    let mut request = request.clone();
    // What is run is the variants: the settings beside them need not go together.
    if let Some(comparison) = &mut request.ab {
        let mut notes = Vec::new();
        for (side, variant) in ["A", "B"].iter().zip(&mut comparison.variants) {
            let (fitted, reduced) = fitted(variant)?;
            *variant = fitted;
            notes.extend(reduced.into_iter().map(|note| format!("{side}: {note}")));
        }
        return Ok((request, notes));
    }
    check(&request)?;
    let topology = request.workloads.topology;
    let Some(exceeded) = exceeded(&request) else { return Ok((request, Vec::new())) };
    let Bound { wanted, most, what, remedy } = exceeded;
    let why = format!("{what} has {}", exact(most.into()));
    if !request.workloads.fit {
        return Err(Failure::Usage(format!(
            "{} are more than this machine can hold: {why}. Choose fewer clients, allow wirelap to do so with --fit-clients, or {remedy}",
            counted(wanted.into(), "connection"),
        )));
    }
    let share = f64::from(most) / f64::from(wanted);
    let reduced = reduced(topology, share);
    let note = format!(
        "the wanted {} were reduced in proportion to {}, and the rate with them: {why}",
        counted(connections(request.measure, topology).into(), "connection"),
        counted(connections(request.measure, reduced).into(), "connection"),
    );
    for rate in &mut request.rates {
        *rate = if request.measure == Measure::Connections { *rate } else { round(*rate * share) };
    }
    request.workloads.topology = reduced;
    Ok((request, vec![note]))
}

fn check(request: &RunRequest) -> Result<(), Failure> {
    let topology = request.workloads.topology;
    topology.check().map_err(Failure::Usage)?;
    let wrong = match request.measure {
        Measure::Connections if request.sample.is_some() => {
            "each connection is counted, so tracing cannot be sampled: remove --sample"
        }
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

/// The connections to the broker.
fn connections(measure: Measure, topology: WorkloadTopology) -> u32 {
    match measure {
        Measure::Connections => topology.connections,
        Measure::Latency | Measure::Throughput => topology.broker_connections(),
    }
}

/// The same clients in proportion, in round numbers. Few of one kind stay as they are: they are not what is too many.
fn reduced(topology: WorkloadTopology, share: f64) -> WorkloadTopology {
    let of = |number: u32| match number {
        0..=FEW => number,
        _ => whole(round(f64::from(number) * share)),
    };
    WorkloadTopology {
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

/// Something that there are fewer of than connections are wanted.
struct Bound {
    /// The connections that need one each.
    wanted: u32,
    /// The most of them.
    most: u32,
    what: &'static str,
    remedy: &'static str,
}

/// Returns the resource that is too scarce for the connections of a request; of several, the one that bounds them the most.
/// `None` if none is.
fn exceeded(request: &RunRequest) -> Option<Bound> {
    if connections(request.measure, request.workloads.topology) <= FEW {
        return None;
    }
    let share = |bound: &Bound| f64::from(bound.most) / f64::from(bound.wanted);
    let exceeded = bounds(request).into_iter().filter(|bound| bound.wanted > bound.most);
    exceeded.min_by(|a, b| share(a).total_cmp(&share(b)))
}

/// Local ports of an address, and open files of the broker.
fn bounds(request: &RunRequest) -> [Bound; 2] {
    let topology = request.workloads.topology;
    let all = connections(request.measure, topology);
    // Hosts of their own have an address each, and the kernel's own range of ports.
    let (of_one_address, ports, remedy) = match request.workloads.links {
        Some(_) if request.measure != Measure::Connections => {
            let most = topology.publisher_connections().max(topology.subscribers);
            (most, HOST_PORTS, "run without --hosts")
        }
        Some(_) => (all, HOST_PORTS, "run without --hosts"),
        None => (all, ports(), "widen net.ipv4.ip_local_port_range"),
    };
    let ports = Bound {
        wanted: of_one_address,
        most: ports.saturating_sub(SPARE_PORTS),
        what: "one address, which needs a local port for each connection to another,",
        remedy,
    };
    // The workloads run without privileges, so they cannot raise the hard limit.
    let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let files = Bound {
        wanted: all,
        most: u32::try_from(limit).unwrap_or(u32::MAX).saturating_sub(OTHER_FILES),
        what: "a process, which needs an open file for each connection,",
        remedy: "raise the hard limit on open files (`ulimit -Hn`)",
    };
    [ports, files]
}

/// Number of local ports that this machine gives to connections; all there are if it does not say.
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
    use wirelap_contract::SubscribedTopics;

    #[test]
    fn a_range_of_ports_has_both_ends() {
        assert_eq!(range("32768\t60999\n"), Some(28_232));
        assert_eq!(range("nonsense"), None);
    }

    #[test]
    fn clients_are_reduced_in_proportion_to_round_numbers() {
        let all = WorkloadTopology {
            publishers: 50_000,
            subscribers: 500,
            topics: 50_000,
            subscription: SubscribedTopics::Shared,
            ..WorkloadTopology::default()
        };
        let few = reduced(all, 28_032.0 / 50_500.0);
        assert_eq!((few.publishers, few.subscribers, few.topics), (27_000, 500, 27_000));
        assert!(few.broker_connections() <= 28_032);
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
        let WorkloadTopology { publishers, subscribers, .. } = request.workloads.topology;
        assert!(publishers == subscribers && (FEW / 2..32_768).contains(&publishers));
        assert!((request.rates[0] - f64::from(publishers)).abs() < 1.0, "{:?}", request.rates);
        assert!(note[0].starts_with("the wanted 100,000 connections"));
    }

    #[test]
    fn each_side_of_a_comparison_is_reduced_by_itself() {
        let words = "latency --on mqtt --rate 50000";
        let base = request(words);
        let of = |publishers, subscribers| {
            let mut variant = base.clone();
            variant.workloads.fit = true;
            variant.workloads.topology =
                WorkloadTopology { publishers, subscribers, ..WorkloadTopology::default() };
            variant
        };
        let mut wanted = base.clone();
        // A ping-pong between several clients would be refused, but this is no side of the comparison.
        wanted.rates = Vec::new();
        wanted.workloads.topology.publishers = 2;
        let variants = [of(10, 10), of(50_000, 50_000)];
        let settings = [String::new(), String::new()];
        wanted.ab = Some(Box::new(crate::request::VariantComparison { settings, variants }));
        let (fitted, notes) = fitted(&wanted).unwrap();
        let [a, b] = fitted.ab.unwrap().variants;
        assert_eq!(a.workloads.topology.publishers, 10);
        assert!(b.workloads.topology.publishers < 50_000);
        assert_eq!(notes.len(), 1);
        assert!(notes[0].starts_with("B: the wanted 100,000 connections"), "{}", notes[0]);
    }

    #[test]
    fn hosts_have_the_ports_of_a_new_namespace_each() {
        let mut wanted =
            request("latency --on mqtt --rate 5 --publishers 15000 --subscribers 15000");
        let wanted_of = |request: &RunRequest| bounds(request).map(|bound| bound.wanted);
        assert_eq!(wanted_of(&wanted), [30_000, 30_000]);
        wanted.workloads.links = Some(crate::hosts::Links::default());
        assert_eq!(wanted_of(&wanted), [15_000, 30_000]);
        assert_eq!(bounds(&wanted)[0].most, 28_032);
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
