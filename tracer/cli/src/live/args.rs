//! The arguments of `wirelap live`.

use super::on_event::OnEventArgs;
use crate::agents::HostArgs;
use crate::common::{
    BreakdownArgs, DetailArg, FilterArgs, PacketArgs, SamplingArgs, TracedWorkloadArgs,
};
use crate::metrics::MetricsArgs;
use crate::otlp::OtlpArgs;
use crate::parquet::ParquetArgs;
use crate::quantity;
use clap::Args;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wirelap_correlate::Dimension;
use wirelap_session::{Budget, Sampling, SessionView, TracedTime};

/// The width of plain lines in columns.
pub const WIDTH: u16 = 100;

const EXAMPLES: &str = "\
Examples:
  sudo wirelap live                                  the programs that run on this machine
  sudo wirelap live --on mqtt,nats --rate 500        and wirelap's own workloads beside them
  sudo wirelap live --budget 1%                      all day: at most 1 % of a core, and of the programs' time
  sudo wirelap live --host robot --host pi@broker    also what happens on other hosts, by ssh
  sudo wirelap live --plain --metrics 9464           figures for Prometheus, at http://127.0.0.1:9464/metrics
  sudo wirelap live --otlp http://127.0.0.1:4318      the slowest messages as traces, to an OpenTelemetry Collector
  sudo wirelap live --parquet-dir messages            a row for each delivery, in files of ten minutes, for DuckDB and Polars
  sudo wirelap live --plain --on-event 'curl -s --json @- http://127.0.0.1:8080/alarm'
  sudo wirelap live --json-lines | jq -c 'select(.event)'
  sudo wirelap live --from tcp/hub:7447              also the hosts of a fleet, through a Zenoh router
  wirelap live --packets-only                        packets alone: needs only CAP_NET_RAW, and no BTF
  wirelap live --replay trace.pcapng                 a recording or capture, without root
  wirelap live --replay client.pcap server.pcap      both ends, captured on two hosts

On the screen, ? shows all keys, x starts and changes workloads, s writes the screen to files.";

// A field for each option.
/// `wirelap live`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
#[allow(clippy::struct_excessive_bools)] // Options of a command line, which do not depend on each other.
pub struct LiveArgs {
    /// Show recordings and captures (pcapng, pcap; gzip, zstd; any number of hosts) in place of what happens now: play, pause, move to
    /// any time. Needs no root
    #[arg(
        long,
        value_name = "FILE",
        num_args = 1..,
        conflicts_with_all = [
            "on", "rate", "payload", "ports", "pids", "cgroup", "duration", "json", "explain", "pcapng", "snap", "ring_size",
            "broker", "set", "qos", "transport", "reliability", "nodelay", "port", "domain", "pin", "keep", "keep_size", "detail",
            "packets_only", "device", "btf", "budget", "sample", "mute", "hosts", "via", "from", "not_here", "metrics", "otlp",
            "parquet_dir",
        ]
    )]
    pub replay: Vec<PathBuf>,

    /// Read messages inside TLS 1.2 and 1.3 with the keys in this file (SSLKEYLOGFILE), beside those in the captures themselves; may
    /// be given several times
    #[arg(long, value_name = "FILE", requires = "replay")]
    pub tls_keys: Vec<PathBuf>,

    /// The folder for files that are written from the screen, such as pictures of it [default: the present folder]
    #[arg(long, value_name = "FOLDER")]
    pub save_to: Option<PathBuf>,

    /// How long packets are kept in memory, so that e writes those of a message to a file: --keep-size at most, and none while more
    /// than 400,000 events come in a second. 0s keeps none
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "60s")]
    pub keep: Duration,

    /// The most bytes of packets that are kept in memory: 32M reach back about 18 s at 1,000 messages a second
    #[arg(long, value_name = "BYTES", value_parser = quantity::bytes, default_value = "32M")]
    pub keep_size: u64,

    /// The screen writes no files and starts no workloads, so that no process keeps rights for that
    #[arg(long, conflicts_with_all = ["on", "save_to"])]
    pub watch_only: bool,

    /// Leave the mouse to the terminal: the screen takes no clicks and no wheel
    #[arg(long)]
    pub no_mouse: bool,

    /// Do not remember view, window, order, columns, bars and theme from one start to the next
    #[arg(long)]
    pub no_state: bool,

    /// Also run the workloads of these middlewares, all at the same time
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "packets_only")]
    pub on: Vec<String>,

    /// Messages a second of each workload that --on starts
    #[arg(long, value_name = "MSG_PER_S", value_parser = quantity::rate, default_value = "1000")]
    pub rate: f64,

    /// Payload bytes of the workloads that --on starts
    #[arg(long, value_name = "BYTES", default_value = "64", value_parser = quantity::payload_size)]
    pub payload: usize,

    /// How much is observed of a message's way, and so what the observation costs: sends and reads (ends), also packets (path), also
    /// sockets that become ready and the scheduler (full). With less detail, the segments between are one
    #[arg(
        long,
        value_enum,
        value_name = "DETAIL",
        default_value = "full",
        conflicts_with = "packets_only"
    )]
    pub detail: DetailArg,

    /// Other hosts.
    #[command(flatten, next_help_heading = "Other hosts")]
    pub agents: HostArgs,

    /// How much of the time is traced.
    #[command(flatten)]
    pub sampling: SamplingArgs,

    /// Which traffic is traced.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Mute the rows of this middleware or broker, or of both as in mqtt/mosquitto, once they appear: nothing more is observed of them, so
    /// that they cost no time, and their figures stay as they are. On the screen, M does that to the selected row, and ends it. May be
    /// given several times. Not with --pcapng, --tls, --detail ends and --packets-only
    #[arg(long, value_name = "NAME")]
    pub mute: Vec<String>,

    /// Packets in place of probes.
    #[command(flatten)]
    pub packets: PacketArgs,

    /// Rows by topic, client and so on, as lines and in JSON.
    #[command(flatten)]
    pub breakdown: BreakdownArgs,

    /// Stop after this time
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub duration: Option<Duration>,

    /// Print plain lines, a block each second, in place of the screen
    #[arg(long)]
    pub plain: bool,

    /// Print lines of JSON (schema wirelap/line/1) in place of the screen: one each second, and one for each entry of the log
    #[arg(long, conflicts_with_all = ["plain", "replay"])]
    pub json_lines: bool,

    /// At the end, write JSON (schema wirelap/run/1) to this file; - for stdout
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,

    /// At the end, explain each row on a page
    #[arg(long)]
    pub explain: bool,

    /// Metrics.
    #[command(flatten)]
    pub metrics: MetricsArgs,

    /// Traces.
    #[command(flatten)]
    pub otlp: OtlpArgs,

    /// Tables.
    #[command(flatten)]
    pub tables: ParquetArgs,

    /// Events.
    #[command(flatten)]
    pub on_event: OnEventArgs,

    /// Record all events to this file, for Wireshark and `wirelap analyze`
    #[arg(long, value_name = "FILE")]
    pub pcapng: Option<PathBuf>,

    /// Also write the payload to that file, as many bytes of each packet as --snap says
    #[arg(long, requires = "pcapng")]
    pub pcapng_payload: bool,

    /// The workloads and the tracer.
    #[command(flatten)]
    pub traced: TracedWorkloadArgs,
}

impl LiveArgs {
    /// Returns the source of the events. What names processes or starts workloads needs probes.
    pub fn view(&self) -> SessionView {
        let is_of_process =
            |by: &Dimension| matches!(by, Dimension::Process | Dimension::Container);
        let needs_probes = self.filter.needs_probes()
            || !self.on.is_empty()
            || self.sampling.budget.is_some()
            || self.breakdown.by.iter().any(is_of_process);
        self.packets.view(needs_probes)
    }

    /// Why nothing can be muted; `None` if it can. A recording has all that was asked for, and what is read from TLS may show a message at
    /// any time. Without packets, the bytes of muted connections would not be counted, and packets alone are captured of all.
    pub fn mutes_nothing(&self) -> Option<&'static str> {
        if self.agents.are_given() {
            Some("no row can be muted with --host, --via and --from")
        } else if !self.replay.is_empty() {
            Some("a row of a recording or capture cannot be muted")
        } else if self.pcapng.is_some() {
            Some("no row can be muted with --pcapng, which records everything")
        } else if self.filter.tls {
            Some("no row can be muted with --tls, which reads what programs encrypt at any time")
        } else if self.detail == DetailArg::Ends {
            Some("no row can be muted with --detail ends, which observes no packets")
        } else if self.packets.packets_only {
            Some("no row can be muted with --packets-only, which has no probes")
        } else {
            None
        }
    }

    /// Returns the time in which events are reported. A recording has everything, unless the user wants less.
    pub fn traced_time(&self) -> TracedTime {
        self.sampling.traced(match self.pcapng {
            None => TracedTime::Within(Budget::keeping_up()),
            Some(_) => Sampling::Off.into(),
        })
    }

    /// True if figures are shown on the screen, and not as lines.
    pub fn shows_screen(&self) -> bool {
        !self.plain
            && !self.json_lines
            && !self.writes_to_stdout()
            && std::io::stdout().is_terminal()
            && std::io::stdin().is_terminal()
    }

    /// True if the report goes to stdout.
    pub fn writes_to_stdout(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        live: LiveArgs,
    }

    fn parse(words: &str) -> LiveArgs {
        let words = std::iter::once("live").chain(words.split_whitespace());
        Line::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).live
    }

    #[test]
    fn what_wants_everything_mutes_nothing_and_says_so() {
        let live = parse("--mute mqtt/mosquitto --mute nats");
        assert_eq!(live.mute, ["mqtt/mosquitto", "nats"]);
        assert_eq!(live.mutes_nothing(), None);
        for option in ["--pcapng x.pcapng", "--tls", "--detail ends", "--packets-only"] {
            let why = parse(&format!("--mute mqtt {option}")).mutes_nothing().unwrap();
            assert!(why.contains(option.split(" x.").next().unwrap()), "{why}");
        }
        assert!(parse("--replay x.pcapng").mutes_nothing().is_some());
    }
}
