//! `wirelap live`: watch what runs here, with workloads of our own beside it if asked for.

use crate::common::{TracerArgs, WorkloadArgs};
use crate::json::Json;
use crate::quantity;
use clap::Args;
use std::cell::RefCell;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wirelap_correlate::Snapshot;
use wirelap_events::{Delivery, Pid};
use wirelap_experiment::{
    Catalogue, Choice, Choices, Installation, Pacing, Trial, Trouble, WorkloadProcesses, Workloads,
    check_workloads, choose, random_domain, unique,
};
use wirelap_process::Failure;
use wirelap_process::Outputs;
use wirelap_process::Signals;
use wirelap_process::catch_signals;
use wirelap_process::output;
use wirelap_process::rights;
use wirelap_process::steward::{Duty, Steward};
use wirelap_recording::{Recorder, Rotation};
use wirelap_report::explain::{Options, pages};
use wirelap_report::{Environment, RunReport, Scenario, Skipped, from_snapshot, table};
use wirelap_session::Sampling;
use wirelap_session::environment;
use wirelap_session::notes;
use wirelap_session::{Findings, Later, Settings, Tracer};
use wirelap_session::{preflight, ring_bytes};
use wirelap_tui::plain;

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

/// Between two blocks of plain lines.
const BLOCK: Duration = Duration::from_secs(1);

/// Columns of plain lines.
const WIDTH: u16 = 100;

/// Deliveries are in the snapshots already.
type Discard = fn(&Delivery);

/// Watches until the user leaves, a signal comes or the time is over.
///
/// # Errors
/// Nothing can be watched, or a workload failed.
pub fn run(args: &LiveArgs) -> Result<ExitCode, Failure> {
    let steward = steward(args)?;
    let outputs = Outputs::new(args.force, steward.clone());
    let json = Json::open(args.json.as_deref(), &outputs)?;
    args.pcapng.as_deref().map_or(Ok(()), |path| outputs.allow(path, false))?;
    preflight()?;
    let installation = match &steward {
        Some(steward) if !args.on.is_empty() => {
            Some(Installation::open(Arc::clone(steward), &args.workload.programs.variables())?)
        }
        _ => None,
    };
    let (trials, skipped) = trials(args, installation.as_ref())?;
    outputs.seal()?;
    rights::confine_tracer();
    let signals = catch_signals()?;
    let environment = environment::describe(0);
    let recorder = recorder(args, &outputs, &environment)?;
    let tracer = Tracer::start(&settings(args), (|_| {}) as Discard, recorder)?;
    let hooks = tracer.hooks().to_vec();
    let mut workloads = Vec::new();
    if let Some(installation) = &installation {
        workloads = trials
            .iter()
            .map(|trial| WorkloadProcesses::new(trial, installation, &signals, tracer.commands()))
            .collect();
    }
    let troubled = start(&mut workloads).and_then(|()| {
        tracer.commands().begin(Sampling::Off);
        watch(args, &tracer, &mut workloads, &signals)
    });
    for workload in &mut workloads {
        workload.group.stop();
    }
    let Findings { snapshot, error, recorder, .. } = tracer.end()?;
    let report = RunReport {
        hooks,
        environment: told(environment, &workloads),
        skipped,
        ..report(args, &snapshot, troubled.is_err() || error.is_some())
    };
    // The recording first: what is kept back in memory must be in it whatever becomes of the rest.
    let recorded = recorder.map(|recorder| notes::close(recorder, &report)).transpose();
    let written = if args.explain || !matches!(json, Json::No) {
        let text =
            if args.explain { pages(&report, Options::default()) } else { table::render(&report) };
        json.write(&report, &text)
    } else {
        Ok(())
    };
    let troubled = match troubled {
        // Leaving by a signal is how one leaves.
        Ok(()) | Err(Trouble::Interrupted(_)) => None,
        Err(Trouble::Failed(failure)) => Some(failure),
    };
    // A recording that could not be gone on with is what ended the trace.
    let unrecorded = if error.is_some() { None } else { recorded.err() };
    let failures = [troubled, error.map(Failure::Measured), unrecorded, written.err()];
    Failure::all(failures.into_iter().flatten()).map_or(Ok(ExitCode::SUCCESS), Err)
}

/// Who does what needs rights later: starts workloads, names a report at the end. Whoever only watches needs nobody.
fn steward(args: &LiveArgs) -> Result<Option<Arc<Steward>>, Failure> {
    let is_file = |path: &PathBuf| path != Path::new("-");
    let writes = args.json.iter().chain(&args.pcapng).any(is_file);
    let duty = match (args.on.is_empty(), writes) {
        (false, _) => Duty::Workloads,
        (true, true) => Duty::Outputs,
        (true, false) => return Ok(None),
    };
    Steward::start(duty).map(Some)
}

/// The recording that `--pcapng` asks for.
fn recorder(
    args: &LiveArgs,
    outputs: &Outputs,
    environment: &Environment,
) -> Result<Option<Recorder>, Failure> {
    let Some(path) = &args.pcapng else { return Ok(None) };
    let settings =
        wirelap_recording::Settings { payload: args.pcapng_payload, ..Default::default() };
    let rotation = Rotation::default();
    notes::create(outputs, path, settings, rotation, environment, &args.decode).map(Some)
}

/// The workloads that `--on` starts.
fn trials(
    args: &LiveArgs,
    installation: Option<&Installation>,
) -> Result<(Vec<Trial>, Vec<Skipped>), Failure> {
    let told = &Workloads::from(&args.workload);
    let Some(installation) = installation else {
        if told.broker.is_empty() && told.set.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        return Err(Failure::Usage(
            "--broker and --set are for the workloads of --on, which is missing".into(),
        ));
    };
    let Choices { chosen, skipped } =
        choose(&Catalogue::ask(installation)?, &args.on, told, Pacing::Rate(args.rate))?;
    if told.port != 0 && chosen.len() > 1 {
        return Err(Failure::Usage(
            "one --port is not enough for several middlewares at once: leave it away".into(),
        ));
    }
    check_workloads(told, &chosen, &[args.payload])?;
    Ok((chosen.into_iter().map(|choice| trial(args, told, choice)).collect(), skipped))
}

fn trial(args: &LiveArgs, told: &Workloads, Choice { about, broker }: Choice) -> Trial {
    Trial {
        about,
        broker,
        payload: args.payload,
        repetition: 1,
        pacing: Pacing::Rate(args.rate),
        messages: None,
        duration: None,
        warmup: 0,
        warmup_time: Duration::ZERO,
        sampling: Sampling::Off,
        truth: false,
        workloads: told.clone(),
        domain: told.domain.unwrap_or_else(random_domain),
    }
}

fn settings(args: &LiveArgs) -> Settings {
    let mut pids: Vec<Pid> = args.pids.iter().copied().map(Pid).collect();
    let filtered = !(args.ports.is_empty() && pids.is_empty() && args.cgroup.is_none());
    if filtered && !args.on.is_empty() {
        // A filter for the rest of the machine does not hide our own workloads.
        pids.push(Pid(std::process::id()));
    }
    Settings {
        capture: wirelap_capture::Config {
            ports: args.ports.clone(),
            pids,
            cgroup: args.cgroup.clone(),
            snap_bytes: args.tracer.snap.min(65_536),
            ring_bytes: ring_bytes(args.tracer.ring_size),
            ..wirelap_capture::Config::default()
        },
        decode: args.decode.clone(),
        later: Later::Nothing,
        alternates: false,
        drain: false,
        publish: true,
    }
}

fn start(workloads: &mut [WorkloadProcesses<'_>]) -> Result<(), Trouble> {
    workloads.iter_mut().try_for_each(WorkloadProcesses::assemble)?;
    workloads.iter_mut().for_each(WorkloadProcesses::go);
    Ok(())
}

/// Shows snapshots until it is time to stop.
fn watch(
    args: &LiveArgs,
    tracer: &Tracer<Discard>,
    workloads: &mut [WorkloadProcesses<'_>],
    signals: &Signals,
) -> Result<(), Trouble> {
    let end = args.duration.and_then(|time| Instant::now().checked_add(time));
    let watched = RefCell::new((workloads, None));
    let should_stop = || {
        let (workloads, trouble) = &mut *watched.borrow_mut();
        if trouble.is_none() {
            *trouble = workloads.iter_mut().find_map(|workload| workload.group.listen().err());
        }
        let over = end.is_some_and(|end| Instant::now() >= end);
        over || trouble.is_some() || signals.caught().is_some() || tracer.has_ended()
    };
    let to_stdout = matches!(args.json.as_deref(), Some(path) if path.as_os_str() == "-");
    let screen = !args.plain
        && !to_stdout
        && std::io::stdout().is_terminal()
        && std::io::stdin().is_terminal();
    let shown = if screen {
        let mut source = || tracer.latest();
        wirelap_tui::run(wirelap_tui::Options::default(), &mut source, &should_stop)
            .map(drop)
            .map_err(|error| Failure::Machine(format!("{error}: try `wirelap live --plain`")))
    } else {
        lines(tracer, &should_stop, to_stdout)
    };
    match watched.into_inner().1 {
        Some(trouble) => Err(trouble),
        None => shown.map_err(Trouble::Failed),
    }
}

/// A block of lines each second.
fn lines(
    tracer: &Tracer<Discard>,
    should_stop: &dyn Fn() -> bool,
    to_stderr: bool,
) -> Result<(), Failure> {
    let mut printed = Instant::now();
    while !should_stop() {
        std::thread::sleep(Duration::from_millis(20));
        if printed.elapsed() < BLOCK {
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

fn told(mut environment: Environment, workloads: &[WorkloadProcesses<'_>]) -> Environment {
    for workload in workloads {
        let (versions, settings) = workload.told();
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
