//! `wirelap-fleet router`: a router without plugins, for fleets that have none.

use crate::uplink;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;
use wirelap_process::{Failure, catch_signals, output, rights};
use zenoh::Wait;

/// Interval at which signals are looked for.
const INTERVAL: Duration = Duration::from_millis(50);

/// `wirelap-fleet router`.
#[derive(Clone, Debug, Args)]
pub struct RouterArgs {
    /// Where agents and collectors connect
    #[arg(long, value_name = "LOCATOR", default_value = "tcp/127.0.0.1:7447")]
    listen: String,

    /// Zenoh's configuration (JSON5): certificates, names and passwords, access control
    #[arg(long, value_name = "FILE")]
    zenoh_config: Option<PathBuf>,
}

/// Routes until a signal arrives.
///
/// # Errors
/// Nobody can connect there.
pub fn run(args: &RouterArgs) -> Result<ExitCode, Failure> {
    rights::confine_collector();
    let signals = catch_signals()?;
    let listen = ("listen/endpoints", args.listen.as_str());
    let config =
        uplink::config(args.zenoh_config.as_deref(), "router", listen).map_err(Failure::Usage)?;
    let session = zenoh::open(config).wait().map_err(|error| {
        Failure::Machine(format!("nobody can be let in on {}: {error}", args.listen))
    })?;
    output::say(&format!("wirelap-fleet: routes on {}\n", args.listen));
    while signals.caught().is_none() {
        thread::sleep(INTERVAL);
    }
    let _ = session.close().wait();
    Ok(ExitCode::SUCCESS)
}
