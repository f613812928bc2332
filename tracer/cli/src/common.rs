//! Arguments that several commands have in common.

use crate::quantity;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::sync::Arc;
use wirelap_capture::{ChosenHook, RunTimeCount};
use wirelap_contract::{LinkReliability, LinkTransport, WorkloadTopology, spec};
use wirelap_correlate::{BreakdownQuery, Dimension, RowFigure};
use wirelap_events::{Pid, TraceDetail};
use wirelap_experiment::WorkloadOptions;
use wirelap_process::output;
use wirelap_process::rights;
use wirelap_report::ReportedBreakdown;
use wirelap_report::breakdown::LISTED;
use wirelap_session::{Budget, SessionView, TracedTime, ring_bytes};

/// Says which observations are not made because this process has not the right to them.
pub fn say_what_rights_lack(chosen: &[ChosenHook]) {
    let lacking = chosen.iter().filter_map(|chosen| Some((chosen.observation, chosen.lacks()?)));
    for (observation, capability) in lacking {
        output::say(&format!(
            "not observed: {observation}, because this process lacks {capability}; `wirelap doctor` says what is lost and how to get it\n"
        ));
    }
}

/// The folders of programs that users build themselves.
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
    /// The environment variables by which the workloads find the folders.
    pub fn variables(&self) -> Vec<(&'static str, PathBuf)> {
        let all = [("WIRELAP_PICO_BIN", &self.pico_bin), ("WIRELAP_XRCE_BIN", &self.xrce_bin)];
        // Workloads run in another folder, where a relative path would mean something else.
        let absolute = |folder: &PathBuf| std::path::absolute(folder).unwrap_or(folder.clone());
        all.into_iter().filter_map(|(name, path)| Some((name, absolute(path.as_ref()?)))).collect()
    }
}

/// The options of workloads.
#[derive(Clone, Debug, Args)]
pub struct WorkloadArgs {
    /// Brokers: names that `wirelap list` shows, or the address of a running broker, e.g.
    /// `mqtt://127.0.0.1:1883`; a middleware runs once with each listed broker that it can use, and with its
    /// default broker if there is none; `all` means all installed brokers
    #[arg(long, value_name = "NAME|URL,…", value_delimiter = ',')]
    pub broker: Vec<String>,

    /// A setting of a library or broker, e.g. `linger.ms=5` or `kafka:acks=1`; may be given several times;
    /// `wirelap list --settings` shows all settings
    #[arg(long = "set", value_name = "[MIDDLEWARE:]NAME=VALUE", value_parser = spec::setting)]
    pub set: Vec<(String, String)>,

    /// MQTT quality of service [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub qos: Option<u8>,

    /// The transport, for middlewares that have a choice (Zenoh: tcp, udp) [default: the first that
    /// `wirelap list` shows]
    #[arg(long, value_enum, value_name = "TRANSPORT")]
    pub transport: Option<LinkTransport>,

    /// Zenoh and DDS reliability [default: as in published comparisons]
    #[arg(long, value_enum, value_name = "RELIABILITY")]
    pub reliability: Option<LinkReliability>,

    /// Set `TCP_NODELAY` where the library allows it [default: true]
    #[arg(long, value_name = "BOOL")]
    pub nodelay: Option<bool>,

    /// The port that brokers and peers listen on [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub port: u16,

    /// The DDS domain [default: a random one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=232))]
    pub domain: Option<u32>,

    /// The network interface for DDS; with --hosts, each host has one
    #[arg(long, value_name = "NAME", default_value = "lo")]
    pub interface: String,

    /// CPUs of the sender, the receiver and the broker; a single CPU is for all three
    #[arg(long, value_name = "CPU,…", value_delimiter = ',')]
    pub pin: Vec<usize>,

    /// The folders of programs that users build themselves.
    #[command(flatten)]
    pub programs: ProgramArgs,
}

impl From<&WorkloadArgs> for WorkloadOptions {
    fn from(args: &WorkloadArgs) -> WorkloadOptions {
        WorkloadOptions {
            broker: args.broker.clone(),
            set: args.set.clone(),
            qos: args.qos.unwrap_or(0),
            topology: WorkloadTopology::default(),
            fit: false,
            transport: args.transport,
            reliability: args.reliability,
            nodelay: args.nodelay.unwrap_or(true),
            port: args.port,
            domain: args.domain,
            interface: args.interface.clone(),
            links: None,
            is_broker_apart: false,
            pin: args.pin.clone(),
        }
    }
}

/// The options of the tracer.
#[derive(Clone, Debug, Args)]
pub struct TracerArgs {
    /// Payload bytes to capture of each packet; at least 1, because messages are found in the payload
    #[arg(long, value_name = "BYTES", value_parser = quantity::snap, default_value = "64K")]
    pub snap: u32,

    /// Size of the ring buffer between kernel and wirelap; rounded up to a power of two. Without it, 64 MiB, and less on hosts
    /// and in control groups with less than 4 GiB of memory, of which it takes a 64th
    #[arg(long, value_name = "BYTES", value_parser = quantity::bytes_u32)]
    pub ring_size: Option<u32>,

    /// The file with the kernel's types: BTF, or a vmlinux with a section .BTF [default: /sys/kernel/btf/vmlinux, or the kernel's
    /// vmlinux in /boot, /lib/modules or /usr/lib/debug]. The kernel itself must have been built with types all the same
    #[arg(long, value_name = "FILE")]
    pub btf: Option<PathBuf>,
}

/// Detail in which a message's way is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DetailArg {
    /// Sends and reads
    Ends,
    /// Also packets
    Path,
    /// Everything
    Full,
}

impl From<DetailArg> for TraceDetail {
    fn from(detail: DetailArg) -> TraceDetail {
        match detail {
            DetailArg::Ends => TraceDetail::Ends,
            DetailArg::Path => TraceDetail::Path,
            DetailArg::Full => TraceDetail::Full,
        }
    }
}

/// Which traffic is traced, and which protocols the user knows.
#[derive(Clone, Debug, Default, Args)]
pub struct FilterArgs {
    /// Trace only sockets with these ports, local or remote
    #[arg(long, value_name = "PORT,…", value_delimiter = ',')]
    pub ports: Vec<u16>,

    /// Trace only these processes and their children
    #[arg(long = "pid", alias = "pids", value_name = "PID,…", value_delimiter = ',')]
    pub pids: Vec<u32>,

    /// Trace only processes in this cgroup (a folder under /sys/fs/cgroup)
    #[arg(long, value_name = "FOLDER")]
    pub cgroup: Option<PathBuf>,

    /// Decode the traffic of a port as this protocol, e.g. 11883=mqtt
    #[arg(long, value_name = "PORT=PROTO", value_delimiter = ',', value_parser = quantity::decode)]
    pub decode: Vec<(u16, String)>,

    /// Read messages inside TLS, where programs encrypt with OpenSSL, `GnuTLS` or Go: from their memory, before they do. The text
    /// is written to no file
    #[arg(long)]
    pub tls: bool,
}

impl FilterArgs {
    /// True if some traffic of the machine is not traced.
    pub fn is_filtered(&self) -> bool {
        !(self.ports.is_empty() && self.pids.is_empty() && self.cgroup.is_none())
    }

    /// True if the filter is of processes, which packets do not tell, or of what programs encrypt.
    pub fn needs_probes(&self) -> bool {
        !self.pids.is_empty() || self.cgroup.is_some() || self.tls
    }

    /// Returns the settings of the probes with this filter and these options of the tracer.
    pub fn capture_config(&self, tracer: &TracerArgs) -> wirelap_capture::CaptureConfig {
        wirelap_capture::CaptureConfig {
            ports: self.ports.clone(),
            pids: self.pids.iter().copied().map(Pid).collect(),
            cgroup: self.cgroup.clone(),
            tls: self.tls,
            snap_bytes: tracer.snap.min(65_536),
            ring_bytes: ring_bytes(tracer.ring_size),
            btf: tracer.btf.clone(),
            ..wirelap_capture::CaptureConfig::default()
        }
    }
}

/// Packets in place of probes.
#[derive(Clone, Debug, Default, Args)]
pub struct PacketArgs {
    /// Show packets alone, without probes: messages, bytes, and times from packet to packet, but no sockets and no scheduler; when
    /// messages were sent and read is not known. Needs only `CAP_NET_RAW`, and no BTF. Without this option, packets alone are shown
    /// if the kernel lets no probes be attached
    #[arg(long, conflicts_with_all = ["pids", "cgroup", "tls"])]
    pub packets_only: bool,

    /// With --packets-only: the network device to capture on [default: all]
    #[arg(long, value_name = "NAME", requires = "packets_only")]
    pub device: Option<String>,
}

impl PacketArgs {
    /// Returns the source of the events. What only probes can do is asked of probes.
    pub fn view(&self, needs_probes: bool) -> SessionView {
        match (self.packets_only, needs_probes) {
            (true, _) => SessionView::Packets { device: self.device.clone() },
            (false, true) => SessionView::Probes,
            (false, false) => SessionView::ProbesOrPackets,
        }
    }

    /// Gives up the rights that are not needed for a view.
    pub fn confine(view: &SessionView) {
        match view {
            SessionView::Probes => rights::confine_tracer(),
            SessionView::ProbesOrPackets => rights::confine_packet_tracer(false),
            SessionView::Packets { .. } => rights::confine_packet_tracer(true),
        }
    }
}

/// How much of the time is traced.
#[derive(Clone, Debug, Default, Args)]
pub struct SamplingArgs {
    /// Spend no more than this share of one core, and of the traced programs' CPU time (1%): as far as that is necessary, messages are
    /// followed from end to end in windows, and the probes are detached in between
    #[arg(long, value_name = "SHARE", value_parser = quantity::share, conflicts_with_all = ["sample", "packets_only"])]
    pub budget: Option<f64>,

    /// Trace all the time (off), in windows (50ms/500ms), or in windows once more comes than wirelap keeps up with (auto) [default: auto
    /// for live without --pcapng, off otherwise]
    #[arg(long, value_name = "auto|off|WINDOW/PERIOD", value_parser = quantity::traced_time, conflicts_with = "packets_only")]
    pub sample: Option<TracedTime>,
}

impl SamplingArgs {
    /// Returns the time in which events are reported; `otherwise` if the user does not say.
    pub fn traced(&self, otherwise: TracedTime) -> TracedTime {
        let budget = self.budget.map(|share| TracedTime::Within(Budget::of(share)));
        budget.or(self.sample).unwrap_or(otherwise)
    }

    /// Has the kernel count the CPU time of the probes if a budget needs that. Call it before rights are given up.
    pub fn run_time(&self) -> Option<Arc<RunTimeCount>> {
        self.budget.and_then(|_| RunTimeCount::begin()).map(Arc::new)
    }
}

/// Rows by topic, client and so on.
#[derive(Clone, Debug, Default, Args)]
pub struct BreakdownArgs {
    /// Also list the messages by topic, client, group, connection, process, container (pod, unit), host, link, protocol or broker; up to four,
    /// separated by commas, are nested. Client, connection, process, container and host are those of the publisher for what is sent, and
    /// those of the subscriber for what is delivered; link is the pair of hosts that each leg of a message joins, with the time of that leg
    #[arg(long, value_name = "WHAT,…", value_delimiter = ',', value_parser = quantity::dimension)]
    pub by: Vec<Dimension>,

    /// Rows of --by that are listed in the table, the first in the order of --sort; the rest is added up
    #[arg(long, value_name = "N", requires = "by", default_value_t = LISTED, hide_default_value = false)]
    pub top: usize,

    /// What the rows of --by are ordered by, the largest first: messages, sent, delivered, bytes, or the one-way latency's p50, p99 or
    /// max
    #[arg(long, value_name = "FIGURE", requires = "by", default_value = "messages", value_parser = quantity::row_figure)]
    pub sort: RowFigure,
}

impl BreakdownArgs {
    /// The rows that are asked for.
    pub fn query(&self) -> BreakdownQuery {
        BreakdownQuery { order: self.sort, ..BreakdownQuery::by(&self.by) }
    }

    /// Returns the names of the dimensions of --by, separated by commas; `None` if there are none.
    pub fn names(&self) -> Option<String> {
        let names: Vec<&str> = self.by.iter().map(|by| by.name()).collect();
        (!names.is_empty()).then(|| names.join(","))
    }

    /// The table of the rows of a report, below an empty line; nothing without any.
    pub fn table(&self, breakdown: Option<&ReportedBreakdown>) -> String {
        breakdown.map(|rows| format!("\n{}", rows.table(self.top))).unwrap_or_default()
    }
}

/// The last arguments of a command that starts workloads and traces them.
#[derive(Clone, Debug, Args)]
pub struct TracedWorkloadArgs {
    /// Replace existing files
    #[arg(long)]
    pub force: bool,

    /// The options of workloads.
    #[command(flatten, next_help_heading = "Workloads")]
    pub workload: WorkloadArgs,

    /// The options of the tracer.
    #[command(flatten, next_help_heading = "Tracer")]
    pub tracer: TracerArgs,
}
