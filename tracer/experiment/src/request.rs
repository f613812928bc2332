//! What a run is asked to do.

use crate::pacing::Pacing;
use std::path::PathBuf;
use std::time::Duration;
use wirelap_contract::{LinkTransport, Reliability};
use wirelap_session::Sampling;

/// What is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// How long a message takes.
    #[default]
    Latency,
    /// How many messages a second get through.
    Throughput,
}

/// Whether the workloads write down what they did, for comparison with the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TruthCheck {
    /// For latency; for throughput writing would slow the workloads.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// What the workloads are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workloads {
    /// Brokers, by name or by the address of one that runs already.
    pub broker: Vec<String>,
    /// Settings of libraries and brokers by their own names.
    pub set: Vec<(String, String)>,
    /// MQTT quality of service.
    pub qos: u8,
    /// The transport, where there is a choice.
    pub transport: Option<LinkTransport>,
    /// Zenoh and DDS reliability.
    pub reliability: Option<Reliability>,
    /// `TCP_NODELAY` where the library allows it.
    pub nodelay: bool,
    /// The port that brokers and peers listen on; 0 for a free one.
    pub port: u16,
    /// The DDS domain.
    pub domain: Option<u32>,
    /// The network interface for DDS.
    pub interface: String,
    /// CPUs for the sender, the receiver and the broker; one for all if only one is given.
    pub pin: Vec<usize>,
}

/// What a run is asked to do.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// What is measured.
    pub measure: Measure,
    /// The names of the middlewares, or `all`.
    pub on: Vec<String>,
    /// Payload bytes.
    pub payload: Vec<usize>,
    /// Messages a second.
    pub rate: Option<f64>,
    /// Messages of each repetition.
    pub messages: Option<u64>,
    /// How long each repetition sends.
    pub duration: Option<Duration>,
    /// Messages before those that count.
    pub warmup: u64,
    /// The longest time for them.
    pub warmup_time: Duration,
    /// Repetitions.
    pub repeat: u32,
    /// Seed of their order.
    pub seed: Option<u64>,
    /// When events are taken, where the user says so.
    pub sample: Option<Sampling>,
    /// Whether the workloads write down what they did.
    pub truth_check: TruthCheck,
    /// Measure what tracing costs, too.
    pub measure_cost: bool,
    /// Record all events there; several trials have a file each.
    pub recording: Option<PathBuf>,
    /// What the workloads are told.
    pub workloads: Workloads,
    /// Payload bytes captured of each packet.
    pub snap_bytes: u32,
    /// Bytes of the ring between kernel and tracer.
    pub ring_bytes: u32,
}

impl Request {
    /// When messages are sent.
    pub fn pacing(&self) -> Pacing {
        match (self.measure, self.rate) {
            (Measure::Throughput, _) => Pacing::BackToBack,
            (Measure::Latency, Some(rate)) => Pacing::Rate(rate),
            (Measure::Latency, None) => Pacing::PingPong,
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A request in the words of the command line.
    pub fn request(words: &str) -> Request {
        let mut words = words.split(' ');
        let workloads = Workloads { nodelay: true, interface: "lo".into(), ..Workloads::default() };
        let mut request =
            Request { payload: vec![64], warmup: 1000, repeat: 1, workloads, ..Request::default() };
        request.measure = match words.next() {
            Some("latency") => Measure::Latency,
            Some("throughput") => Measure::Throughput,
            other => panic!("{other:?}"),
        };
        while let (Some(option), Some(value)) = (words.next(), words.next()) {
            let list = || value.split(',').map(str::to_owned);
            let numbers = || list().map(|number| number.parse().unwrap()).collect();
            match option {
                "--on" => request.on = list().collect(),
                "--broker" => request.workloads.broker = list().collect(),
                "--payload" => request.payload = numbers(),
                "--pin" => request.workloads.pin = numbers(),
                "--repeat" => request.repeat = value.parse().unwrap(),
                "--seed" => request.seed = Some(value.parse().unwrap()),
                "--rate" => request.rate = Some(value.parse().unwrap()),
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
