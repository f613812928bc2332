//! Settings of the clients, by librdkafka's names. The defaults are those of published comparisons (linger.ms 0, batch.size 400
//! KB for throughput and 1 for latency, no compression, acks 0, fetch.min.bytes 1), so far as they say.

use anyhow::{Context, Result, anyhow, ensure};
use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use std::net::SocketAddr;
use wirelap_contract::{About, Role, Spec};

/// Largest payload: what brokers and clients are set up to take. Kafka itself is meant for messages of up
/// to 1 MB.
pub const MAX_PAYLOAD: usize = 64 << 20;

/// Bytes of a message beside its payload, generously: batch header, record header, topic.
const ROOM: usize = 64 << 10;

/// The names of the brokers.
pub const MOCK: &str = "mock";
pub const APACHE: &str = "apache";

/// A batch while messages are sent back to back, in bytes.
const THROUGHPUT_BATCH: usize = 400 << 10;
/// A batch otherwise: each message goes alone.
const LATENCY_BATCH: usize = 1;
/// Bytes that may wait in the producer: beyond them, `publish` waits.
const QUEUE_BYTES: usize = 64 << 20;
/// The group of a consumer that joins none: librdkafka wants a name all the same.
const NO_GROUP: &str = "wirelap";
/// The most partitions of a topic.
const MAX_PARTITIONS: i32 = 1000;
const MOCK_PARTITIONS: i32 = 8;

/// One setting of `--set`.
struct Knob {
    name: &'static str,
    side: ClientSide,
    /// Default that the tables show.
    shown: &'static str,
    about: &'static str,
    default: fn(&Spec) -> String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ClientSide {
    Producer,
    Consumer,
}

const KNOBS: [Knob; 8] = [
    Knob {
        name: "acks",
        side: ClientSide::Producer,
        shown: "0",
        about: "who acknowledges: 0 nobody, 1 the leader, all",
        default: |_| "0".into(),
    },
    Knob {
        name: "linger.ms",
        side: ClientSide::Producer,
        shown: "0",
        about: "ms to wait for more messages of a batch",
        default: |_| "0".into(),
    },
    Knob {
        name: "batch.size",
        side: ClientSide::Producer,
        shown: "1; back to back 409600",
        about: "bytes of a batch",
        default: |spec| batch_bytes(spec).to_string(),
    },
    Knob {
        name: "compression.type",
        side: ClientSide::Producer,
        shown: "none",
        about: "none, gzip, snappy, lz4 or zstd",
        default: |_| "none".into(),
    },
    Knob {
        name: "fetch.min.bytes",
        side: ClientSide::Consumer,
        shown: "1",
        about: "bytes that the broker waits for before it answers",
        default: |_| "1".into(),
    },
    Knob {
        name: "fetch.wait.max.ms",
        side: ClientSide::Consumer,
        shown: "500; mock 1",
        about: "ms that the broker may wait for them",
        default: |spec| if is_mock(spec) { "1".into() } else { "500".into() },
    },
    Knob {
        name: "fetch.queue.backoff.ms",
        side: ClientSide::Consumer,
        shown: "1",
        about: "ms until the next fetch when the consumer's queue is full",
        default: |_| "1".into(),
    },
    Knob {
        name: "enable.auto.commit",
        side: ClientSide::Consumer,
        shown: "false",
        about: "whether positions are committed",
        default: |_| "false".into(),
    },
];

/// Adds the settings to the description.
pub fn describe(mut about: About) -> About {
    for knob in &KNOBS {
        about = about.setting(knob.name, knob.shown, knob.about);
    }
    about.setting("partitions", "1; mock 8", "partitions of a topic that is made").setting(
        "group.id",
        "",
        "the consumer group to join [default: none, all partitions]",
    )
}

/// True if the broker is the mock, as far as is known.
pub fn is_mock(spec: &Spec) -> bool {
    spec.broker.as_deref() == Some(MOCK)
}

/// Number of partitions that a new topic gets.
pub fn partitions(spec: &Spec) -> Result<i32> {
    let Some(told) = spec.set_value("partitions") else {
        // The mock answers a fetch with one batch of each partition. With batches of one message, a single
        // partition carries no more messages than there are round trips.
        return Ok(if is_mock(spec) { MOCK_PARTITIONS } else { 1 });
    };
    let count: i32 =
        told.parse().with_context(|| format!("--set partitions={told}: not a number"))?;
    ensure!(
        (1..=MAX_PARTITIONS).contains(&count),
        "--set partitions={told}: 1 to {MAX_PARTITIONS}"
    );
    Ok(count)
}

/// The group that the consumer joins, if it joins one.
pub fn group(spec: &Spec) -> Option<&str> {
    spec.set_value("group.id").filter(|group| !group.is_empty())
}

/// The longest message that clients and brokers let through, in bytes.
pub fn max_message(spec: &Spec) -> usize {
    (spec.payload + ROOM).max(1_000_000)
}

/// Settings of every client.
pub fn common(spec: &Spec, broker: SocketAddr) -> ClientConfig {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", broker.to_string())
        .set("client.id", format!("wirelap-{}-{}", spec.role.name(), spec.stream))
        .set("socket.nagle.disable", spec.nodelay.to_string())
        .set("message.max.bytes", max_message(spec).to_string())
        // A mock that was not started for this topic makes it when it is asked about it.
        .set("allow.auto.create.topics", "true");
    config
}

/// Settings of the producer.
pub fn producer(spec: &Spec, broker: SocketAddr) -> ClientConfig {
    let mut config = common(spec, broker);
    let kbytes = QUEUE_BYTES.max(4 * max_message(spec)) >> 10;
    config
        .set("queue.buffering.max.kbytes", kbytes.to_string())
        // Reports about messages that arrived would wake a thread for each of them.
        .set("delivery.report.only.error", "true");
    turn(&mut config, spec, ClientSide::Producer);
    config
}

/// Settings of the consumer.
pub fn consumer(spec: &Spec, broker: SocketAddr) -> ClientConfig {
    let mut config = common(spec, broker);
    let most = max_message(spec);
    config
        .set("group.id", group(spec).unwrap_or(NO_GROUP))
        // Positions are given explicitly. This is for one that the broker does not have any more.
        .set("auto.offset.reset", "earliest")
        .set("fetch.error.backoff.ms", "10")
        .set("max.partition.fetch.bytes", most.max(1 << 20).to_string())
        .set("fetch.max.bytes", (2 * most).max(50 << 20).to_string())
        .set("receive.message.max.bytes", ((2 * most).max(50 << 20) + most).to_string());
    turn(&mut config, spec, ClientSide::Consumer);
    config
}

/// The settings that bear on figures, for READY.
pub fn shown(config: &ClientConfig) -> Vec<(String, String)> {
    const ALSO: [&str; 4] = [
        "socket.nagle.disable",
        "delivery.report.only.error",
        "queue.buffering.max.kbytes",
        "group.id",
    ];
    let names = KNOBS.iter().map(|knob| knob.name).chain(ALSO);
    names
        .filter_map(|name| Some((name.to_owned(), config.get(name)?.to_owned())))
        .filter(|(name, value)| name != "group.id" || value != NO_GROUP)
        .collect()
}

fn turn(config: &mut ClientConfig, spec: &Spec, side: ClientSide) {
    for knob in KNOBS.iter().filter(|knob| knob.side == side) {
        let value = spec.set_value(knob.name).map_or_else(|| (knob.default)(spec), Into::into);
        config.set(knob.name, value);
    }
}

fn batch_bytes(spec: &Spec) -> usize {
    let back_to_back = spec.role == Role::Pub && spec.rate.is_none();
    if back_to_back { THROUGHPUT_BATCH } else { LATENCY_BATCH }
}

/// A client that librdkafka does not make: a setting has a wrong value.
pub fn refused(error: KafkaError) -> anyhow::Error {
    match error {
        KafkaError::ClientConfig(_, why, name, value) => anyhow!("--set {name}={value}: {why}"),
        KafkaError::ClientCreation(why) => anyhow!("librdkafka refuses these settings: {why}"),
        error => anyhow!(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(role: Role, set: &[(&str, &str)]) -> Spec {
        let set = set.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Spec { set, ..Spec::new(role, "kafka") }
    }

    fn broker() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 9092))
    }

    #[test]
    fn batches_are_for_throughput() {
        let of = |spec: &Spec| producer(spec, broker()).get("batch.size").map(str::to_owned);
        let full = spec(Role::Pub, &[]);
        assert_eq!(of(&full).as_deref(), Some("409600"));
        assert_eq!(of(&Spec { rate: Some(10.0), ..full }).as_deref(), Some("1"));
        assert_eq!(of(&spec(Role::Ping, &[])).as_deref(), Some("1"));
        assert_eq!(of(&spec(Role::Pub, &[("batch.size", "7")])).as_deref(), Some("7"));
    }

    #[test]
    fn the_mock_is_not_waited_for() {
        let of = |spec: &Spec| consumer(spec, broker()).get("fetch.wait.max.ms").map(str::to_owned);
        let mut sub = spec(Role::Sub, &[]);
        assert_eq!(of(&sub).as_deref(), Some("500"));
        sub.broker = Some(MOCK.into());
        assert_eq!(of(&sub).as_deref(), Some("1"));
    }

    #[test]
    fn a_group_is_shown_only_when_it_is_joined() {
        let named = |spec: &Spec| {
            shown(&consumer(spec, broker())).into_iter().any(|(name, _)| name == "group.id")
        };
        assert!(!named(&spec(Role::Sub, &[])));
        assert!(named(&spec(Role::Sub, &[("group.id", "g")])));
    }

    #[test]
    fn partitions_are_a_number_in_range() {
        let mock = Spec { broker: Some(MOCK.into()), ..spec(Role::Pub, &[]) };
        assert_eq!(partitions(&mock).unwrap(), MOCK_PARTITIONS);
        let of = |text| partitions(&spec(Role::Pub, &[("partitions", text)]));
        assert_eq!(of("3").unwrap(), 3);
        for text in ["0", "-1", "many", "1001"] {
            assert!(of(text).unwrap_err().to_string().contains(text));
        }
    }
}
