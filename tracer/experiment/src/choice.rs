//! Interprets `--on`, `--broker` and `--set` on this machine: which middlewares run, through which brokers, with which
//! settings, and which are left out because they cannot be run.

use crate::broker::{Broker, broker, brokers};
use crate::catalogue::{ALL, Catalogue};
use crate::hosts;
use crate::pacing::TrialPacing;
use crate::request::WorkloadOptions;
use std::sync::Arc;
use wirelap_contract::{About, Availability, Role, WorkloadTopology};
use wirelap_process::Failure;
use wirelap_report::Skipped;

/// A middleware, and the broker between its publisher and its subscriber if it has one.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The middleware.
    pub about: Arc<About>,
    /// The broker; `None` if the middleware uses none.
    pub broker: Option<Broker>,
    /// The process of a broker that was running before; `None` if it is not on this machine.
    pub running: Option<u32>,
}

/// The wanted middlewares: those that can be run, and those that cannot.
#[derive(Debug, Default)]
pub struct Choices {
    /// The middlewares to run, in the order in which tables show them.
    pub chosen: Vec<Choice>,
    /// The middlewares and brokers that `all` includes and that cannot be run here.
    pub skipped: Vec<Skipped>,
}

/// Finds the middlewares and brokers to run for `names` and the options, when messages are sent with this pacing.
///
/// # Errors
/// A name is unknown, or a middleware or broker that was named explicitly cannot be run here.
pub fn choose(
    catalogue: &Catalogue,
    names: &[String],
    options: &WorkloadOptions,
    pacing: TrialPacing,
) -> Result<Choices, Failure> {
    let (abouts, all) = catalogue.choose(names)?;
    check_names(&abouts, options)?;
    let mut choices = Choices::default();
    for about in abouts {
        match unable(&about, pacing, options.topology) {
            Some(obstacle) => leave_out(&mut choices, &about, None, obstacle, all)?,
            None => add(&mut choices, &about, options, all)?,
        }
    }
    if choices.chosen.is_empty() && !names.is_empty() {
        return Err(Failure::Machine(
            "none of the wanted middlewares can be run here: `wirelap list` shows what is missing"
                .into(),
        ));
    }
    Ok(choices)
}

/// Why a middleware or a broker cannot be run.
struct RunObstacle {
    why: String,
    remedy: Option<String>,
}

impl RunObstacle {
    /// A broker that is not installed.
    fn missing(name: &str, remedy: &str) -> RunObstacle {
        RunObstacle { why: format!("{name} is not installed"), remedy: Some(remedy.to_owned()) }
    }

    /// A middleware that lacks a program or a permission.
    fn impossible(name: &str, remedy: &str) -> RunObstacle {
        RunObstacle { why: format!("{name} cannot be run here"), remedy: Some(remedy.to_owned()) }
    }
}

fn unable(about: &About, pacing: TrialPacing, topology: WorkloadTopology) -> Option<RunObstacle> {
    if let Err(why) = about.check_topology(topology) {
        return Some(RunObstacle { why, remedy: None });
    }
    let connects = topology.connections > 0;
    if connects && !about.can(Role::Connect) {
        let why = format!("{} has no connections of its own to a broker", about.name);
        return Some(RunObstacle { why, remedy: None });
    }
    if !connects && let Some(what) = lacking(about, pacing) {
        return Some(RunObstacle {
            why: format!("{} does not support {what}", about.name),
            remedy: None,
        });
    }
    about.available.remedy().map(|remedy| RunObstacle::impossible(&about.name, remedy))
}

fn lacking(about: &About, pacing: TrialPacing) -> Option<&'static str> {
    match pacing {
        TrialPacing::PingPong => (!about.can(Role::Ping)).then_some("ping-pong"),
        _ if !about.can(Role::Pub) => Some("one-way messages"),
        TrialPacing::Rate(_) if !about.paced => Some("messages at a given rate"),
        TrialPacing::Rate(_) | TrialPacing::BackToBack => None,
    }
}

/// Adds a middleware with each wanted broker. A broker that is not installed is left out if `all` was wanted, otherwise it is an
/// error.
fn add(
    choices: &mut Choices,
    about: &Arc<About>,
    options: &WorkloadOptions,
    all: bool,
) -> Result<(), Failure> {
    let every = options.broker.iter().any(|word| word == ALL);
    for broker in brokers(about, &options.broker) {
        let confined = match &broker {
            Some(Broker::Own(name)) if options.is_broker_apart => {
                hosts::confined(about, name, "place its clients beside it")
            }
            Some(Broker::Own(name)) if options.links.is_some() => {
                hosts::confined(about, name, "run without --hosts")
            }
            Some(Broker::Running(address)) if options.links.is_some() => {
                Some(hosts::running(address))
            }
            _ => None,
        };
        if let (Some(why), Some(broker)) = (confined, &broker) {
            let obstacle = RunObstacle { why, remedy: None };
            leave_out(choices, about, Some(broker.name()), obstacle, all || every)?;
            continue;
        }
        let missing = match &broker {
            Some(Broker::Own(name)) => availability(about, name).and_then(Availability::remedy),
            _ => None,
        };
        if let (Some(remedy), Some(broker)) = (missing, &broker) {
            let obstacle = RunObstacle::missing(broker.name(), remedy);
            leave_out(choices, about, Some(broker.name()), obstacle, all || every)?;
        } else {
            let running = broker.as_ref().and_then(Broker::process);
            choices.chosen.push(Choice { about: Arc::clone(about), broker, running });
        }
    }
    Ok(())
}

fn leave_out(
    choices: &mut Choices,
    about: &About,
    broker: Option<&str>,
    RunObstacle { why, remedy }: RunObstacle,
    all: bool,
) -> Result<(), Failure> {
    if !all {
        return Err(match remedy {
            Some(remedy) => Failure::Machine(format!("{why}: {remedy}")),
            None => Failure::Usage(why),
        });
    }
    let (middleware, broker) = (about.name.clone(), broker.map(Into::into));
    choices.skipped.push(Skipped { middleware, broker, why, remedy });
    Ok(())
}

fn availability<'a>(about: &'a About, broker: &str) -> Option<&'a Availability> {
    about.brokers.iter().find(|known| known.name == broker).map(|known| &known.available)
}

/// Checks that every word of `--broker` and `--set` is for one of the middlewares.
fn check_names(abouts: &[Arc<About>], options: &WorkloadOptions) -> Result<(), Failure> {
    let brokered: Vec<_> = abouts.iter().filter(|about| !about.brokers.is_empty()).collect();
    for word in options.broker.iter().filter(|word| *word != ALL) {
        if brokered.is_empty() {
            let sentence = "--broker is given, but no middleware of --on uses a broker";
            return Err(Failure::Usage(sentence.into()));
        }
        let takers = brokered.iter().filter(|about| broker(about, word).is_some()).count();
        if takers == 0 {
            return Err(Failure::Usage(unknown_broker(word, &brokered)));
        }
        if takers > 1 && !word.contains("://") && word.contains(':') {
            return Err(Failure::Usage(format!(
                "--broker {word}: several middlewares of --on use a broker: name one of them, as in mqtt://{word}"
            )));
        }
    }
    for (name, _) in &options.set {
        if !abouts.iter().any(|about| setting_of(about, name).is_some()) {
            return Err(Failure::Usage(format!(
                "--set {name}: no middleware of --on has this setting; `wirelap list --settings` shows all settings"
            )));
        }
    }
    Ok(())
}

fn unknown_broker(word: &str, brokered: &[&Arc<About>]) -> String {
    let known: Vec<String> = brokered
        .iter()
        .flat_map(|about| about.brokers.iter().map(|known| known.name.clone()))
        .collect();
    let name = &brokered[0].name;
    format!(
        "no middleware of --on has a broker `{word}`; known: {}, or the address of a running broker, such as \
         {name}://HOST:PORT",
        known.join(", ")
    )
}

/// The name of a setting in its library, if `[MIDDLEWARE:]NAME` means this middleware and the middleware has that setting.
fn setting_of<'a>(about: &About, setting: &'a str) -> Option<&'a str> {
    let name = match setting.split_once(':') {
        Some((middleware, name)) if middleware == about.name => name,
        Some(_) => return None,
        None => setting,
    };
    about.settings.iter().any(|known| known.name == name).then_some(name)
}

/// The settings of `--set` that are for a middleware.
pub fn settings(about: &About, set: &[(String, String)]) -> Vec<(String, String)> {
    let of_middleware = |(name, value): &(String, String)| {
        setting_of(about, name).map(|name| (name.to_owned(), value.clone()))
    };
    set.iter().filter_map(of_middleware).collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::hosts::Links;
    use crate::request::{RunRequest, tests::request};
    use wirelap_contract::LinkTransport::{Tcp, Udp};
    use wirelap_contract::Scaling;

    /// A small catalogue: two middlewares with brokers, several without, and one that cannot be run.
    pub fn world() -> Catalogue {
        let missing = || Availability::Missing { remedy: "buy one".into() };
        let mut pigeon = About::new("pigeon", "birds", 64, &[Udp]);
        pigeon.available = missing();
        let mut ping = About::new("ping", "ICMP", 64, &[]);
        ping.roles = vec![Role::Ping];
        let mut z_pub = About::new("z_pub", "back to back only", 64, &[Tcp]);
        z_pub.roles = vec![Role::Pub, Role::Sub];
        z_pub.paced = false;
        Catalogue::of(vec![
            About::new("tcp", "plain", 1 << 30, &[Tcp]),
            About::new("udp", "plain", 65_507, &[Udp]),
            ping,
            z_pub,
            About::new("mqtt", "MQTT", 1 << 28, &[Tcp])
                .scaling(Scaling::BROKERED)
                .broker("rumqttd", Availability::BuiltIn)
                .broker("mosquitto", Availability::Installed { version: None })
                .broker("nanomq", missing())
                .setting("keep.alive", 5, "seconds"),
            About::new("kafka", "Kafka", 1 << 20, &[Tcp])
                .broker("mock", Availability::BuiltIn)
                .loopback_only()
                .setting("acks", 0, "0, 1 or all")
                .setting("keep.alive", 5, "seconds"),
            About::new("zenoh-p2p", "Zenoh", 1 << 30, &[Tcp, Udp]),
            About::new("dds", "DDS", 1 << 30, &[Udp]),
            pigeon,
        ])
    }

    fn chosen(words: &str) -> Result<Choices, Failure> {
        let request = request(words);
        choose(&world(), &request.on, &request.workloads, request.pacings()[0])
    }

    fn names(choices: &Choices) -> Vec<String> {
        let name = |choice: &Choice| {
            let broker = choice.broker.as_ref().map_or("-", Broker::name);
            format!("{} {broker}", choice.about.name)
        };
        choices.chosen.iter().map(name).collect()
    }

    #[test]
    fn a_broker_is_its_middlewares_own() {
        let of = |words: &str| names(&chosen(words).unwrap());
        assert_eq!(of("latency --on mqtt,tcp"), ["mqtt rumqttd", "tcp -"]);
        let both = ["mqtt rumqttd", "mqtt mosquitto", "kafka mock"];
        assert_eq!(of("latency --on mqtt,kafka --broker rumqttd,mosquitto"), both);
        let running = ["mqtt 127.0.0.1:1883", "kafka mock"];
        assert_eq!(of("latency --on mqtt,kafka --broker mqtt://127.0.0.1:1883/"), running);
        assert_eq!(of("latency --on mqtt --broker 127.0.0.1:1883"), ["mqtt 127.0.0.1:1883"]);
        for words in [
            "latency --on mqtt --broker emqx",
            "latency --on tcp --broker mosquitto",
            "latency --on mqtt,kafka --broker 127.0.0.1:1883",
        ] {
            assert!(matches!(chosen(words), Err(Failure::Usage(_))), "{words}");
        }
    }

    #[test]
    fn all_leaves_out_what_cannot_be_run_and_says_why() {
        let choices = chosen("latency --on all --broker all").unwrap();
        assert_eq!(choices.chosen.len(), 8);
        let skipped: Vec<_> = choices.skipped.iter().map(|s| (&*s.middleware, &*s.why)).collect();
        let expected = [
            ("z_pub", "z_pub does not support ping-pong"),
            ("mqtt", "nanomq is not installed"),
            ("pigeon", "pigeon cannot be run here"),
        ];
        assert_eq!(skipped, expected);
        let remedies: Vec<_> = choices.skipped.iter().map(|s| s.remedy.as_deref()).collect();
        assert_eq!(remedies, [None, Some("buy one"), Some("buy one")]);
    }

    #[test]
    fn a_pacing_that_a_middleware_does_not_support_is_refused() {
        let why = |words: &str| match chosen(words) {
            Err(Failure::Usage(why)) => why,
            other => panic!("{words}: {other:?}"),
        };
        assert_eq!(why("latency --on ping --rate 5"), "ping does not support one-way messages");
        assert_eq!(
            why("latency --on z_pub --rate 5"),
            "z_pub does not support messages at a given rate"
        );
        assert_eq!(why("latency --on z_pub"), "z_pub does not support ping-pong");
        assert_eq!(names(&chosen("throughput --on z_pub").unwrap()), ["z_pub -"]);
    }

    #[test]
    fn a_broker_that_no_other_host_reaches_is_left_out_or_refused() {
        let on_hosts = |words: &str| {
            let RunRequest { on, workloads, .. } = request(words);
            let options = WorkloadOptions { links: Some(Links::default()), ..workloads };
            choose(&world(), &on, &options, TrialPacing::PingPong)
        };
        let skipped = on_hosts("latency --on all").unwrap().skipped;
        assert!(skipped.iter().any(|one| one.broker.as_deref() == Some("mock")));
        for words in ["latency --on kafka", "latency --on mqtt --broker 127.0.0.1:1883"] {
            assert!(matches!(on_hosts(words), Err(Failure::Usage(_))), "{words}");
        }
        let placed = |words: &str| {
            let RunRequest { on, workloads, .. } = request(words);
            let options = WorkloadOptions { is_broker_apart: true, ..workloads };
            choose(&world(), &on, &options, TrialPacing::PingPong).map_err(|why| why.to_string())
        };
        let why = placed("latency --on kafka").unwrap_err();
        assert!(why.ends_with("or place its clients beside it"), "{why}");
        assert!(placed("latency --on mqtt --broker 127.0.0.1:1883").is_ok());
    }

    #[test]
    fn what_is_named_itself_must_be_there() {
        let missing = chosen("latency --on tcp,pigeon").unwrap_err();
        assert_eq!(missing, Failure::Machine("pigeon cannot be run here: buy one".into()));
        assert!(matches!(chosen("latency --on mqtt --broker nanomq"), Err(Failure::Machine(_))));
        let Err(Failure::Usage(sentence)) = chosen("latency --on tcp,rabbitmq") else {
            panic!("rabbitmq was found")
        };
        for name in ["rabbitmq", "tcp", "udp", "mqtt", "zenoh-p2p", "dds"] {
            assert!(sentence.contains(name), "{sentence}");
        }
    }

    #[test]
    fn settings_go_to_those_who_have_them() {
        let pair = |name: &str| (name.to_owned(), "1".to_owned());
        let told = [pair("keep.alive"), pair("kafka:acks"), pair("mqtt:keep.alive")];
        let world = world();
        let of = |name: &str| settings(world.find(name).unwrap(), &told);
        assert_eq!(of("kafka"), [pair("keep.alive"), pair("acks")]);
        assert_eq!(of("mqtt"), [pair("keep.alive"), pair("keep.alive")]);
        assert_eq!(of("tcp"), []);
        for words in ["latency --on tcp --set acks=1", "latency --on mqtt --set kafka:acks=1"] {
            assert!(matches!(chosen(words), Err(Failure::Usage(_))), "{words}");
        }
    }
}
