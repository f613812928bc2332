//! `wirelap`: where did the time and the bytes of this message go?
//!
//! | module | what |
//! |---|---|
//! | `args` | the command line |
//! | `common`, `quantity` | arguments that several commands have in common |
//! | `doctor`, `list`, `run`, `live`, `record`, `analyze`, `export`, `explain`, `compare`, `report` | the commands, each with its arguments |
//! | `agent`, `agents` | the command of an observed host, and the options that start it there |
//! | `manual` | manual pages, for packages |
//! | `json` | the option `--json` |
//! | `metrics` | the option `--metrics` |
//! | `otlp` | the option `--otlp` |
//! | `parquet` | the option `--parquet` |
//! | `report_file` | the JSON files of earlier runs, as commands read them |

// Numbers from a file or a packet can have any value, so arithmetic must not overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]
// `print!` panics when stdout cannot be written and blocks when nobody reads; `wirelap_process::output` does neither.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod agent;
mod agents;
mod analyze;
mod args;
mod clients;
mod common;
mod compare;
mod doctor;
mod explain;
mod export;
mod hosts;
mod json;
mod list;
mod live;
mod manual;
mod metrics;
mod otlp;
mod parquet;
mod place;
mod quantity;
mod record;
mod report;
mod report_file;
mod run;

use args::{Cli, Command};
use clap::CommandFactory;
use std::process::ExitCode;
use wirelap_capture::allocator;
use wirelap_process::{Failure, output, steward};

fn main() -> ExitCode {
    if let Some(status) = steward::serve_if_asked() {
        return status;
    }
    allocator::share_one_arena();
    let cli = match args::parse() {
        Ok(cli) => cli,
        Err(status) => return status,
    };
    match run_command(&cli.command) {
        Ok(status) => status,
        Err(failure) => {
            output::say(&format!("wirelap: {failure}\n"));
            failure.exit_code()
        }
    }
}

fn run_command(command: &Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Doctor(args) => doctor::run(args),
        Command::Agent(args) => agent::run(args),
        Command::Live(args) => live::run(args),
        Command::Run(args) => run::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Report(args) => report::run(args),
        Command::Record(args) => record::run(args),
        Command::Analyze(args) => analyze::run(args),
        Command::Export(args) => export::run(args),
        Command::List(args) => list::run(args),
        Command::Completions { shell } => completions(*shell),
        Command::Manual(args) => manual::run(args, Cli::command()),
    }
}

fn completions(shell: clap_complete::Shell) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "wirelap", &mut text);
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}
