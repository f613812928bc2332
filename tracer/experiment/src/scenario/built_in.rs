//! The scenarios that are part of wirelap, and the word on the command line that names one of them or a file.

use super::parse::parse;
use super::settings::ScenarioSettings;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use wirelap_process::Failure;

/// The largest file that is read as a scenario, in bytes.
const MOST: u64 = 1 << 20;

/// The names and texts of the built-in scenarios.
const TEXTS: [(&str, &str); 16] = [
    ("latency", include_str!("../../scenarios/latency.toml")),
    ("throughput", include_str!("../../scenarios/throughput.toml")),
    ("throughput-sweep", include_str!("../../scenarios/throughput-sweep.toml")),
    ("rate", include_str!("../../scenarios/rate.toml")),
    ("overhead", include_str!("../../scenarios/overhead.toml")),
    ("hosts", include_str!("../../scenarios/hosts.toml")),
    ("footprint", include_str!("../../scenarios/footprint.toml")),
    ("mqtt-p2p", include_str!("../../scenarios/mqtt-p2p.toml")),
    ("mqtt-fanout", include_str!("../../scenarios/mqtt-fanout.toml")),
    ("mqtt-sharedsub", include_str!("../../scenarios/mqtt-sharedsub.toml")),
    ("mqtt-connections", include_str!("../../scenarios/mqtt-connections.toml")),
    ("mqtt-p2p-enterprise", include_str!("../../scenarios/mqtt-p2p-enterprise.toml")),
    ("mqtt-fanout-enterprise", include_str!("../../scenarios/mqtt-fanout-enterprise.toml")),
    ("mqtt-sharedsub-enterprise", include_str!("../../scenarios/mqtt-sharedsub-enterprise.toml")),
    (
        "mqtt-connections-enterprise",
        include_str!("../../scenarios/mqtt-connections-enterprise.toml"),
    ),
    ("handle", include_str!("../../scenarios/handle.toml")),
];

/// A built-in scenario.
#[derive(Clone, Debug)]
pub struct BuiltIn {
    /// The scenario's name on the command line.
    pub name: &'static str,
    /// The scenario's settings.
    pub settings: ScenarioSettings,
}

/// All built-in scenarios.
pub fn built_in() -> Vec<BuiltIn> {
    let read = |(name, text)| {
        // A test reads all of them, so none has an error.
        let settings = parse(name, text).unwrap_or_default();
        BuiltIn { name, settings }
    };
    TEXTS.map(read).into()
}

/// The scenario that a word on the command line names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScenarioSource {
    /// A built-in one, by its name.
    BuiltIn(&'static str),
    /// A file: the word contains a slash or ends in `.toml`.
    File(PathBuf),
}

impl ScenarioSource {
    /// The scenario that a word means.
    ///
    /// # Errors
    /// The word is neither the path of a file nor the name of a built-in scenario.
    pub fn of(word: &str) -> Result<ScenarioSource, String> {
        let path = Path::new(word);
        if word.contains('/') || path.extension().is_some_and(|extension| extension == "toml") {
            return Ok(ScenarioSource::File(path.into()));
        }
        if let Some((name, _)) = TEXTS.iter().find(|(name, _)| *name == word) {
            return Ok(ScenarioSource::BuiltIn(name));
        }
        let names = TEXTS.map(|(name, _)| name).join(", ");
        Err(format!(
            "there is no scenario `{word}`; known: {names}, or the path of a file: ./{word} or {word}.toml"
        ))
    }

    /// The settings of the scenario.
    ///
    /// # Errors
    /// The file cannot be read, or is not a scenario.
    pub fn read(&self) -> Result<ScenarioSettings, Failure> {
        match self {
            ScenarioSource::BuiltIn(name) => Ok(built_in()
                .into_iter()
                .find(|scenario| scenario.name == *name)
                .map(|scenario| scenario.settings)
                .unwrap_or_default()),
            ScenarioSource::File(path) => {
                let shown = path.display().to_string();
                let text = text(path).map_err(|error| {
                    Failure::Usage(format!("cannot read the scenario {shown}: {error}"))
                })?;
                parse(&shown, &text).map_err(Failure::Usage)
            }
        }
    }
}

fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MOST).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::tests::world;
    use crate::pacing::TrialPacing;
    use crate::plan::plan;
    use crate::request::{Measure, RunRequest};

    #[test]
    fn every_built_in_scenario_can_be_planned() {
        for (name, text) in TEXTS {
            let settings = parse(name, text).unwrap();
            assert_eq!(settings.name.as_deref(), Some(name));
            assert!(settings.about.is_some() && settings.measure.is_some(), "{name}");
            let fixed = settings.on.is_some();
            let request = settings.request(&RunRequest::default());
            // A small catalogue has not all that a scenario names.
            let on = if fixed { vec!["mqtt".into()] } else { vec!["tcp".into(), "mqtt".into()] };
            let plan = plan(&RunRequest { on, ..request }, &world()).unwrap();
            assert!(plan.trials.len() >= 2 - usize::from(fixed), "{name}");
        }
    }

    #[test]
    fn latency_and_throughput_have_the_defaults_of_the_command_line() {
        let of = |name| {
            ScenarioSource::of(name).unwrap().read().unwrap().request(&RunRequest::default())
        };
        let (latency, throughput) = (of("latency"), of("throughput"));
        for request in [&latency, &throughput] {
            assert_eq!((request.payload.len(), request.repeat, request.warmup), (1, 1, 1000));
            assert_eq!(
                (request.messages, request.duration, request.max_payload),
                (None, None, None)
            );
            assert!(request.workloads.nodelay && request.seed.is_none());
        }
        assert_eq!(latency.pacings(), [TrialPacing::PingPong]);
        assert_eq!(throughput.measure, Measure::Throughput);
        assert_eq!(of("throughput-sweep").payload[0].sizes().len(), 27);
    }

    #[test]
    fn a_word_is_a_name_or_a_path() {
        assert_eq!(ScenarioSource::of("rate"), Ok(ScenarioSource::BuiltIn("rate")));
        for path in ["mine.toml", "./rate", "/x/y"] {
            assert_eq!(ScenarioSource::of(path), Ok(ScenarioSource::File(path.into())));
        }
        let error = ScenarioSource::of("speed").unwrap_err();
        assert!(
            error.contains(
                "latency, throughput, throughput-sweep, rate, overhead, hosts, footprint, mqtt-p2p"
            ),
            "{error}"
        );
        let gone = ScenarioSource::of("/nonexistent/x.toml").unwrap().read().unwrap_err();
        assert!(
            gone.to_string()
                .starts_with("cannot read the scenario /nonexistent/x.toml: No such file")
        );
    }

    #[test]
    fn options_replace_the_settings_of_a_file_and_settings_of_libraries_are_joined() {
        let file = parse("x", "repeat = 3\nqos = 1\n[set]\na = 1\nb = 2").unwrap();
        let options = parse("x", "repeat = 5\n[set]\nb = 3\nc = 4").unwrap();
        let both = options.over(&file);
        assert_eq!((both.repeat, both.qos), (Some(5), Some(1)));
        let set: Vec<_> =
            both.set.unwrap().into_iter().map(|(name, value)| name + &value).collect();
        assert_eq!(set, ["a1", "b3", "c4"]);
    }

    #[test]
    fn the_number_of_trials_is_known_before() {
        let trials = |name| ScenarioSource::of(name).unwrap().read().unwrap().trials();
        assert_eq!([trials("latency"), trials("rate")], [(1, 1), (6, 12)]);
        assert_eq!([trials("throughput-sweep"), trials("overhead")], [(81, 81), (4, 4)]);
    }
}
