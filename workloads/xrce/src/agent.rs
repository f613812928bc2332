//! The agent, as a child process.

use crate::folder::FOLDER;
use anyhow::{Result, ensure};
use std::process::Stdio;
use std::time::{Duration, Instant};
use wirelap_contract::Spec;
use wirelap_harness::control::Control;
use wirelap_harness::daemon::Daemon;
use wirelap_harness::link::{self, Facts};
use wirelap_harness::{foreign, guard};

pub const PROGRAM: &str = "MicroXRCEAgent";
/// The setting for what the agent hands samples to.
pub const MIDDLEWARE: &str = "middleware";
/// Middleware of the agent when it is not told: samples go to DDS.
pub const USUAL: &str = "dds";
const START_LIMIT: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(20);

pub fn serve(spec: &Spec, control: &Control) -> Result<()> {
    let mut address = link::resolve(&spec.endpoint)?;
    if address.port() == 0 {
        address.set_port(foreign::free_udp_port()?);
    }
    ensure!(!foreign::is_bound("udp", address.port()), "{address} is already in use");
    let middleware = spec.set_value(MIDDLEWARE).unwrap_or(USUAL);
    let mut command = guard::command(FOLDER.find(PROGRAM)?);
    command.args(["udp4", "-p", &address.port().to_string(), "-m", middleware]);
    FOLDER.libraries(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut daemon = Daemon::start(PROGRAM, command)?;
    let deadline = Instant::now() + START_LIMIT;
    while !foreign::is_bound("udp", address.port()) {
        daemon.check("did not start")?;
        ensure!(Instant::now() < deadline, "{PROGRAM} did not open {address}");
        if control.wait_until(Some(Instant::now() + TICK), || control.stopped())? {
            return Ok(());
        }
    }
    control.say_ready(daemon.pid(), Facts::at(address).setting(MIDDLEWARE, middleware));
    loop {
        daemon.check("ended by itself")?;
        if control.wait_until(Some(Instant::now() + TICK), || control.stopped())? {
            return Ok(());
        }
    }
}
