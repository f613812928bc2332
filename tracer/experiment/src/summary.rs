//! The report of a run, and its failures in words.

use crate::cases::unique;
use crate::pacing::TrialPacing;
use crate::plan::Plan;
use crate::request::{Measure, RunRequest};
use crate::results::{self, Order, Results, TrialRecord};
use crate::series::MeasuredSeries;
use crate::trial::Trial;
use wirelap_process::Failure;
use wirelap_report::{
    Environment, Hook, HostLinks, Incomplete, MachineKey, ReportedReliability, RunKind, RunReport,
    RunResult, Scenario,
};

/// The report of a run that has ended, or that goes on.
pub fn report(
    request: &RunRequest,
    plan: &Plan,
    (environment, key): (&Environment, &MachineKey),
    measured: &MeasuredSeries,
    results: &mut Results,
) -> RunReport {
    let records = measured.records.as_slice();
    let mut environment = environment.clone();
    for record in records {
        let name = record.trial.name();
        let versions = environment.versions.entry(name.to_owned()).or_default();
        versions.extend(record.versions.clone());
        let settings = environment.settings.entry(name.to_owned()).or_default();
        settings.extend(record.settings.clone());
    }
    let done = records.iter().filter(|record| !record.is_partial()).count();
    let order = Order { middlewares: &plan.middlewares, payloads: &plan.payloads };
    let results = results.pool(records, order);
    let (hooks, hooks_note) = hooks(records.iter().flat_map(|record| &record.hooks));
    let mut notes = notes(plan, measured, &environment);
    notes.extend(hooks_note);
    RunReport {
        schema: wirelap_report::run::RUN_SCHEMA.to_owned(),
        partial: done < measured.planned || results.iter().any(|result| result.partial),
        incomplete: (!measured.is_complete).then(|| Incomplete {
            planned: measured.planned as u64,
            missing: measured.missing.clone(),
        }),
        machine_key: Some(key.clone()),
        environment,
        scenario: scenario(request, plan, records),
        results,
        hooks,
        skipped: plan.skipped.clone(),
        notes,
        saturation_msg_per_s: measured.saturation.clone(),
        breakdown: None,
        slow_subscribers: None,
        unknown: wirelap_report::ReportedUnknown::default(),
        // The last trial that was observed: counts are of one trial, and clocks are known as of its end.
        hosts: records
            .iter()
            .rev()
            .find(|one| !one.hosts.is_empty())
            .map_or(vec![], |one| one.hosts.clone()),
        ros2: None,
    }
}

/// The hooks of all trials, and a sentence if one observation was made with several. Trials of some middlewares do without some
/// observations.
fn hooks<'a>(of_trials: impl Iterator<Item = &'a Hook>) -> (Vec<Hook>, Option<String>) {
    let mut all: Vec<Hook> = Vec::new();
    let mut different: Vec<String> = Vec::new();
    for hook in of_trials {
        match all.iter().find(|known| known.observation == hook.observation) {
            Some(known) if known.hook != hook.hook => different.push(hook.observation.clone()),
            Some(_) => {}
            None => all.push(hook.clone()),
        }
    }
    let names = unique(&different).join(", ");
    let note = format!("not all trials were observed with the same hooks: those differ of {names}");
    (all, (!different.is_empty()).then_some(note))
}

/// The settings of a run, with the order of the trials that were run.
pub fn scenario(request: &RunRequest, plan: &Plan, records: &[TrialRecord]) -> Scenario {
    let first = &plan.trials[0];
    let rates = rates(plan);
    let several_rates = rates.len() > 1;
    let roles = ["sender", "receiver", "broker"];
    let pin = match request.workloads.pin.as_slice() {
        [only] => roles.iter().map(|role| ((*role).to_owned(), *only)).collect(),
        cpus => roles.iter().zip(cpus).map(|(role, cpu)| ((*role).to_owned(), *cpu)).collect(),
    };
    Scenario {
        name: request.name.clone(),
        settings: request.chosen.clone(),
        kind: match request.measure {
            Measure::Latency => RunKind::Latency,
            Measure::Throughput => RunKind::Throughput,
            Measure::Connections => RunKind::Connections,
        },
        pacing: match first.pacing {
            TrialPacing::PingPong => wirelap_report::Pacing::PingPong,
            TrialPacing::Rate(_) => wirelap_report::Pacing::Rate,
            TrialPacing::BackToBack => wirelap_report::Pacing::BackToBack,
        },
        middlewares: plan.middlewares.clone(),
        payload_bytes: plan.payloads.iter().map(|&size| size as u64).collect(),
        rate_msg_per_s: rates.first().copied().filter(|_| rates.len() == 1),
        rates_msg_per_s: rates.into_iter().filter(|_| several_rates).collect(),
        messages: first.messages,
        duration_s: first.duration.map(|time| time.as_secs_f64()),
        warmup: request.warmup,
        repeat: plan.trials.iter().map(|trial| trial.repetition).max().unwrap_or(request.repeat),
        topology: same_topology(plan),
        ab: request.ab.as_ref().map(|comparison| comparison.settings.clone()),
        pin,
        links: links(plan),
        order: records.iter().map(|record| record.trial.title()).collect(),
    }
}

/// The clients of all trials; `None` for a pair, and if trials differ in them.
fn same_topology(plan: &Plan) -> Option<wirelap_report::Topology> {
    let of = |trial: &Trial| trial.workloads.topology;
    let first = of(&plan.trials[0]);
    let same = plan.trials.iter().all(|trial| of(trial) == first);
    if same { results::topology(first) } else { None }
}

/// The links of all trials; `None` if they differ, which the settings of `--ab` then say.
fn links(plan: &Plan) -> Option<HostLinks> {
    let first = plan.trials.first()?.workloads.links;
    let is_one = plan.trials.iter().all(|trial| trial.workloads.links == first);
    first.filter(|_| is_one).map(|links| links.report())
}

/// The wanted rates, the lowest first.
fn rates(plan: &Plan) -> Vec<f64> {
    let mut rates: Vec<f64> = Vec::new();
    for trial in &plan.trials {
        if let TrialPacing::Rate(rate) = trial.pacing
            && !rates.contains(&rate)
        {
            rates.push(rate);
        }
    }
    rates.sort_by(f64::total_cmp);
    rates
}

fn notes(plan: &Plan, measured: &MeasuredSeries, environment: &Environment) -> Vec<String> {
    let MeasuredSeries { records, planned, failure, notes, .. } = measured;
    let mut notes = [plan.notes.as_slice(), notes].concat();
    if !environment.resumed_at.is_empty() {
        notes.push(format!(
            "the run was interrupted, and resumed at {}: the machine may have changed in between",
            environment.resumed_at.join(" and ")
        ));
    }
    let ran = records.len();
    if let Some(signal) = records.iter().find_map(|one| one.repetition.interrupted.as_ref()) {
        notes.push(format!("stopped by {signal} in trial {ran} of {planned}"));
    }
    let last = records.last().filter(|record| record.ends_run);
    let failure = failure.as_ref().or_else(|| last?.error.as_ref());
    if let Some(failure) = failure.filter(|_| ran < *planned) {
        notes.push(format!("ended after {ran} of {planned} trials: {failure}"));
    }
    if !measured.is_complete {
        let missing = measured.missing.len();
        notes.push(format!(
            "{missing} of {planned} trials are missing: the same command with `--resume` and the file of `--json` runs them"
        ));
    }
    notes
}

/// Why a run ended early, which of its trials failed, and which of its results cannot be used.
pub fn failures(measured: &MeasuredSeries, report: &RunReport) -> Vec<Failure> {
    let unusable = || unusable_results(report).map(Failure::Measured);
    let problem = trial_failure(&measured.records, measured.planned).or_else(unusable);
    measured.failure.clone().into_iter().chain(problem).collect()
}

/// Names the trials that failed or were stopped, in one sentence; `None` if all were complete.
fn trial_failure(records: &[TrialRecord], planned: usize) -> Option<Failure> {
    let failed = || records.iter().filter_map(|one| Some((&one.trial, one.error.as_ref()?)));
    if let Some((trial, error)) = failed().next() {
        let also = match failed().count() {
            1 => String::new(),
            n => format!(" ({n} of {planned} trials failed)"),
        };
        let text = format!("{}: {error}{also}", trial.title());
        return Some(match error {
            Failure::Measured(_) => Failure::Measured(text),
            Failure::Usage(_) => Failure::Usage(text),
            Failure::Machine(_) => Failure::Machine(text),
        });
    }
    let signal = records.iter().find_map(|one| one.repetition.interrupted.as_ref())?;
    Some(Failure::Measured(format!("stopped by {signal}; the results are partial")))
}

/// Names the results that cannot be used, or are of less than half of the messages that were sent, in one sentence.
fn unusable_results(report: &RunReport) -> Option<String> {
    let problem = |result: &RunResult| {
        let unusable = result.trust.verdict == ReportedReliability::Unusable;
        let mostly_undelivered = result.is_mostly_undelivered();
        let reason = result.trust.reasons.iter().find(|reason| {
            if unusable {
                reason.verdict == ReportedReliability::Unusable
            } else {
                reason.kind == "undelivered"
            }
        })?;
        let rate = result.rate_msg_per_s.filter(|_| report.has_several_rates());
        let rate = rate.map(|rate| format!(", {rate} msg/s")).unwrap_or_default();
        let name = format!("{}, {} B{rate}", result.label(), result.payload_bytes);
        match (unusable, mostly_undelivered) {
            (true, _) => Some(format!("the result of {name} cannot be used: {}", reason.text)),
            (false, true) => Some(format!("{name}: {}", reason.text)),
            (false, false) => None,
        }
    };
    let problems: Vec<String> = report.results.iter().filter_map(problem).collect();
    let first = problems.first()?;
    Some(match problems.len() {
        1 => first.clone(),
        n => format!("{first} ({n} of {} results)", report.results.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_report::from_snapshot::run_report;
    use wirelap_report::{MessageCounts, Repetition, ReportedOverhead, ReportedTrust};

    fn report_of(change: impl FnOnce(&mut RunResult)) -> RunReport {
        let mut result = RunResult {
            middleware: "tcp".into(),
            payload_bytes: 64,
            messages: MessageCounts {
                sent: 1000,
                delivered: 1000,
                matched: 1000,
                ..MessageCounts::default()
            },
            overhead: ReportedOverhead { packets: 2000, ..ReportedOverhead::default() },
            trust: ReportedTrust { events: 10_000, window_share: 1.0, ..ReportedTrust::default() },
            repetitions: vec![Repetition::default()],
            ..RunResult::default()
        };
        change(&mut result);
        result.judge();
        RunReport { results: vec![result], ..run_report(&wirelap_correlate::Snapshot::default()) }
    }

    #[test]
    fn trials_may_do_without_an_observation_but_not_make_it_with_another_hook() {
        let hook = |observation: &str, hook: &str| Hook {
            observation: observation.into(),
            hook: Some(hook.into()),
        };
        let (tcp, udp) = (hook("sent", "fexit"), hook("datagram", "fexit"));
        let (all, note) = hooks([&tcp, &tcp, &udp, &udp].into_iter());
        assert_eq!((all, note), (vec![tcp.clone(), udp], None));
        let (all, note) = hooks([&tcp, &hook("sent", "kprobe")].into_iter());
        assert_eq!(all, [tcp]);
        assert!(note.unwrap().ends_with("the same hooks: those differ of sent"));
    }

    #[test]
    fn what_cannot_be_used_and_what_was_not_delivered_fail_a_run() {
        assert_eq!(unusable_results(&report_of(|_| {})), None);
        let lossy = report_of(|result| {
            result.trust.events_lost.insert("rx".into(), 13_000);
        });
        let problem = unusable_results(&lossy).unwrap_or_default();
        assert!(problem.starts_with("the result of tcp, 64 B cannot be used: 13,000 of 23,000"));
        let half = |delivered| {
            unusable_results(&report_of(|result| {
                (result.messages.delivered, result.messages.matched) = (delivered, delivered);
            }))
        };
        assert_eq!(half(500), None, "half of it was");
        let problem = half(499).unwrap_or_default();
        assert!(problem.starts_with("tcp, 64 B: 501 of 1,000 deliveries did not take place"));
    }
}
