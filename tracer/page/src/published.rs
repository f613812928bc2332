//! Results that others have published, which the page sets beside its own: `data/published.json`.

mod file;
pub mod handle;
pub mod mqtt;
pub mod pico;

use serde::Deserialize;
use std::collections::BTreeMap;
use wirelap_report::RunResult;

/// The name of the setup with both ends and the broker on one machine, as they are here.
const ONE_MACHINE: &str = "single-machine";

/// A published comparison.
#[derive(Deserialize)]
pub struct Study {
    /// The study's title.
    pub title: String,
    /// The study's machine, by property.
    pub testbed: BTreeMap<String, String>,
    /// Versions of libraries and brokers.
    pub versions: BTreeMap<String, String>,
    /// The methods of measurement.
    pub method: StudyMethods,
    baselines: Baselines,
    latency_us: BTreeMap<String, BTreeMap<String, PublishedLatency>>,
    throughput: BTreeMap<String, BTreeMap<String, BTreeMap<String, ReportedRate>>>,
}

/// The methods by which a study measured.
#[derive(Deserialize)]
pub struct StudyMethods {
    /// Latency.
    pub latency: String,
    /// Throughput.
    pub throughput: String,
}

#[derive(Deserialize)]
struct Baselines {
    iperf_bit_per_s: BTreeMap<String, f64>,
}

/// A published latency in microseconds.
#[derive(Clone, Copy, Debug, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the unit, as in the file")]
pub struct PublishedLatency {
    /// 5th percentile.
    pub p5_us: f64,
    /// Median.
    pub median_us: f64,
    /// 95th percentile.
    pub p95_us: f64,
}

/// A throughput as the study reports it: absent where it gave up.
#[derive(Deserialize)]
struct ReportedRate {
    msg_per_s: Option<f64>,
    bit_per_s: Option<f64>,
}

/// A published throughput.
#[derive(Clone, Copy, Debug)]
pub struct PublishedRate {
    /// Messages per second.
    pub msg_per_s: f64,
    /// Payload bits per second.
    pub bit_per_s: f64,
}

impl Study {
    /// The study that measured as wirelap does; `None` only if its file is damaged.
    pub fn load() -> Option<Study> {
        file::study("ntu_zenoh_2023")
    }

    /// The latency of 64 B messages on one machine, of what the study calls `name`.
    pub fn latency(&self, name: &str) -> Option<PublishedLatency> {
        self.latency_us.get(ONE_MACHINE)?.get(name).copied()
    }

    /// Payload and throughput on one machine, the smallest payload first.
    pub fn throughput(&self, name: &str) -> Vec<(u64, PublishedRate)> {
        let rates = self.throughput.get(ONE_MACHINE).and_then(|machine| machine.get(name));
        let reported = rates.into_iter().flatten().filter_map(|(size, rate)| {
            let (msg_per_s, bit_per_s) = (rate.msg_per_s?, rate.bit_per_s?);
            Some((size.parse::<u64>().ok()?, PublishedRate { msg_per_s, bit_per_s }))
        });
        let mut rates: Vec<_> = reported.collect();
        rates.sort_by_key(|rate| rate.0);
        rates
    }

    /// The rate that iperf3 reached on one machine, in bits per second; `None` if the study does not have it.
    pub fn iperf(&self) -> Option<f64> {
        self.baselines.iperf_bit_per_s.get(ONE_MACHINE).copied()
    }
}

/// The name that the study gives to a middleware; `None` if it did not measure it.
pub fn name_of(result: &RunResult) -> Option<&'static str> {
    Some(match result.middleware.as_str() {
        "zenoh-p2p" => "zenoh-p2p",
        "zenoh-brokered" => "zenoh-brokered",
        "mqtt" => "mqtt-mosquitto",
        "kafka" => "kafka",
        "dds" => "dds-cyclone",
        "ping" => "ping",
        _ => return None,
    })
}

/// The difference of our broker from the study's, in words; `None` if it is the same, or if there is none.
pub fn other_broker(result: &RunResult) -> Option<String> {
    let broker = result.broker.as_ref()?;
    let theirs = match result.middleware.as_str() {
        "mqtt" => "mosquitto",
        "kafka" => "apache",
        _ => return None,
    };
    (broker != theirs).then(|| format!("their broker is {theirs}, ours {broker}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_file_can_be_read() {
        let study = Study::load().unwrap();
        for name in ["zenoh-p2p", "zenoh-brokered", "mqtt-mosquitto", "kafka", "dds-cyclone"] {
            assert!(study.latency(name).is_some(), "{name}");
            let rates = study.throughput(name);
            assert!(rates.len() > 15 && rates.is_sorted_by_key(|rate| rate.0), "{name}");
        }
        assert!(study.iperf().is_some() && study.testbed.contains_key("cpu"));
    }

    #[test]
    fn another_broker_is_said() {
        let mut result = RunResult { middleware: "mqtt".into(), ..RunResult::default() };
        assert_eq!(other_broker(&result), None);
        result.broker = Some("mosquitto".into());
        assert_eq!(other_broker(&result), None);
        result.broker = Some("rumqttd".into());
        assert_eq!(other_broker(&result).unwrap(), "their broker is mosquitto, ours rumqttd");
    }
}
