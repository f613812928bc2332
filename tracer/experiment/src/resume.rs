//! A run that was interrupted, as its file reports it: which of its trials count, and whether this run can go on with it.

use crate::plan::Plan;
use crate::request::RunRequest;
use crate::results::{self, Results, TrialRecord};
use crate::trial::Trial;
use std::collections::BTreeMap;
use wirelap_process::Failure;
use wirelap_report::{
    Environment, MachineKey, Repetition, RunKind, RunReport, RunResult, Scenario,
};

/// A report of a run that was interrupted.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// The file, as messages name it.
    name: String,
    report: RunReport,
}

impl Earlier {
    /// A report that a run can go on with. `name` is that of the file.
    ///
    /// # Errors
    /// The report is complete, or not of a run.
    pub fn new(name: String, report: RunReport) -> Result<Earlier, Failure> {
        let earlier = Earlier { name, report };
        if earlier.report.scenario.kind == RunKind::Live {
            return Err(earlier.refused("it is not of `wirelap run`"));
        }
        if earlier.report.incomplete.is_none() {
            return Err(earlier.refused("it is complete: nothing is left to be measured"));
        }
        Ok(earlier)
    }

    /// The seed of the run.
    pub fn seed(&self) -> u64 {
        self.report.environment.seed
    }

    /// The environment that the run began in.
    pub fn environment(&self) -> &Environment {
        &self.report.environment
    }

    /// Checks that this machine and this plan are those of the file.
    ///
    /// # Errors
    /// Something differs; the sentence names it.
    pub fn check(
        &self,
        plan: &Plan,
        (scenario, key): (&Scenario, &MachineKey),
        environment: &Environment,
    ) -> Result<(), Failure> {
        let of = &self.report;
        if let Some(one) = of.machine_key().differences(key).first() {
            let what = one.of.as_ref().map(|of| format!(" of {of}")).unwrap_or_default();
            let why = format!("{}{what} was `{}` and is `{}`", one.bucket.name(), one.a, one.b);
            return Err(self.refused(&format!("the machine is another: {why}")));
        }
        let seed = |seed: u64| seed.to_string();
        let versions = [&of.environment, environment].map(|one| one.wirelap_version.clone());
        let named = [
            ("wirelap's version", versions),
            ("the seed", [seed(of.environment.seed), seed(plan.seed)]),
        ];
        if let Some((what, [was, is])) = named.into_iter().find(|(_, [was, is])| was != is) {
            return Err(self.refused(&format!("{what} was {was} and is {is}")));
        }
        self.check_settings(scenario)?;
        self.check_trials(plan, scenario)?;
        self.check_clients(plan)
    }

    fn check_settings(&self, scenario: &Scenario) -> Result<(), Failure> {
        let was = &self.report.scenario;
        let mut settings = [was.settings.clone(), scenario.settings.clone()];
        for (settings, scenario) in settings.iter_mut().zip([was, scenario]) {
            for (side, text) in ["A", "B"].iter().zip(scenario.ab.iter().flatten()) {
                settings.insert(format!("ab {side}"), text.clone());
            }
        }
        let [was, is] = settings;
        let mut names = was.keys().chain(is.keys());
        let Some(name) = names.find(|name| was.get(*name) != is.get(*name)) else {
            return Ok(());
        };
        let value = |settings: &BTreeMap<String, String>| {
            settings.get(name).map_or_else(|| "not set".to_owned(), |value| format!("`{value}`"))
        };
        Err(self.refused(&format!(
            "the setting `{name}` was {} and is {}: give the scenario and options of the first run",
            value(&was),
            value(&is)
        )))
    }

    /// The trials in the file must be trials of the plan, in its order, but for those of a search.
    fn check_trials(&self, plan: &Plan, scenario: &Scenario) -> Result<(), Failure> {
        let incomplete = self.report.incomplete.clone().unwrap_or_default();
        let is_search = scenario.settings.get("saturation").is_some_and(|text| text == "true");
        let titles: Vec<String> = plan.trials.iter().map(Trial::title).collect();
        let known = |title: &String| titles.contains(title);
        let mut rest = titles.iter();
        let in_order = self.report.scenario.order.iter().filter(|title| known(title) || !is_search);
        let is_in_order = in_order.clone().all(|title| rest.any(|planned| planned == title));
        let are_missing = incomplete.missing.iter().all(|title| known(title) || is_search);
        let as_many = is_search || incomplete.planned == titles.len() as u64;
        if is_in_order && are_missing && as_many {
            return Ok(());
        }
        Err(self.refused(&format!(
            "its trials are not those of this run ({} and {} trials): a middleware or broker may have been installed or removed",
            incomplete.planned,
            titles.len()
        )))
    }

    /// Clients and rates follow from the limits of the machine as well as from the settings.
    fn check_clients(&self, plan: &Plan) -> Result<(), Failure> {
        for trial in &plan.trials {
            let Some((was, _)) = self.repetition(&trial.title()) else { continue };
            let is = results::topology(trial.workloads.topology);
            if was.topology != is || was.rate_msg_per_s != results::rate(trial) {
                return Err(self.refused(
                    "its clients or rates are not those of this run: the limits on local ports or open files have changed, \
                     which the number of clients follows",
                ));
            }
        }
        Ok(())
    }

    /// The record of a trial, if the file has it and it is not to be run again.
    pub fn record(&self, trial: &Trial, results: &mut Results) -> Option<TrialRecord> {
        let title = trial.title();
        let missing = self.report.incomplete.as_ref().map(|incomplete| &incomplete.missing)?;
        if missing.contains(&title) {
            return None;
        }
        let (result, repetition) = self.repetition(&title)?;
        results.resume(trial, result);
        let settings = match self.report.environment.settings.get(trial.name()) {
            Some(settings) if result.settings.is_empty() => settings.clone(),
            _ => result.settings.clone(),
        };
        Some(TrialRecord {
            trial: trial.clone(),
            error: repetition.error.clone().map(Failure::Measured),
            repetition: repetition.clone(),
            ends_run: false,
            evidence: None,
            hooks: self.report.hooks.clone(),
            hosts: Vec::new(),
            versions: BTreeMap::new(),
            settings,
        })
    }

    fn repetition(&self, title: &str) -> Option<(&RunResult, &Repetition)> {
        let place = self.report.scenario.order.iter().position(|other| other == title)?;
        let position = u32::try_from(place).ok()?.checked_add(1)?;
        let results = self.report.results.iter();
        let mut each =
            results.flat_map(|result| result.repetitions.iter().map(move |one| (result, one)));
        each.find(|(_, one)| one.position == position)
    }

    /// Checks that the processes of a trial are of the versions in the file.
    ///
    /// # Errors
    /// A library or broker has another version.
    pub fn check_versions(&self, record: &TrialRecord) -> Result<(), Failure> {
        let Some(known) = self.report.environment.versions.get(record.trial.name()) else {
            return Ok(());
        };
        for (name, is) in &record.versions {
            if let Some(was) = known.get(name).filter(|was| *was != is) {
                return Err(self.refused(&format!("the version of {name} was {was} and is {is}")));
            }
        }
        Ok(())
    }

    fn refused(&self, why: &str) -> Failure {
        Failure::Usage(format!("{} cannot be resumed: {why}", self.name))
    }
}

/// The environment of a run that goes on: that of its beginning, with the time at which it was resumed.
pub fn environment(earlier: Option<&Earlier>, now: Environment) -> Environment {
    let Some(earlier) = earlier else { return now };
    let mut environment = earlier.environment().clone();
    environment.resumed_at.push(now.started_at);
    environment
}

/// The request of a run that goes on, with the seed of its beginning unless another one is asked for.
pub fn seeded(request: RunRequest, earlier: Option<&Earlier>) -> RunRequest {
    let seed = request.seed.or_else(|| earlier.map(Earlier::seed));
    RunRequest { seed, ..request }
}
