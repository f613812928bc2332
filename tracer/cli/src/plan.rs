//! What a run consists of: one trial after the other, in a random order that the seed tells.

use crate::args::{MAX_SEED, RunArgs, RunKind, TruthCheck, WorkloadArgs};
use crate::catalogue::Catalogue;
use crate::choice::{self, Broker, Choice, Choices};
use std::sync::Arc;
use std::time::Duration;
use wirelap_contract::{About, Kind, LinkTransport, Role, Spec};
use wirelap_process::Failure;
use wirelap_report::Skipped;
use wirelap_session::Sampling;

/// When the next message is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// When the reply to the one before has come.
    PingPong,
    /// At this many messages a second.
    Rate(f64),
    /// As soon as the library takes it.
    BackToBack,
}

impl Pacing {
    /// The role that sends: `ping` or `pub`.
    pub fn sender(self) -> Role {
        match self {
            Pacing::PingPong => Role::Ping,
            Pacing::Rate(_) | Pacing::BackToBack => Role::Pub,
        }
    }
}

/// One middleware, one payload size, one repetition.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The middleware.
    pub about: Arc<About>,
    /// Its broker, if it has one.
    pub broker: Option<Broker>,
    /// Payload bytes of a message.
    pub payload: usize,
    /// 1 for the first.
    pub repetition: u32,
    /// When messages are sent.
    pub pacing: Pacing,
    /// Messages or round trips, if that ends it.
    pub messages: Option<u64>,
    /// The time to send for, if that ends it.
    pub duration: Option<Duration>,
    /// Messages before those that count.
    pub warmup: u64,
    /// The longest time for them.
    pub warmup_time: Duration,
    /// When events are taken.
    pub sampling: Sampling,
    /// The workloads write down what they did.
    pub truth: bool,
    /// What the workloads are told.
    pub workload: WorkloadArgs,
    /// The DDS domain.
    pub domain: u32,
}

impl Trial {
    /// The middleware's name.
    pub fn name(&self) -> &str {
        &self.about.name
    }

    /// The roles of the sending and the receiving process.
    pub fn roles(&self) -> (Role, Role) {
        match self.pacing.sender() {
            Role::Ping => (Role::Ping, Role::Pong),
            _ => (Role::Pub, Role::Sub),
        }
    }

    /// What its messages travel on.
    pub fn transport(&self) -> Option<LinkTransport> {
        // That it runs on the one asked for was checked when it was planned.
        self.about.transport(self.workload.transport).ok().flatten()
    }

    /// `mqtt (rumqttd) 64 B #1`.
    pub fn title(&self) -> String {
        let (name, payload, repetition) = (self.name(), self.payload, self.repetition);
        match &self.broker {
            Some(broker) => format!("{name} ({}) {payload} B #{repetition}", broker.name()),
            None => format!("{name} {payload} B #{repetition}"),
        }
    }

    /// The command line of one of its processes.
    pub fn spec(&self, role: Role, endpoint: &str) -> Spec {
        let mut spec = Spec::new(role, self.name());
        let told = &self.workload;
        endpoint.clone_into(&mut spec.endpoint);
        if let Some(Broker::Own(name)) = &self.broker {
            spec.broker = Some(name.clone());
        }
        spec.set = choice::settings(&self.about, &told.set);
        spec.payload = self.payload;
        spec.messages = self.messages;
        spec.warmup = self.warmup;
        // Only the sender looks at the clock: the receiver takes what comes.
        if matches!(role, Role::Pub | Role::Ping) {
            spec.warmup_seconds = Some(self.warmup_time.as_secs_f64());
            spec.seconds = self.duration.map(|time| time.as_secs_f64());
            if let Pacing::Rate(rate) = self.pacing {
                spec.rate = Some(rate);
            }
        }
        spec.qos = told.qos;
        spec.nodelay = told.nodelay;
        spec.transport = self.transport();
        spec.reliability = told.reliability;
        spec.interface.clone_from(&told.interface);
        spec.domain = self.domain;
        spec.pin = pin(&told.pin, role);
        spec
    }
}

/// The CPU of a role in `sender, receiver, broker`; a single CPU is everybody's.
fn pin(cpus: &[usize], role: Role) -> Option<usize> {
    let place = match role {
        Role::Pub | Role::Ping => 0,
        Role::Sub | Role::Pong => 1,
        Role::Broker => 2,
    };
    match cpus {
        [only] => Some(*only),
        cpus => cpus.get(place).copied(),
    }
}

/// All trials of a run, in their order.
#[derive(Debug)]
pub struct Plan {
    /// The trials.
    pub trials: Vec<Trial>,
    /// What the order came from.
    pub seed: u64,
    /// The names of the middlewares, in the order of tables.
    pub middlewares: Vec<String>,
    /// What had to be left out.
    pub skipped: Vec<Skipped>,
}

/// Messages of a ping-pong when the user sets no end.
const DEFAULT_ROUND_TRIPS: u64 = 10_000;

/// How long messages are sent one way when the user sets no end.
const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// Domains whose ports stay below Linux's ephemeral range (RTPS 2.5 §9.6.2.3: 7400 + 250 × domain).
const DOMAINS: std::ops::Range<u32> = 10..100;

/// A domain that is probably nobody else's.
pub fn random_domain() -> u32 {
    fastrand::u32(DOMAINS)
}

/// Plans a run.
///
/// # Errors
/// The command line asks for a combination that does not exist.
pub fn plan(args: &RunArgs, catalogue: &Catalogue) -> Result<Plan, Failure> {
    check(args)?;
    let Choices { chosen, skipped } =
        choice::choose(catalogue, &args.on, &args.workload, pacing(args))?;
    let payloads = unique(&args.payload);
    check_workload(&args.workload, &chosen, &payloads)?;
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..=MAX_SEED));
    let mut random = fastrand::Rng::with_seed(seed);
    let mut trials = Vec::new();
    for repetition in 1..=args.repeat {
        let mut round = Vec::new();
        for choice in &chosen {
            for &payload in &payloads {
                round.push(trial(args, choice, payload, repetition, &mut random));
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

fn check(args: &RunArgs) -> Result<(), Failure> {
    if args.kind == RunKind::Throughput && args.rate.is_some() {
        return Err(Failure::Usage(
            "throughput is sent back to back: leave --rate away, or measure `latency --rate`"
                .into(),
        ));
    }
    if args.duration.is_some_and(|time| time.is_zero()) {
        return Err(Failure::Usage("--duration is longer than 0".into()));
    }
    Ok(())
}

/// What is wrong with the workloads' settings for these middlewares, if anything is.
pub fn check_workload(
    told: &WorkloadArgs,
    chosen: &[Choice],
    payloads: &[usize],
) -> Result<(), Failure> {
    if let Some(cpu) = told.pin.iter().find(|&&cpu| cpu >= wirelap_session::machine::cpus()) {
        let last = wirelap_session::machine::cpus().saturating_sub(1);
        return Err(Failure::Usage(format!("there is no CPU {cpu}: this machine has 0 to {last}")));
    }
    for Choice { about, .. } in chosen {
        about.transport(told.transport).map_err(Failure::Usage)?;
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

/// How a run sends.
pub fn pacing(args: &RunArgs) -> Pacing {
    match (args.kind, args.rate) {
        (RunKind::Throughput, _) => Pacing::BackToBack,
        (RunKind::Latency, Some(rate)) => Pacing::Rate(rate),
        (RunKind::Latency, None) => Pacing::PingPong,
    }
}

fn trial(
    args: &RunArgs,
    choice: &Choice,
    payload: usize,
    repetition: u32,
    random: &mut fastrand::Rng,
) -> Trial {
    let pacing = pacing(args);
    let (messages, duration) = end(args, pacing);
    let windows =
        Sampling::Windows { open: Duration::from_millis(50), every: Duration::from_millis(500) };
    let one_way = pacing == Pacing::BackToBack;
    let Choice { about, broker } = choice.clone();
    let stamped = about.kind == Kind::Stamped;
    let untraced = about.kind == Kind::Untraced;
    // Watching what nothing can be learned from would only slow it down.
    let never = Sampling::Windows { open: Duration::ZERO, every: Duration::from_secs(1) };
    Trial {
        about,
        broker,
        payload,
        repetition,
        pacing,
        messages,
        duration,
        warmup: args.warmup,
        warmup_time: args.warmup_time,
        sampling: match args.sample {
            _ if untraced => never,
            Some(told) => told,
            None if one_way => windows,
            None => Sampling::Off,
        },
        truth: match args.truth_check {
            TruthCheck::Auto => stamped && !one_way,
            TruthCheck::On => stamped,
            TruthCheck::Off => false,
        },
        workload: args.workload.clone(),
        domain: args.workload.domain.unwrap_or_else(|| random.u32(DOMAINS)),
    }
}

/// What ends a trial; at least one of the two.
pub fn end(args: &RunArgs, pacing: Pacing) -> (Option<u64>, Option<Duration>) {
    match (args.messages, args.duration, pacing) {
        (None, None, Pacing::PingPong) => (Some(DEFAULT_ROUND_TRIPS), None),
        (None, None, _) => (None, Some(DEFAULT_TIME)),
        (messages, duration, _) => (messages, duration),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn planned(words: &str) -> Result<Plan, Failure> {
        let words = format!("wirelap run {words}");
        let Command::Run(args) = Cli::try_parse_from(words.split(' ')).unwrap().command else {
            panic!("not a run")
        };
        plan(&args, &choice::tests::world())
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
            let told = trial.spec(Role::Sub, "").told("keep.alive").map(str::to_owned);
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
            "latency --on udp --payload 64K",
            "latency --on tcp --pin 4096",
            "latency --on tcp --duration 0s",
            "throughput --on ping",
        ] {
            assert!(matches!(planned(words), Err(Failure::Usage(_))), "{words} was planned");
        }
    }

    #[test]
    fn one_cpu_is_everybodys() {
        assert_eq!(pin(&[1], Role::Broker), Some(1));
        assert_eq!(pin(&[0, 1], Role::Sub), Some(1));
        assert_eq!(pin(&[0, 1], Role::Broker), None);
        assert_eq!(pin(&[], Role::Pub), None);
    }
}
