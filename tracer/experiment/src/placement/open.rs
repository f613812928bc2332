//! Asks the hosts of a placement what they are, and takes the workloads' program to those that lack it.

use super::{HERE, PlacedHost, Placement, RolePlace, place};
use crate::hosts::Host;
use crate::processes::{Elsewhere, WorkloadInstallation};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::time::Duration;
use wirelap_contract::WorkloadHost;
use wirelap_hosts::{HostTarget, PushedProgram};
use wirelap_process::Failure;
use wirelap_process::steward::{DeclaredCommand, FurtherArguments, StartedProcess, Steward};

/// The workloads' program.
const PROGRAM: &str = "wirelap-workload";

/// Version of it that this wirelap needs.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Longest time in which a host answers.
const ANSWER: Duration = Duration::from_secs(30);

/// The longest line that is read of a host that is to keep the program.
const MAX_LINE: u64 = 4_096;

/// Means to place roles.
pub struct PlacementMeans<'a> {
    /// The steward, which must not be sealed yet.
    pub steward: &'a Arc<Steward>,
    /// The workloads' program on this host; `None` if it is not there.
    pub own: Result<WorkloadInstallation, Failure>,
    /// The other hosts.
    pub targets: &'a [HostTarget],
    /// Number of the agents' commands, which come first.
    pub agents: usize,
    /// The program is copied to hosts of `--host` that lack this version of it.
    pub push: bool,
}

impl Placement {
    /// Asks the hosts of these places what they are.
    ///
    /// # Errors
    /// A place is not known, a host cannot be reached, or has no program of this version.
    pub fn open(places: &[RolePlace], means: PlacementMeans<'_>) -> Result<Placement, Failure> {
        let names = names(places, means.targets)?;
        let targets: Vec<&HostTarget> =
            means.targets.iter().filter(|target| names.contains(&target.name())).collect();
        let (programs, holders) = if means.push {
            hold(&targets, &means)?
        } else {
            (targets.iter().map(|_| PROGRAM.to_owned()).collect(), Vec::new())
        };
        let commands = targets.iter().zip(&programs);
        let commands: Vec<DeclaredCommand> =
            commands.filter_map(|(target, program)| target.workload_command(program)).collect();
        let none =
            DeclaredCommand { words: Vec::new(), as_user: true, further: FurtherArguments::None };
        let behind_agents = vec![none; means.agents].into_iter().chain(commands.clone()).collect();
        declare(means.steward, behind_agents)?;
        let mut hosts = Vec::new();
        for (index, target) in targets.iter().enumerate() {
            let elsewhere =
                Elsewhere { host: target.name(), command: means.agents.saturating_add(index) };
            let installation = WorkloadInstallation {
                program: PROGRAM.to_owned(),
                steward: Arc::clone(means.steward),
                elsewhere: Some(elsewhere),
            };
            hosts.push(host(target.name(), installation)?);
        }
        let mut found = [0; Host::ALL.len()];
        if Host::ALL.iter().any(|role| host_of(places, *role) == HERE) {
            hosts.push(host(HERE.to_owned(), means.own?)?);
        }
        let mut named = [None; Host::ALL.len()];
        for role in Host::ALL {
            let wanted = host_of(places, role);
            let at = hosts.iter().position(|host| host.name == wanted);
            found[role as usize] = at.unwrap_or_default();
            let place = places.iter().find(|place| place.role == role);
            named[role as usize] = place.and_then(|place| place.address);
        }
        Ok(Placement { hosts, places: found, named, commands, _holders: holders })
    }
}

/// The host of a role that these places name. Otherwise it is this one, and that of the subscriber for a broker.
fn host_of(places: &[RolePlace], role: Host) -> &str {
    match places.iter().find(|place| place.role == role) {
        Some(place) => &place.host,
        None if role == Host::Broker => host_of(places, Host::Receiver),
        None => HERE,
    }
}

/// The names of the other hosts of these places.
fn names(places: &[RolePlace], targets: &[HostTarget]) -> Result<Vec<String>, Failure> {
    let known: Vec<String> = targets.iter().map(HostTarget::name).collect();
    for (at, RolePlace { role, host, .. }) in places.iter().enumerate() {
        let name = place::name(*role);
        if places.iter().skip(at.saturating_add(1)).any(|other| other.role == *role) {
            return Err(Failure::Usage(format!(
                "--place has {name} twice: all of them are on one host"
            )));
        }
        let times = known.iter().filter(|known| *known == host).count();
        if times > 1 {
            return Err(Failure::Usage(format!(
                "--place {name}={host}: several hosts of --host and --via are called {host}: --via 'NAME: COMMAND' names one"
            )));
        }
        if host != HERE && times == 0 {
            return Err(Failure::Usage(format!(
                "--place {name}={host}: {host} is none of the hosts of --host and --via ({}): add --host {host}",
                if known.is_empty() { "there is none".to_owned() } else { known.join(", ") }
            )));
        }
    }
    Ok(places.iter().map(|place| place.host.clone()).collect())
}

/// Asks a host what it is.
fn host(name: String, installation: WorkloadInstallation) -> Result<PlacedHost, Failure> {
    let machine = |why: String| Failure::Machine(format!("{name}: {why}"));
    let answer = installation
        .answer(&["host"], ANSWER)
        .map_err(|error| machine(format!("cannot run {PROGRAM}: {error}")))?;
    let facts = serde_json::from_slice::<WorkloadHost>(&answer.stdout);
    let facts = facts.map_err(|_| machine(answer.why_not(&installation.program)))?;
    if facts.version != VERSION {
        return Err(machine(format!(
            "{PROGRAM} has version {} there, and this wirelap {VERSION}: install the same version on both hosts, or use --push",
            facts.version
        )));
    }
    let WorkloadHost { addresses, middlewares, .. } = facts;
    Ok(PlacedHost { name, installation, addresses, middlewares })
}

/// Has the hosts keep the program until the run ends. Returns what it is called on each.
fn hold(
    targets: &[&HostTarget],
    means: &PlacementMeans<'_>,
) -> Result<(Vec<String>, Vec<StartedProcess>), Failure> {
    let own = means.own.as_ref().map_err(Clone::clone)?;
    let bytes = std::fs::read(&own.program).map_err(|error| {
        Failure::Machine(format!("cannot read {}, to copy it: {error}", own.program))
    })?;
    let pushed = PushedProgram { version: VERSION.into(), bytes: bytes.into() };
    let commands: Vec<Option<DeclaredCommand>> =
        targets.iter().map(|target| target.holder_command(&pushed)).collect();
    declare(means.steward, commands.iter().flatten().cloned().collect())?;
    let (mut programs, mut holders) = (Vec::new(), Vec::new());
    for (target, command) in targets.iter().zip(&commands) {
        if command.is_none() {
            programs.push(PROGRAM.to_owned());
            continue;
        }
        let failed = |why: String| {
            Failure::Machine(format!("{}: cannot copy {PROGRAM} there: {why}", target.name()))
        };
        let started = means.steward.start_command(holders.len());
        let mut started = started.map_err(|error| failed(error.to_string()))?;
        programs.push(kept_as(&mut started, &pushed).map_err(failed)?);
        holders.push(started);
    }
    Ok((programs, holders))
}

/// Waits until a host has the program, and returns what it is called there.
fn kept_as(started: &mut StartedProcess, pushed: &PushedProgram) -> Result<String, String> {
    let mut files = started.files.iter().map(|file| file.try_clone().map(File::from));
    let mut next = || files.next().and_then(Result::ok).ok_or("its pipes cannot be used");
    let (mut stdin, stdout, stderr) = (next()?, next()?, next()?);
    let mut lines = BufReader::new(stdout);
    let mut line = String::new();
    loop {
        line.clear();
        let read = lines.by_ref().take(MAX_LINE).read_line(&mut line);
        if !read.is_ok_and(|count| count > 0) {
            let mut said = String::new();
            let _ = stderr.take(MAX_LINE).read_to_string(&mut said);
            return Err(said.lines().last().unwrap_or("the connection ended").to_owned());
        }
        if let Some(program) = line.trim_end().strip_prefix("wirelap workload ") {
            return Ok(program.to_owned());
        }
        let Some(architecture) = line.trim_end().strip_prefix("wirelap push ") else { continue };
        if architecture != std::env::consts::ARCH {
            return Err(format!(
                "it is {architecture}, and this program {}: install wirelap there",
                std::env::consts::ARCH
            ));
        }
        stdin.write_all(&pushed.bytes).map_err(|error| error.to_string())?;
    }
}

fn declare(steward: &Steward, commands: Vec<DeclaredCommand>) -> Result<(), Failure> {
    steward.declare_commands(commands).map_err(|error| Failure::Machine(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_name_known_hosts_once() {
        let targets = [HostTarget::ssh("pi@robot").unwrap(), HostTarget::via("hub: x").unwrap()];
        let of = |words: &str| {
            let places: Vec<RolePlace> = words.split(',').map(|one| one.parse().unwrap()).collect();
            names(&places, &targets).map_err(|failure| failure.to_string())
        };
        assert_eq!(
            of("publisher=robot,broker=hub,subscriber=here").unwrap(),
            ["robot", "hub", "here"]
        );
        let why = of("broker=cloud").unwrap_err();
        assert!(
            why.contains("none of the hosts of --host and --via (robot, hub): add --host cloud"),
            "{why}"
        );
        assert!(of("broker=hub,broker=here").unwrap_err().contains("has broker twice"));
        let twice = [targets[1].clone(), targets[1].clone()];
        let why = names(&["broker=hub".parse().unwrap()], &twice).unwrap_err().to_string();
        assert!(why.contains("several hosts"), "{why}");
    }

    #[test]
    fn roles_that_are_not_placed_are_here_and_a_broker_is_beside_the_subscriber() {
        let of = |place: &str| {
            let places = [place.parse().unwrap()];
            Host::ALL.map(|role| host_of(&places, role).to_owned())
        };
        assert_eq!(of("broker=hub"), [HERE, HERE, "hub"]);
        assert_eq!(of("subscriber=hub"), [HERE, "hub", "hub"]);
        assert_eq!(of("publisher=robot"), ["robot", HERE, HERE]);
    }
}
