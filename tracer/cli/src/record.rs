//! `wirelap record`: records the events on this machine to a file.

mod args;
mod flight;
mod service;

use crate::agents::Agents;
use crate::common::{DetailArg, PacketArgs, say_what_rights_lack};
use crate::metrics::{MeasuredSink, Metrics};
use crate::otlp::ExportedSink;
use crate::parquet::TabledSink;
pub use args::RecordArgs;
use flight::FlightRecorder;
use service::Journal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wirelap_correlate::BreakdownQuery;
use wirelap_events::{Delivery, Nanos, human};
use wirelap_process::Failure;
use wirelap_process::Outputs;
use wirelap_process::Signals;
use wirelap_process::catch_signals;
use wirelap_process::output;
use wirelap_process::rights;
use wirelap_process::signals;
use wirelap_process::steward::{Steward, StewardRole};
use wirelap_recording::{Rotation, Written};
use wirelap_report::from_snapshot::run_report;
use wirelap_report::{Environment, RunReport, table};
use wirelap_session::environment;
use wirelap_session::notes;
use wirelap_session::preflight_of;
use wirelap_session::{
    AttachLater, Findings, Muting, Sampling, SessionSettings, SessionView, TracedTime, Tracer,
};

/// A sink that discards deliveries, because the snapshot counts them already, and those of `--parquet-dir`, `--otlp` and `--metrics`.
type RecordSink = MeasuredSink<ExportedSink<TabledSink<fn(&Delivery)>>>;

/// Records until a signal arrives or the time is over.
///
/// # Errors
/// The probes cannot be attached, or the file cannot be written.
pub fn run(args: &RecordArgs) -> Result<ExitCode, Failure> {
    if let Some(keep) = args.flight.keep {
        args.flight.check(keep, &args.output)?;
        return fly(args);
    }
    let wanted_export = args.otlp.open()?;
    let rotation = rotation(args)?;
    let rotates = args.rotate_size.is_some() || args.rotate_time.is_some();
    let steward = steward(args)?;
    let agents = agents(args, steward.as_ref())?;
    let outputs = outputs(args, steward, &args.output, args.force)?;
    if args.goes_on {
        outputs.allow_further(&args.output)?;
    } else {
        outputs.allow(&args.output, rotates)?;
    }
    let wanted_tables = args.tables.open(&outputs)?;
    outputs.seal()?;
    let run_time = args.sampling.run_time();
    let traced = traced(args)?;
    let metrics = args.metrics.open()?;
    confine(args)?;
    let signals = catch_signals()?;
    let environment = environment::describe(0);
    let settings = written(args);
    let recorder = notes::create(
        &outputs,
        &args.output,
        settings,
        rotation,
        &environment,
        &args.filter.decode,
    )?;
    let settings = SessionSettings { run_time, ..tracing(args) };
    let discard: fn(&Delivery) = |_| {};
    let (tables, sink) = wanted_tables.beside(discard)?;
    let (otlp, sink) = wanted_export.beside(sink)?;
    let sink: RecordSink = Metrics::beside(metrics, &otlp, sink)?;
    let tracer = match &agents {
        Some(agents) => Tracer::start_on_hosts(&settings, agents.start()?, sink, Some(recorder))?,
        None => Tracer::start(&settings, sink, Some(recorder))?,
    };
    drop(settings);
    tracer.commands().begin(traced);
    say_instead(&tracer);
    let hooks = tracer.hooks();
    let journal = Journal::here();
    if !journal.is_of_service() {
        say_what_rights_lack(tracer.chosen());
    }
    journal.began(&beginning(args, rotation), &hooks);
    watch(args, &tracer, &signals);
    let Findings { snapshot, error, recorder, .. } = tracer.end()?;
    let report =
        RunReport { environment, hooks, partial: error.is_some(), ..run_report(&snapshot) };
    let text = journal.results(&report).unwrap_or_else(|| table::render(&report));
    let written = recorder.map(|recorder| notes::close(recorder, &report)).transpose();
    let printed = if args.output.as_os_str() == "-" {
        output::say(&text);
        Ok(())
    } else {
        output::print(&text)
    };
    if error.is_none()
        && let Ok(written) = &written
    {
        journal.ends(&summary(&written.clone().unwrap_or_default()));
    }
    otlp.end();
    let unwritten = if error.is_some() { None } else { written.err() };
    let failures = [error.map(Failure::Measured), unwritten, printed.err(), tables.end().err()];
    Failure::all(failures.into_iter().flatten()).map_or(Ok(ExitCode::SUCCESS), Err)
}

/// The steward that starts the commands which reach other hosts, if there are any.
fn steward(args: &RecordArgs) -> Result<Option<Arc<Steward>>, Failure> {
    args.agents.are_given().then(|| Steward::start(StewardRole::Hosts)).transpose()
}

/// The files of a recording, which the steward creates if there is one for other hosts already.
fn outputs(
    args: &RecordArgs,
    steward: Option<Arc<Steward>>,
    path: &PathBuf,
    force: bool,
) -> Result<Outputs, Failure> {
    match steward {
        Some(steward) => Ok(Outputs::new(force, Some(steward))),
        None => Outputs::of(std::iter::once(path).chain(&args.tables.parquet_dir), force),
    }
}

/// The time in which events are reported.
///
/// # Errors
/// The options contradict each other.
fn traced(args: &RecordArgs) -> Result<TracedTime, Failure> {
    if args.agents.are_given() {
        return args.agents.traced(&args.sampling);
    }
    Ok(args.sampling.traced(Sampling::Off.into()))
}

/// Checks that this host can be observed, if it is the only one, and gives up the rights that are not needed.
///
/// # Errors
/// The host cannot be observed.
fn confine(args: &RecordArgs) -> Result<(), Failure> {
    if args.agents.are_given() {
        rights::confine_collector();
        return Ok(());
    }
    let view = view(args);
    preflight_of(&view)?;
    if args.filter.tls {
        rights::confine_tls_tracer();
    } else {
        PacketArgs::confine(&view);
    }
    Ok(())
}

/// The agents of other hosts, if there are any.
///
/// # Errors
/// The options contradict each other.
fn agents(args: &RecordArgs, steward: Option<&Arc<Steward>>) -> Result<Option<Agents>, Failure> {
    let Some(steward) = steward else { return Ok(None) };
    if args.packets.packets_only {
        return Err(Failure::Usage(
            "--packets-only captures on this host alone: it cannot be used with --host, --via and --from"
                .into(),
        ));
    }
    let agents = &args.agents;
    let detail = DetailArg::Full;
    agents.prepare(Arc::clone(steward), &args.filter, detail, &args.tracer, Vec::new()).map(Some)
}

/// Keeps the newest events in memory until a signal arrives or the time is over, and writes them when it matters.
fn fly(args: &RecordArgs) -> Result<ExitCode, Failure> {
    let wanted_export = args.otlp.open()?;
    let stem = flight::stem(&args.output);
    let steward = steward(args)?;
    let agents = agents(args, steward.as_ref())?;
    let outputs = outputs(args, steward, &stem, false)?;
    outputs.allow(&stem, true)?;
    let wanted_tables = args.tables.open(&outputs)?;
    outputs.seal()?;
    let run_time = args.sampling.run_time();
    let traced = traced(args)?;
    let metrics = args.metrics.open()?;
    confine(args)?;
    let signals = catch_signals()?;
    let asked = signals::on_request().map_err(|error| Failure::Machine(error.to_string()))?;
    let environment: Environment = environment::describe(0);
    let (collector, updates) = FlightRecorder::collector();
    let settings = SessionSettings {
        keep: args.flight.keep_settings(written(args)),
        publish: true,
        run_time,
        ..tracing(args)
    };
    let (tables, sink) = wanted_tables.beside(collector)?;
    let (otlp, sink) = wanted_export.beside(sink)?;
    let sink = Metrics::beside(metrics, &otlp, sink)?;
    let tracer = match &agents {
        Some(agents) => Tracer::start_on_hosts(&settings, agents.start()?, sink, None)?,
        None => Tracer::start(&settings, sink, None)?,
    };
    drop(settings);
    tracer.commands().begin(traced);
    say_instead(&tracer);
    let hooks = tracer.hooks();
    let names = (outputs, stem);
    let journal = Journal::here();
    journal.ready(&flight::state(&args.flight), &hooks);
    let mut recorder =
        FlightRecorder::new(&args.flight, names, environment.clone(), &tracer, (updates, asked));
    recorder.watch(&args.flight, args.duration, &tracer, &signals);
    let written = recorder.end();
    let Findings { snapshot, error, .. } = tracer.end()?;
    otlp.end();
    let report =
        RunReport { environment, hooks, partial: error.is_some(), ..run_report(&snapshot) };
    let results = journal.results(&report).unwrap_or_else(|| table::render(&report));
    let printed = output::print(&results);
    let text =
        if written.files.is_empty() { "nothing was written".into() } else { summary(&written) };
    journal.ends(&text);
    let failures = [error.map(Failure::Measured), printed.err(), tables.end().err()];
    Failure::all(failures.into_iter().flatten()).map_or(Ok(ExitCode::SUCCESS), Err)
}

/// Returns the settings for writing events.
fn written(args: &RecordArgs) -> wirelap_recording::EncoderSettings {
    wirelap_recording::EncoderSettings { shown: args.stage.into(), payload: args.payload }
}

fn rotation(args: &RecordArgs) -> Result<Rotation, Failure> {
    let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
    let rotates = args.rotate_size.is_some() || args.rotate_time.is_some();
    if args.files.is_some() && !rotates {
        return usage(
            "--files needs --rotate-size or --rotate-time, which decide when a file is complete",
        );
    }
    if args.goes_on && !rotates {
        return usage("--continue needs --rotate-size or --rotate-time: only numbered files go on");
    }
    if rotates && args.output.as_os_str() == "-" {
        return usage("stdout cannot be rotated: name a file");
    }
    if args.rotate_size.is_some_and(|size| size < 1 << 20) {
        return usage("--rotate-size must be at least 1M");
    }
    if args.rotate_time.is_some_and(|time| time < Duration::from_secs(1)) {
        return usage("--rotate-time must be at least 1s");
    }
    let nanos = |time: Duration| Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    Ok(Rotation {
        bytes: args.rotate_size,
        time: args.rotate_time.map(nanos),
        files: args.files.map(usize::from),
    })
}

/// Returns the source of the events.
fn view(args: &RecordArgs) -> SessionView {
    args.packets.view(args.filter.needs_probes() || args.sampling.budget.is_some())
}

/// Says why packets alone are recorded, if the probes were wanted.
fn say_instead<S: wirelap_correlate::DeliverySink + Send + 'static>(tracer: &Tracer<S>) {
    if let Some(instead) = tracer.instead() {
        output::say(&format!("{instead}\n"));
    }
}

fn tracing(args: &RecordArgs) -> SessionSettings {
    let adapts = matches!(args.sampling.traced(Sampling::Off.into()), TracedTime::Within(_));
    SessionSettings {
        capture: args.filter.capture_config(&args.tracer),
        view: view(args),
        keep: None,
        muting: Muting::Nothing,
        decode: args.filter.decode.clone(),
        breakdown: BreakdownQuery::default(),
        later: AttachLater::Nothing,
        alternates: adapts,
        run_time: None,
        drain: false,
        // Spent time is read with each snapshot, and metrics and spans are made of them.
        publish: adapts
            || args.metrics.metrics.is_some()
            || args.otlp.otlp.is_some()
            || args.tables.parquet_dir.is_some(),
    }
}

/// Says where events go, and how much room that takes at most.
fn beginning(args: &RecordArgs, rotation: Rotation) -> String {
    let parts = match rotation.bytes {
        Some(bytes) => format!(", in files of {}", human::bytes(bytes as f64)),
        None if rotation.time.is_some() => ", in several files".into(),
        None => String::new(),
    };
    let kept = rotation.files.map(|files| format!(", of which the newest {files} are kept"));
    format!("recording to {}{parts}{}", args.output.display(), kept.unwrap_or_default())
}

fn watch(args: &RecordArgs, tracer: &Tracer<RecordSink>, signals: &Signals) {
    let end = args.duration.and_then(|time| Instant::now().checked_add(time));
    while !tracer.has_ended()
        && signals.caught().is_none()
        && end.is_none_or(|end| Instant::now() < end)
    {
        std::thread::sleep(flight::POLL_INTERVAL);
    }
}

/// The line that names the files of a recording and their size.
fn summary(written: &Written) -> String {
    match written.files.as_slice() {
        [] => format!("{} bytes written", written.bytes),
        [only] => format!("{}: {} bytes", only.display(), written.bytes),
        [first, .., last] => format!(
            "{} … {}: {} files, {} bytes in all",
            first.display(),
            last.display(),
            written.files.len(),
            written.bytes
        ),
    }
}
