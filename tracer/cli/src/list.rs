//! `wirelap list`: shows the middlewares, their brokers and settings, and how to get what is not installed; and the
//! scenarios.

use crate::common::ProgramArgs;
use clap::{Args, ValueEnum};
use std::process::ExitCode;
use std::sync::Arc;
use wirelap_contract::{About, Availability};
use wirelap_experiment::scenario::{BuiltIn, built_in};
use wirelap_experiment::{Catalogue, WorkloadInstallation};
use wirelap_process::Failure;
use wirelap_process::output;
use wirelap_process::steward::{Steward, StewardRole};
use wirelap_report::grid::{Align, hang, lay_out};

/// What `wirelap list` lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListedThing {
    /// The middlewares, their brokers, and how to get what is missing
    Middlewares,
    /// The scenarios of `wirelap run`, and how many trials each has for a middleware
    Scenarios,
}

/// `wirelap list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// What to list [default: middlewares]
    #[arg(value_enum, value_name = "WHAT")]
    pub what: Option<ListedThing>,

    /// Print JSON in place of the table
    #[arg(long)]
    pub json: bool,

    /// Show the settings of `--set` and their defaults
    #[arg(long)]
    pub settings: bool,

    /// The folders of programs that users build themselves.
    #[command(flatten)]
    pub programs: ProgramArgs,
}

/// Prints the list.
///
/// # Errors
/// The workloads' program is missing, or stdout cannot be written.
pub fn run(args: &ListArgs) -> Result<ExitCode, Failure> {
    if args.what == Some(ListedThing::Scenarios) {
        return list_scenarios(args.json);
    }
    let catalogue = Catalogue::read(&WorkloadInstallation::open(
        Steward::start(StewardRole::Workloads)?,
        &args.programs.variables(),
    )?)?;
    let all: Vec<&About> = catalogue.all().iter().map(Arc::as_ref).collect();
    if args.json {
        output::json_to_stdout(&all)?;
    } else if args.settings {
        output::print(&settings(&all))?;
    } else {
        output::print(&render(&all))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the built-in scenarios.
fn list_scenarios(json: bool) -> Result<ExitCode, Failure> {
    let scenarios = built_in();
    if json {
        let rows = scenarios.iter().map(|BuiltIn { name, settings }| {
            let ((trials, most), about) = (settings.trials(), &settings.about);
            serde_json::json!({ "name": name, "about": about, "trials": trials, "most_trials": most })
        });
        output::json_to_stdout(&rows.collect::<Vec<_>>())?;
    } else {
        output::print(&render_scenarios(&scenarios))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A table with a line for each scenario.
fn render_scenarios(scenarios: &[BuiltIn]) -> String {
    let mut lines = vec![["scenario", "trials", "what"].map(String::from).to_vec()];
    for BuiltIn { name, settings } in scenarios {
        let trials = match settings.trials() {
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        let about = settings.about.clone().unwrap_or_default();
        lines.push(vec![(*name).to_owned(), trials, about]);
    }
    let table = lay_out(&[Align::Left, Align::Right, Align::Left], &lines);
    format!("{table}\nThe trials are those of one middleware with one broker.\n")
}

/// A table with a line for each middleware and broker, and below it how to get what is missing.
fn render(all: &[&About]) -> String {
    let head = ["middleware", "what", "broker", "here"].map(String::from).to_vec();
    let mut lines = vec![head];
    for about in all {
        let (name, what) = (about.name.clone(), about.about.clone());
        let Some((first, rest)) = about.brokers.split_first() else {
            lines.push(vec![name, what, "none".into(), here(&about.available)]);
            continue;
        };
        lines.push(vec![name, what, first.name.clone(), here(&first.available)]);
        for broker in rest {
            let name = broker.name.clone();
            lines.push(vec![String::new(), String::new(), name, here(&broker.available)]);
        }
    }
    let mut out = lay_out(&[Align::Left; 4], &lines);
    let missing: Vec<_> = all.iter().flat_map(|about| missing(about)).collect();
    if !missing.is_empty() {
        out.push_str("\nhow to get what is missing:\n");
    }
    for (name, remedy) in missing {
        out.push_str(&hang(&format!("  {name}: "), remedy));
    }
    out
}

fn here(available: &Availability) -> String {
    match available {
        Availability::BuiltIn => "yes, built in".into(),
        Availability::Installed { version: Some(version) } => format!("yes, {version}"),
        Availability::Installed { version: None } => "yes".into(),
        Availability::Missing { .. } => "no".into(),
    }
}

fn missing(about: &About) -> impl Iterator<Item = (&str, &str)> {
    let own = about.available.remedy().map(|remedy| (about.name.as_str(), remedy));
    let brokers = about.brokers.iter();
    own.into_iter().chain(brokers.filter_map(|b| Some((b.name.as_str(), b.available.remedy()?))))
}

fn settings(all: &[&About]) -> String {
    let head = ["middleware", "setting", "default", "what"].map(String::from).to_vec();
    let mut lines = vec![head];
    for about in all {
        let own = about.settings.iter().map(|setting| {
            let name = about.name.clone();
            vec![name, setting.name.clone(), setting.default.clone(), setting.about.clone()]
        });
        lines.extend(own);
    }
    lay_out(&[Align::Left; 4], &lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_contract::LinkTransport::Tcp;

    #[test]
    fn every_middleware_and_broker_has_a_line_and_what_is_missing_a_remedy() {
        let version = Some("2.0".into());
        let remedy = "get x".into();
        let all = [
            About::new("tcp", "a", 8, &[Tcp]),
            About::new("mqtt", "b", 8, &[Tcp])
                .broker("own", Availability::BuiltIn)
                .broker("x", Availability::Missing { remedy })
                .broker("y", Availability::Installed { version })
                .setting("keep.alive", 5, "seconds between pings"),
        ];
        let all: Vec<&About> = all.iter().collect();
        insta::assert_snapshot!(format!("{}\n{}", render(&all), settings(&all)));
    }
    #[test]
    fn every_scenario_has_a_line() {
        insta::assert_snapshot!(render_scenarios(&built_in()));
    }
}
