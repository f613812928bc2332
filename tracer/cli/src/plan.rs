//! What a run consists of: one trial after the other, in a random order that the seed tells.

use crate::args::{RunArgs, RunKind, TruthCheck, WorkloadArgs};
use crate::catalogue::{self, Entry};
use crate::failure::Failure;
use crate::quantity::Sampling;
use std::time::Duration;
use wirelap_contract::{Middleware, Role, Spec};

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

/// The broker of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broker {
    /// Started and stopped by us.
    Own(&'static str),
    /// Runs already, at HOST:PORT.
    Running(String),
}

impl Broker {
    /// Its name in results.
    pub fn name(&self) -> &str {
        match self {
            Broker::Own(name) => name,
            Broker::Running(address) => address,
        }
    }
}

/// One middleware, one payload size, one repetition.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The middleware.
    pub middleware: Middleware,
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
    /// The middleware's entry in the catalogue.
    pub fn entry(&self) -> &'static Entry {
        catalogue::entry(self.middleware)
    }

    /// The roles of the sending and the receiving process.
    pub fn roles(&self) -> (Role, Role) {
        match self.pacing {
            Pacing::PingPong => (Role::Ping, Role::Pong),
            Pacing::Rate(_) | Pacing::BackToBack => (Role::Pub, Role::Sub),
        }
    }

    /// `mqtt 64 B #1`.
    pub fn title(&self) -> String {
        format!("{} {} B #{}", self.middleware.name(), self.payload, self.repetition)
    }

    /// The command line of one of its processes.
    pub fn spec(&self, role: Role, endpoint: &str) -> Spec {
        let mut spec = Spec::new(role, self.middleware);
        (self.entry().published)(&mut spec, self.pacing);
        let told = &self.workload;
        endpoint.clone_into(&mut spec.endpoint);
        if let (Role::Broker, Some(Broker::Own(name))) = (role, &self.broker) {
            spec.broker = Some((*name).to_owned());
        }
        spec.payload = self.payload;
        spec.messages = self.messages;
        spec.warmup = self.warmup;
        // Only the sender looks at the clock: the receiver takes what comes.
        if matches!(role, Role::Pub | Role::Ping) {
            spec.seconds = self.duration.map(|time| time.as_secs_f64());
            if let Pacing::Rate(rate) = self.pacing {
                spec.rate = Some(rate);
            }
        }
        spec.qos = told.qos;
        spec.nodelay = told.nodelay;
        spec.transport = told.transport;
        if let Some(reliability) = told.reliability {
            spec.reliability = reliability;
        }
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
pub fn plan(args: &RunArgs) -> Result<Plan, Failure> {
    check(args)?;
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..));
    let mut random = fastrand::Rng::with_seed(seed);
    let mut trials = Vec::new();
    for repetition in 1..=args.repeat {
        let mut round = Vec::new();
        for &middleware in &unique(&args.on) {
            for &payload in &unique(&args.payload) {
                round.push(trial(args, middleware, payload, repetition, &mut random)?);
            }
        }
        random.shuffle(&mut round);
        trials.append(&mut round);
    }
    Ok(Plan { trials, seed })
}

/// The list without its later repetitions, in its order.
pub fn unique<T: Copy + PartialEq>(list: &[T]) -> Vec<T> {
    let mut unique: Vec<T> = Vec::new();
    for &item in list {
        if !unique.contains(&item) {
            unique.push(item);
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
    check_workload(&args.workload, &args.on, &args.payload)
}

/// What is wrong with the workloads' settings for these middlewares, if anything is.
pub fn check_workload(
    told: &WorkloadArgs,
    on: &[Middleware],
    payloads: &[usize],
) -> Result<(), Failure> {
    if told.broker.is_some() && !on.iter().any(|middleware| middleware.is_brokered()) {
        return Err(Failure::Usage("--broker is given, but nothing in --on uses a broker".into()));
    }
    if let Some(cpu) = told.pin.iter().find(|&&cpu| cpu >= crate::machine::cpus()) {
        let last = crate::machine::cpus() - 1;
        return Err(Failure::Usage(format!("there is no CPU {cpu}: this machine has 0 to {last}")));
    }
    for &middleware in on {
        let most = catalogue::entry(middleware).max_payload;
        if let Some(payload) = payloads.iter().find(|&&payload| payload > most) {
            let name = middleware.name();
            return Err(Failure::Usage(format!(
                "a message on {name} has at most {most} bytes of payload, not {payload}"
            )));
        }
    }
    Ok(())
}

fn trial(
    args: &RunArgs,
    middleware: Middleware,
    payload: usize,
    repetition: u32,
    random: &mut fastrand::Rng,
) -> Result<Trial, Failure> {
    let pacing = match (args.kind, args.rate) {
        (RunKind::Throughput, _) => Pacing::BackToBack,
        (RunKind::Latency, Some(rate)) => Pacing::Rate(rate),
        (RunKind::Latency, None) => Pacing::PingPong,
    };
    let (messages, duration) = end(args, pacing);
    let windows =
        Sampling::Windows { open: Duration::from_millis(50), every: Duration::from_millis(500) };
    let one_way = pacing == Pacing::BackToBack;
    Ok(Trial {
        middleware,
        broker: broker(middleware, args.workload.broker.as_deref())?,
        payload,
        repetition,
        pacing,
        messages,
        duration,
        warmup: args.warmup,
        sampling: args.sample.unwrap_or(if one_way { windows } else { Sampling::Off }),
        truth: match args.truth_check {
            TruthCheck::Auto => !one_way,
            TruthCheck::On => true,
            TruthCheck::Off => false,
        },
        workload: args.workload.clone(),
        domain: args.workload.domain.unwrap_or_else(|| random.u32(DOMAINS)),
    })
}

/// What ends a trial; at least one of the two.
pub fn end(args: &RunArgs, pacing: Pacing) -> (Option<u64>, Option<Duration>) {
    match (args.messages, args.duration, pacing) {
        (None, None, Pacing::PingPong) => (Some(DEFAULT_ROUND_TRIPS), None),
        (None, None, _) => (None, Some(DEFAULT_TIME)),
        (messages, duration, _) => (messages, duration),
    }
}

/// The broker that a middleware uses when the user says `told`.
pub fn broker(middleware: Middleware, told: Option<&str>) -> Result<Option<Broker>, Failure> {
    let known = catalogue::entry(middleware).brokers;
    let Some(first) = known.first() else { return Ok(None) };
    let Some(told) = told else { return Ok(Some(Broker::Own(first.name))) };
    if let Some(broker) = known.iter().find(|broker| broker.name == told) {
        return Ok(Some(Broker::Own(broker.name)));
    }
    let name = middleware.name();
    let address = told.split_once("://").map_or(told, |(_, address)| address);
    let address = address.trim_end_matches('/');
    if address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        return Ok(Some(Broker::Running(address.to_owned())));
    }
    let known: Vec<_> = known.iter().map(|broker| broker.name).collect();
    Err(Failure::Usage(format!(
        "there is no broker `{told}` for {name}; known: {}, or the address of one that runs, such as \
         {name}://HOST:PORT",
        known.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;
    use wirelap_contract::{History, Reliability};

    fn planned(words: &str) -> Result<Plan, Failure> {
        let words = format!("wirelap run {words}");
        let Command::Run(args) = Cli::try_parse_from(words.split(' ')).unwrap().command else {
            panic!("not a run")
        };
        plan(&args)
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
                round.iter().map(|t| format!("{} {}", t.middleware.name(), t.payload)).collect()
            })
            .collect();
        assert_eq!(rounds.len(), 5);
        assert!(rounds.iter().any(|round| round != &rounds[0]), "the order never changed");
    }

    #[test]
    fn latency_without_a_rate_is_a_ping_pong_with_the_published_settings() {
        let plan = planned("latency --on dds").unwrap();
        let trial = &plan.trials[0];
        assert_eq!(trial.roles(), (Role::Ping, Role::Pong));
        assert_eq!((trial.messages, trial.duration), (Some(10_000), None));
        let spec = trial.spec(Role::Ping, "");
        assert_eq!((spec.reliability, spec.history), (Reliability::Reliable, History::KeepLast));
    }

    #[test]
    fn one_way_messages_are_not_overwritten_before_they_are_read() {
        let plan = planned("latency --on dds,zenoh-p2p --rate 100 --reliability reliable").unwrap();
        for trial in &plan.trials {
            assert_eq!(trial.roles(), (Role::Pub, Role::Sub));
            assert_eq!(trial.spec(Role::Pub, "").rate, Some(100.0));
            assert_eq!(trial.spec(Role::Sub, "").rate, None);
        }
        let dds = plan.trials.iter().find(|t| t.middleware == Middleware::Dds).unwrap();
        assert_eq!(dds.spec(Role::Sub, "").history, History::KeepAll);
    }

    #[test]
    fn a_broker_is_a_name_or_an_address() {
        let broker = |told| broker(Middleware::Mqtt, told);
        assert_eq!(broker(None), Ok(Some(Broker::Own("rumqttd"))));
        assert_eq!(broker(Some("mosquitto")), Ok(Some(Broker::Own("mosquitto"))));
        let running = Ok(Some(Broker::Running("127.0.0.1:1883".into())));
        assert_eq!(broker(Some("mqtt://127.0.0.1:1883")), running);
        assert_eq!(broker(Some("127.0.0.1:1883")), running);
        assert!(matches!(broker(Some("emqx")), Err(Failure::Usage(_))));
    }

    #[test]
    fn what_does_not_go_together_is_usage() {
        for words in [
            "throughput --on tcp --rate 5",
            "latency --on tcp --broker mosquitto",
            "latency --on udp --payload 64K",
            "latency --on tcp --pin 4096",
            "latency --on tcp --duration 0s",
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
