//! The example clients, and the samples that they print.
//!
//! Command line: address, port, samples until the end. A line for each: `Send topic: …` (`Sent topic: …` in
//! older releases) and `Received topic: …`. Source: Micro XRCE-DDS Client 3.0, examples.

use crate::folder::FOLDER;
use anyhow::{Context, Result, ensure};
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::{Duration, Instant};
use wirelap_contract::{Done, Role, Spec};
use wirelap_harness::control::Control;
use wirelap_harness::daemon::Daemon;
use wirelap_harness::foreign::{self, Lines};
use wirelap_harness::link::{self, Facts};

pub const PUBLISHER: &str = "PublishHelloWorldClient";
pub const SUBSCRIBER: &str = "SubscribeHelloWorldClient";
const START_LIMIT: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(20);
/// Time that a sample may need beyond its second, and the first one and the end.
const PATIENCE: Duration = Duration::from_secs(15);

/// Plays a publisher or a subscriber.
pub fn play(spec: &Spec, control: &Control) -> Result<Done> {
    ensure!(spec.rate.is_none(), "DDS-XRCE's examples send once a second: leave --rate away");
    let address = link::resolve(&spec.endpoint)?;
    let lines = match spec.role {
        Role::Pub => publish(spec, address, control)?,
        _ => subscribe(spec, address, control)?,
    };
    Ok(lines.map_or_else(Done::default, |lines| summary(&lines, spec.role)))
}

/// `None` if told to stop before it began.
fn publish(spec: &Spec, address: SocketAddr, control: &Control) -> Result<Option<Lines>> {
    control.say_ready(std::process::id(), facts(address, PUBLISHER));
    if !control.wait_for_go()? {
        return Ok(None);
    }
    let (mut daemon, lines) = start(PUBLISHER, spec, address)?;
    let limit = match (spec.seconds, spec.messages) {
        (Some(seconds), _) => Some(Duration::from_secs_f64(seconds)),
        (None, Some(messages)) => Some(Duration::from_secs(messages) + PATIENCE),
        (None, None) => None,
    };
    wait(&mut daemon, limit.map(|limit| Instant::now() + limit), control)?;
    Ok(Some(lines))
}

/// `None` if told to stop before it began.
fn subscribe(spec: &Spec, address: SocketAddr, control: &Control) -> Result<Option<Lines>> {
    let (mut daemon, lines) = start(SUBSCRIBER, spec, address)?;
    let deadline = Instant::now() + START_LIMIT;
    while !foreign::talks_to("udp", address.port()) {
        daemon.check("did not start")?;
        ensure!(Instant::now() < deadline, "{SUBSCRIBER} did not turn to {address}");
        if control.wait_until(Some(Instant::now() + TICK), || control.stopped())? {
            return Ok(None);
        }
    }
    control.say_ready(daemon.pid(), facts(address, SUBSCRIBER));
    wait(&mut daemon, None, control)?;
    Ok(Some(lines))
}

fn facts(address: SocketAddr, program: &str) -> Facts {
    Facts::at(address).setting("program", program).setting("samples", "1/s")
}

fn start(name: &'static str, spec: &Spec, address: SocketAddr) -> Result<(Daemon, Lines)> {
    let mut command = foreign::line_by_line(&FOLDER.find(name)?);
    command.arg(address.ip().to_string()).arg(address.port().to_string());
    if let Some(messages) = spec.messages {
        command.arg(messages.to_string());
    }
    FOLDER.libraries(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut daemon = Daemon::start(name, command)?;
    let output = daemon.child().stdout.take().context("a program without output")?;
    Ok((daemon, Lines::of(output)?))
}

/// Until the program has ended, a stop or the deadline.
fn wait(daemon: &mut Daemon, deadline: Option<Instant>, control: &Control) -> Result<()> {
    loop {
        if let Some(status) = daemon.ended()? {
            ensure!(status.success(), "an example ended ({status}): does the agent answer?");
            return Ok(());
        }
        let tick = Some(Instant::now() + TICK);
        let stopped = control.wait_until(tick, || control.stopped())?;
        if stopped || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(());
        }
    }
}

fn summary(lines: &Lines, role: Role) -> Done {
    let words: &[&str] =
        if role == Role::Pub { &["Send topic: ", "Sent topic: "] } else { &["Received topic: "] };
    let all = lines.all();
    let is_sample = |line: &str| words.iter().any(|word| line.starts_with(word));
    let times: Vec<u64> =
        all.iter().filter(|(_, line)| is_sample(line)).map(|(at, _)| at.0).collect();
    let count = times.len() as u64;
    let (sent, received) = if role == Role::Pub { (count, 0) } else { (0, count) };
    Done {
        sent: Some(sent),
        received: Some(received),
        first_ns: times.first().copied().unwrap_or(0),
        last_ns: times.last().copied().unwrap_or(0),
        ..Done::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::Nanos;

    #[test]
    fn samples_are_counted_and_other_lines_are_not() {
        let lines = Lines::default();
        let printed = ["Send topic: Hello DDS world!, id: 1", "Error", "Sent topic: x, id: 2"];
        for (at, line) in (5..).zip(printed) {
            lines.all().push((Nanos(at), line.into()));
        }
        let done = summary(&lines, Role::Pub);
        assert_eq!((done.sent, done.received), (Some(2), Some(0)));
        assert_eq!((done.first_ns, done.last_ns), (5, 7));
        assert_eq!(summary(&lines, Role::Sub).received, Some(0));
    }
}
