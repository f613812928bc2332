//! The options of `wirelap record`.

use super::flight::FlightArgs;
use crate::agents::HostArgs;
use crate::common::{FilterArgs, PacketArgs, SamplingArgs, TracerArgs};
use crate::metrics::MetricsArgs;
use crate::otlp::OtlpArgs;
use crate::parquet::ParquetArgs;
use crate::quantity;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use wirelap_events::PacketHook;
use wirelap_recording::ShownSightings;

const EXAMPLES: &str = "\
Examples:
  sudo wirelap record -o trace.pcapng --duration 10s --ports 1883
  sudo wirelap record -o trace.pcapng --payload --snap 256       with payload, `wirelap analyze` finds messages
  sudo wirelap record -o ring.pcapng --rotate-size 100M --files 10
  sudo wirelap record -o ring.pcapng --rotate-size 100M --files 10 --continue     after the files of earlier starts
  sudo wirelap record -o - --payload | tshark -r -
  sudo wirelap record -o all.pcapng --payload --host robot       this host and another one, in one file
  sudo wirelap record -o trace.pcapng --metrics 9464             and figures for Prometheus
  wirelap record -o trace.pcapng --payload --packets-only        packets alone: needs only CAP_NET_RAW
  sudo wirelap record -o flight.pcapng --payload --keep 60s --dump-when 'p99>10ms for 5s' --dump-when loss

Without --payload, no payload is written. The report is made while recording and written at the end of the file, where
`wirelap analyze` reads it.";

/// The observations of a packet that Wireshark shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PacketStage {
    /// Each packet once: where it is sent, otherwise where it is received
    #[default]
    Once,
    /// Packets that are handed to a device
    Xmit,
    /// Packets that are received from a device
    Rx,
    /// Packets at both places; Wireshark takes the second for a retransmission
    All,
}

impl From<PacketStage> for ShownSightings {
    fn from(stage: PacketStage) -> ShownSightings {
        match stage {
            PacketStage::Once => ShownSightings::Once,
            PacketStage::Xmit => ShownSightings::At(PacketHook::Xmit),
            PacketStage::Rx => ShownSightings::At(PacketHook::Rx),
            PacketStage::All => ShownSightings::All,
        }
    }
}

/// `wirelap record`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RecordArgs {
    /// The file to write; - for stdout
    #[arg(short, long, value_name = "FILE|-")]
    pub output: PathBuf,

    /// Stop after this time
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub duration: Option<Duration>,

    /// Other hosts.
    #[command(flatten, next_help_heading = "Other hosts")]
    pub agents: HostArgs,

    /// The traffic that is traced.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// The part of the time that is traced.
    #[command(flatten)]
    pub sampling: SamplingArgs,

    /// Packets in place of probes.
    #[command(flatten)]
    pub packets: PacketArgs,

    /// At which places Wireshark shows a packet; the file contains all of them
    #[arg(long, value_enum, value_name = "WHERE", default_value = "once")]
    pub stage: PacketStage,

    /// Also write the payload, as many bytes of each packet as --snap says
    #[arg(long)]
    pub payload: bool,

    /// Replace existing files
    #[arg(long)]
    pub force: bool,

    /// Begin a new file when the present one has this size
    #[arg(long, value_name = "BYTES", value_parser = quantity::bytes)]
    pub rotate_size: Option<u64>,

    /// Begin a new file when the present one covers this time
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub rotate_time: Option<Duration>,

    /// Keep only this many files, the newest ones
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub files: Option<u16>,

    /// Go on after the numbered files that are there: they stay, count for --files, and are the first to be removed
    #[arg(long = "continue", conflicts_with_all = ["force", "keep"])]
    pub goes_on: bool,

    /// The options of the flight recorder.
    #[command(flatten, next_help_heading = "Flight recorder")]
    pub flight: FlightArgs,

    /// Metrics.
    #[command(flatten, next_help_heading = "For other programs")]
    pub metrics: MetricsArgs,

    /// Traces.
    #[command(flatten)]
    pub otlp: OtlpArgs,

    /// Tables.
    #[command(flatten)]
    pub tables: ParquetArgs,

    /// The options of the tracer.
    #[command(flatten, next_help_heading = "Tracer")]
    pub tracer: TracerArgs,
}
