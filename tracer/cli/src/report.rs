//! `wirelap report`: the results of runs as one HTML page.

use crate::report_file::{self, Purpose};
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use wirelap_page::{ExplainOptions, File, page};
use wirelap_process::outputs::{failure, unwritable};
use wirelap_process::{Failure, Outputs, output, rights};

const EXAMPLES: &str = "\
Examples:
  sudo wirelap run latency --on all --json latency.json && wirelap report latency.json -o latency.html
  wirelap report before.json after.json -o both.html

The page needs no network and no script: it can be mailed, attached to a ticket, and printed.";

/// `wirelap report`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReportArgs {
    /// JSON files that `run` or `live` has written; - for stdin
    #[arg(value_name = "FILE|-", required = true)]
    pub files: Vec<PathBuf>,

    /// The page to write; - for stdout
    #[arg(short, long, value_name = "OUT.html|-")]
    pub output: PathBuf,

    /// Only the results of these middlewares or brokers, or of both as in mqtt/rumqttd
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub on: Vec<String>,

    /// Replace an existing file
    #[arg(long)]
    pub force: bool,
}

/// Writes the page.
///
/// # Errors
/// A file cannot be read or is not a report, no result has a wanted name, or the page cannot be written.
pub fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let is_stdout = args.output == Path::new("-");
    let outputs = Outputs::of(std::iter::once(&args.output), args.force)?;
    let file = if is_stdout {
        None
    } else {
        outputs.allow(&args.output, false)?;
        Some(outputs.begin(&args.output).map_err(|error| failure(&args.output, &error))?)
    };
    outputs.seal()?;
    rights::confine_reader();
    let reports = args.files.iter().map(|file| report_file::load(file, Purpose::Draw));
    let mut reports = reports.collect::<Result<Vec<_>, Failure>>()?;
    report_file::choose(&mut reports, &args.on)?;
    let files: Vec<File> = reports.iter().map(|(name, report)| File { name, report }).collect();
    let html = page(&files, ExplainOptions::default());
    let Some(mut file) = file else {
        return output::print(&html).map(|()| ExitCode::SUCCESS);
    };
    let written = file.write_all(html.as_bytes()).and_then(|()| outputs.keep(&args.output, &file));
    written.map_err(|error| Failure::Measured(unwritable(&args.output, &error)))?;
    output::print(&format!("{} written, {} KB\n", args.output.display(), html.len() / 1000))?;
    Ok(ExitCode::SUCCESS)
}
