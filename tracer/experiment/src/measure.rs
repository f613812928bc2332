//! Runs one trial: starts its processes, measures, and stops the processes whatever happens.

use crate::context::TrialContext;
use crate::ground_truth::{self, TruthRecords};
use crate::host_numbers::HostNumbers;
use crate::machine_state::MachineWatch;
use crate::pacing::TrialPacing;
use crate::processes::TrialStopped;
use crate::tally::Tally;
use crate::trial::Trial;
use crate::turns;
use crate::workload_processes::{RoleProcess, WorkloadProcesses};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wirelap_capture::allocator;
use wirelap_contract::{WorkloadKind, WorkloadTopology};
use wirelap_correlate::{Evidence, LocalRequestTimes, Snapshot};
use wirelap_events::{Nanos, Pid};
use wirelap_hosts::MergedHosts;
use wirelap_process::Failure;
use wirelap_report::{CostUnknown, GroundTruth, Hook, MachineState, SampleOrigin, Slowdown};
use wirelap_session::Sampling;
use wirelap_session::TracingPhase;
use wirelap_session::machine::{hostname, wall_offset};
use wirelap_session::notes;
use wirelap_session::{AttachLater, Findings, SessionSettings, Tracer};

/// After the sender is done, the trial ends when no message has arrived for this long.
const STALLED: Duration = Duration::from_secs(2);

/// Time in which the receiving application takes the last messages after the trace has seen all of them arrive.
const LAST_CALLBACK: Duration = Duration::from_millis(300);

/// The longest time that messages are waited for after the sender is done, even if they still arrive.
const BACKLOG: Duration = Duration::from_secs(30);

/// Longest time in which a sender may send what its library has queued after its time is over.
const OVERTIME: Duration = Duration::from_secs(40);

/// Interval at which the CPU time and memory of the processes is sampled.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);

/// Outcome of a trial.
#[derive(Debug)]
pub struct Outcome {
    /// The trial.
    pub trial: Trial,
    /// Why the trial failed; `None` if it did not.
    pub error: Option<Failure>,
    /// True if the failure also concerns all further trials: tracing failed, or the recording could not be written.
    pub ends_run: bool,
    /// The signal by which the user stopped the trial.
    pub interrupted: Option<&'static str>,
    /// The sums of the trace's deliveries.
    pub tally: Tally,
    /// The last snapshot of the trace.
    pub snapshot: Snapshot,
    /// The evidence for the causes of the messages' latency.
    pub evidence: Evidence,
    /// The times of requests whose both ends are on this host, of each row of the trial.
    pub requests: Vec<LocalRequestTimes>,
    /// The hooks that were used.
    pub hooks: Vec<Hook>,
    /// The processes of the trial.
    pub processes: Vec<RoleProcess>,
    /// The records of the workloads, if they wrote some.
    pub records: Option<TruthRecords>,
    /// The comparison of the trace with these records.
    pub truth: Option<GroundTruth>,
    /// Versions of libraries and brokers by name, as the processes reported them.
    pub versions: BTreeMap<String, String>,
    /// Settings by `ROLE.NAME`, as the processes reported them.
    pub settings: BTreeMap<String, String>,
    /// Cost of tracing for the workload, or why that is not known; a failure concerns all further trials, but not this one.
    /// `None` if it was not to be measured.
    pub cost: Option<Result<Result<Slowdown, CostUnknown>, Failure>>,
    /// Speed of the machine itself; `None` if it was not measured.
    pub machine: Option<MachineState>,
}

/// Runs a trial to its end, or until it fails. A failure of its processes is in the outcome.
///
/// # Errors
/// Nothing could be measured, nor can it be in a further trial: the probes cannot be attached, or the recording cannot be
/// created.
pub fn run(context: &TrialContext<'_>, trial: &Trial) -> Result<Outcome, Failure> {
    let counted = Arc::new(AtomicU64::new(0));
    let expected = usize::try_from(trial.messages.unwrap_or(0)).unwrap_or(usize::MAX);
    let tally = tally(trial, Tally::new(expected, Arc::clone(&counted)))
        .with_copies(trial.workloads.topology.most_copies());
    let tally = tally.sampled(context.samples.clone());
    if let Some(samples) = &context.samples {
        samples.lock().begin(&origin(trial));
    }
    let recorder = context.recorder()?;
    let costs = context.costs && turns::are_possible(trial);
    let later = if costs { AttachLater::AnotherSession } else { context.settings.later };
    let settings = SessionSettings { later, ..context.settings.clone() };
    // Before the probes are attached, because the reference is the machine without them.
    let mut watch = MachineWatch::measure(&trial.workloads.pin);
    let tracer = match context.agents {
        Some(agents) => Tracer::start_on_hosts(&settings, agents()?, tally, recorder)?,
        None => Tracer::start(&settings, tally, recorder)?,
    };
    watch.begin();
    let hooks = tracer.hooks();
    let (installations, signals, commands) =
        (context.installations, context.signals, tracer.commands());
    let hosts = context.agents.map(|_| HostNumbers::await_all(&tracer, signals)).transpose();
    let (hosts, unobserved) =
        hosts.map_or_else(|stopped| (None, Some(stopped)), |hosts| (hosts, None));
    let mut processes = WorkloadProcesses::new(trial, installations, signals, commands)
        .staying(costs)
        .on_hosts(hosts.unwrap_or_default());
    let stopped = match unobserved {
        None => drive(context, trial, &tracer, &mut processes, &counted).err(),
        unobserved => unobserved,
    };
    processes.sample();
    let (findings, machine, phases);
    if costs && stopped.is_none() {
        // The trace ends before the processes go on: what they send then is in no figure of it.
        findings = tracer.end()?;
        machine = watch.end();
        phases = Some(turns::take(context, trial, &findings.sink, &mut processes));
        processes.group.stop();
    } else {
        processes.group.stop();
        machine = watch.end();
        findings = tracer.end()?;
        phases = None;
    }
    allocator::give_back();
    Ok(finish(
        context,
        trial,
        &processes,
        TrialMeasurements { findings, hooks, machine, stopped, phases },
    ))
}

/// Returns the origin that the deliveries of a trial share.
fn origin(trial: &Trial) -> SampleOrigin {
    SampleOrigin {
        middleware: trial.name().to_owned(),
        broker: trial.broker.as_ref().map(|broker| broker.name().to_owned()),
        host: hostname(),
        variant: trial.variant.map(|variant| variant.to_string()),
        payload_bytes: Some(trial.payload as u64),
        rate_msg_per_s: match trial.pacing {
            TrialPacing::Rate(rate) => Some(rate),
            TrialPacing::PingPong | TrialPacing::BackToBack => None,
        },
        repetition: Some(trial.repetition),
        wall_offset_ns: Some(wall_offset()),
    }
}

/// The tally for a trial, which depends on whether its messages have stamps.
fn tally(trial: &Trial, tally: Tally) -> Tally {
    match (trial.about.kind, trial.pacing) {
        (WorkloadKind::Stamped | WorkloadKind::Untraced, _) => tally,
        // A round trip of the warm-up is two messages.
        (WorkloadKind::Foreign, TrialPacing::PingPong) => {
            tally.unstamped(trial.warmup.saturating_mul(2))
        }
        // The publishers of other projects do not report which messages are their warm-up.
        (WorkloadKind::Foreign, TrialPacing::Rate(_) | TrialPacing::BackToBack) => {
            tally.unstamped(0)
        }
    }
}

/// Starts the processes, lets the sender begin, and waits for the end of the measurement.
fn drive(
    context: &TrialContext<'_>,
    trial: &Trial,
    tracer: &Tracer<Tally>,
    workload_processes: &mut WorkloadProcesses<'_>,
    counted: &AtomicU64,
) -> Result<(), TrialStopped> {
    workload_processes.assemble()?;
    workload_processes.stay_idle(trial.idle, SAMPLE_INTERVAL)?;
    tracer.commands().begin(trial.sampling);
    workload_processes.go();
    let mut sampled = Instant::now();
    let mut end = EndDetector::new(trial);
    let late = trial
        .duration
        .map(|time| Instant::now() + trial.warmup_time + time.max(trial.opening_time()) + OVERTIME);
    loop {
        workload_processes.group.listen()?;
        if workload_processes.sender_done().is_none()
            && late.is_some_and(|late| Instant::now() >= late)
        {
            let seconds = OVERTIME.as_secs();
            let text = format!("the sender had not finished {seconds} s after its time was over");
            return Err(Failure::Measured(text).into());
        }
        if tracer.has_ended() {
            return Err(Failure::Measured("tracing ended before the trial did".into()).into());
        }
        let count = counted.load(Ordering::Relaxed);
        if sampled.elapsed() >= SAMPLE_INTERVAL {
            sampled = Instant::now();
            workload_processes.sample();
            context.progress.messages(count);
        }
        if end.is_over(workload_processes, count) {
            return Ok(());
        }
    }
}

/// Decides when no further messages are to be expected.
struct EndDetector {
    ping_pong: bool,
    stalled: Duration,
    count: u64,
    moved: Instant,
    /// Time at which the sender was found to be done.
    sent: Option<Instant>,
    topology: WorkloadTopology,
}

impl EndDetector {
    fn new(trial: &Trial) -> EndDetector {
        // A sampled trace sees nothing between two windows.
        let stalled = match trial.sampling {
            Sampling::Off => STALLED,
            Sampling::Windows { every, .. } => STALLED.max(every.saturating_mul(2)),
        };
        let ping_pong = trial.pacing == TrialPacing::PingPong;
        let (moved, topology) = (Instant::now(), trial.workloads.topology);
        EndDetector { ping_pong, stalled, count: 0, moved, sent: None, topology }
    }

    /// True if the measurement is over, when the trace has seen `count` deliveries so far.
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
        let all_seen = done.sent.is_some_and(|sent| count >= self.topology.deliveries(sent));
        let enough = if all_seen { LAST_CALLBACK } else { self.stalled };
        self.moved.elapsed() > enough
    }
}

/// Measurements of a trial, and why it stopped if not by itself.
struct TrialMeasurements {
    findings: Findings<Tally>,
    hooks: Vec<Hook>,
    machine: MachineState,
    stopped: Option<TrialStopped>,
    phases: Option<PhasesTaken>,
}

/// Phases in which the cost of tracing was measured, or why they were not.
type PhasesTaken = Result<Result<Vec<TracingPhase>, CostUnknown>, TrialStopped>;

/// Puts together the outcome of a trial after its processes and the trace have ended.
fn finish(
    context: &TrialContext<'_>,
    trial: &Trial,
    workload_processes: &WorkloadProcesses<'_>,
    measured: TrialMeasurements,
) -> Outcome {
    let TrialMeasurements { findings, hooks, machine, stopped, phases } = measured;
    let Findings { sink: mut tally, snapshot, evidence, requests, error, recorder, hosts, .. } =
        findings;
    let is_own = |(name, requests)| (name == trial.name()).then_some(requests);
    let clocks = TrialClocks(hosts.as_deref());
    let mut evidence = own_evidence(trial, &evidence);
    let (interrupted, failed) = match stopped {
        None => (None, None),
        Some(TrialStopped::Interrupted(name)) => (Some(name), None),
        Some(TrialStopped::Failed(failure)) => (None, Some(failure)),
    };
    let (records, unread) = match read_records(trial, workload_processes, &clocks) {
        Ok(records) => (records, None),
        Err(error) => (None, Some(error)),
    };
    let compare =
        |records| ground_truth::compare(&mut tally, &mut evidence, records, clocks.tolerance());
    let truth = records.as_ref().map(compare);
    let cost = phases.map(|phases| cost(trial, phases, records.as_ref()));
    let (versions, settings) = workload_processes.reported();
    // An error of the recording does not make the measurement invalid: it is reported with it.
    let unrecorded = recorder.and_then(|recorder| {
        let report = context.recorded(&snapshot, &hooks);
        notes::close(recorder, &report).err()
    });
    let error = error.map(Failure::Measured);
    Outcome {
        trial: trial.clone(),
        ends_run: error.is_some() || unrecorded.is_some(),
        error: error.or(failed).or(unread.map(Failure::Measured)).or(unrecorded),
        interrupted,
        tally,
        snapshot,
        evidence,
        requests: requests.into_iter().filter_map(is_own).collect(),
        hooks,
        processes: clocks.by_reference(workload_processes.processes()),
        records,
        truth,
        versions,
        settings,
        cost,
        machine: Some(machine),
    }
}

/// Returns the cost of tracing for the workload of a trial, or why it is not known.
fn cost(
    trial: &Trial,
    phases: PhasesTaken,
    records: Option<&TruthRecords>,
) -> Result<Result<Slowdown, CostUnknown>, Failure> {
    match phases {
        Ok(Ok(phases)) => {
            let records = records.ok_or(CostUnknown::FewTurns);
            let seed = trial.domain.into();
            Ok(records.and_then(|records| turns::slowdown(records, &phases, seed)))
        }
        Ok(Err(unknown)) => Ok(Err(unknown)),
        Err(TrialStopped::Failed(Failure::Measured(_))) => Ok(Err(CostUnknown::Stopped)),
        Err(TrialStopped::Failed(failure)) => Err(failure),
        Err(TrialStopped::Interrupted(signal)) => Err(Failure::Measured(format!(
            "stopped by {signal} while the cost of tracing was measured"
        ))),
    }
}

/// The evidence of the rows that belong to the trial.
fn own_evidence(trial: &Trial, rows: &[(String, Evidence)]) -> Evidence {
    let mut sum = Evidence::default();
    for (_, evidence) in rows.iter().filter(|(name, _)| name == trial.name()) {
        sum.merge(evidence);
    }
    sum.setting.saturating = trial.pacing == TrialPacing::BackToBack;
    sum.setting.sampled |= trial.sampling != Sampling::Off;
    sum
}

fn read_records(
    trial: &Trial,
    workload_processes: &WorkloadProcesses<'_>,
    clocks: &TrialClocks<'_>,
) -> Result<Option<TruthRecords>, String> {
    if !trial.truth {
        return Ok(None);
    }
    // A process that was never ready has not written its truth file.
    let children = workload_processes.group.children().iter();
    let files = children.filter(|child| child.ready.is_some()).filter_map(|child| {
        let by = workload_processes.traced_as(child);
        Some((by, child.truth.as_ref()?))
    });
    let several = trial.workloads.topology.most_copies() > 1;
    TruthRecords::read(files, several, &|by, at| clocks.to_reference(by, at)).map(Some)
}

/// Clocks of the hosts of a trial, against that of this one.
struct TrialClocks<'a>(Option<&'a MergedHosts>);

impl TrialClocks<'_> {
    /// A time of a process's clock by the clock of this host; `None` if nothing is known of that clock.
    fn to_reference(&self, by: Pid, at: Nanos) -> Option<Nanos> {
        match self.0 {
            Some(hosts) => hosts.to_reference(by.host(), at),
            None => Some(at),
        }
    }

    /// By how much a time of the trace and one of a record may differ because the clocks were known otherwise when they were converted.
    fn tolerance(&self) -> Nanos {
        let largest = self.0.and_then(|hosts| hosts.bounds().largest());
        largest.unwrap_or_default() * 2
    }

    /// The processes, with the times of what they state by the clock of this host.
    fn by_reference(&self, mut processes: Vec<RoleProcess>) -> Vec<RoleProcess> {
        for process in &mut processes {
            let Some(done) = &mut process.done else { continue };
            for time in [&mut done.first_ns, &mut done.last_ns] {
                // 0 stands for no message.
                let known =
                    self.to_reference(process.traced_as, Nanos(*time)).filter(|_| *time > 0);
                *time = known.map_or(0, |known| known.0);
            }
        }
        processes
    }
}
