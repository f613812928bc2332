//! `iperf3`, the baseline for throughput over TCP: the program itself, when it is installed. It streams bytes and has
//! no messages, so there is nothing to follow: its figures are its own.

mod figures;

use anyhow::{Context, Result, bail};
use figures::IperfFigures;
use std::io::Read;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use wirelap_contract::{About, Done, LinkTransport, Role, Spec, WorkloadKind};
use wirelap_harness::control::Control;
use wirelap_harness::daemon::{self, Daemon};
use wirelap_harness::link::{self, Facts, Family};
use wirelap_harness::{guard, installed};

const PROGRAM: &str = "iperf3";
const START_LIMIT: Duration = Duration::from_secs(10);
/// Interval at which the program is looked at.
const TICK: Duration = Duration::from_millis(20);
/// Longest block of iperf3 (`MAX_BLOCKSIZE` in its sources).
const MAX_BLOCK: usize = 1 << 20;

/// The middleware `iperf3`.
pub struct Iperf3;

impl Family for Iperf3 {
    fn about(&self) -> About {
        let what = "the program, bytes over TCP; throughput only";
        let mut about = About::new("iperf3", what, MAX_BLOCK, &[LinkTransport::Tcp]);
        about.roles = vec![Role::Pub, Role::Sub];
        about.kind = WorkloadKind::Untraced;
        about.available = installed::availability(PROGRAM, "--version", "apt-get install iperf3");
        about
    }

    fn perform(&self, spec: &Spec, control: &Control) -> Result<Option<Done>> {
        let outcome = match spec.role {
            Role::Sub => serve(spec, control),
            _ => send(spec, control),
        };
        match outcome {
            Err(error) if control.excuses(&error) => Ok(Some(Done::default())),
            outcome => outcome.map(Some),
        }
    }
}

/// The server: takes one client, and tells what arrived.
fn serve(spec: &Spec, control: &Control) -> Result<Done> {
    let address = daemon::choose(link::resolve(&spec.endpoint)?)?;
    let mut command = guard::command(program()?);
    let (ip, port) = (address.ip().to_string(), address.port().to_string());
    command.args(["--server", "--one-off", "--json", "--bind", &ip, "--port", &port]);
    let (mut server, said) = start(command, Stdio::null())?;
    // Its only client must be the sender: it is not tried whether it accepts connections.
    if !server.wait_until_it_is_bound(address, START_LIMIT, control)? {
        return Ok(Done::default());
    }
    control.say_ready(server.pid(), facts(spec, address)?);
    Ok(Done { payload_bit_per_s: finish(server, said, control)?.received, ..Done::default() })
}

/// The client. It is started before GO so that READY can name its process, and held back by a shell that
/// becomes it.
fn send(spec: &Spec, control: &Control) -> Result<Done> {
    let address = link::resolve(&spec.endpoint)?;
    let mut command = guard::command("/bin/sh");
    command.args(["-c", "read -r go && exec \"$0\" \"$@\""]).arg(program()?);
    command.args(client_arguments(spec, address));
    let (mut client, said) = start(command, Stdio::piped())?;
    control.say_ready(client.pid(), facts(spec, address)?);
    if !control.wait_for_go()? {
        return Ok(Done::default());
    }
    let stdin = client.child().stdin.take().context("iperf3 has no stdin")?;
    std::io::Write::write_all(&mut { stdin }, b"go\n").context("iperf3 does not listen")?;
    Ok(Done { payload_bit_per_s: finish(client, said, control)?.sent, ..Done::default() })
}

fn client_arguments(spec: &Spec, address: SocketAddr) -> Vec<String> {
    let mut args = vec!["--client".into(), address.ip().to_string(), "--json".into()];
    let mut option = |name: &str, value: String| args.extend([name.to_owned(), value]);
    option("--port", address.port().to_string());
    option("--length", spec.payload.to_string());
    match (spec.messages, spec.seconds) {
        // It takes one end only, and whole seconds; 0 is without an end.
        (_, Some(seconds)) => option("--time", format!("{:.0}", seconds.ceil())),
        (Some(blocks), None) => option("--blockcount", blocks.to_string()),
        (None, None) => option("--time", "0".into()),
    }
    if let Some(rate) = spec.rate {
        option("--bitrate", format!("{:.0}", rate * spec.payload as f64 * 8.0));
    }
    if spec.nodelay {
        args.push("--no-delay".into());
    }
    args
}

fn program() -> Result<std::path::PathBuf> {
    installed::find(PROGRAM).context("iperf3 is not installed")
}

fn facts(spec: &Spec, address: SocketAddr) -> Result<Facts> {
    let version = installed::version(&program()?, "--version").unwrap_or_else(|| "unknown".into());
    let facts = Facts::at(address).version(PROGRAM, &version);
    Ok(match spec.role {
        Role::Sub => facts,
        _ => facts.setting("length", spec.payload).setting("no-delay", spec.nodelay),
    })
}

/// Starts it; its whole output comes in the end.
fn start(mut command: Command, stdin: Stdio) -> Result<(Daemon, JoinHandle<String>)> {
    command.stdin(stdin).stdout(Stdio::piped());
    let mut daemon = Daemon::start(PROGRAM, command)?;
    let mut stdout = daemon.child().stdout.take().context("iperf3 has no stdout")?;
    let read = move || {
        let mut text = Vec::new();
        // What was read before an error is as good as its end.
        let _ = stdout.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    };
    let reader = thread::Builder::new().name(PROGRAM.into()).spawn(read)?;
    Ok((daemon, reader))
}

/// Waits for its end, or ends it when told to stop: it then still tells what it has measured.
fn finish(mut daemon: Daemon, said: JoinHandle<String>, control: &Control) -> Result<IperfFigures> {
    while daemon.child().try_wait().context("cannot watch iperf3")?.is_none() {
        if control.wait_until(Some(Instant::now() + TICK), || control.stopped())? {
            break;
        }
    }
    let words = daemon.last_words();
    drop(daemon);
    let said = said.join().unwrap_or_default();
    match IperfFigures::read(&said) {
        Err(_) if control.stopped() => Ok(IperfFigures::default()),
        Err(_) if said.is_empty() => bail!("iperf3 ended without a word: {words}"),
        read => read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(change: impl FnOnce(&mut Spec)) -> String {
        let mut spec = Spec { payload: 4096, ..Spec::new(Role::Pub, "iperf3") };
        change(&mut spec);
        client_arguments(&spec, ([127, 0, 0, 1], 9).into()).join(" ")
    }

    #[test]
    fn the_end_and_the_rate_are_in_its_own_units() {
        let start = "--client 127.0.0.1 --json --port 9 --length 4096";
        assert_eq!(arguments(|_| ()), format!("{start} --time 0 --no-delay"));
        let timed = arguments(|spec| {
            (spec.seconds, spec.messages) = (Some(1.2), Some(3));
            (spec.nodelay, spec.rate) = (false, Some(1000.0));
        });
        assert_eq!(timed, format!("{start} --time 2 --bitrate 32768000"));
        let counted = arguments(|spec| spec.messages = Some(3));
        assert_eq!(counted, format!("{start} --blockcount 3 --no-delay"));
    }
}
