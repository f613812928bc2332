//! The broker `nats-server`, as a child process.

use crate::settings::{MAX_PAYLOAD, NatsSettings};
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tempfile::TempDir;
use wirelap_contract::{Availability, Spec};
use wirelap_harness::control::Control;
use wirelap_harness::daemon::{self, Daemon};
use wirelap_harness::link::{self, Facts};
use wirelap_harness::{guard, installed};

pub const PROGRAM: &str = "nats-server";
const START_LIMIT: Duration = Duration::from_secs(10);
/// Bytes that may wait in the server for one subscriber: beyond them, the server throws the subscriber out. Its default of 64 MiB
/// is eight of the largest messages.
const MAX_PENDING: usize = 256 << 20;

/// Tells whether the server is installed.
pub fn availability() -> Availability {
    installed::availability(
        PROGRAM,
        "--version",
        "GOBIN=/usr/local/bin go install github.com/nats-io/nats-server/v2@v2.15.2",
    )
}

pub fn serve(spec: &Spec, settings: NatsSettings, control: &Control) -> Result<()> {
    let program = installed::find(PROGRAM).context("nats-server is not installed")?;
    let address = daemon::choose(link::resolve(&spec.endpoint)?)?;
    // The server wants a folder even where messages stay in memory.
    let store = settings.jetstream.then(|| daemon::folder("nats")).transpose()?;
    let config = config(address, settings, store.as_ref().map(TempDir::path));
    let mut command = guard::command(&program);
    command.args(["-c", "/dev/stdin"]).stdin(pipe(&config)?).stdout(Stdio::null());
    let facts = facts(address, settings, &program);
    Daemon::start(PROGRAM, command)?.serve(address, START_LIMIT, facts, control)
}

fn config(address: SocketAddr, settings: NatsSettings, store: Option<&Path>) -> String {
    let mut config = format!(
        "listen: \"{address}\"\n\
         max_payload: {MAX_PAYLOAD}\n\
         max_pending: {MAX_PENDING}\n\
         logtime: false\n"
    );
    // Writing to a string cannot fail.
    if settings.http_port != 0 {
        let http = SocketAddr::new(address.ip(), settings.http_port);
        let _ = writeln!(config, "http: \"{http}\"");
    }
    if let Some(folder) = store {
        let _ = writeln!(config, "jetstream {{ store_dir: \"{}\" }}", folder.display());
    }
    config
}

fn facts(address: SocketAddr, settings: NatsSettings, program: &Path) -> Facts {
    let version = installed::version(program, "--version").unwrap_or_else(|| "unknown".into());
    Facts::at(address)
        .version(PROGRAM, &version)
        .setting("max_payload", MAX_PAYLOAD)
        .setting("max_pending", MAX_PENDING)
        .setting("jetstream", settings.jetstream)
        // Go sets it on every connection, and the server has no option not to.
        .setting("TCP_NODELAY", true)
}

/// A pipe that holds the configuration, which is far smaller than a pipe's buffer.
fn pipe(config: &str) -> Result<Stdio> {
    let (reader, mut writer) = std::io::pipe().context("cannot make a pipe")?;
    writer.write_all(config.as_bytes()).context("cannot hand over the configuration")?;
    Ok(reader.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_is_in_the_configuration() {
        let address = "127.0.0.1:4222".parse().unwrap();
        let plain = config(address, NatsSettings::default(), None);
        assert!(plain.contains("listen: \"127.0.0.1:4222\"\nmax_payload: 8388608\n"), "{plain}");
        assert!(!plain.contains("http") && !plain.contains("jetstream"), "{plain}");
        let store = Path::new("/store");
        let settings = NatsSettings { jetstream: true, http_port: 8222, ..NatsSettings::default() };
        let full = config(address, settings, Some(store));
        assert!(full.contains("http: \"127.0.0.1:8222\"\n"), "{full}");
        assert!(full.contains("store_dir: \"/store\""), "{full}");
    }
}
