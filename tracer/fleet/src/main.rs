//! `wirelap-fleet`: agents of a fleet of hosts, reached through a Zenoh router.
//!
//! ```text
//!  each host                                  hub               a collector's host
//! ┌───────────────┐  stdout ┌───────────────┐      ┌────────┐      ┌───────────────────────┐ stdout ┌──────────────┐
//! │ wirelap agent │ ──────▶ │ wirelap-fleet │ ───▶ │ router │ ───▶ │ wirelap-fleet collect │ ─────▶ │ wirelap live │
//! │               │ ◀────── │    agent      │ ◀─── │        │ ◀─── │                       │ ◀───── │    --from    │
//! └───────────────┘  stdin  └───────────────┘      └────────┘      └───────────────────────┘  stdin └──────────────┘
//! ```
//!
//! A program of its own, so that `wirelap` links no middleware.
//!
//! | module | what |
//! |---|---|
//! | `agent`, `local` | waits on a host for collectors; the `wirelap agent` that runs while one watches |
//! | `audience` | the collectors of a host, for whom one agent works |
//! | `outbox`, `sender` | frames that wait to be sent, and the thread that sends them |
//! | `collect`, `inbox` | what all agents of a fleet send, for `wirelap` |
//! | `reception` | what has come of a host, and what is missing |
//! | `envelope`, `keys` | what is published, and where |
//! | `uplink`, `connections` | the connection to a router |
//! | `router` | a router without plugins |

// Input from the network may be any bytes, so arithmetic must not overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod agent;
mod audience;
mod collect;
mod connections;
mod envelope;
mod inbox;
mod keys;
mod local;
mod outbox;
mod reception;
mod router;
mod sender;
mod uplink;

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use wirelap_process::{Failure, output, steward};

const EXAMPLES: &str = "\
Examples:
  wirelap-fleet router --listen tcp/0.0.0.0:7447       a router on the hub, if none runs there
  sudo wirelap-fleet agent --to tcp/hub:7447           on each host: waits, and observes while somebody watches
  sudo wirelap live --from tcp/hub:7447                watches all of them, from anywhere";

/// Agents of a fleet of hosts, reached through a Zenoh router
#[derive(Debug, Parser)]
#[command(name = "wirelap-fleet", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(Debug, Subcommand)]
enum FleetCommand {
    /// Wait on this host until somebody watches, and send what happens on it
    Agent(agent::AgentArgs),
    /// Write what the agents of a fleet send; `wirelap live --from` starts it
    #[command(hide = true)]
    Collect(collect::CollectArgs),
    /// Route between agents and collectors, where no Zenoh router is
    Router(router::RouterArgs),
}

fn main() -> ExitCode {
    if let Some(status) = steward::serve_if_asked() {
        return status;
    }
    match run(&Cli::parse().command) {
        Ok(status) => status,
        Err(failure) => {
            output::say(&format!("wirelap-fleet: {failure}\n"));
            failure.exit_code()
        }
    }
}

fn run(command: &FleetCommand) -> Result<ExitCode, Failure> {
    match command {
        FleetCommand::Agent(args) => agent::run(args),
        FleetCommand::Collect(args) => collect::run(args),
        FleetCommand::Router(args) => router::run(args),
    }
}
