//! `wirelap-workload`: one role of one middleware in one process.
//!
//! `wirelap` starts these processes, but they are plain programs that can be run by hand. How they
//! talk to whoever started them is in `wirelap-contract`. Inside:
//!
//! - `registry` lists the middlewares, a line each. Each has a crate beside this one (`mqtt`, `zenoh`, …; `baselines` for
//!   those without middleware), which implements `Family` and `Link` of `wirelap-harness` and knows everything about its
//!   middleware: `wirelap` reads it from `wirelap-workload list`;
//! - `drivers` has the roles (`publish`, `subscribe`, `ping`, `pong`), written once over `Link`.

mod drivers;
mod host;
mod limits;
mod log;
mod pace;
mod registry;
mod tally;
mod truth_log;
mod validate;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use rustix::thread::CpuSet;
use serde::Serialize;
use std::process::ExitCode;
use wirelap_contract::{Done, Role, Spec};
use wirelap_harness::control::{self, Control};
use wirelap_harness::guard;

const EXAMPLES: &str = "\
What it prints:
  READY {json}   it can do its work; `pub` and `ping` then wait for the line GO on stdin
  DONE {json}    it has done its work, got SIGTERM or SIGINT, or its stdin has ended; with --stay it goes on after that
Exit status: 0 done, 1 something went wrong (one line on stderr), 2 wrong usage.

Examples:
  wirelap-workload broker mqtt --endpoint 127.0.0.1:1883 --broker mosquitto
  wirelap-workload broker kafka --endpoint 127.0.0.1:9092 --apache
  wirelap-workload sub mqtt --endpoint 127.0.0.1:1883 --messages 1000 --truth sub.truth
  wirelap-workload pub mqtt --endpoint 127.0.0.1:1883 --messages 1000 --rate 2000 --qos 1
  wirelap-workload pong zenoh-p2p --endpoint 127.0.0.1:7447
  wirelap-workload ping zenoh-p2p --endpoint 127.0.0.1:7447 --messages 1000 --warmup 100";

/// One publisher, subscriber, ping, pong or broker of one messaging middleware.
#[derive(Parser)]
#[command(name = "wirelap-workload", version, after_help = EXAMPLES, arg_required_else_help = true)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct WorkloadCli {
    #[command(subcommand)]
    other: Option<Other>,
    #[command(flatten)]
    spec: Option<Spec>,
}

#[derive(Subcommand)]
enum Other {
    /// Print as JSON what can be run, with which brokers and settings, and what is missing.
    List,
    /// Print as JSON what a wirelap on another host wants to know of this one: version, addresses, and what can be run.
    Host,
    /// Try to connect to HOST:PORT, and say why that is not possible.
    Reach {
        /// HOST:PORT.
        endpoint: String,
    },
    /// Get what a middleware needs beside packages: `kafka` its jars, through Maven.
    Fetch {
        /// The middleware.
        middleware: String,
    },
}

fn main() -> ExitCode {
    if let Some(error) = guard::exec_if_asked() {
        return complain(&error);
    }
    let outcome = match WorkloadCli::parse() {
        WorkloadCli { other: None, spec: Some(spec) } => run(&spec.resolved()),
        WorkloadCli { other: Some(Other::Fetch { middleware }), .. } => fetch(&middleware),
        WorkloadCli { other: Some(Other::Host), .. } => {
            host::describe().and_then(|host| print(&host))
        }
        WorkloadCli { other: Some(Other::Reach { endpoint }), .. } => host::reach(&endpoint),
        WorkloadCli { .. } => print(&registry::described()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error),
    }
}

/// One line, whatever is in the error.
fn complain(error: &anyhow::Error) -> ExitCode {
    let text = format!("{error:#}");
    eprintln!("wirelap-workload: {}", text.split_whitespace().collect::<Vec<_>>().join(" "));
    ExitCode::FAILURE
}

fn print(value: &impl Serialize) -> Result<()> {
    control::say(&serde_json::to_string(value).context("cannot write JSON")?);
    Ok(())
}

fn fetch(middleware: &str) -> Result<()> {
    registry::family(middleware)?.fetch()
}

fn run(spec: &Spec) -> Result<()> {
    let family = registry::family(&spec.middleware)?;
    validate::spec(spec, &family.about())?;
    if let Some(cpu) = spec.pin {
        pin(cpu)?;
    }
    // A sleeper that is woken within 50 µs of its time (the default) is too coarse for pacing.
    rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))
        .context("cannot set the timer slack")?;
    limits::raise(spec)?;
    let control = Control::start()?;
    let done = match spec.role {
        Role::Broker => control.excuse(family.serve(spec, &control)).map(|()| Done::default())?,
        _ => match family.perform(spec, &control)? {
            Some(done) => done,
            None => return drivers::drive(spec, family, &control),
        },
    };
    control::say(&done.to_line());
    Ok(())
}

fn pin(cpu: usize) -> Result<()> {
    anyhow::ensure!(cpu < CpuSet::MAX_CPU, "--pin {cpu}: there is no such CPU");
    let mut set = CpuSet::new();
    set.set(cpu);
    rustix::thread::sched_setaffinity(None, &set)
        .with_context(|| format!("--pin {cpu}: there is no such CPU, or it may not be used"))
}
