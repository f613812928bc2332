//! `wirelap list`: what can be run here, and how to get the rest.

use crate::args::ListArgs;
use crate::catalogue::{Broker, CATALOGUE, Entry};
use crate::failure::Failure;
use crate::output;
use serde::Serialize;
use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use wirelap_report::grid::{Align, lay_out};

/// A middleware, for people and scripts.
#[derive(Debug, Serialize)]
struct Row {
    middleware: &'static str,
    about: &'static str,
    roles: Vec<&'static str>,
    brokers: Vec<BrokerRow>,
}

#[derive(Debug, Serialize)]
struct BrokerRow {
    name: &'static str,
    installed: bool,
    version: Option<String>,
    how_to_get: &'static str,
}

/// Prints the list.
///
/// # Errors
/// Stdout cannot be written.
pub fn run(args: &ListArgs) -> Result<ExitCode, Failure> {
    let rows: Vec<Row> = CATALOGUE.iter().map(row).collect();
    if args.json {
        output::json_to_stdout(&rows)?;
    } else {
        output::print(&render(&rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(entry: &Entry) -> Row {
    let mut roles = vec!["pub", "sub", "ping", "pong"];
    if !entry.brokers.is_empty() {
        roles.insert(0, "broker");
    }
    Row {
        middleware: entry.middleware.name(),
        about: entry.about,
        roles,
        brokers: entry.brokers.iter().map(broker_row).collect(),
    }
}

fn broker_row(broker: &Broker) -> BrokerRow {
    let found = broker.program.map(find_program);
    BrokerRow {
        name: broker.name,
        installed: !matches!(found, Some(None)),
        version: found.flatten().and_then(version),
        how_to_get: broker.remedy,
    }
}

fn render(rows: &[Row]) -> String {
    let head = ["middleware", "what", "broker", "here"].map(String::from).to_vec();
    let mut lines = vec![head];
    for row in rows {
        let (name, about) = (row.middleware.to_owned(), row.about.to_owned());
        let Some((first, rest)) = row.brokers.split_first() else {
            lines.push(vec![name, about, "none".into(), "yes".into()]);
            continue;
        };
        lines.push(vec![name, about, first.name.into(), here(first)]);
        for broker in rest {
            lines.push(vec![String::new(), String::new(), broker.name.into(), here(broker)]);
        }
    }
    lay_out(&[Align::Left; 4], &lines)
}

fn here(broker: &BrokerRow) -> String {
    match (&broker.version, broker.installed) {
        (Some(version), _) => format!("yes, {version}"),
        (None, true) => format!("yes, {}", broker.how_to_get),
        (None, false) => format!("no: {}", broker.how_to_get),
    }
}

/// A program on the search path, or where system services are kept: root's PATH has /usr/sbin, a
/// user's often has not.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let services = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    env::split_paths(&path).chain(services).map(|folder| folder.join(name)).find(|p| p.is_file())
}

/// The first line of its help that has a version in it.
fn version(program: PathBuf) -> Option<String> {
    let output = Command::new(program).arg("-h").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| line.contains("version"))?;
    line.split_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        .map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_middleware_and_broker_has_a_line() {
        let rows = vec![
            Row { middleware: "tcp", about: "a", roles: vec![], brokers: vec![] },
            Row {
                middleware: "mqtt",
                about: "b",
                roles: vec![],
                brokers: vec![
                    BrokerRow {
                        name: "own",
                        installed: true,
                        version: None,
                        how_to_get: "built in",
                    },
                    BrokerRow { name: "x", installed: false, version: None, how_to_get: "get x" },
                    BrokerRow {
                        name: "y",
                        installed: true,
                        version: Some("2.0".into()),
                        how_to_get: "get y",
                    },
                ],
            },
        ];
        insta::assert_snapshot!(render(&rows));
    }

    #[test]
    fn programs_are_found_or_not() {
        assert!(find_program("sh").is_some());
        assert!(find_program("no-such-program-here").is_none());
    }
}
