//! Plans a run: its trials one after the other, in a random order that is determined by the seed.

use crate::ab::{self, Variant};
use crate::cases::{Case, cases, check_comparison, in_order, named, unique};
use crate::catalogue::Catalogue;
use crate::choice::Choice;
use crate::clients;
use crate::pacing::TrialPacing;
use crate::request::{Measure, RunRequest, TruthCheck};
use crate::trial::Trial;
use std::time::Duration;
use wirelap_contract::WorkloadKind;
use wirelap_process::Failure;
use wirelap_report::Skipped;
use wirelap_session::Sampling;

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
    /// The payload sizes in bytes, in the order in which tables show them.
    pub payloads: Vec<usize>,
    /// The middlewares and brokers that were left out because they cannot be run here.
    pub skipped: Vec<Skipped>,
    /// Further omissions, a sentence each.
    pub notes: Vec<String>,
}

/// The round trips of a ping-pong when the user sets no end.
const DEFAULT_ROUND_TRIPS: u64 = 10_000;

/// Time for which one-way messages are sent when the user sets no end.
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
pub fn plan(request: &RunRequest, catalogue: &Catalogue) -> Result<Plan, Failure> {
    let (request, reduced) = clients::fitted(request)?;
    let request = &request;
    let seed = request.seed.unwrap_or_else(|| fastrand::u64(..=MAX_SEED));
    let mut random = fastrand::Rng::with_seed(seed);
    let (cases, trials) = if let Some(comparison) = &request.ab {
        let [a, b] = &comparison.variants;
        let [mut a, b] =
            [cases(a, catalogue, Some(Variant::A))?, cases(b, catalogue, Some(Variant::B))?];
        check_comparison(&a.found, &b.found)?;
        let trials = in_blocks(&a.found, &b.found, request.repeat, &mut random);
        a.found.extend(b.found);
        a.skipped = unique(&[a.skipped, b.skipped].concat());
        a.notes = unique(&[a.notes, b.notes].concat());
        (a, trials)
    } else {
        let all = cases(request, catalogue, None)?;
        let trials = in_rounds(&all.found, request.repeat, &mut random);
        (all, trials)
    };
    let names: Vec<String> =
        cases.found.iter().map(|case| case.choice.about.name.clone()).collect();
    let payloads: Vec<usize> = cases.found.iter().map(|case| case.payload).collect();
    Ok(Plan {
        trials,
        seed,
        middlewares: unique(&names),
        payloads: in_order(&unique(&payloads), request),
        skipped: cases.skipped,
        notes: reduced.into_iter().chain(cases.notes).collect(),
    })
}

/// Each repetition of all cases in a random order of its own.
fn in_rounds(cases: &[Case<'_>], repeat: u32, random: &mut fastrand::Rng) -> Vec<Trial> {
    let mut trials = Vec::new();
    for repetition in 1..=repeat {
        let mut round: Vec<_> = cases.iter().map(|case| trial(case, repetition, random)).collect();
        random.shuffle(&mut round);
        trials.append(&mut round);
    }
    trials
}

/// The cases of two variants in blocks A B B A, in a random order of the blocks.
fn in_blocks(
    a: &[Case<'_>],
    b: &[Case<'_>],
    repeat: u32,
    random: &mut fastrand::Rng,
) -> Vec<Trial> {
    let names = a.iter().chain(b).map(|case| case.choice.about.name.clone());
    let names = unique(&names.collect::<Vec<_>>());
    let pairs: Vec<_> =
        names.iter().flat_map(|name| ab::pairs(&named(a, name), &named(b, name))).collect();
    let mut trials = Vec::new();
    for first in (1..=ab::repetitions(repeat)).step_by(2) {
        let mut round: Vec<_> =
            pairs.iter().map(|(a, b)| ab::block(a.as_ref(), b.as_ref(), first)).collect();
        random.shuffle(&mut round);
        for (case, repetition) in round.into_iter().flatten() {
            trials.push(trial(&case, repetition, random));
        }
    }
    trials
}

fn trial(case: &Case<'_>, repetition: u32, random: &mut fastrand::Rng) -> Trial {
    let Case { request, pacing, .. } = *case;
    let (messages, duration) = end(request, pacing);
    let windows =
        Sampling::Windows { open: Duration::from_millis(50), every: Duration::from_millis(500) };
    let one_way = pacing == TrialPacing::BackToBack;
    let Choice { about, broker, running } = case.choice.clone();
    let stamped = about.kind == WorkloadKind::Stamped;
    let untraced = about.kind == WorkloadKind::Untraced;
    // Tracing a program without messages to follow would slow it down for nothing.
    let never = Sampling::Windows { open: Duration::ZERO, every: Duration::from_secs(1) };
    Trial {
        about,
        broker,
        running_broker: running,
        variant: case.variant,
        payload: case.payload,
        repetition,
        pacing,
        several_rates: case.several_rates,
        messages,
        duration,
        warmup: request.warmup,
        warmup_time: request.warmup_time,
        idle: request.idle,
        sampling: match request.sample {
            _ if untraced => never,
            // Each connection is counted, and its bytes with it.
            _ if request.measure == Measure::Connections => Sampling::Off,
            Some(sampling) => sampling,
            None if one_way => windows,
            None => Sampling::Off,
        },
        truth: match request.truth_check {
            _ if request.measure == Measure::Connections => false,
            _ if request.workloads.topology.handles.is_some() => false,
            TruthCheck::Auto => stamped && !one_way,
            TruthCheck::On => stamped,
            TruthCheck::Off => false,
        },
        workloads: request.workloads.clone(),
        domain: request.workloads.domain.unwrap_or_else(|| random.u32(DOMAINS)),
    }
}

/// The number of messages and the time that end a trial, whichever comes first; at least one is set.
pub fn end(request: &RunRequest, pacing: TrialPacing) -> (Option<u64>, Option<Duration>) {
    match (request.messages, request.duration, pacing) {
        (None, None, TrialPacing::PingPong) => (Some(DEFAULT_ROUND_TRIPS), None),
        (None, None, _) => (None, Some(DEFAULT_TIME)),
        (messages, duration, _) => (messages, duration),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice;
    use crate::request::VariantComparison;
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
            "latency --on udp --payload 128..1K --max-payload 100",
            "latency --on tcp --saturation true",
        ] {
            assert!(matches!(planned(words), Err(Failure::Usage(_))), "{words} was planned");
        }
    }
    #[test]
    fn each_rate_and_each_size_is_a_trial_of_its_own() {
        let plan =
            planned("latency --on tcp --rate 100,1000,100 --payload 64,8..32 --seed 1").unwrap();
        assert_eq!(plan.trials.len(), 8);
        assert_eq!(plan.payloads, [64, 8, 16, 32]);
        let titles: Vec<_> = plan.trials.iter().map(Trial::title).collect();
        assert!(titles.contains(&"tcp 8 B 1000 msg/s #1".to_owned()), "{titles:?}");
        let one = planned("latency --on tcp --rate 100").unwrap();
        assert_eq!(one.trials[0].title(), "tcp 64 B #1");
    }

    #[test]
    fn a_range_ends_at_what_a_middleware_carries() {
        let plan = planned("throughput --on tcp,udp,mqtt,ping --payload 8..128K").unwrap_err();
        assert!(matches!(plan, Failure::Usage(_)), "ping has no one-way messages");
        let plan = planned("latency --on tcp,udp,ping --payload 32..128K").unwrap();
        let of = |name| plan.trials.iter().filter(|trial| trial.name() == name).count();
        assert_eq!((of("tcp"), of("udp"), of("ping")), (13, 11, 2));
        let notes = [
            "udp: payloads above 65507 B are left out (2 sizes)",
            "ping: payloads above 64 B are left out (11 sizes)",
        ];
        assert_eq!(plan.notes, notes);
        let plan = planned("latency --on tcp,ping --payload 128..1K").unwrap();
        assert_eq!((plan.trials.len(), plan.skipped[0].middleware.as_str()), (4, "ping"));
        let plan = planned("latency --on tcp --payload 8..1M --max-payload 1024").unwrap();
        assert_eq!((plan.payloads.len(), plan.notes.len()), (8, 0));
    }

    fn compared(words: &str, a: &str, b: &str) -> Result<Plan, Failure> {
        let whole = |more: &str| request(&format!("{words} {more}"));
        let comparison =
            VariantComparison { settings: [a.into(), b.into()], variants: [whole(a), whole(b)] };
        let request = RunRequest { ab: Some(Box::new(comparison)), ..request(words) };
        plan(&request, &choice::tests::world())
    }

    #[test]
    fn two_variants_are_measured_in_blocks_of_four() {
        let words = "latency --on tcp,mqtt --repeat 3 --seed 2";
        let plan = compared(words, "--qos 0", "--qos 1").unwrap();
        assert_eq!(plan.trials.len(), 16, "two blocks for each of two middlewares");
        for (block, trials) in plan.trials.chunks(4).enumerate() {
            let variants: Vec<String> =
                trials.iter().filter_map(|trial| Some(trial.variant?.to_string())).collect();
            assert_eq!(variants, ["A", "B", "B", "A"]);
            let first = u32::try_from(block / 2 * 2).unwrap() + 1;
            let repetitions: Vec<_> = trials.iter().map(|trial| trial.repetition).collect();
            assert_eq!(repetitions, [first, first, first + 1, first + 1]);
            assert!(trials.iter().all(|trial| trial.name() == trials[0].name()));
            assert_eq!((trials[0].workloads.qos, trials[1].workloads.qos), (0, 1));
        }
        assert!(plan.trials[0].title().contains(" A "), "{}", plan.trials[0].title());
    }

    #[test]
    fn variants_may_differ_in_broker_and_size_but_not_in_what_is_measured() {
        let plan = compared("latency --on mqtt --seed 1", "--broker mosquitto", "--broker rumqttd")
            .unwrap();
        let titles: Vec<_> = plan.trials.iter().map(Trial::title).collect();
        let expected = [
            "mqtt A (mosquitto) 64 B #1",
            "mqtt B (rumqttd) 64 B #1",
            "mqtt B (rumqttd) 64 B #2",
            "mqtt A (mosquitto) 64 B #2",
        ];
        assert_eq!(titles, expected);
        let plan = compared("latency --on tcp", "--payload 64", "--payload 128").unwrap();
        assert_eq!(plan.payloads, [64, 128]);
        assert!(compared("latency --on tcp", "--rate 5", "--qos 1").is_err());
    }
}
