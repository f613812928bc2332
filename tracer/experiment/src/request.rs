//! The request for a run, independent of the command line.

use crate::hosts::Links;
use crate::pacing::TrialPacing;
use crate::payload::PayloadSizes;
use crate::samples::SharedSamples;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use wirelap_contract::{LinkReliability, LinkTransport, WorkloadTopology};
use wirelap_correlate::BreakdownQuery;
use wirelap_session::Sampling;

/// Quantity that a run measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// The time that a message takes.
    #[default]
    Latency,
    /// The number of messages a second that are delivered.
    Throughput,
    /// The time to open connections, and their cost for the broker.
    Connections,
}

/// Choice of whether the workloads write truth files, for comparison with the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TruthCheck {
    /// For latency only: for throughput, writing the file would slow the workloads down.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// Options of the workloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkloadOptions {
    /// Brokers, by name or by the address of a running broker.
    pub broker: Vec<String>,
    /// Settings of libraries and brokers: the name in the library, and the value.
    pub set: Vec<(String, String)>,
    /// MQTT quality of service, 0 to 2.
    pub qos: u8,
    /// Number of clients, and their topics.
    pub topology: WorkloadTopology,
    /// True to reduce the clients to what this machine can hold.
    pub fit: bool,
    /// The transport, for middlewares that have a choice.
    pub transport: Option<LinkTransport>,
    /// The reliability of Zenoh and DDS.
    pub reliability: Option<LinkReliability>,
    /// True to set `TCP_NODELAY`, where the library allows it.
    pub nodelay: bool,
    /// The port that brokers and peers listen on; 0 for a free one.
    pub port: u16,
    /// The DDS domain.
    pub domain: Option<u32>,
    /// The network interface for DDS. Hosts of their own have one each, which is used then.
    pub interface: String,
    /// The links between the hosts of the processes; `None` if all processes run on this host.
    pub links: Option<Links>,
    /// True if the broker is placed on another host than one of its clients.
    pub is_broker_apart: bool,
    /// The CPUs of the sender, the receiver and the broker; a single one is for all.
    pub pin: Vec<usize>,
}

/// The request for a run. It has a field for each setting of a scenario.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    /// The scenario's name, if it has one.
    pub name: Option<String>,
    /// The settings that the user has chosen, as text by name, for the report.
    pub chosen: BTreeMap<String, String>,
    /// Quantity to measure.
    pub measure: Measure,
    /// The names of the middlewares, or `all`.
    pub on: Vec<String>,
    /// Payload sizes.
    pub payload: Vec<PayloadSizes>,
    /// The largest payload size in bytes; larger ones of `payload` are left out.
    pub max_payload: Option<usize>,
    /// The rates in messages a second, each measured separately; empty for messages without a rate.
    pub rates: Vec<f64>,
    /// True to search for the highest rate that is reached, after all `rates` were measured.
    pub saturation: bool,
    /// The number of messages of each repetition.
    pub messages: Option<u64>,
    /// Time for which each repetition sends messages.
    pub duration: Option<Duration>,
    /// The number of messages of the warm-up, which are not counted.
    pub warmup: u64,
    /// The longest time of the warm-up.
    pub warmup_time: Duration,
    /// Time for which the processes are measured connected and idle, before the first message.
    pub idle: Duration,
    /// The number of repetitions.
    pub repeat: u32,
    /// The seed of the order of trials.
    pub seed: Option<u64>,
    /// Windows in which the probes report events, if the user has chosen that.
    pub sample: Option<Sampling>,
    /// Choice of whether the workloads write truth files.
    pub truth_check: TruthCheck,
    /// True to measure what tracing costs the workload.
    pub measure_cost: bool,
    /// The file that all events are recorded in; several trials have a numbered file each.
    pub recording: Option<PathBuf>,
    /// Takes the deliveries of all trials one by one, if they are wanted.
    pub samples: Option<SharedSamples>,
    /// The rows by topic, client and so on of each repetition.
    pub breakdown: BreakdownQuery,
    /// Options of the workloads.
    pub workloads: WorkloadOptions,
    /// The payload bytes that are captured of each packet.
    pub snap_bytes: u32,
    /// The size of the ring buffer in bytes; `None` for the size that suits this host.
    pub ring_bytes: Option<u32>,
    /// The file with the kernel's types; `None` to find them.
    pub btf: Option<PathBuf>,
    /// The two variants to compare in place of this request.
    pub ab: Option<Box<VariantComparison>>,
}

/// The comparison of two variants of a request.
#[derive(Clone, Debug)]
pub struct VariantComparison {
    /// The settings in which they differ, as the user wrote them.
    pub settings: [String; 2],
    /// The request of each variant.
    pub variants: [RunRequest; 2],
}

impl RunRequest {
    /// Returns the pacings in which messages are sent, one for each rate.
    pub fn pacings(&self) -> Vec<TrialPacing> {
        match self.measure {
            Measure::Throughput => vec![TrialPacing::BackToBack],
            Measure::Connections if self.rates.is_empty() => vec![TrialPacing::BackToBack],
            Measure::Latency if self.rates.is_empty() => vec![TrialPacing::PingPong],
            Measure::Latency | Measure::Connections => {
                let mut rates: Vec<TrialPacing> = Vec::new();
                for &rate in &self.rates {
                    if !rates.contains(&TrialPacing::Rate(rate)) {
                        rates.push(TrialPacing::Rate(rate));
                    }
                }
                rates
            }
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::quantity;

    /// The request that a command line means.
    pub fn request(words: &str) -> RunRequest {
        let mut words = words.split(' ');
        let workloads =
            WorkloadOptions { nodelay: true, interface: "lo".into(), ..WorkloadOptions::default() };
        let mut request = RunRequest {
            payload: vec![PayloadSizes::Bytes(64)],
            warmup: 1000,
            repeat: 1,
            workloads,
            ..RunRequest::default()
        };
        request.measure = match words.next() {
            Some("latency") => Measure::Latency,
            Some("throughput") => Measure::Throughput,
            other => panic!("{other:?}"),
        };
        while let (Some(option), Some(value)) = (words.next(), words.next()) {
            let list = || value.split(',').map(str::to_owned);
            match option {
                "--on" => request.on = list().collect(),
                "--broker" => request.workloads.broker = list().collect(),
                "--payload" => {
                    request.payload =
                        list().map(|size| quantity::payload(&size).unwrap()).collect();
                }
                "--max-payload" => request.max_payload = Some(value.parse().unwrap()),
                "--pin" => {
                    request.workloads.pin = list().map(|cpu| cpu.parse().unwrap()).collect();
                }
                "--saturation" => request.saturation = value.parse().unwrap(),
                "--publishers" => request.workloads.topology.publishers = value.parse().unwrap(),
                "--subscribers" => {
                    request.workloads.topology.subscribers = value.parse().unwrap();
                }
                "--topics" => request.workloads.topology.topics = value.parse().unwrap(),
                "--qos" => request.workloads.qos = value.parse().unwrap(),
                "--repeat" => request.repeat = value.parse().unwrap(),
                "--seed" => request.seed = Some(value.parse().unwrap()),
                "--rate" => request.rates = list().map(|rate| rate.parse().unwrap()).collect(),
                "--seconds" => request.duration = Some(Duration::from_secs(value.parse().unwrap())),
                "--set" => {
                    let (name, value) = value.split_once('=').unwrap();
                    request.workloads.set.push((name.into(), value.into()));
                }
                "--transport" => {
                    request.workloads.transport = Some(match value {
                        "udp" => LinkTransport::Udp,
                        _ => LinkTransport::Tcp,
                    });
                }
                _ => panic!("{option}"),
            }
        }
        request
    }
}
