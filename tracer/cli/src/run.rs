//! `wirelap run`: runs the trials one after the other, and writes a table and JSON.

use crate::common::TracedWorkloadArgs;
use crate::json::Json;
use crate::quantity;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use wirelap_experiment::{
    Catalogue, FinishedRun, MAX_SEED, Measure, Request, WorkloadInstallation, WorkloadOptions,
    plan, run as run_all,
};
use wirelap_process::steward::{Steward, StewardRole};
use wirelap_process::{Failure, Outputs, catch_signals, rights};
use wirelap_report::{RunReport, table};
use wirelap_session::{environment, preflight};

/// What `wirelap run` measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunKind {
    /// The time that a message takes: ping-pong, or one way at a given --rate
    Latency,
    /// The messages a second that are delivered when they are sent back to back
    Throughput,
}

/// Whether the workloads write truth files, for comparison with the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TruthCheck {
    /// On for latency; off for throughput, where writing would slow the workloads down
    Auto,
    /// On
    On,
    /// Off
    Off,
}

/// `wirelap run`.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// What to measure
    #[arg(value_enum)]
    pub kind: RunKind,

    /// The middlewares, separated by commas; `wirelap list` shows them; `all` means all that can be run on
    /// this machine, and reports the others as skipped
    #[arg(long, value_name = "LIST", value_delimiter = ',', required = true)]
    pub on: Vec<String>,

    /// Payload sizes, at least 8 bytes; K and M are binary
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', default_value = "64", value_parser = quantity::payload)]
    pub payload: Vec<usize>,

    /// Messages a second, each sent at its intended time even if earlier ones are late; latency only
    /// [default: ping-pong]
    #[arg(long, value_name = "MSG_PER_S", value_parser = quantity::rate)]
    pub rate: Option<f64>,

    /// Messages (round trips in a ping-pong) of each repetition [default: 10000 round trips]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=u64::from(u32::MAX)))]
    pub messages: Option<u64>,

    /// How long each repetition sends messages [default: 10s for one-way messages]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub duration: Option<Duration>,

    /// Messages of the warm-up, which are not counted
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub warmup: u64,

    /// The longest time of the warm-up
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "5s")]
    pub warmup_time: Duration,

    /// Repetitions, in random order across the middlewares
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), default_value_t = 1)]
    pub repeat: u32,

    /// Seed of that order, below 2^53 [default: random, and reported]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=MAX_SEED))]
    pub seed: Option<u64>,

    /// Trace only a window out of every period, e.g. 50ms/500ms, or off. A window stays open until the
    /// messages that were found in it have arrived, and the period grows with it [default: off for
    /// latency, 50ms/500ms for throughput]
    #[arg(long, value_name = "WINDOW/PERIOD|off", value_parser = quantity::sampling)]
    pub sample: Option<wirelap_session::Sampling>,

    /// Compare the trace with the times that the workloads record themselves
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    pub truth_check: TruthCheck,

    /// Write JSON (schema wirelap/run/1) to this file; - for stdout
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,

    /// Explain each result on a page, in place of the lines below the table
    #[arg(long)]
    pub explain: bool,

    /// Also measure what tracing costs: the workload runs once more for two seconds, with the probes
    /// attached and detached alternately
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

    /// The workloads and the tracer.
    #[command(flatten)]
    pub traced: TracedWorkloadArgs,
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
            workloads: WorkloadOptions::from(&args.traced.workload),
            snap_bytes: args.traced.tracer.snap,
            ring_bytes: args.traced.tracer.ring_size,
        }
    }
}

/// Runs all trials and writes the report.
///
/// # Errors
/// Nothing could be measured, or the results could not be written.
pub fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    let steward = Steward::start(StewardRole::Workloads)?;
    let outputs = Outputs::new(args.traced.force, Some(Arc::clone(&steward)));
    let json = Json::open(args.json.as_deref(), &outputs)?;
    preflight()?;
    let request = Request::from(args);
    let installation =
        WorkloadInstallation::open(steward, &args.traced.workload.programs.variables())?;
    let plan = plan(&request, &Catalogue::read(&installation)?)?;
    if let Some(path) = &args.pcapng {
        outputs.allow(path, plan.trials.len() > 1)?;
    }
    outputs.seal()?;
    rights::confine_tracer();
    let signals = catch_signals()?;
    let environment = environment::describe(plan.seed);
    let FinishedRun { report, failures } =
        run_all(&request, &plan, &installation, &outputs, &signals, environment)?;
    let written = json.write(&report, &text_of(&report, args.explain));
    let failures = failures.into_iter().chain(written.err());
    Failure::all(failures).map_or(Ok(ExitCode::SUCCESS), Err)
}

/// The readable report: the table with a few lines on each result, or with a page on each.
fn text_of(report: &RunReport, explain: bool) -> String {
    if explain { table::explained(report) } else { table::render(report) }
}
