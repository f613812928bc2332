//! One trial: start, measure, stop, whatever happens in between.

use crate::ground_truth::{self, Records};
use crate::pacing::Pacing;
use crate::processes::{Installation, Trouble};
use crate::progress::Progress;
use crate::tally::Tally;
use crate::trial::Trial;
use crate::workload_processes::{RoleProcess, WorkloadProcesses};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wirelap_contract::Kind;
use wirelap_correlate::{Evidence, Snapshot};
use wirelap_process::Failure;
use wirelap_process::Outputs;
use wirelap_process::Signals;
use wirelap_recording::{Recorder, Rotation};
use wirelap_report::from_snapshot::run_report;
use wirelap_report::{Environment, GroundTruth, Hook, RunReport, Slowdown};
use wirelap_session::Sampling;
use wirelap_session::Turn;
use wirelap_session::notes;
use wirelap_session::{Findings, Settings, Tracer};

/// When the sender is done, the receiver is waited for as long as messages still arrive this often.
const STALLED: Duration = Duration::from_secs(2);

/// When all that was sent has been seen to arrive, the application gets this long to take it.
const LAST_CALLBACK: Duration = Duration::from_millis(300);

/// Messages that still arrive after the sender is done are waited for no longer than this, however many there are.
const BACKLOG: Duration = Duration::from_secs(30);

/// A sender whose time is over has so long to get rid of what it has handed to its library.
const OVERTIME: Duration = Duration::from_secs(40);

/// How often the processes' use is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// What all trials share.
#[derive(Clone)]
pub struct Context<'a> {
    /// The workloads' program and folder.
    pub installation: &'a Installation,
    /// Who creates files.
    pub outputs: &'a Outputs,
    /// The user's wish to stop.
    pub signals: &'a Signals,
    /// What the tracer is told.
    pub settings: Settings,
    /// What the user sees meanwhile.
    pub progress: &'a Progress,
    /// Where its events go, too.
    pub recording: Option<PathBuf>,
    /// The machine, for the recording.
    pub environment: &'a Environment,
    /// The probes are attached and detached by turns of this length.
    pub turns: Option<Duration>,
}

impl Context<'_> {
    /// The trial's recording. Payload is kept: it is the workloads' own.
    fn recorder(&self) -> Result<Option<Recorder>, Failure> {
        let Some(path) = &self.recording else { return Ok(None) };
        let settings = wirelap_recording::Settings { payload: true, ..Default::default() };
        let rotation = Rotation::default();
        notes::create(self.outputs, path, settings, rotation, self.environment, &[]).map(Some)
    }

    /// What the trace alone says, for the recording.
    fn recorded(&self, snapshot: &Snapshot, hooks: &[Hook]) -> RunReport {
        RunReport {
            environment: self.environment.clone(),
            hooks: hooks.to_vec(),
            ..run_report(snapshot)
        }
    }
}

/// What a trial yielded.
#[derive(Debug)]
pub struct Outcome {
    /// The trial.
    pub trial: Trial,
    /// Why it did not reach its end, if it did not.
    pub error: Option<String>,
    /// The signal by which the user stopped it.
    pub interrupted: Option<&'static str>,
    /// What the trace saw.
    pub tally: Tally,
    /// The trace's last picture.
    pub snapshot: Snapshot,
    /// Why its messages took as long as they did.
    pub evidence: Evidence,
    /// The hooks that were used.
    pub hooks: Vec<Hook>,
    /// The processes.
    pub parts: Vec<RoleProcess>,
    /// The workloads' own records.
    pub records: Option<Records>,
    /// The trace against them.
    pub truth: Option<GroundTruth>,
    /// Versions, as the processes told them.
    pub versions: BTreeMap<String, String>,
    /// Settings, as the processes told them.
    pub settings: BTreeMap<String, String>,
    /// When the probes were attached, where they were by turns.
    pub turns: Vec<Turn>,
    /// What tracing cost the workload, where that was measured.
    pub slowdown: Option<Slowdown>,
}

/// Runs a trial to its end, or as far as it gets.
///
/// # Errors
/// Nothing could be measured: the probes cannot be attached, or a program cannot be started.
pub fn run(context: &Context<'_>, trial: &Trial) -> Result<Outcome, Failure> {
    let counted = Arc::new(AtomicU64::new(0));
    let expected = usize::try_from(trial.messages.unwrap_or(0)).unwrap_or(usize::MAX);
    let tally = tally(trial, Tally::new(expected, Arc::clone(&counted)));
    let recorder = context.recorder()?;
    let settings = Settings { alternates: context.turns.is_some(), ..context.settings.clone() };
    let tracer = Tracer::start(&settings, tally, recorder)?;
    let hooks = tracer.hooks().to_vec();
    let mut workload_processes =
        WorkloadProcesses::new(trial, context.installation, context.signals, tracer.commands());
    let trouble = play(context, trial, &tracer, &mut workload_processes, &counted).err();
    workload_processes.look();
    workload_processes.group.stop();
    let findings = tracer.end()?;
    finish(context, trial, &workload_processes, findings, hooks, trouble)
}

/// How a trial's messages are told from others.
fn tally(trial: &Trial, tally: Tally) -> Tally {
    match (trial.about.kind, trial.pacing) {
        (Kind::Stamped | Kind::Untraced, _) => tally,
        // A ping and its reply.
        (Kind::Foreign, Pacing::PingPong) => tally.unstamped(trial.warmup.saturating_mul(2)),
        // A publisher of another's does not tell what of it was warm-up.
        (Kind::Foreign, Pacing::Rate(_) | Pacing::BackToBack) => tally.unstamped(0),
    }
}

fn play(
    context: &Context<'_>,
    trial: &Trial,
    tracer: &Tracer<Tally>,
    workload_processes: &mut WorkloadProcesses<'_>,
    counted: &AtomicU64,
) -> Result<(), Trouble> {
    workload_processes.assemble()?;
    tracer.commands().begin(trial.sampling);
    workload_processes.go();
    if let Some(turn) = context.turns {
        tracer.commands().alternate(turn);
    }
    let mut looked = Instant::now();
    let mut patience = Patience::new(trial);
    let late = trial.duration.map(|time| Instant::now() + trial.warmup_time + time + OVERTIME);
    loop {
        workload_processes.group.listen()?;
        if workload_processes.sender_done().is_none()
            && late.is_some_and(|late| Instant::now() >= late)
        {
            let seconds = OVERTIME.as_secs();
            let text = format!("the sender had not ended {seconds} s after its time was over");
            return Err(Failure::Measured(text).into());
        }
        if tracer.has_ended() {
            return Err(Failure::Measured("the tracer ended early".into()).into());
        }
        let count = counted.load(Ordering::Relaxed);
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            workload_processes.look();
            context.progress.messages(count);
        }
        if patience.is_over(workload_processes, count) {
            return Ok(());
        }
    }
}

/// Knows when nothing more is to be expected.
struct Patience {
    ping_pong: bool,
    stalled: Duration,
    count: u64,
    moved: Instant,
    /// When the sender was done.
    sent: Option<Instant>,
}

impl Patience {
    fn new(trial: &Trial) -> Patience {
        // A sampled trace may see nothing for a whole period.
        let stalled = match trial.sampling {
            Sampling::Off => STALLED,
            Sampling::Windows { every, .. } => STALLED.max(every.saturating_mul(2)),
        };
        let ping_pong = trial.pacing == Pacing::PingPong;
        Patience { ping_pong, stalled, count: 0, moved: Instant::now(), sent: None }
    }

    /// `count` deliveries have been seen so far.
    fn is_over(&mut self, workload_processes: &WorkloadProcesses<'_>, count: u64) -> bool {
        let Some(done) = workload_processes.sender_done() else {
            self.moved = Instant::now();
            return false;
        };
        let sent = *self.sent.get_or_insert_with(Instant::now);
        if self.ping_pong || workload_processes.is_receiver_done() || sent.elapsed() > BACKLOG {
            return true;
        }
        if count != std::mem::replace(&mut self.count, count) {
            self.moved = Instant::now();
        }
        let all_seen = done.sent.is_some_and(|sent| count >= sent);
        let enough = if all_seen { LAST_CALLBACK } else { self.stalled };
        self.moved.elapsed() > enough
    }
}

/// Everything has been stopped: puts together what was found.
fn finish(
    context: &Context<'_>,
    trial: &Trial,
    workload_processes: &WorkloadProcesses<'_>,
    findings: Findings<Tally>,
    hooks: Vec<Hook>,
    trouble: Option<Trouble>,
) -> Result<Outcome, Failure> {
    let Findings { sink: mut tally, snapshot, evidence, error, turns, recorder } = findings;
    let mut evidence = own(trial, &evidence);
    let (interrupted, failed) = match trouble {
        None => (None, None),
        Some(Trouble::Interrupted(name)) => (Some(name), None),
        Some(Trouble::Failed(Failure::Measured(what))) => (None, Some(what)),
        Some(Trouble::Failed(failure)) => return Err(failure),
    };
    let (records, unread) = match read_records(trial, workload_processes) {
        Ok(records) => (records, None),
        Err(error) => (None, Some(error)),
    };
    let truth =
        records.as_ref().map(|records| ground_truth::compare(&mut tally, &mut evidence, records));
    let (versions, settings) = workload_processes.told();
    // What was measured is there, whatever became of its recording.
    let unrecorded = recorder.and_then(|recorder| {
        let report = context.recorded(&snapshot, &hooks);
        notes::close(recorder, &report).err().map(|failure| failure.to_string())
    });
    Ok(Outcome {
        trial: trial.clone(),
        error: error.or(failed).or(unread).or(unrecorded),
        interrupted,
        tally,
        snapshot,
        evidence,
        hooks,
        parts: workload_processes.parts(),
        records,
        truth,
        versions,
        settings,
        turns,
        slowdown: None,
    })
}

/// The evidence of the rows that are the trial's own.
fn own(trial: &Trial, rows: &[(String, Evidence)]) -> Evidence {
    let mut sum = Evidence::default();
    for (_, evidence) in rows.iter().filter(|(name, _)| name == trial.name()) {
        sum.merge(evidence);
    }
    sum.setting.saturating = trial.pacing == Pacing::BackToBack;
    sum.setting.sampled |= trial.sampling != Sampling::Off;
    sum
}

fn read_records(
    trial: &Trial,
    workload_processes: &WorkloadProcesses<'_>,
) -> Result<Option<Records>, String> {
    if !trial.truth {
        return Ok(None);
    }
    // One that never got ready has none.
    let ready = workload_processes.group.children().iter().filter(|child| child.ready.is_some());
    let files = ready.filter_map(|child| child.truth.as_ref());
    Records::read(files).map(Some)
}
