//! The workloads that `--on` and the screen start, as trials without an end.

use super::args::LiveArgs;
use std::time::Duration;
use wirelap_events::human;
use wirelap_experiment::{
    Catalogue, Choice, Choices, Trial, TrialPacing, WorkloadInstallation, WorkloadOptions,
    check_workloads, choose, random_domain,
};
use wirelap_process::Failure;
use wirelap_report::Skipped;
use wirelap_session::Sampling;

/// Rate and size of a workload's messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfferedLoad {
    /// Messages a second.
    pub rate: f64,
    /// Payload bytes.
    pub payload: usize,
}

/// The trials of the workloads that `--on` starts, and the middlewares that cannot be run.
///
/// # Errors
/// A middleware is not known or cannot be run, or options do not go together.
pub fn of_options(
    args: &LiveArgs,
    installation: Option<&WorkloadInstallation>,
) -> Result<(Vec<Trial>, Vec<Skipped>), Failure> {
    let options = &WorkloadOptions::from(&args.traced.workload);
    if args.on.is_empty() {
        if options.broker.is_empty() && options.set.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        return Err(Failure::Usage(
            "--broker and --set need --on: they are options of the workloads that it starts".into(),
        ));
    }
    let Some(installation) = installation else { return Ok((Vec::new(), Vec::new())) };
    let Choices { chosen, skipped } =
        choose(&Catalogue::read(installation)?, &args.on, options, TrialPacing::Rate(args.rate))?;
    if options.port != 0 && chosen.len() > 1 {
        return Err(Failure::Usage(
            "--port cannot be used with several middlewares, which need a port each: remove it"
                .into(),
        ));
    }
    check_workloads(options, &chosen, &[args.payload])?;
    let settings = OfferedLoad { rate: args.rate, payload: args.payload };
    let trials = chosen.into_iter().map(|choice| trial(options, choice, settings));
    Ok((trials.collect(), skipped))
}

/// A trial that sends until it is stopped.
pub fn trial(options: &WorkloadOptions, choice: Choice, settings: OfferedLoad) -> Trial {
    let Choice { about, broker, running } = choice;
    Trial {
        about,
        broker,
        running_broker: running,
        variant: None,
        payload: settings.payload,
        repetition: 1,
        pacing: TrialPacing::Rate(settings.rate),
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

/// Says in a few words what a trial sends: `rumqttd, 1 k msg/s, 64 B, qos 1`.
pub fn words(trial: &Trial) -> String {
    let mut words: Vec<String> = Vec::new();
    words.extend(trial.broker.as_ref().map(|broker| broker.name().to_owned()));
    if let TrialPacing::Rate(rate) = trial.pacing {
        words.push(format!("{} msg/s", human::count(rate)));
    }
    words.push(human::bytes(trial.payload as f64));
    let options = &trial.workloads;
    if options.qos > 0 {
        words.push(format!("qos {}", options.qos));
    }
    if !options.nodelay {
        words.push("nodelay off".into());
    }
    words.extend(options.set.iter().map(|(name, value)| {
        let name = name.split_once(':').map_or(name.as_str(), |(_, name)| name);
        format!("{name} {value}")
    }));
    if !options.pin.is_empty() {
        let cpus: Vec<String> = options.pin.iter().map(ToString::to_string).collect();
        words.push(format!("pin {}", cpus.join(",")));
    }
    words.join(", ")
}
