//! Plans a run: its trials one after the other, in a random order that is determined by the seed.

use crate::catalogue::Catalogue;
use crate::choice::{self, Choice, Choices};
use crate::pacing::Pacing;
use crate::request::{Measure, Request, TruthCheck, WorkloadOptions};
use crate::trial::Trial;
use std::time::Duration;
use wirelap_contract::WorkloadKind;
use wirelap_process::Failure;
use wirelap_report::Skipped;
use wirelap_session::Sampling;
use wirelap_session::machine::cpus;

/// The largest seed: JavaScript and jq round larger numbers when they read JSON.
pub const MAX_SEED: u64 = (1 << 53) - 1;

/// The trials of a run in order.
#[derive(Debug)]
pub struct Plan {
    /// The trials.
    pub trials: Vec<Trial>,
    /// The seed of the order.
    pub seed: u64,
    /// The names of the middlewares, in the order in which tables show them.
    pub middlewares: Vec<String>,
    /// The middlewares and brokers that were left out because they cannot be run here.
    pub skipped: Vec<Skipped>,
}

/// The round trips of a ping-pong when the user sets no end.
const DEFAULT_ROUND_TRIPS: u64 = 10_000;

/// How long one-way messages are sent when the user sets no end.
const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// The DDS domains to choose from, whose ports stay below Linux's ephemeral range (RTPS 2.5 §9.6.2.3: 7400 + 250 × domain).
const DOMAINS: std::ops::Range<u32> = 10..100;

/// A random DDS domain, which other participants on the network probably do not use.
pub fn random_domain() -> u32 {
    fastrand::u32(DOMAINS)
}

/// Plans a run.
///
/// # Errors
/// The request is for a combination that does not exist, or for a middleware that cannot be run.
pub fn plan(request: &Request, catalogue: &Catalogue) -> Result<Plan, Failure> {
    check(request)?;
    let Choices { chosen, skipped } =
        choice::choose(catalogue, &request.on, &request.workloads, request.pacing())?;
    let payloads = unique(&request.payload);
    check_workloads(&request.workloads, &chosen, &payloads)?;
    let seed = request.seed.unwrap_or_else(|| fastrand::u64(..=MAX_SEED));
    let mut random = fastrand::Rng::with_seed(seed);
    let mut trials = Vec::new();
    for repetition in 1..=request.repeat {
        let mut round = Vec::new();
        for choice in &chosen {
            for &payload in &payloads {
                round.push(trial(request, choice, payload, repetition, &mut random));
            }
        }
        random.shuffle(&mut round);
        trials.append(&mut round);
    }
    let middlewares =
        unique(&chosen.iter().map(|choice| choice.about.name.clone()).collect::<Vec<_>>());
    Ok(Plan { trials, seed, middlewares, skipped })
}

/// The list without its later repetitions, in its order.
pub fn unique<T: Clone + PartialEq>(list: &[T]) -> Vec<T> {
    let mut unique: Vec<T> = Vec::new();
    for item in list {
        if !unique.contains(item) {
            unique.push(item.clone());
        }
    }
    unique
}

fn check(request: &Request) -> Result<(), Failure> {
    if request.measure == Measure::Throughput && request.rate.is_some() {
        return Err(Failure::Usage(
            "throughput sends messages back to back: remove --rate, or measure `latency --rate`"
                .into(),
        ));
    }
    if request.duration.is_some_and(|time| time.is_zero()) {
        return Err(Failure::Usage("--duration must be longer than 0".into()));
    }
    Ok(())
}

/// Checks that the middlewares support the options and payload sizes, and that the CPUs of `--pin` exist.
///
/// # Errors
/// `Failure::Usage` for the first option that is not supported.
pub fn check_workloads(
    options: &WorkloadOptions,
    chosen: &[Choice],
    payloads: &[usize],
) -> Result<(), Failure> {
    if let Some(cpu) = options.pin.iter().find(|&&cpu| cpu >= cpus()) {
        let last = cpus().saturating_sub(1);
        return Err(Failure::Usage(format!(
            "--pin {cpu}: there is no such CPU; this machine has CPUs 0 to {last}"
        )));
    }
    for Choice { about, .. } in chosen {
        about.transport(options.transport).map_err(Failure::Usage)?;
        let most = about.max_payload;
        if let Some(payload) = payloads.iter().find(|&&payload| payload > most) {
            return Err(Failure::Usage(format!(
                "a message on {} has at most {most} bytes of payload, not {payload}",
                about.name
            )));
        }
    }
    Ok(())
}

fn trial(
    request: &Request,
    choice: &Choice,
    payload: usize,
    repetition: u32,
    random: &mut fastrand::Rng,
) -> Trial {
    let pacing = request.pacing();
    let (messages, duration) = end(request, pacing);
    let windows =
        Sampling::Windows { open: Duration::from_millis(50), every: Duration::from_millis(500) };
    let one_way = pacing == Pacing::BackToBack;
    let Choice { about, broker } = choice.clone();
    let stamped = about.kind == WorkloadKind::Stamped;
    let untraced = about.kind == WorkloadKind::Untraced;
    // Tracing a program without messages to follow would slow it down for nothing.
    let never = Sampling::Windows { open: Duration::ZERO, every: Duration::from_secs(1) };
    Trial {
        about,
        broker,
        payload,
        repetition,
        pacing,
        messages,
        duration,
        warmup: request.warmup,
        warmup_time: request.warmup_time,
        sampling: match request.sample {
            _ if untraced => never,
            Some(sampling) => sampling,
            None if one_way => windows,
            None => Sampling::Off,
        },
        truth: match request.truth_check {
            TruthCheck::Auto => stamped && !one_way,
            TruthCheck::On => stamped,
            TruthCheck::Off => false,
        },
        workloads: request.workloads.clone(),
        domain: request.workloads.domain.unwrap_or_else(|| random.u32(DOMAINS)),
    }
}

/// The number of messages and the time that end a trial, whichever comes first; at least one is set.
pub fn end(request: &Request, pacing: Pacing) -> (Option<u64>, Option<Duration>) {
    match (request.messages, request.duration, pacing) {
        (None, None, Pacing::PingPong) => (Some(DEFAULT_ROUND_TRIPS), None),
        (None, None, _) => (None, Some(DEFAULT_TIME)),
        (messages, duration, _) => (messages, duration),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::request;
    use wirelap_contract::{LinkTransport, Role};

    fn planned(words: &str) -> Result<Plan, Failure> {
        plan(&request(words), &choice::tests::world())
    }

    #[test]
    fn repetitions_are_interleaved_and_the_seed_repeats_them() {
        let words = "latency --on tcp,udp,mqtt --payload 64,128 --repeat 5 --seed 3";
        let order = |plan: &Plan| plan.trials.iter().map(Trial::title).collect::<Vec<_>>();
        let first = planned(words).unwrap();
        assert_eq!(order(&first), order(&planned(words).unwrap()));
        let rounds: Vec<Vec<String>> = first
            .trials
            .chunks(6)
            .map(|round| {
                assert!(round.iter().all(|trial| trial.repetition == round[0].repetition));
                round.iter().map(|t| format!("{} {}", t.name(), t.payload)).collect()
            })
            .collect();
        assert_eq!(rounds.len(), 5);
        assert!(rounds.iter().any(|round| round != &rounds[0]), "the order never changed");
    }

    #[test]
    fn a_chosen_seed_survives_javascript() {
        for _ in 0..100 {
            let seed = planned("latency --on tcp").unwrap().seed;
            assert!(seed < 1 << 53, "{seed}");
        }
    }

    #[test]
    fn latency_without_a_rate_is_a_ping_pong() {
        let plan = planned("latency --on dds").unwrap();
        let trial = &plan.trials[0];
        assert_eq!(trial.roles(), (Role::Ping, Role::Pong));
        assert_eq!((trial.messages, trial.duration), (Some(10_000), None));
    }

    #[test]
    fn a_rate_is_the_senders() {
        let plan = planned("latency --on dds,mqtt --rate 100 --set keep.alive=1").unwrap();
        for trial in &plan.trials {
            assert_eq!(trial.roles(), (Role::Pub, Role::Sub));
            assert_eq!(trial.spec(Role::Pub, "").rate, Some(100.0));
            assert_eq!(trial.spec(Role::Sub, "").rate, None);
            let told = trial.spec(Role::Sub, "").set_value("keep.alive").map(str::to_owned);
            assert_eq!(told.is_some(), trial.name() == "mqtt");
        }
    }

    #[test]
    fn a_transport_is_taken_where_there_is_a_choice() {
        let plan = planned("latency --on dds,zenoh-p2p,tcp --transport udp --seed 1").unwrap();
        let of = |name| plan.trials.iter().find(|t| t.name() == name).unwrap().transport();
        assert_eq!(of("zenoh-p2p"), Some(LinkTransport::Udp));
        assert_eq!((of("dds"), of("tcp")), (Some(LinkTransport::Udp), Some(LinkTransport::Tcp)));
    }

    #[test]
    fn what_does_not_go_together_is_usage() {
        for words in [
            "throughput --on tcp --rate 5",
            "latency --on tcp --broker mosquitto",
            "latency --on udp --payload 65536",
            "latency --on tcp --pin 4096",
            "latency --on tcp --seconds 0",
            "throughput --on ping",
        ] {
            assert!(matches!(planned(words), Err(Failure::Usage(_))), "{words} was planned");
        }
    }
}
