//! A program of others as a child process: started, watched, ended with this one.

use crate::control::Control;
use crate::link::{self, Facts};
use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const END_LIMIT: Duration = Duration::from_secs(2);
/// Below are the ports that middlewares have by default.
const FIRST_PORT: u16 = 20_000;
/// Number of ports that are looked at before the kernel is asked.
const TRIED_PORTS: usize = 100;
const TICK: Duration = Duration::from_millis(20);

/// The child. Ended when dropped, by force if it must be.
pub struct Daemon {
    name: &'static str,
    child: Child,
    last_words: Arc<Mutex<String>>,
}

impl Daemon {
    /// Starts `command`, which [`crate::guard::command`] made. Its stderr is kept for [`Daemon::check`]; what becomes
    /// of stdin and stdout is for the caller to set.
    ///
    /// # Errors
    ///
    /// When the program cannot be started.
    pub fn start(name: &'static str, mut command: Command) -> Result<Daemon> {
        command.stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let last_words = Arc::new(Mutex::new(String::new()));
        if let Some(stderr) = child.stderr.take() {
            let words = last_words.clone();
            let listen = move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    if says_something(&line) {
                        *words.lock().unwrap_or_else(PoisonError::into_inner) = line;
                    }
                }
            };
            thread::Builder::new().name(name.into()).spawn(listen)?;
        }
        Ok(Daemon { name, child, last_words })
    }

    /// Process id of the daemon.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The child itself, for its stdin and stdout.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Waits until it accepts connections. False when told to stop.
    ///
    /// # Errors
    ///
    /// When it ends, or does not listen in time.
    pub fn wait_until_it_listens(
        &mut self,
        address: SocketAddr,
        limit: Duration,
        control: &Control,
    ) -> Result<bool> {
        let connects = || Ok(TcpStream::connect_timeout(&address, TICK).is_ok());
        let listens = self.wait_until(address, limit, control, connects)?;
        if listens {
            // Somebody listens; if it is still alive it is the child.
            thread::park_timeout(Duration::from_millis(1));
            self.check("did not start")?;
        }
        Ok(listens)
    }

    /// The same for a program that takes any connection for its client: looks into the kernel's table of
    /// sockets instead of connecting. False when told to stop.
    ///
    /// # Errors
    ///
    /// When it ends, or does not listen in time.
    pub fn wait_until_it_is_bound(
        &mut self,
        address: SocketAddr,
        limit: Duration,
        control: &Control,
    ) -> Result<bool> {
        self.wait_until(address, limit, control, || is_listened_on(address.port()))
    }

    /// Asks again and again whether it listens on `address`. False when told to stop.
    fn wait_until(
        &mut self,
        address: SocketAddr,
        limit: Duration,
        control: &Control,
        listens: impl Fn() -> Result<bool>,
    ) -> Result<bool> {
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            self.check("did not start")?;
            if listens()? {
                return Ok(true);
            }
            if control.wait_until(Some(Instant::now() + TICK), || control.stopped())? {
                return Ok(false);
            }
        }
        bail!("{} did not listen on {address} within {} s", self.name, limit.as_secs())
    }

    /// A broker's whole life: waits until it listens, prints READY, watches it until told to stop.
    ///
    /// # Errors
    ///
    /// When it ends by itself, or does not listen in time.
    pub fn serve(
        mut self,
        address: SocketAddr,
        limit: Duration,
        facts: Facts,
        control: &Control,
    ) -> Result<()> {
        if !self.wait_until_it_listens(address, limit, control)? {
            return Ok(());
        }
        control.say_ready(self.pid(), facts);
        loop {
            self.check("ended by itself")?;
            if control.wait_until(Some(Instant::now() + TICK), || control.stopped())? {
                return Ok(());
            }
        }
    }

    /// Status of the daemon, if it has ended.
    ///
    /// # Errors
    ///
    /// When the kernel does not tell.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().with_context(|| format!("cannot watch {}", self.name))
    }

    /// Fails with its last words if it has ended.
    ///
    /// # Errors
    ///
    /// Its last words and status, if it has ended.
    pub fn check(&mut self, what: &str) -> Result<()> {
        let name = self.name;
        let Some(status) = self.ended()? else { return Ok(()) };
        // Its last line may still be on the way through the pipe.
        thread::park_timeout(TICK);
        Err(anyhow!("{name} {what} ({status}): {}", self.last_words()))
    }

    /// The last line that it wrote to stderr; empty if it wrote none.
    pub fn last_words(&self) -> String {
        self.last_words.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Daemon {
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

/// A folder for what `name` writes, removed when dropped. Its name is new even where a process that was killed left one
/// behind.
///
/// # Errors
///
/// When none can be made where temporary files are.
pub fn folder(name: &str) -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix(&format!("wirelap-{name}-")).tempdir();
    folder.with_context(|| format!("cannot make a folder for {name}"))
}

/// True if some TCP socket of this network namespace listens on the port.
fn is_listened_on(port: u16) -> Result<bool> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let v4 = std::fs::read_to_string(tables[0]).context(tables[0])?;
    // Without IPv6 there is no second table.
    let v6 = std::fs::read_to_string(tables[1]).unwrap_or_default();
    Ok(v4.lines().chain(v6.lines()).any(|line| listening_port(line) == Some(port)))
}

/// The port of a line of /proc/net/tcp whose socket listens (state `0A`): `0: 0100007F:1F90 00000000:0000 0A …`.
fn listening_port(line: &str) -> Option<u16> {
    let mut words = line.split_whitespace().skip(1);
    let (local, _, state) = (words.next()?, words.next()?, words.next()?);
    let port = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
    (state == "0A").then_some(port)
}

/// True if a line of stderr may say why a program ended: the frames of a Java program's stack, and how many of them are not printed, do
/// not; nor does where an Erlang program writes its memory to.
fn says_something(line: &str) -> bool {
    let line = line.trim();
    let is_frame = line.starts_with("at ") || (line.starts_with("... ") && line.ends_with(" more"));
    !line.is_empty() && !is_frame && !line.starts_with("Crash dump is being written to: ")
}

/// A port for a program that cannot choose one itself, or the reason why the one asked for cannot be had.
///
/// Another program could still take it before this one does, which then says so. It is therefore none of those that
/// the kernel gives to clients: one that looks whether anybody listens yet could be given the very port that it
/// connects to, and be connected with itself.
///
/// # Errors
///
/// When the port cannot be listened on, with what to do about it.
pub fn choose(address: SocketAddr) -> Result<SocketAddr> {
    if address.port() == 0
        && let Some(port) = free_port(address)
    {
        return Ok(SocketAddr::new(address.ip(), port));
    }
    let listener = TcpListener::bind(address).map_err(|error| link::explain(&error, address))?;
    listener.local_addr().context("cannot choose a port")
}

/// A random port of [`listeners_ports`] that is free at this address.
fn free_port(address: SocketAddr) -> Option<u16> {
    let clients = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let ports = listeners_ports(&clients)?;
    let random = (0..TRIED_PORTS).map(|nth| RandomState::new().hash_one(nth));
    random
        .filter_map(|random| {
            u16::try_from(u64::from(ports.start) + random % ports.len() as u64).ok()
        })
        .find(|port| TcpListener::bind((address.ip(), *port)).is_ok())
}

/// The ports that programs listen on and the kernel gives to no client, by its file `ip_local_port_range`: `32768
/// 60999`. None if clients may have nearly all.
fn listeners_ports(clients: &str) -> Option<Range<u16>> {
    let first = clients.split_whitespace().next()?.parse().ok()?;
    let ports = FIRST_PORT..first;
    (ports.len() >= TRIED_PORTS).then_some(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_are_found_in_the_kernels_table() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let port = listener.local_addr().unwrap().port();
            assert!(is_listened_on(port).unwrap(), "{address}");
        }
        let client = "9: 0100007F:1F90 0100007F:0016 01 00000000:00000000";
        assert_eq!(listening_port(client), None);
        assert_eq!(listening_port("9: 0100007F:1F90 00000000:0000 0A 0:0"), Some(0x1f90));
        assert_eq!(listening_port("  sl  local_address rem_address   st"), None);
    }

    #[test]
    fn a_chosen_port_is_given_to_no_client() {
        assert_eq!(listeners_ports("32768\t60999\n"), Some(20_000..32_768));
        assert_eq!(listeners_ports("1024\t65535\n"), None);
        assert_eq!(listeners_ports("20050\t65535\n"), None);
        assert_eq!(listeners_ports(""), None);
        let chosen = choose("127.0.0.1:0".parse().unwrap()).unwrap();
        assert!(TcpListener::bind(chosen).is_ok(), "{chosen}");
    }

    #[test]
    fn only_what_may_be_a_reason_is_kept() {
        let said = [
            "",
            "\tat kafka.Kafka.main(Kafka.scala)",
            "\t... 18 more",
            "Crash dump is being written to: log/erl_crash.dump...done",
            "Caused by: x: in use",
        ];
        assert_eq!(said.map(says_something), [false, false, false, false, true]);
    }
}
