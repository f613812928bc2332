//! The command line of one workload process.

use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// What one process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
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
}

/// A middleware that the workloads speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum)]
pub enum Middleware {
    /// Plain TCP: length-prefixed messages, no middleware.
    Tcp,
    /// Plain UDP: a message a datagram, no middleware.
    Udp,
    /// MQTT through a broker.
    Mqtt,
    /// Zenoh, peer to peer.
    ZenohP2p,
    /// DDS (Cyclone DDS).
    Dds,
}

impl Middleware {
    /// The name on command lines, in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Middleware::Tcp => "tcp",
            Middleware::Udp => "udp",
            Middleware::Mqtt => "mqtt",
            Middleware::ZenohP2p => "zenoh-p2p",
            Middleware::Dds => "dds",
        }
    }

    /// Whether its messages pass a broker.
    pub fn is_brokered(self) -> bool {
        matches!(self, Middleware::Mqtt)
    }
}

/// DDS and Zenoh reliability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Reliability {
    /// Lost messages are sent again; Zenoh: congestion control Block.
    Reliable,
    /// Lost messages stay lost; Zenoh: congestion control Drop.
    BestEffort,
}

/// DDS history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum History {
    /// Keep the last message of an instance.
    KeepLast,
    /// Keep all until every reader has them.
    KeepAll,
}

/// The transport under Zenoh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum LinkTransport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// One workload process.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct Spec {
    /// What the process does.
    #[arg(value_enum)]
    pub role: Role,

    /// The middleware that it speaks.
    #[arg(value_enum)]
    pub middleware: Middleware,

    /// HOST:PORT. Brokers, `sub` and `pong` of peer-to-peer middlewares listen there; everyone else
    /// connects to it. DDS takes none.
    #[arg(long, default_value = "127.0.0.1:0")]
    pub endpoint: String,

    /// Which broker to run: `rumqttd` (embedded) or `mosquitto` (installed).
    #[arg(long)]
    pub broker: Option<String>,

    /// Topic, subject or key expression.
    #[arg(long, default_value = "wirelap/data")]
    pub topic: String,

    /// Payload bytes of a message, at least 8.
    #[arg(long, default_value_t = 64)]
    pub payload: usize,

    /// Messages a second with intended send times; without it, back to back.
    #[arg(long)]
    pub rate: Option<f64>,

    /// Messages to send or to expect, warm-up not counted.
    #[arg(long)]
    pub messages: Option<u64>,

    /// Seconds to send for; ends a publisher that has no `--messages`.
    #[arg(long)]
    pub seconds: Option<f64>,

    /// Messages to send before those that count.
    #[arg(long, default_value_t = 0)]
    pub warmup: u64,

    /// The stream number in each payload's stamp, 0..=63.
    #[arg(long, default_value_t = 0)]
    pub stream: u8,

    /// MQTT quality of service, 0 to 2.
    #[arg(long, default_value_t = 0)]
    pub qos: u8,

    /// Set `TCP_NODELAY` on the sockets that the library opens.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set)]
    pub nodelay: bool,

    /// Zenoh's transport.
    #[arg(long, value_enum, default_value = "tcp")]
    pub transport: LinkTransport,

    /// Zenoh and DDS reliability.
    #[arg(long, value_enum, default_value = "reliable")]
    pub reliability: Reliability,

    /// DDS history.
    #[arg(long, value_enum, default_value = "keep-last")]
    pub history: History,

    /// Network interface for DDS.
    #[arg(long, default_value = "lo")]
    pub interface: String,

    /// DDS domain.
    #[arg(long, default_value_t = 0)]
    pub domain: u32,

    /// Run on this CPU only.
    #[arg(long)]
    pub pin: Option<usize>,

    /// Write what happened and when, for each message, to this file (see `truth`).
    #[arg(long)]
    pub truth: Option<PathBuf>,
}

impl Spec {
    /// A spec with the defaults of the command line.
    pub fn new(role: Role, middleware: Middleware) -> Spec {
        Spec {
            role,
            middleware,
            endpoint: "127.0.0.1:0".into(),
            broker: None,
            topic: "wirelap/data".into(),
            payload: 64,
            rate: None,
            messages: None,
            seconds: None,
            warmup: 0,
            stream: 0,
            qos: 0,
            nodelay: true,
            transport: LinkTransport::Tcp,
            reliability: Reliability::Reliable,
            history: History::KeepLast,
            interface: "lo".into(),
            domain: 0,
            pin: None,
            truth: None,
        }
    }

    /// The arguments that make this spec again when parsed.
    pub fn to_args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec![value_name(&self.role), value_name(&self.middleware)];
        let mut flag = |name: &str, value: OsString| args.extend([name.into(), value]);
        flag("--endpoint", self.endpoint.clone().into());
        flag("--topic", self.topic.clone().into());
        flag("--payload", self.payload.to_string().into());
        flag("--warmup", self.warmup.to_string().into());
        flag("--stream", self.stream.to_string().into());
        flag("--qos", self.qos.to_string().into());
        flag("--nodelay", self.nodelay.to_string().into());
        flag("--transport", value_name(&self.transport));
        flag("--reliability", value_name(&self.reliability));
        flag("--history", value_name(&self.history));
        flag("--interface", self.interface.clone().into());
        flag("--domain", self.domain.to_string().into());
        let mut option = |name: &str, value: Option<OsString>| {
            if let Some(value) = value {
                flag(name, value);
            }
        };
        option("--broker", self.broker.clone().map(Into::into));
        option("--rate", self.rate.map(|rate| rate.to_string().into()));
        option("--messages", self.messages.map(|n| n.to_string().into()));
        option("--seconds", self.seconds.map(|s| s.to_string().into()));
        option("--pin", self.pin.map(|cpu| cpu.to_string().into()));
        option("--truth", self.truth.clone().map(Into::into));
        args
    }
}

fn value_name<V: ValueEnum>(value: &V) -> OsString {
    value.to_possible_value().map(|v| v.get_name().into()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let plain = Spec::new(Role::Broker, Middleware::Mqtt);
        assert_eq!(parse(&plain), plain);
        let full = Spec {
            broker: Some("mosquitto".into()),
            rate: Some(2000.5),
            messages: Some(7),
            seconds: Some(1.5),
            pin: Some(1),
            truth: Some("/tmp/truth".into()),
            nodelay: false,
            transport: LinkTransport::Udp,
            reliability: Reliability::BestEffort,
            history: History::KeepAll,
            ..Spec::new(Role::Pub, Middleware::ZenohP2p)
        };
        assert_eq!(parse(&full), full);
    }

    #[test]
    fn names_are_the_command_lines() {
        for middleware in Middleware::value_variants() {
            assert_eq!(value_name(middleware), middleware.name());
        }
    }
}
