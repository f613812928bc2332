//! `wirelap live`: watches the programs that run on this machine, and wirelap's own workloads if the user starts some.

mod source;

use crate::common::{FilterArgs, TracedWorkloadArgs};
use crate::json::Json;
use crate::quantity;
use clap::Args;
use source::{LiveSource, probe_setup};
use std::cell::RefCell;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wirelap_correlate::Snapshot;
use wirelap_events::Pid;
use wirelap_experiment::{
    Catalogue, Choice, Choices, Installations, Pacing, Trial, TrialStopped, WorkloadInstallation,
    WorkloadOptions, WorkloadProcesses, check_workloads, choose, random_domain, unique,
};
use wirelap_history::Collector;
use wirelap_process::Failure;
use wirelap_process::Outputs;
use wirelap_process::Signals;
use wirelap_process::catch_signals;
use wirelap_process::output;
use wirelap_process::rights;
use wirelap_process::steward::{Steward, StewardRole};
use wirelap_recording::{Recorder, Rotation};
use wirelap_report::explain::{Options, pages};
use wirelap_report::{Environment, RunReport, Scenario, Skipped, from_snapshot, table};
use wirelap_session::Sampling;
use wirelap_session::environment;
use wirelap_session::notes;
use wirelap_session::preflight;
use wirelap_session::{AttachLater, Findings, SessionSettings, Tracer};
use wirelap_tui::plain;

/// `wirelap live`.
#[derive(Clone, Debug, Args)]
pub struct LiveArgs {
    /// Also run the workloads of these middlewares, all at the same time
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub on: Vec<String>,

    /// Messages a second of each workload that --on starts
    #[arg(long, value_name = "MSG_PER_S", value_parser = quantity::rate, default_value = "1000")]
    pub rate: f64,

    /// Payload bytes of the workloads that --on starts
    #[arg(long, value_name = "BYTES", default_value = "64", value_parser = quantity::payload_size)]
    pub payload: usize,

    /// Which traffic is traced.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Stop after this time
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub duration: Option<Duration>,

    /// Print plain lines, a block each second, in place of the screen
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

    /// Also write the payload to that file, as many bytes of each packet as --snap says
    #[arg(long, requires = "pcapng")]
    pub pcapng_payload: bool,

    /// The workloads and the tracer.
    #[command(flatten)]
    pub traced: TracedWorkloadArgs,
}

/// The interval between two blocks of plain lines.
const BLOCK_INTERVAL: Duration = Duration::from_secs(1);

/// The width of plain lines in columns.
const WIDTH: u16 = 100;

/// The most updates that wait for the screen. While more would wait, the collector puts them together.
const UPDATES: usize = 64;

/// Watches until the user leaves, a signal arrives or the time is over.
///
/// # Errors
/// The probes cannot be attached, a workload failed, or an output could not be written.
pub fn run(args: &LiveArgs) -> Result<ExitCode, Failure> {
    let steward = steward(args)?;
    let outputs = Outputs::new(args.traced.force, steward.clone());
    let json = Json::open(args.json.as_deref(), &outputs)?;
    args.pcapng.as_deref().map_or(Ok(()), |path| outputs.allow(path, false))?;
    preflight()?;
    let installation = match &steward {
        Some(steward) if !args.on.is_empty() => Some(WorkloadInstallation::open(
            Arc::clone(steward),
            &args.traced.workload.programs.variables(),
        )?),
        _ => None,
    };
    let (trials, skipped) = trials(args, installation.as_ref())?;
    outputs.seal()?;
    rights::confine_tracer();
    let signals = catch_signals()?;
    let environment = environment::describe(0);
    let recorder = recorder(args, &outputs, &environment)?;
    let (collector, updates) = Collector::new(UPDATES);
    let tracer = Tracer::start(&settings(args), collector, recorder)?;
    let hooks = tracer.hooks();
    let installations = installation.map(Installations::from);
    let mut workloads = Vec::new();
    if let Some(installations) = &installations {
        workloads = trials
            .iter()
            .map(|trial| WorkloadProcesses::new(trial, installations, &signals, tracer.commands()))
            .collect();
    }
    let stopped = start(&mut workloads).and_then(|()| {
        tracer.commands().begin(Sampling::Off);
        let setup = probe_setup(tracer.chosen(), settings(args).capture.ring_bytes);
        let source = LiveSource::new(updates, setup);
        watch(args, &tracer, source, &mut workloads, &signals)
    });
    for workload in &mut workloads {
        workload.group.stop();
    }
    let Findings { snapshot, error, recorder, .. } = tracer.end()?;
    let report = RunReport {
        hooks,
        environment: with_workloads(environment, &workloads),
        skipped,
        ..report(args, &snapshot, stopped.is_err() || error.is_some())
    };
    // The recording is closed first, so that it is complete even if writing the report fails.
    let recorded = recorder.map(|recorder| notes::close(recorder, &report)).transpose();
    let written = if args.explain || !matches!(json, Json::No) {
        let text =
            if args.explain { pages(&report, Options::default()) } else { table::render(&report) };
        json.write(&report, &text)
    } else {
        Ok(())
    };
    let failed = match stopped {
        // A signal is the usual way to end this command.
        Ok(()) | Err(TrialStopped::Interrupted(_)) => None,
        Err(TrialStopped::Failed(failure)) => Some(failure),
    };
    // An error of the recording has ended the session: it is in `error` already.
    let unrecorded = if error.is_some() { None } else { recorded.err() };
    let failures = [failed, error.map(Failure::Measured), unrecorded, written.err()];
    Failure::all(failures.into_iter().flatten()).map_or(Ok(ExitCode::SUCCESS), Err)
}

/// Starts the steward if something needs rights later: starting workloads, or naming files at the end.
fn steward(args: &LiveArgs) -> Result<Option<Arc<Steward>>, Failure> {
    let is_file = |path: &PathBuf| path != Path::new("-");
    let writes = args.json.iter().chain(&args.pcapng).any(is_file);
    let role = match (args.on.is_empty(), writes) {
        (false, _) => StewardRole::Workloads,
        (true, true) => StewardRole::Outputs,
        (true, false) => return Ok(None),
    };
    Steward::start(role).map(Some)
}

/// The recording of `--pcapng`.
fn recorder(
    args: &LiveArgs,
    outputs: &Outputs,
    environment: &Environment,
) -> Result<Option<Recorder>, Failure> {
    let Some(path) = &args.pcapng else { return Ok(None) };
    let settings =
        wirelap_recording::Settings { payload: args.pcapng_payload, ..Default::default() };
    let rotation = Rotation::default();
    notes::create(outputs, path, settings, rotation, environment, &args.filter.decode).map(Some)
}

/// The trials of the workloads that `--on` starts, and the middlewares that cannot be run.
fn trials(
    args: &LiveArgs,
    installation: Option<&WorkloadInstallation>,
) -> Result<(Vec<Trial>, Vec<Skipped>), Failure> {
    let options = &WorkloadOptions::from(&args.traced.workload);
    let Some(installation) = installation else {
        if options.broker.is_empty() && options.set.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        return Err(Failure::Usage(
            "--broker and --set need --on: they are options of the workloads that it starts".into(),
        ));
    };
    let Choices { chosen, skipped } =
        choose(&Catalogue::read(installation)?, &args.on, options, Pacing::Rate(args.rate))?;
    if options.port != 0 && chosen.len() > 1 {
        return Err(Failure::Usage(
            "--port cannot be used with several middlewares, which need a port each: remove it"
                .into(),
        ));
    }
    check_workloads(options, &chosen, &[args.payload])?;
    Ok((chosen.into_iter().map(|choice| trial(args, options, choice)).collect(), skipped))
}

fn trial(args: &LiveArgs, options: &WorkloadOptions, choice: Choice) -> Trial {
    let Choice { about, broker, running } = choice;
    Trial {
        about,
        broker,
        running_broker: running,
        variant: None,
        payload: args.payload,
        repetition: 1,
        pacing: Pacing::Rate(args.rate),
        several_rates: false,
        messages: None,
        duration: None,
        warmup: 0,
        warmup_time: Duration::ZERO,
        idle: Duration::ZERO,
        sampling: Sampling::Off,
        truth: false,
        workloads: options.clone(),
        domain: options.domain.unwrap_or_else(random_domain),
    }
}

fn settings(args: &LiveArgs) -> SessionSettings {
    let mut capture = args.filter.capture_config(&args.traced.tracer);
    if args.filter.is_filtered() && !args.on.is_empty() {
        // A filter for the programs of the machine does not hide wirelap's own workloads.
        capture.pids.push(Pid(std::process::id()));
    }
    SessionSettings {
        capture,
        decode: args.filter.decode.clone(),
        later: AttachLater::Nothing,
        alternates: false,
        drain: false,
        publish: true,
    }
}

fn start(workloads: &mut [WorkloadProcesses<'_>]) -> Result<(), TrialStopped> {
    workloads.iter_mut().try_for_each(WorkloadProcesses::assemble)?;
    workloads.iter_mut().for_each(WorkloadProcesses::go);
    Ok(())
}

/// Shows snapshots until it is time to stop.
fn watch(
    args: &LiveArgs,
    tracer: &Tracer<Collector>,
    mut source: LiveSource,
    workloads: &mut [WorkloadProcesses<'_>],
    signals: &Signals,
) -> Result<(), TrialStopped> {
    let end = args.duration.and_then(|time| Instant::now().checked_add(time));
    let watched = RefCell::new((workloads, None));
    let should_stop = || {
        let (workloads, stopped) = &mut *watched.borrow_mut();
        if stopped.is_none() {
            *stopped = workloads.iter_mut().find_map(|workload| workload.group.listen().err());
        }
        let over = end.is_some_and(|end| Instant::now() >= end);
        over || stopped.is_some() || signals.caught().is_some() || tracer.has_ended()
    };
    let to_stdout = matches!(args.json.as_deref(), Some(path) if path.as_os_str() == "-");
    let screen = !args.plain
        && !to_stdout
        && std::io::stdout().is_terminal()
        && std::io::stdin().is_terminal();
    let shown = if screen {
        wirelap_tui::run(wirelap_tui::Options::default(), &mut source, &should_stop)
            .map(drop)
            .map_err(|error| Failure::Machine(format!("{error}: try `wirelap live --plain`")))
    } else {
        lines(tracer, &should_stop, to_stdout)
    };
    match watched.into_inner().1 {
        Some(stopped) => Err(stopped),
        None => shown.map_err(TrialStopped::Failed),
    }
}

/// Prints a block of lines each second until it is time to stop.
fn lines(
    tracer: &Tracer<Collector>,
    should_stop: &dyn Fn() -> bool,
    to_stderr: bool,
) -> Result<(), Failure> {
    let mut printed = Instant::now();
    while !should_stop() {
        std::thread::sleep(Duration::from_millis(20));
        if printed.elapsed() < BLOCK_INTERVAL {
            continue;
        }
        printed = Instant::now();
        let text = format!("{}\n", plain(&tracer.latest(), WIDTH));
        if to_stderr {
            output::say(&text);
        } else if output::print_unless_gone(&text, should_stop)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// The environment with the versions and settings that the workloads reported.
fn with_workloads(
    mut environment: Environment,
    workloads: &[WorkloadProcesses<'_>],
) -> Environment {
    for workload in workloads {
        let (versions, settings) = workload.reported();
        environment.versions.insert(workload.name().to_owned(), versions);
        environment.settings.insert(workload.name().to_owned(), settings);
    }
    environment
}

fn report(args: &LiveArgs, snapshot: &Snapshot, partial: bool) -> RunReport {
    let ours = !args.on.is_empty();
    let seen = from_snapshot::run_report(snapshot);
    RunReport {
        partial,
        scenario: Scenario {
            middlewares: unique(&args.on),
            payload_bytes: if ours { vec![args.payload as u64] } else { vec![] },
            rate_msg_per_s: ours.then_some(args.rate),
            ..seen.scenario
        },
        ..seen
    }
}
