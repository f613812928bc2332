//! The published suite of MQTT: Mosquitto against `NanoMQ`, with many clients.

use super::file::study;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use wirelap_report::{Environment, RunResult};

/// The study.
#[derive(Deserialize)]
pub struct MqttStudy {
    /// The study's title.
    pub title: String,
    /// The study's machine.
    pub testbed: String,
    /// Versions of the brokers.
    pub versions: BTreeMap<String, String>,
    common: CommonSettings,
    scenarios: BTreeMap<String, Clients>,
    results: BTreeMap<String, BTreeMap<String, PublishedFigures>>,
}

/// The settings that all scenarios have in common.
#[derive(Deserialize)]
struct CommonSettings {
    qos: u8,
    payload_bytes: u64,
}

/// The clients of a scenario.
#[derive(Deserialize)]
struct Clients {
    publishers: Option<u64>,
    subscribers: Option<u64>,
    topics: Option<u64>,
    /// Messages a second of each publisher.
    rate_per_publisher: Option<f64>,
    /// Messages a second of all publishers.
    publish_rate: Option<f64>,
    connections: Option<u64>,
    /// Connections a second.
    connect_rate: Option<f64>,
    /// A filter of shared subscriptions, if they share.
    subscription: Option<String>,
}

/// The published figures of a broker in a scenario.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct PublishedFigures {
    /// Messages delivered a second.
    pub msg_per_s: Option<f64>,
    /// Mean latency from publisher to subscriber, or of opening a connection, in milliseconds.
    pub latency_ms: Option<f64>,
    /// Median of it in milliseconds.
    pub p50: Option<f64>,
    /// 90th percentile in milliseconds.
    pub p90: Option<f64>,
    /// 99th percentile in milliseconds.
    pub p99: Option<f64>,
    /// Mean CPU of the broker, as a share of the machine's CPUs.
    pub cpu_avg: Option<f64>,
    /// Mean memory of the broker in 10^6 bytes.
    pub mem_avg_mb: Option<f64>,
}

impl MqttStudy {
    /// The study; `None` only if its file is damaged.
    pub fn load() -> Option<MqttStudy> {
        study("emqx_mosquitto_vs_nanomq_2023")
    }

    /// The `QoS` of its messages, in all scenarios.
    pub fn qos(&self) -> String {
        self.common.qos.to_string()
    }

    /// The scenario that a result was measured in, if it is one of the study's.
    pub fn scenario_of(&self, result: &RunResult) -> Option<&str> {
        let is_mqtt = result.middleware == "mqtt";
        let scenario = self.scenarios.iter().find(|(_, clients)| {
            is_mqtt
                && (clients.is_of(result, self.common.payload_bytes)
                    || clients.are_connected_by(result))
        })?;
        Some(scenario.0)
    }

    /// The brokers that were measured in a scenario, and their figures.
    pub fn figures(&self, scenario: &str) -> impl Iterator<Item = (&str, PublishedFigures)> {
        let of = self.results.get(scenario).into_iter().flatten();
        of.map(|(name, figures)| (name.trim_start_matches("mqtt-"), *figures))
    }
}

impl Clients {
    /// True if a result is of messages between these clients.
    fn is_of(&self, result: &RunResult, payload: u64) -> bool {
        let Some(topology) = &result.topology else { return false };
        let ours = [topology.publishers, topology.subscribers, topology.topics].map(u64::from);
        let theirs =
            [self.publishers, self.subscribers, self.topics].map(Option::unwrap_or_default);
        let publishers = theirs.first().copied().unwrap_or_default() as f64;
        let each = self.rate_per_publisher.map(|rate| rate * publishers);
        let rate = each.or(self.publish_rate).unwrap_or_default();
        ours == theirs
            && payload == result.payload_bytes
            && is_near(result.rate_msg_per_s, rate)
            && (topology.subscription == "shared") == self.subscription.is_some()
    }

    /// True if a result is of as many connections, opened at the same rate.
    fn are_connected_by(&self, result: &RunResult) -> bool {
        let (Some(topology), Some(wanted)) = (&result.topology, self.connections) else {
            return false;
        };
        result.connections.is_some()
            && u64::from(topology.connections) == wanted
            && is_near(result.rate_msg_per_s, self.connect_rate.unwrap_or_default())
    }
}

/// The `QoS` that the clients of a result reported: `1`, or `0 and 1` if they differ; `None` if none reported one.
pub fn qos_of(result: &RunResult, environment: &Environment) -> Option<String> {
    let settings = match environment.settings.get(&result.middleware) {
        Some(of_run) if result.settings.is_empty() => of_run,
        _ => &result.settings,
    };
    let is_qos = |name: &str| name.rsplit('.').next() == Some("qos");
    let values = settings.iter().filter(|(name, _)| is_qos(name)).map(|(_, value)| value.as_str());
    let values: Vec<&str> = values.collect::<BTreeSet<_>>().into_iter().collect();
    (!values.is_empty()).then(|| values.join(" and "))
}

/// True if our rate is theirs.
fn is_near(ours: Option<f64>, theirs: f64) -> bool {
    ours.is_some_and(|ours| (ours - theirs).abs() < 1e-6 * theirs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_report::{Connections, Topology};

    fn result(
        publishers: u32,
        subscribers: u32,
        topics: u32,
        rate: f64,
        subscription: &str,
    ) -> RunResult {
        let subscription = subscription.to_owned();
        RunResult {
            middleware: "mqtt".into(),
            payload_bytes: 16,
            rate_msg_per_s: Some(rate),
            topology: Some(Topology {
                publishers,
                subscribers,
                topics,
                subscription,
                ..Topology::default()
            }),
            ..RunResult::default()
        }
    }

    #[test]
    fn a_result_is_found_by_its_clients_and_rate() {
        let study = MqttStudy::load().unwrap();
        let cases = vec![
            (result(1000, 1000, 1000, 1000.0, "own"), Some("p2p-1K-1K-1K-1K")),
            (result(1, 1000, 1, 1.0, "own"), Some("fanout-1-1K-1-1K")),
            (result(5, 1000, 5, 250.0, "all"), Some("fanout-5-1000-5-250K")),
            (result(1000, 5, 1000, 1000.0, "shared"), Some("sharedsub-1K-5-1K-1K")),
            (result(1000, 5, 1000, 1000.0, "own"), None),
            (result(1000, 1000, 1000, 500.0, "own"), None),
            (result(1, 1, 1, 1.0, "own"), None),
            (RunResult { payload_bytes: 64, ..result(1000, 1000, 1000, 1000.0, "own") }, None),
            (
                RunResult { middleware: "nats".into(), ..result(1000, 1000, 1000, 1000.0, "own") },
                None,
            ),
            (RunResult { topology: None, ..result(1000, 1000, 1000, 1000.0, "own") }, None),
        ];
        for (number, (result, expected)) in cases.iter().enumerate() {
            assert_eq!(study.scenario_of(result), *expected, "case {number}");
        }
        let topology = Topology { connections: 10_000, ..Topology::default() };
        let opened = RunResult {
            topology: Some(topology),
            connections: Some(Connections::default()),
            ..result(0, 0, 0, 100.0, "own")
        };
        assert_eq!(study.scenario_of(&opened), Some("conn-tcp-10K-100"));
    }

    #[test]
    fn the_qos_is_that_of_the_variant_or_of_the_run() {
        let settings = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let of = |run: &[(&str, &str)], variant: &[(&str, &str)]| {
            let of_run = [("mqtt".to_owned(), settings(run))].into();
            let environment = Environment { settings: of_run, ..Environment::default() };
            let result = RunResult { settings: settings(variant), ..result(1, 1, 1, 1.0, "own") };
            qos_of(&result, &environment)
        };
        let one = [("pub.qos", "1"), ("sub.qos", "1"), ("pub.inflight", "100")];
        assert_eq!(of(&one, &[]).as_deref(), Some("1"));
        assert_eq!(of(&[("pub.qos", "1"), ("sub.qos", "0")], &[]).as_deref(), Some("0 and 1"));
        assert_eq!(of(&one, &[("pub.qos", "2")]).as_deref(), Some("2"));
        assert_eq!(of(&[("pub.tcp_nodelay", "true")], &[]), None);
        assert_eq!(MqttStudy::load().unwrap().qos(), "1");
    }

    #[test]
    fn every_scenario_has_figures_of_both_brokers() {
        let study = MqttStudy::load().unwrap();
        for scenario in study.scenarios.keys() {
            let names: Vec<&str> = study.figures(scenario).map(|(name, _)| name).collect();
            assert_eq!(names, ["mosquitto", "nanomq"], "{scenario}");
        }
    }
}
