//! `wirelap explain`: explains the JSON of an earlier run on pages of text.

use crate::report_file::{self, Purpose};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use wirelap_process::Failure;
use wirelap_process::output;
use wirelap_process::rights;
use wirelap_report::explain::{ExplainOptions, pages};

const EXAMPLES: &str = "\
Examples:
  sudo wirelap run latency --on mqtt --qos 1 --json out.json && wirelap explain out.json
  wirelap explain before.json after.json --on mqtt/rumqttd
  sudo wirelap live --duration 30s --json - | wirelap explain --worst 10";

/// `wirelap explain`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ExplainArgs {
    /// JSON files that `run` or `live` has written; - for stdin [default: stdin]
    #[arg(value_name = "FILE|-")]
    pub files: Vec<PathBuf>,

    /// Only the results of these middlewares or brokers, or of both as in mqtt/rumqttd
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub on: Vec<String>,

    /// How many of the slowest messages to show one by one, at most ten
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub worst: usize,
}

/// Prints a page for each result of each file.
///
/// # Errors
/// A file cannot be read or is not a report, no result has a wanted name, or stdout cannot be written.
pub fn run(args: &ExplainArgs) -> Result<ExitCode, Failure> {
    rights::confine_reader();
    let stdin = [PathBuf::from("-")];
    let files = if args.files.is_empty() { &stdin[..] } else { &args.files };
    let reports = files.iter().map(|file| report_file::load(file, Purpose::Explain));
    let mut reports = reports.collect::<Result<Vec<_>, Failure>>()?;
    report_file::choose(&mut reports, &args.on)?;
    let many = reports.len() > 1;
    let options = ExplainOptions { worst: args.worst };
    let pages = reports.iter().map(|(name, report)| {
        let heading = if many { format!("{name}:\n\n") } else { String::new() };
        format!("{heading}{}", pages(report, options))
    });
    output::print(&pages.collect::<Vec<_>>().join("\n\n"))?;
    Ok(ExitCode::SUCCESS)
}
