//! The router `zenohd`, as a child process.

use anyhow::{Context, Result};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use wirelap_contract::{Availability, Spec};
use wirelap_harness::control::Control;
use wirelap_harness::daemon::{self, Daemon};
use wirelap_harness::link::{self, Facts};
use wirelap_harness::{guard, installed};

const START_LIMIT: Duration = Duration::from_secs(10);
const PROGRAM: &str = "zenohd";

/// Tells whether the router is installed.
pub fn availability() -> Availability {
    installed::availability(PROGRAM, "--version", "cargo install --locked zenohd --root /usr/local")
}

pub fn serve(spec: &Spec, timestamping: bool, control: &Control) -> Result<()> {
    let program = installed::find(PROGRAM).context("zenohd is not installed")?;
    let address = daemon::choose(link::resolve(&spec.endpoint)?)?;
    let version = installed::version(&program, "--version").unwrap_or_else(|| "unknown".into());
    let facts = Facts::at(address)
        .version(PROGRAM, &version)
        .setting("timestamping", timestamping)
        .setting("TCP_NODELAY", true);
    let command = command(&program, address, timestamping);
    Daemon::start(PROGRAM, command)?.serve(address, START_LIMIT, facts, control)
}

fn command(program: &Path, address: SocketAddr, timestamping: bool) -> Command {
    let mut command = guard::command(program);
    command
        .arg("--no-multicast-scouting")
        .arg(format!("--listen=tcp/{address}"))
        .arg("--cfg=scouting/gossip/enabled:false")
        .arg(format!("--cfg=timestamping/enabled:{timestamping}"))
        // It logs to stdout, and a log of what it does for each message would be its work.
        .env("RUST_LOG", "z=warn")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}
