//! The command line of one workload process.

use crate::topology::{WorkloadTopology, name};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// What a workload process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Serve: the middleware's own broker, embedded or as a child process.
    Broker,
    /// Publish at a rate or back to back.
    Pub,
    /// Subscribe and count.
    Sub,
    /// Send, wait for the reply, send again.
    Ping,
    /// Reply to each ping.
    Pong,
    /// Open connections to a broker, at a rate, and keep them open.
    Connect,
}

impl Role {
    /// The name on command lines, in messages and in results.
    pub fn name(self) -> &'static str {
        match self {
            Role::Broker => "broker",
            Role::Pub => "pub",
            Role::Sub => "sub",
            Role::Ping => "ping",
            Role::Pong => "pong",
            Role::Connect => "connect",
        }
    }
}

/// The reliability of DDS and Zenoh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum LinkReliability {
    /// Lost messages are sent again; Zenoh: congestion control Block.
    Reliable,
    /// Lost messages stay lost; Zenoh: congestion control Drop.
    BestEffort,
}

/// The history of DDS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum DdsHistory {
    /// Keep the last message of an instance.
    KeepLast,
    /// Keep all until every reader has them.
    KeepAll,
}

/// The transport of a middleware that has a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkTransport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

// A field for each option.
/// The command line of a workload process.
#[derive(Clone, Debug, PartialEq, Args)]
// With arguments flattened into it, the group would have no member that tells whether there is a spec at all.
#[group(args = ["role"])]
pub struct Spec {
    /// What the process does.
    #[arg(value_enum)]
    pub role: Role,

    /// The middleware that it speaks, as `wirelap-workload list` names it.
    pub middleware: String,

    /// HOST:PORT. Brokers, and `sub` and `pong` of peer-to-peer middlewares, listen there; all others connect
    /// to it. DDS ignores it.
    #[arg(long, default_value = "127.0.0.1:0")]
    pub endpoint: String,

    /// The broker to run, or to connect to.
    #[arg(long)]
    pub broker: Option<String>,

    /// Short for `--broker apache`.
    #[arg(long, conflicts_with = "broker")]
    pub apache: bool,

    /// Topic, subject or key expression.
    #[arg(long, default_value = "wirelap/data")]
    pub topic: String,

    /// How many clients there are, and on which topics.
    #[command(flatten)]
    pub topology: WorkloadTopology,

    /// The number of the client among those of its process.
    #[arg(skip)]
    pub client: u32,

    /// Payload bytes of a message, at least 8.
    #[arg(long, default_value_t = 64)]
    pub payload: usize,

    /// Messages a second of all publishers together, each with an intended time of sending; back to back without it. Of
    /// `connect`: connections a second.
    #[arg(long)]
    pub rate: Option<f64>,

    /// Messages to send or to expect, without the warm-up. A `sub` counts each delivery.
    #[arg(long)]
    pub messages: Option<u64>,

    /// How many seconds to send; ends a publisher without `--messages`.
    #[arg(long)]
    pub seconds: Option<f64>,

    /// Stay when all is done: print DONE, and end when told to. A sender waits for a further GO, and then sends more, which
    /// is not counted, as the warm-up is not.
    #[arg(long)]
    pub stay: bool,

    /// Messages of the warm-up, which are not counted.
    #[arg(long, default_value_t = 0)]
    pub warmup: u64,

    /// The longest time of the warm-up in seconds.
    #[arg(long)]
    pub warmup_seconds: Option<f64>,

    /// The stream number in each payload's stamp, 0..=63.
    #[arg(long, default_value_t = 0)]
    pub stream: u8,

    /// MQTT quality of service, 0 to 2.
    #[arg(long, default_value_t = 0)]
    pub qos: u8,

    /// Set `TCP_NODELAY` on the sockets that the library opens.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set)]
    pub nodelay: bool,

    /// The transport, for middlewares that have a choice.
    #[arg(long, value_enum)]
    pub transport: Option<LinkTransport>,

    /// Zenoh and DDS reliability [default: as in published comparisons].
    #[arg(long, value_enum)]
    pub reliability: Option<LinkReliability>,

    /// DDS history [default: as in published comparisons].
    #[arg(long, value_enum)]
    pub history: Option<DdsHistory>,

    /// A setting of the library or broker, e.g. `linger.ms=5`; may be given several times.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,

    /// Network interface for DDS.
    #[arg(long, default_value = "lo")]
    pub interface: String,

    /// DDS domain.
    #[arg(long, default_value_t = 0)]
    pub domain: u32,

    /// Run on this CPU only.
    #[arg(long)]
    pub pin: Option<usize>,

    /// Write the times of each message to this file (the truth file); - prints them in lines TRUTH.
    #[arg(long)]
    pub truth: Option<PathBuf>,
}

impl Spec {
    /// A spec with the defaults of the command line.
    pub fn new(role: Role, middleware: &str) -> Spec {
        Spec {
            role,
            middleware: middleware.to_owned(),
            endpoint: "127.0.0.1:0".into(),
            broker: None,
            apache: false,
            topic: "wirelap/data".into(),
            topology: WorkloadTopology::default(),
            client: 0,
            payload: 64,
            rate: None,
            messages: None,
            seconds: None,
            stay: false,
            warmup: 0,
            warmup_seconds: None,
            stream: 0,
            qos: 0,
            nodelay: true,
            transport: None,
            reliability: None,
            history: None,
            set: Vec::new(),
            interface: "lo".into(),
            domain: 0,
            pin: None,
            truth: None,
        }
    }

    /// The value of a setting of `--set`; the last one if it was given several times.
    pub fn set_value(&self, name: &str) -> Option<&str> {
        self.set.iter().rev().find(|(set, _)| set == name).map(|(_, value)| value.as_str())
    }

    /// The spec with short forms replaced by the options that they mean.
    #[must_use]
    pub fn resolved(mut self) -> Spec {
        if std::mem::take(&mut self.apache) {
            self.broker = Some("apache".into());
        }
        self
    }

    /// The spec of one of the clients of a process.
    #[must_use]
    pub fn of_client(&self, client: u32, topic: String) -> Spec {
        Spec { topic, client, ..self.clone() }
    }

    /// The arguments that give this spec when they are parsed.
    pub fn to_args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec![name(&self.role).into(), self.middleware.clone().into()];
        let mut flag = |name: &str, value: OsString| args.extend([name.into(), value]);
        flag("--endpoint", self.endpoint.clone().into());
        flag("--topic", self.topic.clone().into());
        flag("--payload", self.payload.to_string().into());
        flag("--warmup", self.warmup.to_string().into());
        flag("--stream", self.stream.to_string().into());
        flag("--qos", self.qos.to_string().into());
        flag("--nodelay", self.nodelay.to_string().into());
        flag("--interface", self.interface.clone().into());
        flag("--domain", self.domain.to_string().into());
        args.extend(self.topology.to_args());
        let flags = [("--apache", self.apache), ("--stay", self.stay)];
        args.extend(flags.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name.into()));
        let mut flag = |name: &str, value: OsString| args.extend([name.into(), value]);
        for (name, value) in &self.set {
            flag("--set", format!("{name}={value}").into());
        }
        let mut option = |name: &str, value: Option<OsString>| {
            if let Some(value) = value {
                flag(name, value);
            }
        };
        option("--transport", self.transport.as_ref().map(|value| name(value).into()));
        option("--reliability", self.reliability.as_ref().map(|value| name(value).into()));
        option("--history", self.history.as_ref().map(|value| name(value).into()));
        option("--broker", self.broker.clone().map(Into::into));
        option("--rate", self.rate.map(|rate| rate.to_string().into()));
        option("--messages", self.messages.map(|n| n.to_string().into()));
        option("--warmup-seconds", self.warmup_seconds.map(|s| s.to_string().into()));
        option("--seconds", self.seconds.map(|s| s.to_string().into()));
        option("--pin", self.pin.map(|cpu| cpu.to_string().into()));
        option("--truth", self.truth.clone().map(Into::into));
        args
    }
}

/// Parses `NAME=VALUE`.
///
/// # Errors
/// The text has no `=`, or no name before it; the error is a message for the user.
pub fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not NAME=VALUE")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Handles, SubscribedTopics};
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        spec: Spec,
    }

    fn parse(spec: &Spec) -> Spec {
        let args = std::iter::once("wirelap-workload".into()).chain(spec.to_args());
        Cli::try_parse_from(args).unwrap().spec
    }

    #[test]
    fn arguments_round_trip() {
        let plain = Spec::new(Role::Broker, "mqtt");
        assert_eq!(parse(&plain), plain);
        let full = Spec {
            broker: Some("mosquitto".into()),
            rate: Some(2000.5),
            messages: Some(7),
            seconds: Some(1.5),
            warmup_seconds: Some(0.5),
            pin: Some(1),
            truth: Some("/tmp/truth".into()),
            nodelay: false,
            transport: Some(LinkTransport::Udp),
            reliability: Some(LinkReliability::BestEffort),
            history: Some(DdsHistory::KeepAll),
            topology: WorkloadTopology {
                publishers: 5,
                subscribers: 1000,
                topics: 3,
                connections: 9,
                subscription: SubscribedTopics::Shared,
                handles: Some(Handles::Own),
            },
            set: vec![("linger.ms".into(), "5".into()), ("x".into(), "a=b".into())],
            ..Spec::new(Role::Pub, "zenoh-p2p")
        };
        assert_eq!(parse(&full), full);
    }

    #[test]
    fn apache_is_a_broker() {
        let short = Spec { apache: true, ..Spec::new(Role::Broker, "kafka") };
        assert_eq!(parse(&short), short);
        let long = Spec { broker: Some("apache".into()), ..Spec::new(Role::Broker, "kafka") };
        assert_eq!(short.resolved(), long);
        assert_eq!(long.clone().resolved(), long);
    }

    #[test]
    fn the_last_setting_counts() {
        let set = ["a=1", "b=", "a=2"].map(|text| setting(text).unwrap()).to_vec();
        let spec = Spec { set, ..Spec::new(Role::Pub, "kafka") };
        assert_eq!(
            (spec.set_value("a"), spec.set_value("b"), spec.set_value("c")),
            (Some("2"), Some(""), None)
        );
        assert!(setting("a").is_err() && setting("=1").is_err());
    }
}
