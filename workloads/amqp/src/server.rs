//! The broker `RabbitMQ`, as a child process, and beside it `epmd`, without which no Erlang program starts.
//!
//! Its script would leave an `epmd` behind that serves everybody's Erlang programs, so it finds one here that ends with it. All that it
//! writes is in a folder of its own.

use anyhow::{Context, Result};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, process};
use wirelap_contract::{Availability, Spec};
use wirelap_harness::control::Control;
use wirelap_harness::daemon::{self, Daemon};
use wirelap_harness::link::{self, Facts};
use wirelap_harness::{guard, installed};

/// The broker's name.
pub const NAME: &str = "rabbitmq";
/// Path of Debian's script itself: the script on the search path starts the broker as another user.
const SCRIPT: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
/// Folder in which the package has a folder for each version.
const VERSIONS: &str = "/usr/lib/rabbitmq/lib";
const REMEDY: &str = "apt-get install rabbitmq-server (its own service is not needed)";
const START_LIMIT: Duration = Duration::from_mins(1);

/// Tells whether `RabbitMQ` is installed.
pub fn availability() -> Availability {
    if !Path::new(SCRIPT).is_file() || installed::find("epmd").is_none() {
        return Availability::Missing { remedy: REMEDY.into() };
    }
    Availability::Installed { version: version() }
}

/// The version, from the name of the package's folder: asking the program would start an Erlang machine.
fn version() -> Option<String> {
    let folders = fs::read_dir(VERSIONS).ok()?;
    folders.filter_map(Result::ok).find_map(|folder| {
        folder.file_name().to_str()?.strip_prefix("rabbitmq_server-").map(Into::into)
    })
}

pub fn serve(spec: &Spec, control: &Control) -> Result<()> {
    let epmd = installed::find("epmd").context("rabbitmq-server is not installed")?;
    let address = daemon::choose(link::resolve(&spec.endpoint)?)?;
    let names = daemon::choose("127.0.0.1:0".parse()?)?;
    let nodes = daemon::choose("127.0.0.1:0".parse()?)?;
    let folder = daemon::folder("amqp")?;
    let config = config(address, spec.nodelay);
    fs::write(folder.path().join("rabbitmq.conf"), config).context("cannot write rabbitmq.conf")?;
    let mut command = guard::command(epmd);
    command.args(["-port", &names.port().to_string(), "-address", "127.0.0.1"]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut epmd = Daemon::start("epmd", command)?;
    if !epmd.wait_until_it_is_bound(names, START_LIMIT, control)? {
        return Ok(());
    }
    let command = command_of(folder.path(), names, nodes);
    Daemon::start(NAME, command)?.serve(address, START_LIMIT, facts(address, spec.nodelay), control)
}

fn command_of(folder: &Path, names: SocketAddr, nodes: SocketAddr) -> Command {
    let mut command = guard::command(SCRIPT);
    let at = |name: &str| folder.join(name);
    command
        // The script becomes the broker, instead of waiting for it.
        .arg("-noinput")
        .env("RABBITMQ_ALLOW_INPUT", "1")
        .env("HOME", folder)
        .env("ERL_EPMD_PORT", names.port().to_string())
        .env("ERL_EPMD_ADDRESS", "127.0.0.1")
        .env("RABBITMQ_DIST_PORT", nodes.port().to_string())
        .env("RABBITMQ_NODENAME", format!("wirelap-{}@localhost", process::id()))
        .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
        .env("RABBITMQ_CONFIG_FILE", at("rabbitmq"))
        .env("RABBITMQ_MNESIA_BASE", at("mnesia"))
        .env("RABBITMQ_LOG_BASE", at("log"))
        .env("RABBITMQ_ENABLED_PLUGINS_FILE", at("plugins"))
        .env("RABBITMQ_LOGS", "-stderr")
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

fn config(address: SocketAddr, nodelay: bool) -> String {
    format!(
        "listeners.tcp.1 = {address}\n\
         loopback_users.guest = false\n\
         tcp_listen_options.nodelay = {nodelay}\n\
         log.console.level = error\n"
    )
}

fn facts(address: SocketAddr, nodelay: bool) -> Facts {
    Facts::at(address)
        .version(NAME, &version().unwrap_or_else(|| "unknown".into()))
        .setting("nodelay", nodelay)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_is_in_the_configuration() {
        let text = config("127.0.0.1:5672".parse().unwrap(), false);
        assert!(text.contains("listeners.tcp.1 = 127.0.0.1:5672\n"), "{text}");
        assert!(text.contains("tcp_listen_options.nodelay = false\n"), "{text}");
    }
}
