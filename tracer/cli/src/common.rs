//! Arguments that several commands have.

use crate::quantity;
use clap::Args;
use std::path::PathBuf;
use wirelap_contract::{LinkTransport, Reliability, spec};
use wirelap_experiment::Workloads;

/// Folders with programs that users build themselves.
#[derive(Clone, Debug, Default, Args)]
pub struct ProgramArgs {
    /// The folder with zenoh-pico's example programs [default: `$WIRELAP_PICO_BIN`]
    #[arg(long, value_name = "DIR")]
    pub pico_bin: Option<PathBuf>,

    /// The folder with the Micro XRCE-DDS Agent and its example clients [default: `$WIRELAP_XRCE_BIN`]
    #[arg(long, value_name = "DIR")]
    pub xrce_bin: Option<PathBuf>,
}

impl ProgramArgs {
    /// The variables that tell the workloads.
    pub fn variables(&self) -> Vec<(&'static str, PathBuf)> {
        let told = [("WIRELAP_PICO_BIN", &self.pico_bin), ("WIRELAP_XRCE_BIN", &self.xrce_bin)];
        // Workloads run in another folder.
        let absolute = |folder: &PathBuf| std::path::absolute(folder).unwrap_or(folder.clone());
        told.into_iter().filter_map(|(name, told)| Some((name, absolute(told.as_ref()?)))).collect()
    }
}

/// What the workloads are told, wherever they are started.
#[derive(Clone, Debug, Args)]
pub struct WorkloadArgs {
    /// Brokers, by the names that `wirelap list` shows, or the address of one that runs already, e.g.
    /// `mqtt://127.0.0.1:1883`; a middleware runs once for each that is its own, and with its default
    /// one if none is; `all` means all that are installed
    #[arg(long, value_name = "NAME|URL,…", value_delimiter = ',')]
    pub broker: Vec<String>,

    /// A setting of a library or broker by its own name, e.g. `linger.ms=5` or `kafka:acks=1`; may be
    /// repeated; `wirelap list --settings` shows them
    #[arg(long = "set", value_name = "[MIDDLEWARE:]NAME=VALUE", value_parser = spec::setting)]
    pub set: Vec<(String, String)>,

    /// MQTT quality of service
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=2), default_value_t = 0)]
    pub qos: u8,

    /// The transport, where there is a choice (Zenoh: tcp, udp) [default: the first that `wirelap list`
    /// shows]
    #[arg(long, value_enum, value_name = "TRANSPORT")]
    pub transport: Option<LinkTransport>,

    /// Zenoh and DDS reliability [default: as published comparisons use it]
    #[arg(long, value_enum, value_name = "RELIABILITY")]
    pub reliability: Option<Reliability>,

    /// Set `TCP_NODELAY` where the library allows it
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub nodelay: bool,

    /// The port that brokers and peers listen on [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub port: u16,

    /// The DDS domain [default: a random one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=232))]
    pub domain: Option<u32>,

    /// The network interface for DDS
    #[arg(long, value_name = "NAME", default_value = "lo")]
    pub interface: String,

    /// CPUs for the sender, the receiver and the broker; one for all if only one is given
    #[arg(long, value_name = "CPU,…", value_delimiter = ',')]
    pub pin: Vec<usize>,

    /// Where programs of others are.
    #[command(flatten)]
    pub programs: ProgramArgs,
}

impl From<&WorkloadArgs> for Workloads {
    fn from(args: &WorkloadArgs) -> Workloads {
        Workloads {
            broker: args.broker.clone(),
            set: args.set.clone(),
            qos: args.qos,
            transport: args.transport,
            reliability: args.reliability,
            nodelay: args.nodelay,
            port: args.port,
            domain: args.domain,
            interface: args.interface.clone(),
            pin: args.pin.clone(),
        }
    }
}

/// What the tracer is told.
#[derive(Clone, Debug, Args)]
pub struct TracerArgs {
    /// Payload bytes captured of each packet, at least 1: messages are found in them
    #[arg(long, value_name = "BYTES", value_parser = quantity::snap, default_value = "64K")]
    pub snap: u32,

    /// Ring buffer between kernel and wirelap, in bytes; rounded up to a power of two
    #[arg(long, value_name = "BYTES", value_parser = quantity::bytes_u32, default_value = "64M")]
    pub ring_size: u32,
}
