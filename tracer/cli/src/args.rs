//! The command line.

use crate::agent::AgentArgs;
use crate::analyze::AnalyzeArgs;
use crate::compare::CompareArgs;
use crate::doctor::DoctorArgs;
use crate::explain::ExplainArgs;
use crate::export::ExportArgs;
use crate::list::ListArgs;
use crate::live::LiveArgs;
use crate::manual::ManualArgs;
use crate::record::RecordArgs;
use crate::report::ReportArgs;
use crate::run::RunArgs;
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use wirelap_process::output;

const EXAMPLES: &str = "\
Examples:
  wirelap doctor                                   what can be observed on this machine
  sudo wirelap live                                watch the middlewares that are running here
  sudo wirelap live --host robot --host pi@broker  and on other hosts, by ssh
  sudo wirelap run latency --on tcp,mqtt,zenoh-p2p,dds
  sudo wirelap run latency --on mqtt --broker mosquitto --rate 2000 --messages 100000 --json out.json
  sudo wirelap run throughput --on zenoh-p2p,dds --payload 64,1K,64K --duration 10s
  sudo wirelap run rate --on tcp,mqtt              the highest rate; `wirelap list scenarios` shows more
  wirelap explain out.json                         why it took so long, and what to change
  sudo wirelap record -o trace.pcapng --payload --duration 10s
  wirelap analyze trace.pcapng
  wirelap export --perfetto trace.pcapng -o trace.json

Exit status: 0 success, 1 the measurement failed, 2 wrong usage, 3 not possible on this machine (the message names the remedy).";

/// Where did the time and the bytes of this message go? Watches messaging middleware from the kernel.
#[derive(Debug, Parser)]
#[command(name = "wirelap", version = env!("WIRELAP_VERSION"), after_help = EXAMPLES)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// A command with its arguments.
#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one of it")]
pub enum Command {
    /// Show what can be observed on this machine, with which hooks, and how to get what is missing
    Doctor(DoctorArgs),
    /// Watch the messages of the programs that run on this machine, a row for each middleware
    Live(Box<LiveArgs>),
    /// Measure middlewares against each other with wirelap's own workloads: a scenario of `wirelap list scenarios`, or a file
    Run(Box<RunArgs>),
    /// Explain the results in a JSON file: where the time went, what is wrong, what to change
    Explain(ExplainArgs),
    /// Compare two runs: what became slower or faster, how sure that is, and where the time went
    Compare(CompareArgs),
    /// Draw the results of runs on one HTML page
    Report(ReportArgs),
    /// Record the events on this machine to a file, for Wireshark and `wirelap analyze`
    Record(RecordArgs),
    /// Show the results of recordings, or of captures of tcpdump and Wireshark
    Analyze(AnalyzeArgs),
    /// Convert recordings and captures for other programs: a time line of messages for Perfetto
    Export(ExportArgs),
    /// Observe this host for a wirelap on another one: `live --host` and `record --host` start it
    Agent(AgentArgs),
    /// List the middlewares that can be run, their brokers and how to get them; or the scenarios
    List(ListArgs),
    /// Print completions for a shell
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Write the manual pages of all commands, for packages
    #[command(hide = true)]
    Manual(ManualArgs),
}

/// Parses the command line of this process. `Err` is the exit status, after help or an error was printed.
pub fn parse() -> Result<Cli, std::process::ExitCode> {
    Cli::try_parse().map_err(|error| {
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            output::say(&error.render().to_string());
            return std::process::ExitCode::from(2);
        }
        if error.use_stderr() {
            output::say(&format!("wirelap: {}\n", sentence(&error)));
            return std::process::ExitCode::from(2);
        }
        // Help or version is printed; a closed pipe is not an error.
        let _ = error.print();
        std::process::ExitCode::SUCCESS
    })
}

/// An error of clap as one paragraph without its "error:", with a pointer to the help.
pub fn sentence(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let body = text.strip_prefix("error: ").unwrap_or(&text);
    let message = body.split("\n\nUsage:").next().unwrap_or(body);
    let message = message.split("\n\nFor more").next().unwrap_or(message);
    let words: Vec<&str> = message.split_whitespace().collect();
    format!("{} (see `wirelap --help`)", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use std::time::Duration;
    use wirelap_experiment::PayloadSizes;
    use wirelap_experiment::scenario::ScenarioSource;

    fn run(words: &str) -> Result<RunArgs, String> {
        let words = format!("wirelap run {words}");
        match Cli::try_parse_from(words.split(' ')).map(|cli| cli.command) {
            Ok(Command::Run(args)) => Ok(*args),
            Ok(other) => panic!("{other:?} is not a run"),
            Err(error) => Err(sentence(&error)),
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_is_a_subcommand_and_no_option_has_two_defaults() {
        let help = Cli::try_parse_from(["wirelap", "help", "run"]).unwrap_err();
        assert_eq!(help.kind(), ErrorKind::DisplayHelp);
        let mut root = Cli::command();
        for command in root.get_subcommands_mut() {
            let help = command.render_long_help().to_string();
            let options =
                help.split("\n      --").map(|text| (text, text.matches("[default:").count()));
            let twice: Vec<_> = options.filter(|(_, defaults)| *defaults > 1).collect();
            assert!(twice.is_empty(), "{twice:?}");
        }
    }

    #[test]
    fn lists_and_units_are_understood() {
        let args = run(
            "throughput --on tcp,dds --payload 8,1K --duration 1s500ms --sample 10ms/100ms --pin 0,1",
        )
        .unwrap();
        assert_eq!(args.on, ["tcp", "dds"]);
        assert_eq!(args.payload, [PayloadSizes::Bytes(8), PayloadSizes::Bytes(1024)]);
        assert_eq!(args.duration, Some(Duration::from_millis(1500)));
        assert_eq!(args.traced.workload.pin, [0, 1]);
        assert!(matches!(args.sample, Some(wirelap_session::Sampling::Windows { .. })));
    }

    #[test]
    fn a_scenario_is_a_name_or_a_file_and_rates_and_sizes_are_lists() {
        let args =
            run("rate --on tcp --rate 100,2.5 --payload 64,8..64K --max-payload 1K").unwrap();
        assert_eq!(args.scenario, ScenarioSource::BuiltIn("rate"));
        assert_eq!((args.rate.as_slice(), args.max_payload), (&[100.0, 2.5][..], Some(1024)));
        let range = PayloadSizes::PowersOfTwo { first: 8, last: 64 << 10 };
        assert_eq!(args.payload, [PayloadSizes::Bytes(64), range]);
        let args = run("mine.toml --ab qos=0 qos=1").unwrap();
        assert_eq!(args.scenario, ScenarioSource::File("mine.toml".into()));
        assert_eq!(args.ab, ["qos=0", "qos=1"]);
        let error = run("speed --on tcp").unwrap_err();
        assert!(error.starts_with("there is no scenario `speed`; known: latency,"), "{error}");
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        for words in [
            "latency",
            "latency --on tcp --payload 7",
            "latency --on tcp --rate 0",
            "latency --on tcp --rate inf",
            "latency --on tcp --qos 3",
            "latency --on tcp --messages 0",
            "latency --on tcp --sample 2s/1s",
            "latency --on tcp --snap 0",
            "latency --on tcp --seed 9007199254740992",
            "latency --on tcp --payload 64..8",
            "latency --on tcp --rate 10,0",
            "latency --on tcp --ab qos=1",
            "rate",
            "speed --on tcp",
        ] {
            assert!(run(words).is_err(), "{words} was accepted");
        }
    }
}
