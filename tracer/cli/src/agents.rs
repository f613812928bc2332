//! The options by which other hosts are observed, too, and the agents that do that.

use crate::common::{DetailArg, FilterArgs, SamplingArgs, TracerArgs};
use crate::quantity;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wirelap_hosts::merged::MAX_HOSTS;
use wirelap_hosts::{HostTarget, MergedHosts, PushedProgram};
use wirelap_process::steward::{DeclaredCommand, Steward};
use wirelap_process::{Failure, rights};
use wirelap_session::{Sampling, TracedTime, machine};

/// Other hosts.
#[derive(Clone, Debug, Default, Args)]
pub struct HostArgs {
    /// Observe this host, too, through an agent that ssh starts there: `ssh HOST sudo -n wirelap agent`. wirelap must be installed
    /// there, and neither ssh nor sudo may ask anything. May be given several times
    #[arg(long = "host", value_name = "[USER@]HOST", value_parser = HostTarget::ssh)]
    pub hosts: Vec<HostTarget>,

    /// Observe a host, too, that this command reaches, to which `wirelap agent …` is appended: 'docker exec -i NAME', or 'hub: ssh -p 2222 10.0.0.9' to call the host hub. It runs with the
    /// rights of this wirelap. May be given several times
    #[arg(long, value_name = "COMMAND", value_parser = HostTarget::via)]
    pub via: Vec<HostTarget>,

    /// Copy this program to hosts of --host where this version of it is missing: to a temporary file that is removed at once. It must be
    /// the static one of the packages, and the hosts of the same architecture
    #[arg(long, requires = "hosts")]
    pub push: bool,

    /// Observe windows of time on all hosts at once, as long as fits into so much over the connection to each of them, e.g. 8Mbit: a message is
    /// followed on all of them or on none, and rates say how far they may be off
    #[arg(long, value_name = "RATE", value_parser = quantity::bit_rate)]
    pub host_bandwidth: Option<u64>,

    /// Observe all hosts of a fleet, too, whose agents (`wirelap-fleet agent`) wait at this Zenoh router: tcp/HUB:7447, tls/HUB:7447.
    /// Hosts that come later join. The agents' own options say what they observe
    #[arg(long, value_name = "LOCATOR")]
    pub from: Option<String>,

    /// The fleet's name
    #[arg(long, value_name = "NAME", default_value = "default", requires = "from")]
    pub fleet: String,

    /// Zenoh's configuration for --from (JSON5): certificates, name and password
    #[arg(long, value_name = "FILE", requires = "from")]
    pub zenoh_config: Option<PathBuf>,

    /// Observe only other hosts (--host, --via, --from), and not this one
    #[arg(long)]
    pub not_here: bool,
}

/// Name of the program that speaks Zenoh, so that this one does not link it.
const FLEET_PROGRAM: &str = "wirelap-fleet";

impl HostArgs {
    /// True if other hosts are observed.
    pub fn are_given(&self) -> bool {
        !(self.hosts.is_empty() && self.via.is_empty() && self.from.is_none())
    }

    /// The fleet, if there is one.
    fn fleet(&self) -> Option<HostTarget> {
        let beside = Path::new("/proc/self/exe").canonicalize();
        let beside = beside.ok().map(|own| own.with_file_name(FLEET_PROGRAM));
        let program = beside.filter(|program| program.is_file());
        let program = program.map_or(FLEET_PROGRAM.into(), PathBuf::into_os_string);
        let mut command =
            vec![program, "collect".into(), "--from".into(), self.from.as_ref()?.into()];
        command.extend(["--fleet".into(), self.fleet.clone().into()]);
        let config = self.zenoh_config.as_ref();
        command.extend(config.into_iter().flat_map(|file| ["--zenoh-config".into(), file.into()]));
        Some(HostTarget::Fleet { name: self.fleet.clone(), command })
    }

    /// All hosts: first this one, if it can be observed.
    pub fn targets(&self) -> Vec<HostTarget> {
        let here = !self.not_here && rights::missing_to_attach().is_empty();
        let here = here.then_some(HostTarget::Here);
        here.into_iter().chain(self.others()).chain(self.fleet()).collect()
    }

    /// The other hosts.
    pub fn others(&self) -> impl Iterator<Item = HostTarget> {
        self.hosts.iter().chain(&self.via).cloned()
    }

    /// The time in which the hosts send what they observe. What regulates the probes of one host is no choice for several.
    ///
    /// # Errors
    /// The options contradict each other.
    pub fn traced(&self, sampling: &SamplingArgs) -> Result<TracedTime, Failure> {
        let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
        if self.from.is_some() && (self.host_bandwidth.is_some() || sampling.sample.is_some()) {
            return usage(
                "--sample and --host-bandwidth open windows on hosts of --host and --via alone: several may watch a fleet at once",
            );
        }
        match (self.host_bandwidth, sampling.sample) {
            _ if sampling.budget.is_some() => usage(
                "--budget regulates the probes of one host: with --host and --via, --host-bandwidth bounds what they send",
            ),
            (Some(_), Some(_)) => usage(
                "--sample and --host-bandwidth both say how much of the time is observed: remove one of them",
            ),
            (Some(bits), None) => Ok(TracedTime::HostBandwidth(bits)),
            (None, Some(TracedTime::Within(_))) => usage(
                "--sample auto follows what one host keeps up with: with --host and --via, name windows, such as 100ms/1s, or use --host-bandwidth",
            ),
            (None, sample) => Ok(sample.unwrap_or(Sampling::Off.into())),
        }
    }

    /// Checks the options, and names the commands that run agents, and `further` ones behind them. Call it before rights are given up.
    ///
    /// # Errors
    /// The options contradict each other, or the steward has ended.
    pub fn prepare(
        &self,
        steward: Arc<Steward>,
        filter: &FilterArgs,
        detail: DetailArg,
        tracer: &TracerArgs,
        further: Vec<DeclaredCommand>,
    ) -> Result<Agents, Failure> {
        let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
        if !filter.pids.is_empty() {
            return usage(
                "--pid names a process of one host: it cannot be used with --host, --via and --from",
            );
        }
        if filter.tls {
            return usage(
                "--tls reads text that must not leave its host: it cannot be used with --host, --via and --from",
            );
        }
        if detail == DetailArg::Ends {
            return usage(
                "--detail ends takes bytes from the memory of programs, which agents do not send: use --detail path",
            );
        }
        if self.from.is_some() && !filter.ports.is_empty() {
            return usage(
                "the agents of a fleet have options of their own: give --ports to `wirelap-fleet agent`, behind `--`",
            );
        }
        let targets = self.targets();
        if targets.len() >= MAX_HOSTS {
            return Err(Failure::Usage(format!(
                "at most {} hosts can be observed together",
                MAX_HOSTS.saturating_sub(1)
            )));
        }
        let options = options(filter, detail, tracer);
        let pushed = self.push.then(program).transpose()?;
        let commands = targets.iter().map(|target| target.command(&options, pushed.as_ref()));
        let commands = commands.chain(further).collect();
        steward.declare_commands(commands).map_err(|error| Failure::Machine(error.to_string()))?;
        Ok(Agents { targets, steward, boot: machine::boot_id(), pushed })
    }
}

/// This program, to be copied to other hosts.
fn program() -> Result<PushedProgram, Failure> {
    let bytes = std::fs::read("/proc/self/exe").map_err(|error| {
        Failure::Machine(format!("cannot read this program, to copy it: {error}"))
    })?;
    Ok(PushedProgram { version: env!("WIRELAP_VERSION").into(), bytes: bytes.into() })
}

/// The options of each agent.
fn options(filter: &FilterArgs, detail: DetailArg, tracer: &TracerArgs) -> Vec<OsString> {
    let mut options: Vec<OsString> = Vec::new();
    let detail = detail.to_possible_value().map(|value| value.get_name().to_owned());
    options.extend(["--detail".into(), detail.unwrap_or_default().into()]);
    options.extend(["--snap".into(), tracer.snap.to_string().into()]);
    if let Some(bytes) = tracer.ring_size {
        options.extend(["--ring-size".into(), bytes.to_string().into()]);
    }
    if let Some(folder) = &filter.cgroup {
        options.extend(["--cgroup".into(), folder.into()]);
    }
    if !filter.ports.is_empty() {
        let ports: Vec<String> = filter.ports.iter().map(u16::to_string).collect();
        options.extend(["--ports".into(), ports.join(",").into()]);
    }
    options
}

/// The agents of all hosts, to be started.
pub struct Agents {
    targets: Vec<HostTarget>,
    steward: Arc<Steward>,
    /// Identity of the present run of this host.
    boot: String,
    pushed: Option<PushedProgram>,
}

impl Agents {
    /// Starts them.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(&self) -> Result<MergedHosts, Failure> {
        MergedHosts::start(
            &self.targets,
            &self.steward,
            (machine::now, machine::oscillator),
            &self.boot,
            self.pushed.as_ref(),
        )
        .map_err(|error| Failure::Machine(format!("cannot start the agents: {error}")))
    }
}
