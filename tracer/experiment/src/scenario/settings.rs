//! The settings of a scenario, their names, and the request that they mean.

use super::described::{OneOrMore, Quantity, SettingValue};
use super::shown::AsText;
use super::values;
use crate::hosts::Links;
use crate::payload::PayloadSizes;
use crate::request::{Measure, RunRequest, TruthCheck};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;
use wirelap_contract::{
    Handles, LinkReliability, LinkTransport, SubscribedTopics, WorkloadTopology,
};
use wirelap_session::Sampling;

/// Settings that do not change what is measured.
const NOT_CHOSEN: [&str; 3] = ["name", "about", "seed"];

/// Defines the settings with the list of their names, and how some settings replace others.
macro_rules! settings {
    ($($(#[$meta:meta])* $name:ident: $type:ty,)*) => {
        /// A scenario of `wirelap run`. The command line's options have the same names and replace these settings.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[schemars(rename = "Scenario")]
        pub struct ScenarioSettings {
            $($(#[$meta])* pub $name: Option<$type>,)*
        }

        /// The names of all settings.
        pub const NAMES: &[&str] = &[$(stringify!($name)),*];

        impl ScenarioSettings {
            /// These settings, and those of `base` where these say nothing.
            #[must_use]
            pub fn over(self, base: &ScenarioSettings) -> ScenarioSettings {
                let set = merged(self.set.as_deref(), base.set.as_deref());
                let settings =
                    ScenarioSettings { $($name: self.$name.or_else(|| base.$name.clone()),)* };
                ScenarioSettings { set, ..settings }
            }

            /// The settings that are chosen, as text by name, without the seed and what only describes the scenario.
            pub fn chosen(&self) -> BTreeMap<String, String> {
                let all = [$((stringify!($name), self.$name.as_ref().map(AsText::shown))),*];
                let chosen = all.into_iter().filter(|(name, _)| !NOT_CHOSEN.contains(name));
                chosen.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
            }
        }
    };
}

settings! {
    /// The scenario's name.
    #[serde(default, deserialize_with = "values::text")]
    name: String,
    /// What the scenario shows, in one line.
    #[serde(default, deserialize_with = "values::text")]
    about: String,
    /// What to measure: `latency` (the default), `throughput` or `connections`.
    #[serde(default, deserialize_with = "values::measure")]
    #[schemars(with = "Option<String>")]
    measure: Measure,
    /// The middlewares; `all` means all that can be run on this machine.
    #[serde(default, deserialize_with = "values::words")]
    #[schemars(with = "Option<OneOrMore<String>>")]
    on: Vec<String>,
    /// Brokers, by name or address; `all` means all that are installed.
    #[serde(default, deserialize_with = "values::words")]
    #[schemars(with = "Option<OneOrMore<String>>")]
    broker: Vec<String>,
    /// Payload sizes in bytes (64 by default); `"8..64K"` means the powers of two from 8 bytes to 64 KiB.
    #[serde(default, deserialize_with = "values::payload")]
    #[schemars(with = "Option<OneOrMore<Quantity>>")]
    payload: Vec<PayloadSizes>,
    /// Payload sizes above this are left out.
    #[serde(default, deserialize_with = "values::payload_size")]
    #[schemars(with = "Option<Quantity>")]
    max_payload: usize,
    /// Messages a second, each rate measured separately. Without a rate, `latency` is ping-pong.
    #[serde(default, deserialize_with = "values::rates")]
    #[schemars(with = "Option<OneOrMore<f64>>")]
    rate: Vec<f64>,
    /// Whether to search for the highest rate that is reached, after all of `rate` were measured.
    #[serde(default, deserialize_with = "values::flag")]
    saturation: bool,
    /// Messages (round trips in a ping-pong) of each repetition.
    #[serde(default, deserialize_with = "values::messages")]
    messages: u64,
    /// How long each repetition sends messages: `"10s"`.
    #[serde(default, deserialize_with = "values::time")]
    #[schemars(with = "Option<String>")]
    duration: Duration,
    /// Messages of the warm-up, which are not counted (1000 by default).
    #[serde(default, deserialize_with = "values::count")]
    warmup: u64,
    /// The longest time of the warm-up (`"5s"` by default).
    #[serde(default, deserialize_with = "values::time")]
    #[schemars(with = "Option<String>")]
    warmup_time: Duration,
    /// How long the processes are measured connected and idle, before the first message: `"10s"`. None by default.
    #[serde(default, deserialize_with = "values::time")]
    #[schemars(with = "Option<String>")]
    idle: Duration,
    /// Repetitions, in random order across the middlewares (1 by default).
    #[serde(default, deserialize_with = "values::repeat")]
    repeat: u32,
    /// The seed of that order, below 2^53.
    #[serde(default, deserialize_with = "values::seed")]
    seed: u64,
    /// MQTT quality of service, 0 to 2.
    #[serde(default, deserialize_with = "values::qos")]
    qos: u8,
    /// Publishers, each with a connection of its own; they send in turn (1 by default). A rate is that of all together.
    #[serde(default, deserialize_with = "values::clients")]
    publishers: u32,
    /// Subscribers, each with a connection of its own (1 by default).
    #[serde(default, deserialize_with = "values::clients")]
    subscribers: u32,
    /// Topics, at most as many as publishers (1 by default).
    #[serde(default, deserialize_with = "values::clients")]
    topics: u32,
    /// Connections that `connections` opens, `rate` of them a second; they stay open until `duration` is over.
    #[serde(default, deserialize_with = "values::clients")]
    connections: u32,
    /// The topics of a subscriber: `own` (one topic each), `all`, or `shared` (each message goes to one of the subscribers).
    #[serde(default, deserialize_with = "values::subscription")]
    #[schemars(with = "Option<String>")]
    subscription: SubscribedTopics,
    /// Publish from a thread for each publisher, with a connection each (`own`) or one behind a mutex (`shared`).
    #[serde(default, deserialize_with = "values::handles")]
    #[schemars(with = "Option<String>")]
    handles: Handles,
    /// Whether to reduce the clients, topics and rates in proportion to what this machine can hold.
    #[serde(default, deserialize_with = "values::flag")]
    fit_clients: bool,
    /// Two settings to compare, as with `--ab`: `["qos=0", "qos=1"]`.
    #[serde(default, deserialize_with = "values::pair")]
    #[schemars(with = "Option<[String; 2]>")]
    ab: [String; 2],
    /// The transport, for middlewares that have a choice: `tcp` or `udp`.
    #[serde(default, deserialize_with = "values::transport")]
    #[schemars(with = "Option<String>")]
    transport: LinkTransport,
    /// Zenoh and DDS reliability: `reliable` or `best-effort`.
    #[serde(default, deserialize_with = "values::reliability")]
    #[schemars(with = "Option<String>")]
    reliability: LinkReliability,
    /// Whether to set `TCP_NODELAY` where the library allows it (`true` by default).
    #[serde(default, deserialize_with = "values::flag")]
    nodelay: bool,
    /// CPUs of the sender, the receiver and the broker; a single CPU is for all three.
    #[serde(default, deserialize_with = "values::cpus")]
    #[schemars(with = "Option<OneOrMore<u16>>")]
    pin: Vec<usize>,
    /// Settings of libraries and brokers by their own names, as in `{ "linger.ms" = 5, "kafka:acks" = 1 }`.
    #[serde(default, deserialize_with = "values::settings")]
    #[schemars(with = "Option<BTreeMap<String, SettingValue>>")]
    set: Vec<(String, String)>,
    /// Whether publisher, broker and subscriber run on hosts of their own: network namespaces, which links join. `true` by
    /// default if there is a setting of links, which `false` switches off.
    #[serde(default, deserialize_with = "values::flag")]
    hosts: bool,
    /// How fast each host can send: `"1Gbit"`. Without it, as fast as memory.
    #[serde(default, deserialize_with = "values::bit_rate")]
    #[schemars(with = "Option<Quantity>")]
    link_rate: u64,
    /// The bytes that wait at most before a link: `"256K"` (the default with a rate). Further frames are dropped.
    #[serde(default, deserialize_with = "values::bytes")]
    #[schemars(with = "Option<Quantity>")]
    link_queue: u64,
    /// How much later frames arrive at each host: `"1ms"`. Needs a kernel with netem.
    #[serde(default, deserialize_with = "values::time")]
    #[schemars(with = "Option<String>")]
    link_delay: Duration,
    /// Trace only a window out of every period, as in `"50ms/500ms"`, or `"off"`.
    #[serde(default, deserialize_with = "values::sample")]
    #[schemars(with = "Option<String>")]
    sample: Sampling,
    /// Whether to compare the trace with the times that the workloads record: `auto`, `on` or `off`.
    #[serde(default, deserialize_with = "values::truth_check")]
    #[schemars(with = "Option<String>")]
    truth_check: TruthCheck,
}

impl ScenarioSettings {
    /// The request that these settings mean; what they say nothing about is that of `rest`, or a default.
    pub fn request(&self, rest: &RunRequest) -> RunRequest {
        let own = self.clone();
        let mut chosen = self.chosen();
        chosen.extend(rest.chosen.clone());
        let links = self.links();
        let mut request = RunRequest {
            name: own.name,
            chosen,
            measure: own.measure.unwrap_or_default(),
            on: own.on.unwrap_or_default(),
            payload: own.payload.unwrap_or_else(|| vec![PayloadSizes::Bytes(64)]),
            max_payload: own.max_payload,
            rates: own.rate.unwrap_or_default(),
            saturation: own.saturation.unwrap_or_default(),
            messages: own.messages,
            duration: own.duration,
            warmup: own.warmup.unwrap_or(1000),
            warmup_time: own.warmup_time.unwrap_or(Duration::from_secs(5)),
            idle: own.idle.unwrap_or_default(),
            repeat: own.repeat.unwrap_or(1),
            seed: own.seed,
            sample: own.sample,
            truth_check: own.truth_check.unwrap_or_default(),
            ..rest.clone()
        };
        let workloads = &mut request.workloads;
        workloads.broker = own.broker.unwrap_or_default();
        workloads.set = own.set.unwrap_or_default();
        let one = WorkloadTopology::default();
        workloads.topology = WorkloadTopology {
            publishers: own.publishers.unwrap_or(one.publishers),
            subscribers: own.subscribers.unwrap_or(one.subscribers),
            topics: own.topics.unwrap_or(one.topics),
            connections: own.connections.unwrap_or(one.connections),
            subscription: own.subscription.unwrap_or(one.subscription),
            handles: own.handles,
        };
        workloads.fit = own.fit_clients.unwrap_or_default();
        workloads.qos = own.qos.unwrap_or_default();
        workloads.transport = own.transport;
        workloads.reliability = own.reliability;
        workloads.nodelay = own.nodelay.unwrap_or(true);
        workloads.pin = own.pin.unwrap_or_default();
        workloads.links = links;
        request
    }

    /// The links between hosts; `None` if all processes run on one host.
    fn links(&self) -> Option<Links> {
        let links = Links::new(self.link_rate, self.link_queue, self.link_delay);
        self.hosts.unwrap_or(links != Links::default()).then_some(links)
    }

    /// About how many trials there are for each middleware and broker: without and with those of a search.
    pub fn trials(&self) -> (usize, usize) {
        let request = self.request(&RunRequest::default());
        let payloads: usize = request
            .payload
            .iter()
            .map(|payload| payload.sizes().len())
            .fold(0, usize::saturating_add);
        let repeat = usize::try_from(request.repeat).unwrap_or(usize::MAX);
        let list = payloads.saturating_mul(request.pacings().len()).saturating_mul(repeat);
        let steps = if request.saturation { crate::saturation::STEPS as usize } else { 0 };
        (list, list.saturating_add(payloads.saturating_mul(steps)))
    }
}

/// The settings of libraries in both lists; those of `over` replace those of the same name.
fn merged(
    over: Option<&[(String, String)]>,
    base: Option<&[(String, String)]>,
) -> Option<Vec<(String, String)>> {
    let (Some(over), Some(base)) = (over, base) else {
        return over.or(base).map(<[_]>::to_vec);
    };
    let kept = base.iter().filter(|(name, _)| over.iter().all(|(other, _)| other != name));
    Some(kept.chain(over).cloned().collect())
}
