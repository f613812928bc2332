//! The processes of one middleware: broker, receiver, sender, started in this order. The tracer gets the label of each process before
//! the process opens a socket.

use crate::broker::Broker;
use crate::host_numbers::HostNumbers;
use crate::hosts::{Host, Installations};
use crate::placement::{HERE, PlacedHost, Placement};
use crate::processes::{ProcessGroup, TrialStopped, WorkloadProcess};
use crate::trial::Trial;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};
use wirelap_contract::{Done, HostAddress, LinkTransport, Role, Spec};
use wirelap_correlate::Label;
use wirelap_events::Pid;
use wirelap_process::Failure;
use wirelap_session::Commands;
use wirelap_session::machine;
use wirelap_session::meter::Meter;

/// Time in which the processes settle before they count as idle: what a library does after it has connected is its start.
const AFTER_START: Duration = Duration::from_secs(1);

/// Longest time in which a host says why it cannot reach an address.
const REACH: Duration = Duration::from_secs(20);

/// A process of a trial with its role.
#[derive(Clone, Debug)]
pub struct RoleProcess {
    /// The role of the process.
    pub role: Role,
    /// The process id on its host.
    pub pid: u32,
    /// The process as the trace knows it, with the number of its host.
    pub traced_as: Pid,
    /// Name of the host that it runs on, if roles are placed.
    pub host: Option<String>,
    /// The name of the process.
    pub name: String,
    /// The CPU time and memory that the process uses while messages are sent.
    pub meter: Option<Meter>,
    /// The CPU time and memory that it used before, connected and idle, if that was measured.
    pub idle: Option<Meter>,
    /// The statement `DONE`, if the process made it.
    pub done: Option<Done>,
}

impl RoleProcess {
    /// True if it runs on the host that wirelap runs on.
    fn is_here(&self) -> bool {
        self.host.as_ref().is_none_or(|host| host == HERE)
    }
}

/// The processes of one middleware. Dropping this value stops them.
pub struct WorkloadProcesses<'a> {
    trial: &'a Trial,
    /// True if the processes stay when all is done.
    stay: bool,
    commands: Commands,
    placement: Option<&'a Placement>,
    hosts: HostNumbers,
    processes: Vec<RoleProcess>,
    /// The broker, if it was running before on this machine.
    running_broker: Option<RoleProcess>,
    /// The process group.
    pub group: ProcessGroup<'a>,
    /// The sender's number in the group, once it is ready.
    pub sender: usize,
    /// The receiver's number in the group, if there is a receiver.
    pub receiver: Option<usize>,
}

impl<'a> WorkloadProcesses<'a> {
    /// No processes yet.
    pub fn new(
        trial: &'a Trial,
        installations: &'a Installations,
        signals: &'a wirelap_process::Signals,
        commands: Commands,
    ) -> WorkloadProcesses<'a> {
        let group = ProcessGroup::new(installations, trial.workloads.links, signals);
        WorkloadProcesses {
            trial,
            stay: false,
            commands,
            placement: installations.placement(),
            hosts: HostNumbers::default(),
            processes: Vec::new(),
            running_broker: None,
            group,
            sender: 0,
            receiver: None,
        }
    }

    /// The same that stay when all is done, if `stay` is set, so that they can go on.
    #[must_use]
    pub fn staying(self, stay: bool) -> WorkloadProcesses<'a> {
        WorkloadProcesses { stay, ..self }
    }

    /// The same on several hosts, which the trace knows by these numbers.
    #[must_use]
    pub fn on_hosts(self, hosts: HostNumbers) -> WorkloadProcesses<'a> {
        WorkloadProcesses { hosts, ..self }
    }

    /// Starts all processes and waits until they are ready; senders then wait for [`WorkloadProcesses::go`].
    ///
    /// # Errors
    /// One of the processes does not get ready, or the user stops the run.
    pub fn assemble(&mut self) -> Result<(), TrialStopped> {
        let (sender, receiver) = self.trial.roles();
        let broker = self.start_broker()?;
        let own = self.own_address(receiver)?;
        // A middleware without a receiver is answered by something else: ICMP echo by the kernel, for instance.
        if !self.trial.connects() && self.trial.about.can(receiver) {
            self.receiver = Some(self.start(receiver, broker.as_deref().unwrap_or(&own))?);
        }
        let server = broker.or_else(|| Some(self.endpoint(self.receiver?))).unwrap_or(own);
        self.sender = self.start(sender, &server)?;
        Ok(())
    }

    /// Leaves the processes idle for `time` and measures them, with a sample each `interval`. Their start is not measured.
    ///
    /// # Errors
    /// One of the processes ends, or the user stops the run.
    pub fn stay_idle(&mut self, time: Duration, interval: Duration) -> Result<(), TrialStopped> {
        if time.is_zero() {
            return Ok(());
        }
        self.wait(AFTER_START, interval)?;
        self.restart_meters();
        self.wait(time, interval)?;
        for process in self.processes.iter_mut().chain(&mut self.running_broker) {
            process.idle.clone_from(&process.meter);
        }
        Ok(())
    }

    /// Takes samples until a time is over.
    fn wait(&mut self, time: Duration, interval: Duration) -> Result<(), TrialStopped> {
        let began = Instant::now();
        let mut sampled = began;
        while began.elapsed() < time {
            self.group.listen()?;
            if sampled.elapsed() >= interval {
                sampled = Instant::now();
                self.sample();
            }
        }
        self.sample();
        Ok(())
    }

    fn restart_meters(&mut self) {
        let all = self.processes.iter_mut().chain(&mut self.running_broker);
        for process in all.filter(|process| process.is_here()) {
            process.meter = Meter::start(process.pid);
        }
    }

    /// Starts to measure the processes and lets the sender begin.
    pub fn go(&mut self) {
        self.restart_meters();
        self.group.go();
    }

    /// Lets a sender that stays go on.
    pub fn go_on(&mut self) {
        self.group.go();
    }

    /// Has another session trace the ports of these processes.
    pub fn follow_again(&self, commands: &Commands) {
        let ports = [Role::Broker, Role::Sub, Role::Pong].into_iter().flat_map(|role| {
            let children = self.group.children().iter().filter(move |child| child.role == role);
            children.filter_map(|child| port(&child.ready.as_ref()?.endpoint))
        });
        let running = match &self.trial.broker {
            Some(Broker::Running(address)) => port(address),
            Some(Broker::Own(_)) | None => None,
        };
        ports.chain(running).for_each(|port| commands.follow_port(port));
    }

    /// The middleware's name.
    pub fn name(&self) -> &str {
        self.trial.name()
    }

    /// The statement `DONE` of the sender, once it was received.
    pub fn sender_done(&self) -> Option<&Done> {
        self.group.child(self.sender).done.as_ref()
    }

    /// True if the receiver has received all messages that it waits for, or if there is no receiver.
    pub fn is_receiver_done(&self) -> bool {
        self.receiver.is_none_or(|receiver| self.group.child(receiver).done.is_some())
    }

    /// Samples the CPU time, the memory and the names of the processes.
    pub fn sample(&mut self) {
        let all = self.processes.iter_mut().chain(&mut self.running_broker);
        for process in all.filter(|process| process.is_here()) {
            process.meter.iter_mut().for_each(Meter::sample);
            // A process may have executed another program since it was ready.
            let name = machine::name(process.pid);
            if !name.is_empty() {
                process.name = name;
            }
        }
    }

    /// The processes that got ready, with their statements `DONE`.
    pub fn processes(&self) -> Vec<RoleProcess> {
        let done = self.group.children().iter().map(|child| child.done.clone());
        self.processes
            .iter()
            .zip(done)
            .map(|(process, done)| RoleProcess { done, ..process.clone() })
            .chain(self.running_broker.clone())
            .collect()
    }

    /// A process as the trace knows it, with the number of its host.
    pub fn traced_as(&self, child: &WorkloadProcess) -> Pid {
        self.hosts.on_host(child.working_pid(), child.elsewhere.as_deref())
    }

    /// The versions by name and the settings by `ROLE.NAME` that the processes reported.
    pub fn reported(&self) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
        let (mut versions, mut settings) = (BTreeMap::new(), BTreeMap::new());
        for child in self.group.children() {
            let Some(ready) = &child.ready else { continue };
            versions.extend(ready.versions.clone());
            let role = child.role.name();
            let own = ready.settings.iter().map(|(name, value)| (name, value.clone()));
            settings.extend(own.map(|(name, value)| (format!("{role}.{name}"), value)));
        }
        (versions, settings)
    }

    /// Starts the broker if it is not running. Returns its address; `None` if the middleware uses no broker.
    fn start_broker(&mut self) -> Result<Option<String>, TrialStopped> {
        match &self.trial.broker {
            None => Ok(None),
            Some(Broker::Own(_)) => {
                let own = self.own_address(Role::Broker)?;
                let broker = self.start(Role::Broker, &own)?;
                Ok(Some(self.endpoint(broker)))
            }
            Some(Broker::Running(address)) => {
                self.follow(address);
                self.running_broker = self.trial.running_broker.and_then(running);
                Ok(Some(address.clone()))
            }
        }
    }

    /// Returns the address at which the process of a role listens.
    fn own_address(&self, role: Role) -> Result<String, TrialStopped> {
        let address = match (self.placement, self.trial.workloads.links) {
            (Some(_), _) => self.placed_at(role)?.map(|own| own.address),
            (None, Some(_)) => Some(Host::of(role).address().into()),
            (None, None) => None,
        };
        let address = address.unwrap_or(Ipv4Addr::LOCALHOST.into());
        Ok(SocketAddr::new(address, self.trial.workloads.port).to_string())
    }

    /// The address and network interface that a role has for the others of the trial; `None` if roles are not placed.
    fn placed_at(&self, role: Role) -> Result<Option<HostAddress>, TrialStopped> {
        let Some(placement) = self.placement else { return Ok(None) };
        let (sender, receiver) = self.trial.roles();
        let broker = matches!(self.trial.broker, Some(Broker::Own(_))).then_some(Role::Broker);
        let others: Vec<Role> = [sender, receiver].into_iter().chain(broker).collect();
        Ok(Some(placement.address(role, &others)?))
    }

    fn endpoint(&self, number: usize) -> String {
        self.group.child(number).ready.as_ref().map(|r| r.endpoint.clone()).unwrap_or_default()
    }

    /// Starts a process and waits until it is ready.
    fn start(&mut self, role: Role, endpoint: &str) -> Result<usize, TrialStopped> {
        let mut spec = Spec { stay: self.stay, ..self.trial.spec(role, endpoint) };
        // Nobody need reach a sender.
        if let Ok(Some(HostAddress { interface, .. })) = self.placed_at(role) {
            spec.interface = interface;
        }
        let host = self.placement.map(|placement| placement.host(role));
        let title = title(self.trial, role, host);
        let number = self.group.start(&spec, title, self.trial.truth)?;
        let child = self.group.child(number);
        let elsewhere = child.elsewhere.clone();
        let first = child.pid();
        if elsewhere.is_none() {
            self.label(Vec::new(), vec![Pid(first)]);
        }
        if let Err(stopped) = self.group.wait_ready(number) {
            return Err(self.explained(stopped, role, endpoint));
        }
        let pid = self.group.child(number).working_pid();
        let traced_as = self.hosts.on_host(pid, elsewhere.as_deref());
        if traced_as != Pid(first) || elsewhere.is_some() {
            self.label(Vec::new(), vec![traced_as]);
        }
        let (name, meter) = match &elsewhere {
            Some(_) => (program_name(self.trial, role), None),
            None => (machine::name(pid), Meter::start(pid)),
        };
        let host = host.map(|host| host.name.clone());
        let process =
            RoleProcess { role, pid, traced_as, host, name, meter, idle: None, done: None };
        self.processes.push(process);
        if !matches!(role, Role::Ping | Role::Pub | Role::Connect) {
            self.follow(&self.endpoint(number));
        }
        Ok(number)
    }

    /// The failure of a client, with what its host says of the address that it had to connect to.
    fn explained(&self, stopped: TrialStopped, role: Role, endpoint: &str) -> TrialStopped {
        let TrialStopped::Failed(Failure::Measured(text)) = &stopped else { return stopped };
        let Some(placement) = self.placement else { return stopped };
        let is_answered_here =
            matches!(role, Role::Sub | Role::Pong) && self.trial.broker.is_none();
        let is_server = role == Role::Broker || is_answered_here;
        if is_server || self.trial.transport() != Some(LinkTransport::Tcp) {
            return stopped;
        }
        let host = placement.host(role);
        let answer = host.installation.answer(&["reach", endpoint], REACH);
        match answer {
            Ok(answer) if answer.status == Some(0) => stopped,
            Ok(answer) if !answer.said.is_empty() => Failure::Measured(format!(
                "{text}; from {}, {}: check addresses (--place ROLE=HOST/ADDRESS), the port (--port) and firewalls",
                host.name, answer.said
            ))
            .into(),
            _ => stopped,
        }
    }

    /// Traces the port of an address and labels its traffic with the trial's name.
    fn follow(&self, address: &str) {
        if let Some(port) = port(address) {
            self.commands.follow_port(port);
            self.label(vec![port], Vec::new());
        }
    }

    fn label(&self, ports: Vec<u16>, pids: Vec<Pid>) {
        let broker = self.trial.broker.as_ref().map(|broker| broker.name().to_owned());
        let name = self.trial.name().to_owned();
        self.commands.label(Label { name, broker, ports, pids });
    }
}

/// The port of an address; `None` if it has none.
fn port(address: &str) -> Option<u16> {
    let address = address.rsplit_once('/').map_or(address, |(_, rest)| rest);
    let known = address.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    known.map(|address| address.port()).filter(|&port| port != 0)
}

/// A broker that was running before; `None` if it has ended.
fn running(pid: u32) -> Option<RoleProcess> {
    let (name, meter) = (machine::name(pid), Some(Meter::start(pid)?));
    let (role, traced_as) = (Role::Broker, Pid(pid));
    Some(RoleProcess { role, pid, traced_as, host: None, name, meter, idle: None, done: None })
}

/// The name of a process on another host.
fn program_name(trial: &Trial, role: Role) -> String {
    let broker = trial.broker.as_ref().filter(|_| role == Role::Broker);
    broker.map_or("wirelap-workload", Broker::name).to_owned()
}

/// The name of a process in messages: `the mqtt broker (mosquitto) on hub`.
fn title(trial: &Trial, role: Role, host: Option<&PlacedHost>) -> String {
    let (name, role_name) = (trial.name(), role.name());
    let title = match (&trial.broker, role) {
        (Some(broker), Role::Broker) => format!("the {name} broker ({})", broker.name()),
        _ => format!("the {name} {role_name} workload"),
    };
    match host.filter(|host| !host.is_here()) {
        Some(host) => format!("{title} on {}", host.name),
        None => title,
    }
}
