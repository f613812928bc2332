//! The broker `mosquitto`, as a child process.

use crate::settings::{self, BROKER_NODELAY, IN_FLIGHT};
use anyhow::{Context, Result};
use rustix::process::geteuid;
use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::fchown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use wirelap_contract::{Availability, Spec};
use wirelap_harness::control::Control;
use wirelap_harness::daemon::{self, Daemon};
use wirelap_harness::link::{self, Facts};
use wirelap_harness::{guard, installed};

const START_LIMIT: Duration = Duration::from_secs(10);
const PROGRAM: &str = "mosquitto";
/// The user and group `nobody`, if the package made no user `mosquitto`.
const NOBODY: (u32, u32) = (65_534, 65_534);

/// Tells whether mosquitto is installed.
pub fn availability() -> Availability {
    installed::availability(
        PROGRAM,
        "-h",
        "apt-get install mosquitto (its own service is not needed)",
    )
}

pub fn serve(spec: &Spec, control: &Control) -> Result<()> {
    let program = installed::find(PROGRAM).context("mosquitto is not installed")?;
    let address = daemon::choose(link::resolve(&spec.endpoint)?)?;
    let nodelay = settings::nodelay(spec, BROKER_NODELAY)?;
    let command = command(&program, &config(address, nodelay))?;
    let facts = facts(nodelay, address, &program);
    Daemon::start(PROGRAM, command)?.serve(address, START_LIMIT, facts, control)
}

fn command(program: &Path, config: &str) -> Result<Command> {
    let mut command = guard::command(program);
    command.args(["-c", "/dev/stdin"]);
    // It would change its user itself, and with that lose the request to die with this process.
    let user = geteuid().is_root().then(user);
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    command.stdin(config_pipe(config, user)?).stdout(Stdio::null());
    Ok(command)
}

fn config(address: SocketAddr, nodelay: bool) -> String {
    format!(
        "listener {} {}\n\
         allow_anonymous true\n\
         persistence false\n\
         max_queued_messages 0\n\
         max_inflight_messages {IN_FLIGHT}\n\
         set_tcp_nodelay {nodelay}\n\
         log_dest stderr\n\
         log_type error\n\
         log_timestamp false\n",
        address.port(),
        address.ip(),
    )
}

fn facts(nodelay: bool, address: SocketAddr, program: &Path) -> Facts {
    Facts::at(address)
        .version(
            "mosquitto",
            &installed::version(program, "-h").unwrap_or_else(|| "unknown".into()),
        )
        .setting("set_tcp_nodelay", nodelay)
        .setting("max_queued_messages", 0)
        .setting("max_inflight_messages", IN_FLIGHT)
        .setting("persistence", false)
}

/// A pipe that holds the configuration, which is far smaller than a pipe's buffer. The broker opens
/// it by its name, for which it must own it before it starts.
fn config_pipe(config: &str, owner: Option<(u32, u32)>) -> Result<Stdio> {
    let (reader, mut writer) = std::io::pipe().context("cannot make a pipe")?;
    if let Some((user, group)) = owner {
        fchown(&reader, Some(user), Some(group)).context("cannot hand over a pipe")?;
    }
    writer.write_all(config.as_bytes()).context("cannot hand over the configuration")?;
    Ok(reader.into())
}

/// User and group that run the broker, when this process is root.
fn user() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let entry = users.lines().find_map(|line| line.strip_prefix("mosquitto:"));
    entry.and_then(user_and_group).unwrap_or(NOBODY)
}

/// Numbers of user and group in a passwd(5) line after its first field.
fn user_and_group(entry: &str) -> Option<(u32, u32)> {
    let mut fields = entry.split(':').skip(1);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwd_lines_are_understood() {
        assert_eq!(
            user_and_group("x:102:65534::/var/lib/mosquitto:/sbin/nologin"),
            Some((102, 65_534))
        );
        assert_eq!(user_and_group("x:"), None);
    }
}
