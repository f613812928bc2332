//! Workloads that the screen offers, with their settings, and the trials that come of what the user chooses.

use super::trials::{OfferedLoad, trial};
use crate::quantity;
use clap::ValueEnum;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use wirelap_contract::{About, LinkReliability, LinkTransport, WorkloadKind};
use wirelap_experiment::{
    Catalogue, Choices, Trial, TrialPacing, WorkloadInstallation, WorkloadOptions, check_workloads,
    choose, settings_of,
};
use wirelap_process::{Failure, rights};
use wirelap_tui::{ExperimentChoice, ExperimentSetting, ExperimentSettings};

/// The value of a setting that is left as the middleware's workload has it.
const USUAL: &str = "usual";

/// The middlewares that are installed, and the settings that the user chose last.
#[derive(Default)]
pub struct Offer {
    catalogue: Arc<OnceLock<Result<Catalogue, String>>>,
    is_reading: bool,
    last: HashMap<String, ExperimentSettings>,
}

impl Offer {
    /// The workloads that can be started; `None` while that is being looked up, on a thread of its own.
    pub fn catalogue(
        &mut self,
        installation: impl FnOnce() -> WorkloadInstallation,
        options: &WorkloadOptions,
        usual: &OfferedLoad,
    ) -> Option<Result<Vec<ExperimentChoice>, String>> {
        if !self.is_reading {
            self.is_reading = true;
            let (slot, installation) = (Arc::clone(&self.catalogue), installation());
            let read = move || {
                let catalogue = Catalogue::read(&installation);
                let _ = slot.set(catalogue.map_err(|failure| failure.to_string()));
            };
            if let Err(error) = rights::spawn("catalogue", read) {
                let _ = self.catalogue.set(Err(format!("cannot start a thread: {error}")));
            }
        }
        let catalogue = match self.catalogue.get()? {
            Ok(catalogue) => catalogue,
            Err(why) => return Some(Err(why.clone())),
        };
        let traced = catalogue.all().iter().filter(|about| about.kind != WorkloadKind::Untraced);
        let choices = traced.map(|about| self.choice(catalogue, about, options, usual));
        Some(Ok(choices.collect()))
    }

    fn choice(
        &self,
        catalogue: &Catalogue,
        about: &About,
        options: &WorkloadOptions,
        usual: &OfferedLoad,
    ) -> ExperimentChoice {
        let last = self.last.get(&about.name);
        let mut settings = offered(about, options);
        for setting in &mut settings {
            let chosen =
                last.and_then(|last| last.settings.iter().find(|one| one.0 == setting.name));
            if let Some((_, value)) = chosen {
                setting.value.clone_from(value);
            }
        }
        let named = last.cloned().unwrap_or_else(|| ExperimentSettings {
            middleware: about.name.clone(),
            rate: usual.rate,
            payload: usual.payload,
            settings: settings.iter().map(|one| (one.name.clone(), one.value.clone())).collect(),
            pin: options.pin.clone(),
        });
        let unavailable = planned(catalogue, &named, options).err();
        ExperimentChoice {
            middleware: named.middleware,
            about: about.about.clone(),
            rate: named.rate,
            payload: named.payload,
            pin: named.pin,
            settings,
            unavailable: unavailable.map(|failure| failure.to_string()),
            running: None,
        }
    }

    /// The trial that comes of what the user has chosen.
    ///
    /// # Errors
    /// It cannot be run here, or a value is not possible.
    pub fn trial(
        &mut self,
        settings: &ExperimentSettings,
        options: &WorkloadOptions,
    ) -> Result<Trial, Failure> {
        let Some(Ok(catalogue)) = self.catalogue.get() else {
            return Err(Failure::Machine("what is installed is still being looked up".into()));
        };
        let trial = planned(catalogue, settings, options)?;
        self.last.insert(settings.middleware.clone(), settings.clone());
        Ok(trial)
    }
}

/// The settings that a middleware has, with their usual values or those of the command line.
fn offered(about: &About, options: &WorkloadOptions) -> Vec<ExperimentSetting> {
    let setting = |name: &str, value: &str, values: &[&str], words: &str| ExperimentSetting {
        name: name.into(),
        value: value.into(),
        values: values.iter().map(|&value| value.into()).collect(),
        words: words.into(),
    };
    let mut settings = Vec::new();
    let installed = about.brokers.iter().filter(|broker| broker.available.remedy().is_none());
    let brokers: Vec<&str> = installed.map(|broker| broker.name.as_str()).collect();
    if let Some(&first) = brokers.first() {
        let wanted = brokers.iter().find(|name| options.broker.iter().any(|one| one == *name));
        settings.push(setting(
            "broker",
            wanted.unwrap_or(&first),
            &brokers,
            "what is between them",
        ));
    }
    if about.name == "mqtt" {
        let qos = options.qos.to_string();
        settings.push(setting("qos", &qos, &["0", "1", "2"], "MQTT quality of service"));
    }
    if about.transports.len() > 1 {
        let names: Vec<String> = about.transports.iter().map(name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let wanted = options.transport.map_or_else(|| names.concat(), |one| name(&one));
        let value = names.iter().find(|one| **one == wanted).or(names.first());
        settings.push(setting("transport", value.unwrap_or(&""), &names, "TCP or UDP"));
    }
    if about.transports.contains(&LinkTransport::Tcp) {
        let value = if options.nodelay { "true" } else { "false" };
        let words = "TCP_NODELAY, where the library allows it";
        settings.push(setting("nodelay", value, &["true", "false"], words));
    }
    if about.name == "dds" || about.name.starts_with("zenoh") {
        let value = options.reliability.map_or_else(|| USUAL.to_owned(), |one| name(&one));
        let values = [USUAL, "reliable", "best-effort"];
        settings.push(setting(
            "reliability",
            &value,
            &values,
            "whether what is lost is sent again",
        ));
    }
    let set: HashMap<String, String> = settings_of(about, &options.set).into_iter().collect();
    settings.extend(about.settings.iter().map(|one| {
        let value = set.get(&one.name).unwrap_or(&one.default);
        setting(&one.name, value, &[], &one.about)
    }));
    settings
}

fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// The trial of a middleware with settings.
fn planned(
    catalogue: &Catalogue,
    settings: &ExperimentSettings,
    options: &WorkloadOptions,
) -> Result<Trial, Failure> {
    let about = catalogue.find(&settings.middleware)?;
    let payload = quantity::payload_size(&settings.payload.to_string()).map_err(Failure::Usage)?;
    let rate = quantity::rate(&settings.rate.to_string()).map_err(Failure::Usage)?;
    let mut options = WorkloadOptions {
        broker: Vec::new(),
        set: Vec::new(),
        pin: settings.pin.clone(),
        ..options.clone()
    };
    for (name, value) in &settings.settings {
        put(&mut options, about, name, value)?;
    }
    let wanted = [settings.middleware.clone()];
    let Choices { chosen, .. } = choose(catalogue, &wanted, &options, TrialPacing::Rate(rate))?;
    check_workloads(&options, &chosen, &[payload])?;
    let choice = chosen.into_iter().next().ok_or_else(|| {
        Failure::Machine("it cannot be run here: `wirelap list` shows what is missing".into())
    })?;
    Ok(trial(&options, choice, OfferedLoad { rate, payload }))
}

/// Puts the value of a setting into the options.
fn put(
    options: &mut WorkloadOptions,
    about: &About,
    name: &str,
    value: &str,
) -> Result<(), Failure> {
    let impossible = || Failure::Usage(format!("{name} cannot be `{value}`"));
    match name {
        "broker" => options.broker = vec![value.to_owned()],
        "qos" => {
            options.qos = value.parse().ok().filter(|qos| *qos <= 2).ok_or_else(impossible)?;
        }
        "nodelay" => options.nodelay = value.parse().map_err(|_| impossible())?,
        "transport" => {
            options.transport =
                Some(LinkTransport::from_str(value, true).map_err(|_| impossible())?);
        }
        "reliability" if value == USUAL => options.reliability = None,
        "reliability" => {
            options.reliability =
                Some(LinkReliability::from_str(value, true).map_err(|_| impossible())?);
        }
        // What is as usual is not set, because a library may do something else when it is told so.
        _ if about.settings.iter().any(|one| one.name == name && one.default == value) => {}
        _ => options.set.push((format!("{}:{name}", about.name), value.to_owned())),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_contract::Availability;

    fn catalogue() -> Catalogue {
        let missing = || Availability::Missing { remedy: "apt install it".into() };
        let mut mqtt = About::new("mqtt", "MQTT", 1 << 20, &[LinkTransport::Tcp])
            .broker("nanomq", missing())
            .broker("rumqttd", Availability::BuiltIn)
            .setting("client.tcp_nodelay", "true", "whether small packets wait");
        mqtt.kind = WorkloadKind::Stamped;
        let mut absent = About::new("absent", "not there", 64, &[LinkTransport::Udp]);
        absent.available = missing();
        Catalogue::of(vec![mqtt, absent])
    }

    fn offer() -> Offer {
        let offer = Offer { is_reading: true, ..Offer::default() };
        offer.catalogue.set(Ok(catalogue())).unwrap();
        offer
    }

    fn choices(offer: &mut Offer, options: &WorkloadOptions) -> Vec<ExperimentChoice> {
        let usual = OfferedLoad { rate: 1_000.0, payload: 64 };
        let nothing = || panic!("what is installed is known");
        offer.catalogue(nothing, options, &usual).unwrap().unwrap()
    }

    #[test]
    fn what_is_installed_is_offered_and_the_rest_says_why_not() {
        let choices = choices(&mut offer(), &WorkloadOptions::default());
        let [mqtt, absent] = &choices[..] else { panic!("{choices:?}") };
        assert_eq!(mqtt.unavailable, None);
        let names: Vec<_> = mqtt.settings.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["broker", "qos", "nodelay", "client.tcp_nodelay"]);
        assert_eq!(mqtt.settings[0].values, ["rumqttd"]);
        assert!(absent.unavailable.as_ref().unwrap().contains("apt install it"));
    }

    #[test]
    fn what_is_chosen_becomes_a_trial_and_is_remembered() {
        let (mut offer, options) = (offer(), WorkloadOptions::default());
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut wanted = ExperimentSettings {
            middleware: "mqtt".into(),
            rate: 20.0,
            payload: 128,
            settings: vec![
                pair("broker", "rumqttd"),
                pair("qos", "1"),
                pair("nodelay", "false"),
                pair("client.tcp_nodelay", "false"),
            ],
            pin: vec![0],
        };
        let trial = offer.trial(&wanted, &options).unwrap();
        let said = super::super::trials::words(&trial);
        assert_eq!(
            said,
            "rumqttd, 20 msg/s, 128 B, qos 1, nodelay off, client.tcp_nodelay false, pin 0"
        );
        let mqtt = &choices(&mut offer, &options)[0];
        assert_eq!((mqtt.rate, mqtt.payload, &*mqtt.settings[1].value), (20.0, 128, "1"));
        for (name, value) in [("qos", "3"), ("broker", "emqx"), ("nodelay", "perhaps")] {
            let settings = vec![pair(name, value)];
            assert!(
                offer.trial(&ExperimentSettings { settings, ..wanted.clone() }, &options).is_err()
            );
        }
        for (rate, payload) in [(0.0, 64), (f64::NAN, 64), (10.0, 1), (10.0, 1 << 21)] {
            (wanted.rate, wanted.payload) = (rate, payload);
            assert!(offer.trial(&wanted, &options).is_err(), "{rate} {payload}");
        }
    }
}
