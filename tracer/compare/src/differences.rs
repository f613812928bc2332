//! The differences between two runs that are no obstacle: usually, what is compared.

use crate::comparison::Difference;
use std::collections::{BTreeMap, BTreeSet};
use wirelap_report::{Environment, RunReport, RunResult, Scenario};

/// Versions and settings of each middleware.
type ByMiddleware = BTreeMap<String, BTreeMap<String, String>>;

/// All differences of two runs.
pub fn of_runs(a: &RunReport, b: &RunReport) -> Vec<Difference> {
    let mut found = environment(&a.environment, &b.environment);
    found.extend(named("version of", &a.environment.versions, &b.environment.versions));
    found.extend(named("setting of", &a.environment.settings, &b.environment.settings));
    found.extend(scenario(&a.scenario, &b.scenario));
    found
}

/// The settings in which the variants of one run differ: those that were chosen, and those that the processes of results which
/// are compared reported.
pub fn of_variants(scenario: &Scenario, pairs: &[(&RunResult, &RunResult)]) -> Vec<Difference> {
    let Some([a, b]) = &scenario.ab else { return Vec::new() };
    let chosen = |text: &str| -> BTreeMap<String, String> {
        let pairs = text.split_whitespace().filter_map(|word| word.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    let (a, b) = (chosen(a), chosen(b));
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    // What one side says nothing about is that of the whole run.
    let value = |side: &BTreeMap<String, String>, name: &String| {
        side.get(name).or_else(|| scenario.settings.get(name)).cloned()
    };
    let each = names.into_iter();
    let mut found: Vec<Difference> = each
        .filter_map(|name| differ(&format!("setting {name}"), value(&a, name), value(&b, name)))
        .collect();
    for (a, b) in pairs {
        let of = |result: &RunResult| -> ByMiddleware {
            [(result.middleware.clone(), result.settings.clone())].into()
        };
        for difference in named("setting of", &of(a), &of(b)) {
            if !found.contains(&difference) {
                found.push(difference);
            }
        }
    }
    found
}

fn differ(what: &str, a: Option<String>, b: Option<String>) -> Option<Difference> {
    (a != b).then(|| Difference { what: what.to_owned(), a, b })
}

fn environment(a: &Environment, b: &Environment) -> Vec<Difference> {
    let each = |what, of: fn(&Environment) -> Option<String>| differ(what, of(a), of(b));
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    [
        differ("version of wirelap", text(&a.wirelap_version), text(&b.wirelap_version)),
        differ("kernel", text(&a.kernel), text(&b.kernel)),
        each("machine", |side| side.hostname.clone()),
        each("clock source", |side| side.clock_source.clone()),
        each("memory in bytes", |side| Some(side.memory_bytes.to_string())),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn named(kind: &str, a: &ByMiddleware, b: &ByMiddleware) -> Vec<Difference> {
    let keys = |side: &ByMiddleware| -> Vec<(String, String)> {
        let each = side.iter().flat_map(|(of, names)| names.keys().map(move |name| (of, name)));
        each.map(|(of, name)| (of.clone(), name.clone())).collect()
    };
    let all: BTreeSet<(String, String)> = keys(a).into_iter().chain(keys(b)).collect();
    let value = |side: &ByMiddleware, of: &str, name: &str| side.get(of)?.get(name).cloned();
    let each = all.iter().filter_map(|(of, name)| {
        differ(&format!("{kind} {of}: {name}"), value(a, of, name), value(b, of, name))
    });
    each.collect()
}

fn scenario(a: &Scenario, b: &Scenario) -> Vec<Difference> {
    let each = |what, of: fn(&Scenario) -> Option<String>| differ(what, of(a), of(b));
    [
        each("messages of a repetition", |side| side.messages.map(|count| count.to_string())),
        each("seconds of a repetition", |side| side.duration_s.map(|time| time.to_string())),
        each("repetitions", |side| Some(side.repeat.to_string())),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn variants_differ_in_what_was_chosen_and_in_what_their_processes_reported() {
        let mut run = samples::report(3, |_, _| {});
        assert!(of_variants(&run.scenario, &[]).is_empty(), "it has no variants");
        run.scenario.ab = Some(["qos=1 set:keep.alive=9".into(), "broker=rumqttd".into()]);
        run.scenario.settings = [("broker".to_owned(), "mosquitto".to_owned())].into();
        let settings = |qos: &str| {
            let of = [("pub.qos", qos), ("sub.qos", "1"), ("pub.nodelay", "true")];
            of.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
        };
        let mut a = run.results[0].clone();
        let mut b = a.clone();
        (a.settings, b.settings) = (settings("1"), settings("0"));
        let found = of_variants(&run.scenario, &[(&a, &b), (&a, &b)]);
        let shown: Vec<String> = found
            .iter()
            .map(|one| format!("{}: {:?} {:?}", one.what, one.a.as_deref(), one.b.as_deref()))
            .collect();
        assert_eq!(
            shown,
            [
                "setting broker: Some(\"mosquitto\") Some(\"rumqttd\")",
                "setting qos: Some(\"1\") None",
                "setting set:keep.alive: Some(\"9\") None",
                "setting of mqtt: pub.qos: Some(\"1\") Some(\"0\")",
            ]
        );
    }

    #[test]
    fn versions_settings_and_lengths_are_listed() {
        let a = samples::report(3, |_, _| {});
        assert!(of_runs(&a, &a).is_empty());
        let mut b = a.clone();
        let mqtt = |name: &str, value: &str| -> ByMiddleware {
            [("mqtt".to_owned(), [(name.to_owned(), value.to_owned())].into())].into()
        };
        b.environment.versions = mqtt("rumqttc", "0.26");
        b.environment.settings = mqtt("pub.qos", "1");
        b.environment.kernel = "6.18.1".into();
        b.scenario.messages = Some(5);
        let found = of_runs(&a, &b);
        let what: Vec<&str> = found.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(
            what,
            [
                "kernel",
                "version of mqtt: rumqttc",
                "setting of mqtt: pub.qos",
                "messages of a repetition"
            ]
        );
        assert_eq!((found[2].a.as_deref(), found[2].b.as_deref()), (None, Some("1")));
    }
}
