//! `wirelap compare`: what became slower or faster between two runs, how sure that is, and where the time went.

use crate::json::Json;
use crate::report_file::{self, Purpose};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;
use wirelap_compare::{CompareOptions, Comparison, Criterion, SelfTest};
use wirelap_compare::{bencher, compare, compare_ab, markdown, otava, self_test, text};
use wirelap_process::{Failure, Outputs, rights};
use wirelap_report::RunReport;

const EXAMPLES: &str = "\
Examples:
  sudo wirelap run latency --on mqtt --repeat 10 --json before.json       … change something, and measure again …
  wirelap compare before.json after.json
  wirelap compare before.json after.json --fail-if 'p99>5%' --fail-if 'mqtt:bytes>0%'
  wirelap compare before.json after.json --format markdown                for a pull request
  sudo wirelap run latency --on mqtt --ab qos=0 qos=1 --repeat 10 --json ab.json
  wirelap compare before.json --self-test                                 how often this machine raises a false alarm

Exit status: 0; 1 if a criterion of --fail-if holds over the whole 95 % interval; 2 for a mistake in the command line or a
file; 3 if nothing can be compared.";

/// The exit status if nothing can be compared.
const NOT_COMPARABLE: u8 = 3;

/// Pairs of halves that `--self-test` compares.
const SELF_TEST_PAIRS: u64 = 200;

/// `wirelap compare`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CompareArgs {
    /// The JSON of the earlier run, or of one run with `--ab`; - for stdin
    #[arg(value_name = "A.json|-")]
    pub a: PathBuf,

    /// The JSON of the later run; left out for a run with `--ab`
    #[arg(value_name = "B.json")]
    pub b: Option<PathBuf>,

    /// Only the results of these middlewares or brokers, or of both as in mqtt/rumqttd
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub on: Vec<String>,

    /// Differences up to this share, in percent, count as none
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent)]
    pub margin: f64,

    /// Exit with status 1 if the whole 95 % interval lies beyond: p50, p99, p99.9, rtt, throughput, bytes or cpu, as in p99>5%
    #[arg(long, value_name = "[NAME:]METRIC>PERCENT")]
    pub fail_if: Vec<Criterion>,

    /// Compare results that are not comparable, too; the reasons are shown
    #[arg(long)]
    pub anyway: bool,

    /// The form of what is printed
    #[arg(long, value_enum, default_value_t)]
    pub format: CompareFormat,

    /// Also write the comparison as JSON (wirelap/compare/1); - for stdout
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,

    /// Replace an existing file
    #[arg(long, requires = "json")]
    pub force: bool,

    /// The seed of the random draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Compare random halves of one run with each other, and print how often that raises a false alarm
    #[arg(long, conflicts_with_all = ["b", "fail_if", "format"])]
    pub self_test: bool,
}

/// The form of a printed comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// Tables for the terminal.
    #[default]
    Text,
    /// Tables for a pull request.
    Markdown,
    /// Side B in Bencher's metric format.
    Bencher,
    /// A table for Apache Otava, one line for each run.
    Otava,
}

/// Compares two files, or the two variants in one.
///
/// # Errors
/// A file cannot be read or is not a report, no result has a wanted name, or the comparison cannot be written.
pub fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    let outputs = Outputs::of(args.json.iter(), args.force)?;
    let json = Json::open(args.json.as_deref(), &outputs)?;
    outputs.seal()?;
    rights::confine_reader();
    let files = std::iter::once(&args.a).chain(&args.b);
    let reports = files.map(|file| report_file::load(file, Purpose::Compare));
    let mut reports = reports.collect::<Result<Vec<_>, Failure>>()?;
    report_file::choose(&mut reports, &args.on)?;
    let options = options(args, &reports);
    let comparison = match &reports[..] {
        [(_, report)] if args.self_test => return test_itself(report, &options, json),
        [(_, a), (_, b)] => compare(a, b, &options),
        [(name, report)] => variants(name, report, &options)?,
        _ => return Err(Failure::Usage("one of the files has no such result".into())),
    };
    json.write(&comparison, &printed(&comparison, args.format))?;
    Ok(status(&comparison))
}

fn options(args: &CompareArgs, reports: &[(String, RunReport)]) -> CompareOptions {
    let name = |index: usize| reports.get(index).map(|(name, _)| name.clone()).unwrap_or_default();
    CompareOptions {
        names: [name(0), name(1)],
        seed: args.seed,
        margin: args.margin / 100.0,
        anyway: args.anyway,
        fail_if: args.fail_if.clone(),
        ..CompareOptions::default()
    }
}

/// The comparison of the variants of one run.
fn variants(
    name: &str,
    report: &RunReport,
    options: &CompareOptions,
) -> Result<Comparison, Failure> {
    compare_ab(report, options).ok_or_else(|| {
        Failure::Usage(format!(
            "{name} is one run without --ab: name a second file, or measure both settings in one run \
             (`wirelap run … --ab 'SETTINGS A' 'SETTINGS B'`)"
        ))
    })
}

fn printed(comparison: &Comparison, format: CompareFormat) -> String {
    match format {
        CompareFormat::Text => text(comparison),
        CompareFormat::Markdown => markdown(comparison),
        CompareFormat::Bencher => bencher(comparison),
        CompareFormat::Otava => otava(comparison),
    }
}

fn status(comparison: &Comparison) -> ExitCode {
    let compared = comparison.results.iter().any(|result| comparison.judges(result));
    if !compared {
        ExitCode::from(NOT_COMPARABLE)
    } else if comparison.failed() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn test_itself(
    report: &RunReport,
    options: &CompareOptions,
    json: Json<'_>,
) -> Result<ExitCode, Failure> {
    let test = self_test(report, options, SELF_TEST_PAIRS);
    if test.cells == 0 {
        return Err(Failure::Usage(
            "too few repetitions to compare halves: four of a result are needed (`--repeat`)"
                .into(),
        ));
    }
    json.write(&test, &self_test_text(&test))?;
    Ok(ExitCode::SUCCESS)
}

fn self_test_text(test: &SelfTest) -> String {
    format!(
        "{} of {} pairs of halves of this run differ by its own measure, which are false alarms: {:.1} % \
         (95 % interval {:.1} to {:.1} %; 5 % are expected at most); of {} figures compared, {}.\n",
        test.pairs_with_alarm,
        test.pairs,
        test.rate * 100.0,
        test.rate_low * 100.0,
        test.rate_high * 100.0,
        test.cells,
        test.alarms
    )
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let percent = number.parse().ok().filter(|percent: &f64| *percent > 0.0 && *percent <= 100.0);
    percent.ok_or_else(|| format!("{text} is no percentage above 0 and up to 100"))
}
