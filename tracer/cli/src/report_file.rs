//! The JSON files of earlier runs, as commands read them.

use serde::Deserialize;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use wirelap_events::human;
use wirelap_process::Failure;
use wirelap_report::run::RUN_SCHEMA;
use wirelap_report::{RunReport, RunResult};

/// The longest file that is read, in bytes: hundreds of times what long runs write.
const MAX_REPORT: u64 = 256 << 20;

/// The use that a command makes of a report, for its messages.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    /// `wirelap explain`.
    Explain,
    /// `wirelap compare`.
    Compare,
    /// `wirelap report`.
    Draw,
    /// `wirelap run --resume`.
    Resume,
}

impl Purpose {
    const fn verb(self) -> &'static str {
        match self {
            Purpose::Explain => "explain",
            Purpose::Compare => "compare",
            Purpose::Draw => "draw",
            Purpose::Resume => "resume",
        }
    }

    const fn participle(self) -> &'static str {
        match self {
            Purpose::Explain => "explained",
            Purpose::Compare => "compared",
            Purpose::Draw => "drawn",
            Purpose::Resume => "resumed",
        }
    }
}

/// The report in a file, with the file's name as messages show it; `-` is stdin.
///
/// # Errors
/// The file cannot be read, or is not a report with results.
pub fn load(file: &Path, purpose: Purpose) -> Result<(String, RunReport), Failure> {
    let (name, text) = read(file, purpose)?;
    let report = parse(&name, &text, purpose)?;
    Ok((name, report))
}

/// The name of a file as messages show it, and its text.
fn read(file: &Path, purpose: Purpose) -> Result<(String, String), Failure> {
    if file != Path::new("-") {
        let name = file.display().to_string();
        let text = File::open(file).and_then(|file| text_of(file, MAX_REPORT));
        let text = text.map_err(|error| Failure::Usage(format!("cannot read {name}: {error}")))?;
        return Ok((name, text));
    }
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(Failure::Usage(format!(
            "nothing to {}: name a file that `wirelap run … --json FILE` has written",
            purpose.verb()
        )));
    }
    let text = text_of(stdin.lock(), MAX_REPORT)
        .map_err(|error| Failure::Usage(format!("cannot read stdin: {error}")))?;
    Ok(("stdin".into(), text))
}

/// All text of a file that has at most so many bytes.
fn text_of(file: impl Read, most: u64) -> io::Result<String> {
    let mut text = String::new();
    let read = file.take(most.saturating_add(1)).read_to_string(&mut text)?;
    if read as u64 > most {
        let text =
            format!("it is longer than the {} of the longest report", human::bytes(most as f64));
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(text)
}

/// The part of a report that names its schema.
#[derive(Deserialize)]
struct SchemaName {
    schema: String,
}

fn parse(name: &str, text: &str, purpose: Purpose) -> Result<RunReport, Failure> {
    let done = purpose.participle();
    let wrong = |why: String| Failure::Usage(format!("{name} cannot be {done}: {why}"));
    if text.trim().is_empty() {
        return Err(wrong("it is empty".into()));
    }
    let head: SchemaName = serde_json::from_str(text).map_err(|error| {
        wrong(if error.is_data() {
            "it is JSON, but not a report that `wirelap run` or `wirelap live` has written".into()
        } else {
            format!("it is not JSON ({error})")
        })
    })?;
    if head.schema != RUN_SCHEMA {
        let other = head.schema.escape_default();
        return Err(wrong(format!("its schema is {other}, and {RUN_SCHEMA} is needed")));
    }
    let mut report: RunReport = serde_json::from_str(text)
        .map_err(|error| wrong(format!("it does not match the schema {RUN_SCHEMA} ({error})")))?;
    if report.results.is_empty() {
        return Err(wrong("it has no results".into()));
    }
    // A report of an older version does not say how reliable its results are.
    report.results.iter_mut().for_each(RunResult::judge);
    Ok(report)
}

/// Keeps the results with these names; all results if there are no names.
pub fn choose(reports: &mut Vec<(String, RunReport)>, names: &[String]) -> Result<(), Failure> {
    if names.is_empty() {
        return Ok(());
    }
    let labels = |reports: &[(String, RunReport)]| -> Vec<String> {
        let results = reports.iter().flat_map(|(_, report)| &report.results);
        results.map(RunResult::label).collect()
    };
    let known = labels(reports);
    for (_, report) in reports.iter_mut() {
        report.results.retain(|result| {
            names.iter().any(|name| {
                *name == result.middleware
                    || *name == result.label()
                    || result.broker.as_ref() == Some(name)
            })
        });
    }
    reports.retain(|(_, report)| !report.results.is_empty());
    if reports.is_empty() {
        let mut known = known;
        known.dedup();
        return Err(Failure::Usage(format!(
            "there is no result of {}; the results are of {}",
            names.join(", "),
            known.join(", ")
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::ExitCode;

    fn message_for(text: &str) -> String {
        parse("out.json", text, Purpose::Explain).unwrap_err().to_string()
    }

    fn report(results: &str) -> String {
        format!(
            r#"{{"schema":"wirelap/run/1","partial":false,"results":[{results}],"hooks":[],"notes":[],
            "environment":{{"kernel":"6.18","cpu_model":"","cores":2,"governor":null,
                "clock_source":null,"memory_bytes":0,"hostname":null,"wirelap_version":"0.1.0",
                "versions":{{}},"settings":{{}},"seed":1,"command_line":[],"started_at":""}},
            "scenario":{{"kind":"latency","pacing":"ping_pong","middlewares":[],"payload_bytes":[64],
                "rate_msg_per_s":null,"messages":1,"duration_s":null,"warmup":0,"repeat":1,
                "pin":[],"order":[]}}}}"#
        )
    }

    fn of(middleware: &str, broker: &str) -> String {
        let result = wirelap_report::RunResult {
            middleware: middleware.into(),
            broker: (!broker.is_empty()).then(|| broker.into()),
            ..wirelap_report::RunResult::default()
        };
        serde_json::to_string(&result).unwrap()
    }

    fn chosen(names: &[&str]) -> Result<Vec<String>, String> {
        let text =
            report(&[of("tcp", ""), of("mqtt", "rumqttd"), of("mqtt", "mosquitto")].join(","));
        let mut reports = vec![("a".to_owned(), parse("a", &text, Purpose::Explain).unwrap())];
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        choose(&mut reports, &names).map_err(|failure| failure.to_string())?;
        Ok(reports[0].1.results.iter().map(RunResult::label).collect())
    }

    #[test]
    fn each_bad_file_gets_its_sentence() {
        assert_eq!(message_for(" \n"), "out.json cannot be explained: it is empty");
        assert!(message_for("{\"schema\":").contains("it is not JSON (EOF"));
        assert!(message_for("[1]").contains("it is JSON, but not a report"));
        assert!(message_for("{\"a\":1}").contains("it is JSON, but not a report"));
        assert!(
            message_for(r#"{"schema":"wirelap/doctor/1"}"#)
                .contains("its schema is wirelap/doctor/1,")
        );
        assert!(
            message_for(r#"{"schema":"wirelap/run/1"}"#)
                .contains("it does not match the schema wirelap/run/1 (missing field")
        );
        assert!(message_for(&report("")).contains("it has no results"));
        assert_eq!(parse("x", "", Purpose::Explain).unwrap_err().exit_code(), ExitCode::from(2));
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let failure = read(Path::new("/nowhere/out.json"), Purpose::Explain).unwrap_err();
        assert!(failure.to_string().starts_with("cannot read /nowhere/out.json: "));
        assert_eq!(failure.exit_code(), ExitCode::from(2));
    }

    #[test]
    fn a_file_that_never_ends_is_refused() {
        assert_eq!(text_of(&b"abc"[..], 3).unwrap(), "abc");
        let endless = text_of(io::repeat(b'a'), 1 << 20).unwrap_err();
        assert_eq!(endless.to_string(), "it is longer than the 1 MiB of the longest report");
    }

    #[test]
    fn results_are_chosen_by_middleware_broker_or_both() {
        assert_eq!(chosen(&[]).unwrap().len(), 3);
        assert_eq!(chosen(&["mqtt"]).unwrap(), ["mqtt/rumqttd", "mqtt/mosquitto"]);
        assert_eq!(chosen(&["mosquitto", "tcp"]).unwrap(), ["tcp", "mqtt/mosquitto"]);
        assert_eq!(chosen(&["mqtt/rumqttd"]).unwrap(), ["mqtt/rumqttd"]);
        let message = chosen(&["kafka"]).unwrap_err();
        assert_eq!(
            message,
            "there is no result of kafka; the results are of tcp, mqtt/rumqttd, mqtt/mosquitto"
        );
    }
}
