//! `wirelap live`: watches the programs that run on this machine, and wirelap's own workloads if the user starts some.

mod args;
mod driver;
mod experiments;
mod files;
mod json_lines;
mod memory;
mod offer;
mod on_event;
mod replay;
mod source;
mod trials;
mod watch;

pub use args::LiveArgs;
pub use files::time;

use crate::agents::Agents;
use crate::common::{DetailArg, PacketArgs, say_what_rights_lack};
use crate::json::Json;
use crate::metrics::Metrics;
use experiments::{Bench, Workloads};
use files::ScreenFiles;
use memory::ScreenMemory;
use on_event::OnEvent;
use source::{LiveSource, keep_limits, probe_setup};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use trials::OfferedLoad;
use wirelap_correlate::Snapshot;
use wirelap_events::Pid;
use wirelap_experiment::{
    Installations, TrialStopped, WorkloadInstallation, WorkloadOptions, unique,
};
use wirelap_history::DeliveryCollector;
use wirelap_process::steward::{self, Steward, StewardRole};
use wirelap_process::{Failure, Outputs, catch_signals, output, rights};
use wirelap_recording::{FileRecorder, Rotation};
use wirelap_report::explain::{ExplainOptions, pages};
use wirelap_report::{Environment, RunReport, Scenario, from_snapshot, table};
use wirelap_session::{
    AttachLater, Findings, KeepSettings, Muting, SessionSettings, SessionView, TracedTime, Tracer,
    environment, notes, preflight_of, ring_bytes,
};

/// The most updates that wait for the screen. While more would wait, the collector puts them together.
const UPDATES: usize = 8;

/// Why no row is muted where no probes could be attached.
const PACKETS_ALONE: &str = "no row can be muted, because packets alone are captured";

/// Watches until the user leaves, a signal arrives or the time is over.
///
/// # Errors
/// The probes cannot be attached, a workload failed, or an output could not be written.
pub fn run(args: &LiveArgs) -> Result<ExitCode, Failure> {
    if !args.replay.is_empty() {
        return replay::run(args);
    }
    fit_together(args)?;
    let wanted_export = args.otlp.open()?;
    let steward = steward(args)?;
    let agents = agents(args, steward.as_ref())?;
    let traced = match &agents {
        Some(_) => args.agents.traced(&args.sampling)?,
        None => args.traced_time(),
    };
    let outputs = Outputs::new(args.traced.force, steward.clone());
    let json = Json::open(args.json.as_deref(), &outputs)?;
    args.pcapng.as_deref().map_or(Ok(()), |path| outputs.allow(path, false))?;
    let view = args.view();
    agents.is_none().then(|| preflight_of(&view)).transpose()?;
    let installation = installation(args, steward.as_ref())?;
    let (trials, skipped) = trials::of_options(args, installation.as_ref().ok())?;
    let files = args.shows_screen().then(|| ScreenFiles::of(args, &outputs)).transpose()?;
    let memory = ScreenMemory::of(args, &outputs);
    args.on_event.declare(steward.as_deref())?;
    let wanted_tables = args.tables.open(&outputs)?;
    outputs.seal()?;
    let run_time = args.sampling.run_time();
    let metrics = args.metrics.open()?;
    confine(args, &view);
    let signals = catch_signals()?;
    let mut environment = environment::describe(0);
    let recorder = recorder(args, &outputs, &environment)?;
    let (collector, updates) = DeliveryCollector::new(UPDATES);
    let (tables, sink) = wanted_tables.beside(collector)?;
    let (otlp, sink) = wanted_export.beside(sink)?;
    let sink = Metrics::beside(metrics, &otlp, sink)?;
    let (on_event, sink) = OnEvent::beside(&args.on_event, steward.as_ref(), sink)?;
    let settings = SessionSettings { run_time, ..settings(args, installation.is_ok()) };
    let tracer = match &agents {
        Some(agents) => Tracer::start_on_hosts(&settings, agents.start()?, sink, recorder)?,
        None => Tracer::start(&settings, sink, recorder)?,
    };
    drop(settings);
    if let Some(instead) = tracer.instead() {
        output::say(&format!("{instead}\n"));
    }
    let hooks = tracer.hooks();
    // The screen shows it among the probes.
    if !args.shows_screen() {
        say_what_rights_lack(tracer.chosen());
    }
    let bench = Bench {
        installations: installation.map(Installations::from),
        signals: signals.clone(),
        commands: tracer.commands(),
        options: WorkloadOptions::from(&args.traced.workload),
        usual: OfferedLoad { rate: args.rate, payload: args.payload },
    };
    let stopped = std::thread::scope(|scope| {
        let workloads = RefCell::new(Workloads::new(scope, &bench));
        let started = workloads.borrow_mut().start_all(trials);
        let stopped = started.and_then(|()| {
            tracer.commands().begin(traced);
            let setup = probe_setup(tracer.chosen(), ring_bytes(args.traced.tracer.ring_size));
            // Without a receiver, the collector gathers nothing.
            let (for_screen, for_lines) = match (args.shows_screen(), args.json_lines) {
                (true, _) => (Some(updates), None),
                (false, is_read) => (None, is_read.then_some(updates)),
            };
            let mut source = LiveSource::new(
                for_screen,
                (files, memory),
                &workloads,
                (keep_limits(args), tracer.commands()),
                args.mutes_nothing().or(tracer.instead().map(|_| PACKETS_ALONE)),
            )
            .with_probes(setup, tracer.instead());
            watch::watch(args, &tracer, &mut source, for_lines, &workloads, &signals)
        });
        workloads.into_inner().end(&mut environment);
        stopped
    });
    let Findings { snapshot, error, recorder, .. } = tracer.end()?;
    on_event.end();
    let report = RunReport {
        hooks,
        environment,
        skipped,
        ..report(args, &snapshot, stopped.is_err() || error.is_some())
    };
    // The recording is closed first, so that it is complete even if writing the report fails.
    let recorded = recorder.map(|recorder| notes::close(recorder, &report)).transpose();
    let written = if args.explain || !matches!(json, Json::No) {
        json.write(&report, &text(args, &report))
    } else {
        Ok(())
    };
    otlp.end();
    let failed = match stopped {
        // A signal is the usual way to end this command.
        Ok(()) | Err(TrialStopped::Interrupted(_)) => None,
        Err(TrialStopped::Failed(failure)) => Some(failure),
    };
    // An error of the recording has ended the session: it is in `error` already.
    let unrecorded = if error.is_some() { None } else { recorded.err() };
    let failures =
        [failed, error.map(Failure::Measured), unrecorded, written.err(), tables.end().err()];
    Failure::all(failures.into_iter().flatten()).map_or(Ok(ExitCode::SUCCESS), Err)
}

/// Refuses options that contradict each other.
fn fit_together(args: &LiveArgs) -> Result<(), Failure> {
    if args.pcapng.is_some() && args.detail == DetailArg::Ends {
        return Err(Failure::Usage(
            "--pcapng writes packets, which --detail ends does not observe: use --detail path"
                .into(),
        ));
    }
    if let Some(why) = args.mutes_nothing().filter(|_| !args.mute.is_empty()) {
        return Err(Failure::Usage(format!("--mute: {why}")));
    }
    if args.json_lines && (args.writes_to_stdout() || args.explain) {
        return Err(Failure::Usage(
            "--json-lines has stdout: write --json to a file, and leave --explain out".into(),
        ));
    }
    Ok(())
}

/// The text of a report: pages or a table; none where lines of JSON have stdout for themselves.
fn text(args: &LiveArgs, report: &RunReport) -> String {
    if args.json_lines {
        return String::new();
    }
    let text =
        if args.explain { pages(report, ExplainOptions::default()) } else { table::render(report) };
    format!("{text}{}", args.breakdown.table(report.breakdown.as_ref()))
}

/// Gives up the rights that are not needed.
fn confine(args: &LiveArgs, view: &SessionView) {
    if args.agents.are_given() {
        rights::confine_collector();
    } else if args.filter.tls {
        rights::confine_tls_tracer();
    } else {
        PacketArgs::confine(view);
    }
}

/// The agents of other hosts, if there are any.
///
/// # Errors
/// The options contradict each other.
fn agents(args: &LiveArgs, steward: Option<&Arc<Steward>>) -> Result<Option<Agents>, Failure> {
    let Some(steward) = steward.filter(|_| args.agents.are_given()) else { return Ok(None) };
    let refused = [
        (!args.on.is_empty(), "--on starts workloads on this host"),
        (args.packets.packets_only, "--packets-only captures on this host"),
        (!args.mute.is_empty(), "--mute mutes sockets of this host"),
    ];
    if let Some((_, why)) = refused.into_iter().find(|(is_given, _)| *is_given) {
        return Err(Failure::Usage(format!(
            "{why} alone: it cannot be used with --host, --via and --from"
        )));
    }
    let agents = &args.agents;
    agents
        .prepare(Arc::clone(steward), &args.filter, args.detail, &args.traced.tracer, Vec::new())
        .map(Some)
}

/// The workloads' program. `Err` is the sentence why the screen cannot start workloads.
///
/// # Errors
/// `--on` needs the program, and it is not there or cannot be used.
fn installation(
    args: &LiveArgs,
    steward: Option<&Arc<Steward>>,
) -> Result<Result<WorkloadInstallation, String>, Failure> {
    let open = |steward: &Arc<Steward>| {
        let programs = args.traced.workload.programs.variables();
        WorkloadInstallation::open(Arc::clone(steward), &programs)
    };
    match steward {
        Some(steward) if !args.on.is_empty() => open(steward).map(Ok),
        Some(steward) if may_experiment(args) => {
            Ok(open(steward).map_err(|failure| failure.to_string()))
        }
        _ if args.agents.are_given() => {
            Ok(Err("no workloads can be started while other hosts are observed".into()))
        }
        _ if args.watch_only => Ok(Err("no workloads can be started, because wirelap was started with --watch-only".into())),
        _ => Ok(Err("no workloads can be started: wirelap-workload is not installed beside wirelap, and $WIRELAP_WORKLOAD does not name \
                     it"
            .into())),
    }
}

/// True if the screen may start workloads.
fn may_experiment(args: &LiveArgs) -> bool {
    args.shows_screen() && !args.watch_only && !args.agents.are_given() && steward::is_installed()
}

/// Starts the steward if something needs rights later: starting workloads, or naming files.
fn steward(args: &LiveArgs) -> Result<Option<Arc<Steward>>, Failure> {
    let is_file = |path: &PathBuf| path != Path::new("-");
    let from_screen = args.shows_screen() && !args.watch_only;
    let writes = args.json.iter().chain(&args.pcapng).any(is_file) || from_screen;
    if args.agents.are_given() {
        return Steward::start(StewardRole::Hosts).map(Some);
    }
    let runs = !args.on.is_empty() || may_experiment(args) || args.on_event.on_event.is_some();
    let role = match (runs, writes) {
        (true, _) => StewardRole::Workloads,
        (false, true) => StewardRole::Outputs,
        (false, false) => return Ok(None),
    };
    Steward::start(role).map(Some)
}

/// The recording of `--pcapng`.
fn recorder(
    args: &LiveArgs,
    outputs: &Outputs,
    environment: &Environment,
) -> Result<Option<FileRecorder>, Failure> {
    let Some(path) = &args.pcapng else { return Ok(None) };
    let settings =
        wirelap_recording::EncoderSettings { payload: args.pcapng_payload, ..Default::default() };
    let rotation = Rotation::default();
    notes::create(outputs, path, settings, rotation, environment, &args.filter.decode).map(Some)
}

/// The settings of the session. `experiments`: whether workloads may be started.
fn settings(args: &LiveArgs, experiments: bool) -> SessionSettings {
    let mut capture = args.filter.capture_config(&args.traced.tracer);
    capture.detail = args.detail.into();
    if args.filter.is_filtered() && experiments {
        // A filter for the programs of the machine does not hide wirelap's own workloads.
        capture.pids.push(Pid(std::process::id()));
    }
    SessionSettings {
        capture,
        view: args.view(),
        keep: keep_limits(args).map(|limits| KeepSettings {
            limits,
            written: wirelap_recording::EncoderSettings { payload: true, ..Default::default() },
        }),
        muting: match args.mutes_nothing() {
            None => Muting::Allowed(args.mute.clone()),
            Some(_) => Muting::Nothing,
        },
        decode: args.filter.decode.clone(),
        breakdown: args.breakdown.query(),
        later: AttachLater::Nothing,
        alternates: matches!(args.traced_time(), TracedTime::Within(_)),
        run_time: None,
        drain: false,
        publish: true,
    }
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
