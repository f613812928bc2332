//! The processes of one middleware: broker, receiver, sender, started in this order. The tracer gets the label of each process before
//! the process opens a socket.

use crate::broker::Broker;
use crate::hosts::{Host, Installations};
use crate::processes::{ProcessGroup, TrialStopped};
use crate::trial::Trial;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, ToSocketAddrs};
use std::time::{Duration, Instant};
use wirelap_contract::{Done, Role, Spec};
use wirelap_correlate::Label;
use wirelap_events::Pid;
use wirelap_session::Commands;
use wirelap_session::machine;
use wirelap_session::meter::Meter;

/// Time in which the processes settle before they count as idle: what a library does after it has connected is its start.
const AFTER_START: Duration = Duration::from_secs(1);

/// A process of a trial with its role.
#[derive(Clone, Debug)]
pub struct RoleProcess {
    /// The role of the process.
    pub role: Role,
    /// The process id.
    pub pid: u32,
    /// The name of the process.
    pub name: String,
    /// The CPU time and memory that the process uses while messages are sent.
    pub meter: Option<Meter>,
    /// The CPU time and memory that it used before, connected and idle, if that was measured.
    pub idle: Option<Meter>,
    /// The statement `DONE`, if the process made it.
    pub done: Option<Done>,
}

/// The processes of one middleware. Dropping this value stops them.
pub struct WorkloadProcesses<'a> {
    trial: &'a Trial,
    /// True if the processes stay when all is done.
    stay: bool,
    commands: Commands,
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

    /// Starts all processes and waits until they are ready; senders then wait for [`WorkloadProcesses::go`].
    ///
    /// # Errors
    /// One of the processes does not get ready, or the user stops the run.
    pub fn assemble(&mut self) -> Result<(), TrialStopped> {
        let (sender, receiver) = self.trial.roles();
        let broker = self.start_broker()?;
        let own = self.own_address(receiver);
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
        for process in self.processes.iter_mut().chain(&mut self.running_broker) {
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
        for process in self.processes.iter_mut().chain(&mut self.running_broker) {
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
                let own = self.own_address(Role::Broker);
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
    fn own_address(&self, role: Role) -> String {
        let address = match self.trial.workloads.links {
            Some(_) => Host::of(role).address(),
            None => Ipv4Addr::LOCALHOST,
        };
        format!("{address}:{}", self.trial.workloads.port)
    }

    fn endpoint(&self, number: usize) -> String {
        self.group.child(number).ready.as_ref().map(|r| r.endpoint.clone()).unwrap_or_default()
    }

    /// Starts a process and waits until it is ready.
    fn start(&mut self, role: Role, endpoint: &str) -> Result<usize, TrialStopped> {
        let spec = Spec { stay: self.stay, ..self.trial.spec(role, endpoint) };
        let number = self.group.start(&spec, title(self.trial, role), self.trial.truth)?;
        let first = self.group.child(number).pid();
        self.label(Vec::new(), vec![Pid(first)]);
        self.group.wait_ready(number)?;
        let pid = self.group.child(number).working_pid();
        if pid != first {
            self.label(Vec::new(), vec![Pid(pid)]);
        }
        let (name, meter) = (machine::name(pid), Meter::start(pid));
        self.processes.push(RoleProcess { role, pid, name, meter, idle: None, done: None });
        if !matches!(role, Role::Ping | Role::Pub | Role::Connect) {
            self.follow(&self.endpoint(number));
        }
        Ok(number)
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
    Some(RoleProcess { role: Role::Broker, pid, name, meter, idle: None, done: None })
}

/// The name of a process in messages: `the mqtt broker (mosquitto)`.
fn title(trial: &Trial, role: Role) -> String {
    let (name, role_name) = (trial.name(), role.name());
    match (&trial.broker, role) {
        (Some(broker), Role::Broker) => format!("the {name} broker ({})", broker.name()),
        _ => format!("the {name} {role_name} workload"),
    }
}
