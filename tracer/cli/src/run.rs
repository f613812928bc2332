//! `wirelap run`: runs the trials one after the other, and writes a table and JSON.

use crate::clients::ClientArgs;
use crate::common::{BreakdownArgs, TracedWorkloadArgs};
use crate::hosts::HostArgs;
use crate::json::Json;
use crate::parquet::MessageTable;
use crate::place::PlaceArgs;
use crate::quantity;
use crate::report_file::{self, Purpose};
use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use wirelap_compare::{CompareOptions, compare_ab};
use wirelap_events::human;
use wirelap_experiment::scenario::{self, ScenarioSettings, ScenarioSource, built_in};
use wirelap_experiment::{
    ClientSizes, Earlier, FinishedRun, Installations, MAX_SEED, PayloadSizes, RunRequest,
    RunResources, StartAgents, WorkloadInstallation, WorkloadOptions, plan, run as run_all, seeded,
};
use wirelap_process::steward::Steward;
use wirelap_process::{Failure, Outputs, catch_signals, rights};
use wirelap_report::{RunReport, table};
use wirelap_session::{environment, preflight};

/// Whether the workloads write truth files, for comparison with the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TruthCheckArg {
    /// On for latency; off for throughput, where writing would slow the workloads down
    Auto,
    /// On
    On,
    /// Off
    Off,
}

/// The built-in scenarios that do not say which middlewares to measure.
const NEED_ON: [(&str, &str); 7] = [
    ("scenario", "latency"),
    ("scenario", "throughput"),
    ("scenario", "throughput-sweep"),
    ("scenario", "rate"),
    ("scenario", "overhead"),
    ("scenario", "hosts"),
    ("scenario", "footprint"),
];

/// Parses the name of a built-in scenario or the path of a file. The help lists the names.
#[derive(Clone, Debug)]
pub struct ScenarioParser;

impl TypedValueParser for ScenarioParser {
    type Value = ScenarioSource;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<ScenarioSource, clap::Error> {
        let parsed = match value.to_str() {
            Some(word) => ScenarioSource::of(word),
            None => Ok(ScenarioSource::File(value.into())),
        };
        parsed.map_err(|text| clap::Error::raw(ErrorKind::ValueValidation, text).with_cmd(command))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = built_in().into_iter().map(|scenario| {
            PossibleValue::new(scenario.name).help(scenario.settings.about.unwrap_or_default())
        });
        Some(Box::new(values))
    }
}

// A field for each option.
/// `wirelap run`.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// What to measure: a scenario of wirelap's own, or a file with one (a path with a slash, or ending in .toml)
    #[arg(value_name = "SCENARIO", value_parser = ScenarioParser)]
    pub scenario: ScenarioSource,

    /// The middlewares, separated by commas; `wirelap list` shows them; `all` means all that can be run on
    /// this machine, and reports the others as skipped
    #[arg(long, value_name = "LIST", value_delimiter = ',', required_if_eq_any = NEED_ON)]
    pub on: Vec<String>,

    /// Payload sizes, at least 8 bytes; K and M are binary; 8..64K means the powers of two from 8 bytes to 64 KiB that the
    /// middleware carries [default: 64]
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', value_parser = quantity::payload)]
    pub payload: Vec<PayloadSizes>,

    /// Leave out payload sizes above this
    #[arg(long, value_name = "BYTES", value_parser = quantity::payload_size)]
    pub max_payload: Option<usize>,

    /// Messages a second, each sent at its intended time even if earlier ones are late; several rates are
    /// measured separately; latency only [default: ping-pong]
    #[arg(long, value_name = "MSG_PER_S,…", value_delimiter = ',', value_parser = quantity::rate)]
    pub rate: Vec<f64>,

    /// Messages (round trips in a ping-pong) of each repetition [default: 10000 round trips]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=u64::from(u32::MAX)))]
    pub messages: Option<u64>,

    /// How long each repetition sends messages [default: 10s for one-way messages]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub duration: Option<Duration>,

    /// Messages of the warm-up, which are not counted [default: 1000]
    #[arg(long, value_name = "N")]
    pub warmup: Option<u64>,

    /// The longest time of the warm-up [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub warmup_time: Option<Duration>,

    /// Measure the processes connected and idle for this long, before the first message [default: not at all]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub idle: Option<Duration>,

    /// Report the sizes of client programs from this file, which `make footprint` writes
    #[arg(long, value_name = "FILE")]
    pub client_sizes: Option<PathBuf>,

    /// Repetitions, in random order across the middlewares [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: Option<u32>,

    /// Seed of that order, below 2^53 [default: random, and reported]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=MAX_SEED))]
    pub seed: Option<u64>,

    /// Trace only a window out of every period, e.g. 50ms/500ms, or off. A window stays open until the
    /// messages that were found in it have arrived, and the period grows with it [default: off for
    /// latency, 50ms/500ms for throughput]
    #[arg(long, value_name = "WINDOW/PERIOD|off", value_parser = quantity::sampling)]
    pub sample: Option<wirelap_session::Sampling>,

    /// How many clients there are.
    #[command(flatten)]
    pub clients: ClientArgs,

    /// Compare the trace with the times that the workloads record themselves [default: auto]
    #[arg(long, value_enum, value_name = "WHEN")]
    pub truth_check: Option<TruthCheckArg>,

    /// Compare two settings, such as `qos=0` and `qos=1`: each middleware is measured with both, in the order A B B A,
    /// --repeat times with each. The keys are those of scenario files; several settings are separated by spaces, and
    /// `set:NAME=VALUE` is a library's own setting
    #[arg(long, num_args = 2, value_names = ["SETTINGS A", "SETTINGS B"])]
    pub ab: Vec<String>,

    /// Write JSON (schema wirelap/run/1) to this file; - for stdout. The file is written anew after each
    /// trial, so that a run that is interrupted loses no more than one
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,

    /// Go on with the run that this file of --json is of: its trials are not run again, and the others are added to it. Give
    /// the same scenario and options; the file is replaced, unless --json names another
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,

    /// Explain each result on a page, in place of the lines below the table
    #[arg(long)]
    pub explain: bool,

    /// Also measure what tracing costs: when all messages are counted, the processes go on for some
    /// seconds, with the probes attached and detached alternately
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

    /// Hosts of their own.
    #[command(flatten, next_help_heading = "Hosts")]
    pub hosts: HostArgs,

    /// Roles on other hosts.
    #[command(flatten, next_help_heading = "Other hosts")]
    pub place: PlaceArgs,

    /// Rows by topic, client and so on, of each repetition.
    #[command(flatten)]
    pub breakdown: BreakdownArgs,

    /// Write one row for each message to this Parquet file, with its stages, segments and causes; all trials are in one file
    /// (wirelap must be built with the feature `parquet`)
    #[arg(long, value_name = "FILE")]
    pub parquet: Option<PathBuf>,

    /// The workloads and the tracer.
    #[command(flatten)]
    pub traced: TracedWorkloadArgs,
}

/// The list, unless it is empty.
fn given<T: Clone>(list: &[T]) -> Option<Vec<T>> {
    (!list.is_empty()).then(|| list.to_vec())
}

/// The settings that the command line gives.
impl From<&RunArgs> for ScenarioSettings {
    fn from(args: &RunArgs) -> ScenarioSettings {
        let workload = &args.traced.workload;
        args.hosts.add_to(ScenarioSettings {
            on: given(&args.on),
            broker: given(&workload.broker),
            payload: given(&args.payload),
            max_payload: args.max_payload,
            rate: given(&args.rate),
            messages: args.messages,
            duration: args.duration,
            warmup: args.warmup,
            warmup_time: args.warmup_time,
            idle: args.idle,
            repeat: args.repeat,
            seed: args.seed,
            publishers: args.clients.publishers,
            subscribers: args.clients.subscribers,
            topics: args.clients.topics,
            connections: args.clients.connections,
            subscription: args.clients.subscription,
            handles: args.clients.handles,
            fit_clients: args.clients.fit_clients.then_some(true),
            qos: workload.qos,
            transport: workload.transport,
            reliability: workload.reliability,
            nodelay: workload.nodelay,
            pin: given(&workload.pin),
            set: given(&workload.set),
            sample: args.sample,
            truth_check: args.truth_check.map(|check| match check {
                TruthCheckArg::Auto => wirelap_experiment::TruthCheck::Auto,
                TruthCheckArg::On => wirelap_experiment::TruthCheck::On,
                TruthCheckArg::Off => wirelap_experiment::TruthCheck::Off,
            }),
            ..ScenarioSettings::default()
        })
    }
}

/// The request that a command line and its scenario mean.
///
/// # Errors
/// The scenario cannot be read, names no middleware, or cannot be compared in the two variants.
fn request(args: &RunArgs) -> Result<RunRequest, Failure> {
    let settings = ScenarioSettings::from(args).over(&args.scenario.read()?);
    if settings.on.is_none() {
        return Err(Failure::Usage(
            "the scenario does not say which middlewares to measure: add `on` to it, or --on"
                .into(),
        ));
    }
    // What scenarios cannot say.
    let rest = RunRequest {
        chosen: chosen(args),
        measure_cost: args.measure_cost,
        recording: args.pcapng.clone(),
        breakdown: args.breakdown.query(),
        workloads: WorkloadOptions::from(&args.traced.workload),
        snap_bytes: args.traced.tracer.snap,
        ring_bytes: args.traced.tracer.ring_size,
        btf: args.traced.tracer.btf.clone(),
        ..RunRequest::default()
    };
    let ab = <[String; 2]>::try_from(args.ab.clone()).ok().or_else(|| settings.ab.clone());
    match ab {
        Some([a, b]) => scenario::compare(&settings, [&a, &b], &rest),
        None => Ok(settings.request(&rest)),
    }
}

/// The options that scenarios cannot have, as text by name, if they are not the defaults.
fn chosen(args: &RunArgs) -> BTreeMap<String, String> {
    let (workload, tracer) = (&args.traced.workload, &args.traced.tracer);
    let all = [
        ("measure_cost", (!args.measure_cost).then(|| "false".to_owned())),
        ("port", (workload.port != 0).then(|| workload.port.to_string())),
        ("domain", workload.domain.map(|domain| domain.to_string())),
        ("interface", (workload.interface != "lo").then(|| workload.interface.clone())),
        ("snap", (tracer.snap != 64 << 10).then(|| tracer.snap.to_string())),
        ("ring_size", tracer.ring_size.map(|bytes| bytes.to_string())),
        ("by", args.breakdown.names()),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The run in the file of `--resume`.
///
/// # Errors
/// The file cannot be read, or is not the report of a run that was interrupted.
fn earlier(args: &RunArgs) -> Result<Option<Earlier>, Failure> {
    let Some(path) = &args.resume else { return Ok(None) };
    let (name, report) = report_file::load(path, Purpose::Resume)?;
    Earlier::new(name, report).map(Some)
}

/// Opens the file of `--json` or, if a run is resumed, its own file.
fn open<'a>(args: &'a RunArgs, outputs: &Outputs) -> Result<Json<'a>, Failure> {
    match (&args.json, &args.resume) {
        (None, Some(resumed)) => Json::open_continued(resumed, outputs),
        (Some(json), Some(resumed)) if json == resumed => Json::open_continued(resumed, outputs),
        (json, _) => Json::open(json.as_deref(), outputs),
    }
}

/// The workloads' program where it is started: here, on hosts of its own, or where the roles are placed.
///
/// # Errors
/// The program is missing, or the hosts cannot be made or reached.
fn installations(
    args: &RunArgs,
    steward: &Arc<Steward>,
    request: &mut RunRequest,
) -> Result<Installations, Failure> {
    let programs = args.traced.workload.programs.variables();
    let open = || WorkloadInstallation::open(Arc::clone(steward), &programs);
    if !args.place.are_given() {
        preflight()?;
        return Installations::open(open()?, request, &programs);
    }
    let placement = args.place.open(steward, open())?;
    placement.add_to(request);
    Ok(placement.into())
}

/// Runs all trials and writes the report.
///
/// # Errors
/// Nothing could be measured, or the results could not be written.
pub fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    let earlier = earlier(args)?;
    let mut request = seeded(request(args)?, earlier.as_ref());
    args.place.check(&request)?;
    let sizes = args.client_sizes.as_deref().map(ClientSizes::read).transpose()?;
    let steward = Steward::start(args.place.steward_role())?;
    let outputs = Outputs::new(args.traced.force, Some(Arc::clone(&steward)));
    let mut json = open(args, &outputs)?;
    let mut messages = MessageTable::open(args.parquet.as_deref(), earlier.is_some(), &outputs)?;
    let installations = installations(args, &steward, &mut request)?;
    let plan = plan(&request, &installations.catalogue()?)?;
    let agents = args.place.agents((&steward, &installations), &plan, &args.traced)?;
    if let Some(path) = &args.pcapng {
        let numbered = plan.trials.len() > 1 || request.saturation;
        match earlier {
            Some(_) => outputs.allow_continued(path, numbered)?,
            None => outputs.allow(path, numbered)?,
        }
    }
    outputs.seal()?;
    match &agents {
        Some(_) => rights::confine_collector(),
        None => rights::confine_tracer(),
    }
    request.samples = messages.start()?;
    let signals = catch_signals()?;
    let environment = environment::describe(plan.seed);
    let start = agents.as_ref().map(|agents| || agents.start());
    let means = RunResources {
        installations: &installations,
        agents: start.as_ref().map(|start| start as &StartAgents<'_>),
        outputs: &outputs,
        signals: &signals,
        earlier: earlier.as_ref(),
    };
    let FinishedRun { mut report, failures } = {
        let mut save = json.replaceable().map(|file| |report: &RunReport| file.save(report));
        let save = save.as_mut().map(|save| save as &mut dyn FnMut(&RunReport));
        run_all(&request, &plan, means, environment, save)?
    };
    if let Some(sizes) = &sizes {
        sizes.add_to(&mut report);
    }
    let table = messages.finish();
    let written = json.write(&report, &text_of(&report, args));
    let failures = failures.into_iter().chain(table.err()).chain(written.err());
    Failure::all(failures).map_or(Ok(ExitCode::SUCCESS), Err)
}

/// The readable report, with the answers to the comparison of `--ab`.
fn text_of(report: &RunReport, args: &RunArgs) -> String {
    let text = format!("{}{}", results_of(report, args.explain), rows_of(report, args));
    match compare_ab(report, &CompareOptions::default()) {
        Some(comparison) => format!("{text}\n{}", wirelap_compare::text(&comparison)),
        None => text,
    }
}

/// The table with a few lines on each result, or with a page on each.
fn results_of(report: &RunReport, explain: bool) -> String {
    if explain { table::explained(report) } else { table::render(report) }
}

/// The rows of each repetition.
fn rows_of(report: &RunReport, args: &RunArgs) -> String {
    let mut out = String::new();
    for result in &report.results {
        for repetition in &result.repetitions {
            let Some(breakdown) = &repetition.breakdown else { continue };
            let title =
                format!("{}, {}", result.label(), human::bytes(result.payload_bytes as f64));
            let rate = result.rate_msg_per_s.map(|rate| format!(", {} msg/s", human::count(rate)));
            let rate = rate.unwrap_or_default();
            let number = if result.repetitions.len() > 1 {
                format!(", repetition {}", repetition.number)
            } else {
                String::new()
            };
            out.extend(["\n", &title, &rate, &number, ":"]);
            out.push_str(&args.breakdown.table(Some(breakdown)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_without_middlewares_need_to_be_told_them() {
        let open = built_in().into_iter().filter(|scenario| scenario.settings.on.is_none());
        let names: Vec<&str> = open.map(|scenario| scenario.name).collect();
        assert_eq!(NEED_ON.map(|(_, name)| name).to_vec(), names);
    }
}
