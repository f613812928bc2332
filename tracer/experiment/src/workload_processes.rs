//! The processes of one middleware: broker, receiver, sender, started in this order, each named to the
//! tracer before it opens a socket.

use crate::choice::Broker;
use crate::processes::{Installation, ProcessGroup, Trouble};
use crate::trial::Trial;
use std::collections::BTreeMap;
use std::net::ToSocketAddrs;
use wirelap_contract::{Done, Role};
use wirelap_correlate::Label;
use wirelap_events::Pid;
use wirelap_session::Commands;
use wirelap_session::machine::{self, Meter};

/// A process that takes part.
#[derive(Clone, Debug)]
pub struct RoleProcess {
    /// What it does.
    pub role: Role,
    /// Its id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// What it uses.
    pub meter: Option<Meter>,
    /// What it said in the end.
    pub done: Option<Done>,
}

/// The processes of one middleware. Dropping it stops them.
pub struct WorkloadProcesses<'a> {
    trial: &'a Trial,
    commands: Commands,
    parts: Vec<RoleProcess>,
    /// The processes themselves.
    pub group: ProcessGroup<'a>,
    /// The sender's number in the group, once it is ready.
    pub sender: usize,
    /// The receiver's, if there is one.
    pub receiver: Option<usize>,
}

impl<'a> WorkloadProcesses<'a> {
    /// Nobody yet.
    pub fn new(
        trial: &'a Trial,
        installation: &'a Installation,
        signals: &'a wirelap_process::Signals,
        commands: Commands,
    ) -> WorkloadProcesses<'a> {
        let group = ProcessGroup::new(installation, signals);
        WorkloadProcesses { trial, commands, parts: Vec::new(), group, sender: 0, receiver: None }
    }

    /// Starts all processes and waits until they are ready; senders then wait for [`WorkloadProcesses::go`].
    ///
    /// # Errors
    /// One of them does not get ready, or the user interrupts.
    pub fn assemble(&mut self) -> Result<(), Trouble> {
        let (sender, receiver) = self.trial.roles();
        let broker = self.start_broker()?;
        let own = self.own_address();
        // Without a receiver somebody else answers, such as the kernel.
        if self.trial.about.can(receiver) {
            self.receiver = Some(self.start(receiver, broker.as_deref().unwrap_or(&own))?);
        }
        let server = broker.or_else(|| Some(self.endpoint(self.receiver?))).unwrap_or(own);
        self.sender = self.start(sender, &server)?;
        Ok(())
    }

    /// Lets the sender begin.
    pub fn go(&mut self) {
        for part in &mut self.parts {
            part.meter = Meter::start(part.pid);
        }
        self.group.go();
    }

    /// The middleware's name.
    pub fn name(&self) -> &str {
        self.trial.name()
    }

    /// What the sender said in the end.
    pub fn sender_done(&self) -> Option<&Done> {
        self.group.child(self.sender).done.as_ref()
    }

    /// Whether the receiver has all that it was told to wait for.
    pub fn is_receiver_done(&self) -> bool {
        self.receiver.is_none_or(|receiver| self.group.child(receiver).done.is_some())
    }

    /// Looks at what the processes use.
    pub fn look(&mut self) {
        for part in &mut self.parts {
            part.meter.iter_mut().for_each(Meter::sample);
            // One that was ready may since have become another program.
            let name = machine::name(part.pid);
            if !name.is_empty() {
                part.name = name;
            }
        }
    }

    /// The processes that got ready, with what they said in the end.
    pub fn parts(&self) -> Vec<RoleProcess> {
        let done = self.group.children().iter().map(|child| child.done.clone());
        self.parts
            .iter()
            .zip(done)
            .map(|(part, done)| RoleProcess { done, ..part.clone() })
            .collect()
    }

    /// Versions, and settings with the role in front, as the processes told them.
    pub fn told(&self) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
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

    /// The address of the broker; `None` without one.
    fn start_broker(&mut self) -> Result<Option<String>, Trouble> {
        match &self.trial.broker {
            None => Ok(None),
            Some(Broker::Own(_)) => {
                let own = self.own_address();
                let broker = self.start(Role::Broker, &own)?;
                Ok(Some(self.endpoint(broker)))
            }
            Some(Broker::Running(address)) => {
                self.follow(address);
                Ok(Some(address.clone()))
            }
        }
    }

    fn own_address(&self) -> String {
        format!("127.0.0.1:{}", self.trial.workloads.port)
    }

    fn endpoint(&self, number: usize) -> String {
        self.group.child(number).ready.as_ref().map(|r| r.endpoint.clone()).unwrap_or_default()
    }

    /// Starts a process and waits until it is ready.
    fn start(&mut self, role: Role, endpoint: &str) -> Result<usize, Trouble> {
        let spec = self.trial.spec(role, endpoint);
        let number = self.group.start(&spec, title(self.trial, role), self.trial.truth)?;
        let first = self.group.child(number).pid();
        self.label(Vec::new(), vec![Pid(first)]);
        self.group.wait_ready(number)?;
        let pid = self.group.child(number).working_pid();
        if pid != first {
            self.label(Vec::new(), vec![Pid(pid)]);
        }
        let (name, meter) = (machine::name(pid), Meter::start(pid));
        self.parts.push(RoleProcess { role, pid, name, meter, done: None });
        if !matches!(role, Role::Ping | Role::Pub) {
            self.follow(&self.endpoint(number));
        }
        Ok(number)
    }

    /// Traces an address's port and gives its traffic the trial's name.
    fn follow(&self, address: &str) {
        let address = address.rsplit_once('/').map_or(address, |(_, rest)| rest);
        let known = address.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
        if let Some(port) = known.map(|address| address.port()).filter(|&port| port != 0) {
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

/// `the mqtt broker (mosquitto)`.
fn title(trial: &Trial, role: Role) -> String {
    let (name, role_name) = (trial.name(), role.name());
    match (&trial.broker, role) {
        (Some(broker), Role::Broker) => format!("the {name} broker ({})", broker.name()),
        _ => format!("the {name} {role_name} workload"),
    }
}
