//! The command line.

mod explain;

pub use explain::ExplainArgs;

use crate::analyze::AnalyzeArgs;
use crate::export::ExportArgs;
use crate::quantity;
use crate::record::RecordArgs;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use wirelap_contract::{LinkTransport, Reliability, spec};
use wirelap_experiment::{MAX_SEED, Measure, Request, Workloads};
use wirelap_process::output;

const EXAMPLES: &str = "\
Examples:
  wirelap doctor                                   what can be observed on this machine
  sudo wirelap live                                watch the middlewares that are running here
  sudo wirelap run latency --on tcp,mqtt,zenoh-p2p,dds
  sudo wirelap run latency --on mqtt --broker mosquitto --rate 2000 --messages 100000 --json out.json
  sudo wirelap run throughput --on zenoh-p2p,dds --payload 64,1K,64K --duration 10s
  wirelap explain out.json                         why it took so long, and what to change
  sudo wirelap record -o trace.pcapng --payload --duration 10s
  wirelap analyze trace.pcapng
  wirelap export --perfetto trace.pcapng -o trace.json

Exit status: 0 fine, 1 what was measured failed, 2 wrong usage, 3 this machine cannot (with the remedy).";

/// Where did the time and the bytes of this message go? Watches messaging middleware from the kernel.
#[derive(Debug, Parser)]
#[command(name = "wirelap", version, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what can be observed on this machine, with which hooks, and how to get what is missing
    Doctor(DoctorArgs),
    /// Watch the messages of what is running on this machine, side by side
    Live(LiveArgs),
    /// Measure middlewares against each other with workloads of our own
    Run(RunArgs),
    /// Explain the results in a JSON file: where the time went, what is wrong, what to change
    Explain(ExplainArgs),
    /// Record what happens on this machine to a file, for Wireshark and `wirelap analyze`
    Record(RecordArgs),
    /// Show what is in recordings, or in captures of tcpdump and Wireshark
    Analyze(AnalyzeArgs),
    /// Turn recordings and captures into what other programs open: a time line of messages
    Export(ExportArgs),
    /// List the middlewares that can be run, their brokers and how to get them
    List(ListArgs),
    /// Print completions for a shell
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

/// `wirelap doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print JSON (schema wirelap/doctor/1) in place of the table
    #[arg(long)]
    pub json: bool,
}

/// `wirelap list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Print JSON in place of the table
    #[arg(long)]
    pub json: bool,

    /// Show what `--set` understands, with defaults
    #[arg(long)]
    pub settings: bool,

    /// Where programs of others are.
    #[command(flatten)]
    pub programs: ProgramArgs,
}

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

/// What `run` measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunKind {
    /// How long a message takes: ping-pong, or one way at a given --rate
    Latency,
    /// How many messages a second get through, back to back
    Throughput,
}

/// Whether the workloads write down what they did, for comparison with the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TruthCheck {
    /// On for latency; off for throughput, where writing would slow the workloads
    Auto,
    /// On
    On,
    /// Off
    Off,
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

/// `wirelap run`.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// What to measure
    #[arg(value_enum)]
    pub kind: RunKind,

    /// The middlewares, separated by commas; `wirelap list` shows them; `all` means all that can be
    /// run here, and tells what had to be left out
    #[arg(long, value_name = "LIST", value_delimiter = ',', required = true)]
    pub on: Vec<String>,

    /// Payload sizes, at least 8 bytes; K and M are binary
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', default_value = "64", value_parser = quantity::payload)]
    pub payload: Vec<usize>,

    /// Messages a second, sent at their intended times whatever happens; latency only [default: ping-pong]
    #[arg(long, value_name = "MSG_PER_S", value_parser = quantity::rate)]
    pub rate: Option<f64>,

    /// Messages (round trips in a ping-pong) of each repetition [default: 10000 round trips]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=u64::from(u32::MAX)))]
    pub messages: Option<u64>,

    /// How long each repetition sends [default: 10s where messages are sent one way]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub duration: Option<Duration>,

    /// Messages before those that count
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub warmup: u64,

    /// The warm-up is over after this time, however many messages it had
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "5s")]
    pub warmup_time: Duration,

    /// Repetitions, in random order across the middlewares
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), default_value_t = 1)]
    pub repeat: u32,

    /// Seed of that order, below 2^53 [default: random, and reported]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=MAX_SEED))]
    pub seed: Option<u64>,

    /// Trace only a window out of every period, e.g. 50ms/500ms, or off [default: off for latency,
    /// 50ms/500ms for throughput]
    #[arg(long, value_name = "WINDOW/PERIOD|off", value_parser = quantity::sampling)]
    pub sample: Option<wirelap_session::Sampling>,

    /// Compare the trace with the workloads' own records
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    pub truth_check: TruthCheck,

    /// Write JSON (schema wirelap/run/1) to this file; - for stdout
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,

    /// Explain each result on a page, in place of the lines below the table
    #[arg(long)]
    pub explain: bool,

    /// Also measure what tracing costs: the workload runs once more for two seconds, with the probes
    /// attached and detached by turns
    #[arg(
        long,
        value_name = "BOOL",
        default_value_t = true,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = clap::ArgAction::Set
    )]
    pub measure_cost: bool,

    /// Record all events to this file, for Wireshark and `wirelap analyze`; several trials have a file each
    #[arg(long, value_name = "FILE")]
    pub pcapng: Option<PathBuf>,

    /// Replace files that are there already
    #[arg(long)]
    pub force: bool,

    /// The workloads.
    #[command(flatten, next_help_heading = "Workloads")]
    pub workload: WorkloadArgs,

    /// The tracer.
    #[command(flatten, next_help_heading = "Tracer")]
    pub tracer: TracerArgs,
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

impl From<&RunArgs> for Request {
    fn from(args: &RunArgs) -> Request {
        Request {
            measure: match args.kind {
                RunKind::Latency => Measure::Latency,
                RunKind::Throughput => Measure::Throughput,
            },
            on: args.on.clone(),
            payload: args.payload.clone(),
            rate: args.rate,
            messages: args.messages,
            duration: args.duration,
            warmup: args.warmup,
            warmup_time: args.warmup_time,
            repeat: args.repeat,
            seed: args.seed,
            sample: args.sample,
            truth_check: match args.truth_check {
                TruthCheck::Auto => wirelap_experiment::TruthCheck::Auto,
                TruthCheck::On => wirelap_experiment::TruthCheck::On,
                TruthCheck::Off => wirelap_experiment::TruthCheck::Off,
            },
            measure_cost: args.measure_cost,
            recording: args.pcapng.clone(),
            workloads: Workloads::from(&args.workload),
            snap_bytes: args.tracer.snap,
            ring_bytes: args.tracer.ring_size,
        }
    }
}

/// `wirelap live`.
// Switches of a command line.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Debug, Args)]
pub struct LiveArgs {
    /// Also run these middlewares' workloads, all at once
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub on: Vec<String>,

    /// Messages a second of each workload that --on starts
    #[arg(long, value_name = "MSG_PER_S", value_parser = quantity::rate, default_value = "1000")]
    pub rate: f64,

    /// Payload bytes of the workloads that --on starts
    #[arg(long, value_name = "BYTES", default_value = "64", value_parser = quantity::payload)]
    pub payload: usize,

    /// Only sockets with these ports at either end
    #[arg(long, value_name = "PORT,…", value_delimiter = ',')]
    pub ports: Vec<u16>,

    /// Only these processes and their children
    #[arg(long = "pid", value_name = "PID,…", value_delimiter = ',')]
    pub pids: Vec<u32>,

    /// Only processes in this cgroup (a folder under /sys/fs/cgroup)
    #[arg(long, value_name = "FOLDER")]
    pub cgroup: Option<PathBuf>,

    /// Take a port's traffic for this protocol, whatever it looks like, e.g. 11883=mqtt
    #[arg(long, value_name = "PORT=PROTO", value_delimiter = ',', value_parser = quantity::decode)]
    pub decode: Vec<(u16, String)>,

    /// End by itself after this time
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub duration: Option<Duration>,

    /// Plain lines, a block each second, even on a terminal
    #[arg(long)]
    pub plain: bool,

    /// At the end, write JSON (schema wirelap/run/1) to this file; - for stdout
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,

    /// At the end, explain each row on a page
    #[arg(long)]
    pub explain: bool,

    /// Record all events to this file, for Wireshark and `wirelap analyze`
    #[arg(long, value_name = "FILE")]
    pub pcapng: Option<PathBuf>,

    /// Keep payload in that file, as many bytes as --snap says
    #[arg(long, requires = "pcapng")]
    pub pcapng_payload: bool,

    /// Replace files that are there already
    #[arg(long)]
    pub force: bool,

    /// The workloads.
    #[command(flatten, next_help_heading = "Workloads")]
    pub workload: WorkloadArgs,

    /// The tracer.
    #[command(flatten, next_help_heading = "Tracer")]
    pub tracer: TracerArgs,
}

/// Parses this process's command line. `Err` is the exit status, when everything has been said.
pub fn parse() -> Result<Cli, std::process::ExitCode> {
    Cli::try_parse().map_err(|error| {
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            output::say(&error.render().to_string());
            return std::process::ExitCode::from(2);
        }
        if error.use_stderr() {
            output::say(&format!("wirelap: {}\n", sentence(&error)));
            return std::process::ExitCode::from(2);
        }
        // Help or version; a closed pipe is not worth a word.
        let _ = error.print();
        std::process::ExitCode::SUCCESS
    })
}

/// clap's complaint as one paragraph without its "error:", and where to read on.
pub fn sentence(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let body = text.strip_prefix("error: ").unwrap_or(&text);
    let complaint = body.split("\n\nUsage:").next().unwrap_or(body);
    let complaint = complaint.split("\n\nFor more").next().unwrap_or(complaint);
    let words: Vec<&str> = complaint.split_whitespace().collect();
    format!("{} (see `wirelap --help`)", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn run(words: &str) -> Result<RunArgs, String> {
        let words = format!("wirelap run {words}");
        match Cli::try_parse_from(words.split(' ')).map(|cli| cli.command) {
            Ok(Command::Run(args)) => Ok(args),
            Ok(other) => panic!("{other:?} is not a run"),
            Err(error) => Err(sentence(&error)),
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_is_a_subcommand_and_no_option_has_two_defaults() {
        let help = Cli::try_parse_from(["wirelap", "help", "run"]).unwrap_err();
        assert_eq!(help.kind(), ErrorKind::DisplayHelp);
        let mut root = Cli::command();
        for command in root.get_subcommands_mut() {
            let help = command.render_long_help().to_string();
            let options =
                help.split("\n      --").map(|text| (text, text.matches("[default:").count()));
            let twice: Vec<_> = options.filter(|(_, defaults)| *defaults > 1).collect();
            assert!(twice.is_empty(), "{twice:?}");
        }
    }

    #[test]
    fn lists_and_units_are_understood() {
        let args = run(
            "throughput --on tcp,dds --payload 8,1K --duration 1s500ms --sample 10ms/100ms --pin 0,1",
        )
        .unwrap();
        assert_eq!(args.on, ["tcp", "dds"]);
        assert_eq!(args.payload, [8, 1024]);
        assert_eq!(args.duration, Some(Duration::from_millis(1500)));
        assert_eq!(args.workload.pin, [0, 1]);
        assert!(matches!(args.sample, Some(wirelap_session::Sampling::Windows { .. })));
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        for words in [
            "latency",
            "latency --on tcp --payload 7",
            "latency --on tcp --rate 0",
            "latency --on tcp --rate inf",
            "latency --on tcp --qos 3",
            "latency --on tcp --messages 0",
            "latency --on tcp --sample 2s/1s",
            "latency --on tcp --snap 0",
            "latency --on tcp --seed 9007199254740992",
            "speed --on tcp",
        ] {
            assert!(run(words).is_err(), "{words} was accepted");
        }
    }
}
