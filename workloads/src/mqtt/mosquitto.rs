//! The broker `mosquitto`, as a child process.

use super::IN_FLIGHT;
use crate::control::Control;
use crate::guard;
use crate::link::{self, Facts};
use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::fchown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use wirelap_contract::Spec;

const START_LIMIT: Duration = Duration::from_secs(10);
const END_LIMIT: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(20);
/// Debian puts it where only root's PATH looks.
const USUAL_PLACES: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/usr/local/bin"];
/// The user and group `nobody`, if the package made no user `mosquitto`.
const NOBODY: (u32, u32) = (65_534, 65_534);

pub fn serve(spec: &Spec, control: &Control) -> Result<()> {
    let program = find().context(
        "mosquitto is not installed (Debian, Ubuntu: sudo apt-get install mosquitto; its own service is not needed)",
    )?;
    let address = choose(link::resolve(&spec.endpoint)?)?;
    let mut broker = Broker::start(&program, &config(spec, address))?;
    if !broker.wait_until_it_listens(address, control)? {
        return Ok(());
    }
    control.say_ready(broker.child.id(), facts(spec, address, &program));
    loop {
        broker.check("ended by itself")?;
        if control.wait_until(Some(Instant::now() + TICK), || control.stopped())? {
            return Ok(());
        }
    }
}

/// The program.
fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(USUAL_PLACES.map(PathBuf::from))
        .map(|folder| folder.join("mosquitto"))
        .find(|candidate| candidate.is_file())
}

/// A port for a broker that cannot choose one itself, or the reason why the one asked for cannot be had.
/// Another program could still take it before the broker does; the broker then says so.
fn choose(address: SocketAddr) -> Result<SocketAddr> {
    let listener = TcpListener::bind(address).map_err(|error| link::explain(&error, address))?;
    listener.local_addr().context("cannot choose a port")
}

fn config(spec: &Spec, address: SocketAddr) -> String {
    format!(
        "listener {} {}\n\
         allow_anonymous true\n\
         persistence false\n\
         max_queued_messages 0\n\
         max_inflight_messages {IN_FLIGHT}\n\
         set_tcp_nodelay {}\n\
         log_dest stderr\n\
         log_type error\n\
         log_timestamp false\n",
        address.port(),
        address.ip(),
        spec.nodelay,
    )
}

fn facts(spec: &Spec, address: SocketAddr, program: &Path) -> Facts {
    Facts::at(address)
        .version("mosquitto", &version(program).unwrap_or_else(|| "unknown".into()))
        .setting("set_tcp_nodelay", spec.nodelay)
        .setting("max_queued_messages", 0)
        .setting("max_inflight_messages", IN_FLIGHT)
        .setting("persistence", false)
}

/// From the first line of its help: "mosquitto version 2.0.11".
fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("-h").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(text.lines().next()?.split_whitespace().nth(2)?.to_owned())
}

/// The child. Killed when dropped.
struct Broker {
    child: Child,
    last_words: Arc<Mutex<String>>,
}

impl Broker {
    fn start(program: &Path, config: &str) -> Result<Broker> {
        let mut command = guard::command(program);
        command.args(["-c", "/dev/stdin"]);
        // It would change its user itself, and with that lose the request to die with this process.
        let user = geteuid().is_root().then(user);
        if let Some((user, group)) = user {
            command.uid(user).gid(group);
        }
        command.stdin(config_pipe(config, user)?).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start mosquitto")?;
        let last_words = Arc::new(Mutex::new(String::new()));
        if let Some(stderr) = child.stderr.take() {
            let words = last_words.clone();
            let listen = move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    *words.lock().unwrap_or_else(PoisonError::into_inner) = line;
                }
            };
            thread::Builder::new().name("mosquitto".into()).spawn(listen)?;
        }
        Ok(Broker { child, last_words })
    }

    /// False when told to stop.
    fn wait_until_it_listens(&mut self, address: SocketAddr, control: &Control) -> Result<bool> {
        let deadline = Instant::now() + START_LIMIT;
        while Instant::now() < deadline {
            self.check("did not start")?;
            if TcpStream::connect_timeout(&address, TICK).is_ok() {
                // Somebody listens; if it is still alive it is the child.
                thread::park_timeout(Duration::from_millis(1));
                self.check("did not start")?;
                return Ok(true);
            }
            if control.wait_until(Some(Instant::now() + TICK), || control.stopped())? {
                return Ok(false);
            }
        }
        bail!("mosquitto did not listen on {address} within {} s", START_LIMIT.as_secs())
    }

    fn check(&mut self, what: &str) -> Result<()> {
        let Some(status) = self.child.try_wait().context("cannot watch mosquitto")? else {
            return Ok(());
        };
        // Its last line may still be on the way through the pipe.
        thread::park_timeout(TICK);
        let words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Err(anyhow!("mosquitto {what} ({status}): {words}"))
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let deadline = Instant::now() + END_LIMIT;
        while Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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

/// Whom to run it as, when this process is root.
fn user() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let entry = users.lines().find_map(|line| line.strip_prefix("mosquitto:"));
    entry.and_then(user_and_group).unwrap_or(NOBODY)
}

/// Of a passwd(5) line after its first field.
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
