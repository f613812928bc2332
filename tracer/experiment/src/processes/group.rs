//! The process group of one trial.

use super::child::{Statement, WorkloadProcess};
use crate::hosts::{Installations, Links};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use wirelap_contract::{Role, Spec};
use wirelap_process::Failure;
use wirelap_process::Signals;

/// Longest time until a process is ready. One that ends is noticed at once; brokers in Erlang and Java need more than half a
/// minute where other programs keep the CPUs busy.
const START: Duration = Duration::from_mins(2);

/// Further time for each of the process's clients.
const EACH_CLIENT: Duration = Duration::from_millis(5);

/// Longest time in which a process ends after it was asked to.
const END: Duration = Duration::from_secs(3);

/// Longest time until the last output of a process that has exited was read. A child that it left may hold the pipe open.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// Longest time from the end of a client until the end of its broker, which caused it, is noticed.
const BROKER_END: Duration = Duration::from_millis(500);

/// Longest time from the end of a broker's program until the workload that started it has said so and ended.
const BROKER_TOLD: Duration = Duration::from_secs(10);

/// Interval at which signals and ended processes are checked for.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A statement, and the number of the process that made it.
pub type NumberedStatement = (usize, Statement);

/// Why a trial stopped before its end.
#[derive(Debug)]
pub enum TrialStopped {
    /// The user stopped it by this signal.
    Interrupted(&'static str),
    /// Something failed.
    Failed(Failure),
}

impl From<Failure> for TrialStopped {
    fn from(failure: Failure) -> TrialStopped {
        TrialStopped::Failed(failure)
    }
}

/// The processes of a trial. Dropping it stops them all.
pub struct ProcessGroup<'a> {
    installations: &'a Installations,
    /// The links between the hosts of the processes, if they have hosts of their own.
    links: Option<Links>,
    signals: &'a Signals,
    children: Vec<WorkloadProcess>,
    statements: Receiver<NumberedStatement>,
    sender: Sender<NumberedStatement>,
}

impl<'a> ProcessGroup<'a> {
    /// A group without processes.
    pub fn new(
        installations: &'a Installations,
        links: Option<Links>,
        signals: &'a Signals,
    ) -> ProcessGroup<'a> {
        let (sender, statements) = channel();
        ProcessGroup { installations, links, signals, children: Vec::new(), statements, sender }
    }

    /// Starts a process and returns its number in the group.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start(
        &mut self,
        spec: &Spec,
        title: String,
        truth: bool,
    ) -> Result<usize, TrialStopped> {
        let number = self.children.len();
        let truth = truth && spec.role != Role::Broker;
        let child = WorkloadProcess::start(
            self.installations.of(self.links.as_ref(), spec.role),
            spec,
            title,
            number,
            truth,
            self.sender.clone(),
        )?;
        self.children.push(child);
        Ok(number)
    }

    /// Waits until a process is ready.
    ///
    /// # Errors
    /// The process ends or takes too long, or the user stops the run.
    pub fn wait_ready(&mut self, number: usize) -> Result<(), TrialStopped> {
        let clients = self.children[number].clients;
        let limit = START.saturating_add(EACH_CLIENT.saturating_mul(clients));
        let deadline = Instant::now() + limit;
        while self.children[number].ready.is_none() {
            if Instant::now() > deadline {
                let child = &self.children[number];
                return Err(TrialStopped::Failed(Failure::Measured(format!(
                    "{} was not ready within {} s",
                    child.title,
                    limit.as_secs()
                ))));
            }
            self.listen()?;
        }
        Ok(())
    }

    /// Waits a short time for the next statement and takes it.
    ///
    /// # Errors
    /// A process ended before it was done, or the user stops the run.
    pub fn listen(&mut self) -> Result<(), TrialStopped> {
        if let Some(name) = self.signals.caught() {
            return Err(TrialStopped::Interrupted(name));
        }
        match self.statements.recv_timeout(POLL_INTERVAL) {
            Ok(statement) => self.take(statement),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                self.check_for_ended()
            }
        }
    }

    fn take(&mut self, (number, statement): NumberedStatement) -> Result<(), TrialStopped> {
        let child = &mut self.children[number];
        match statement {
            Statement::Ready(ready) => child.ready = Some(ready),
            Statement::Done(done) => child.done = Some(done),
            Statement::Invalid(what) => {
                return Err(Failure::Measured(format!("{}: {what}", child.title)).into());
            }
        }
        Ok(())
    }

    fn check_for_ended(&mut self) -> Result<(), TrialStopped> {
        let dead = |child: &WorkloadProcess| child.done.is_none() && child.has_exited();
        let Some(mut number) = self.children.iter().position(dead) else { return Ok(()) };
        // Its last statement may still be in the pipe.
        self.take_last_output(number)?;
        if self.children[number].done.is_none() {
            number = self.first_cause(number);
        }
        let child = &mut self.children[number];
        if child.done.is_some() {
            return Ok(());
        }
        let pid = child.working_pid();
        let when = if child.ready.is_some() { "during the run" } else { "before it was ready" };
        let end = child.describe_end(when);
        Err(Failure::Measured(format!("{} (pid {pid}) {end}", child.title)).into())
    }

    /// The process whose end is the cause: a client may end because its broker has ended, which is noticed a moment later.
    fn first_cause(&mut self, dead: usize) -> usize {
        let broker = self.children.iter().position(|child| child.role == Role::Broker);
        let Some(broker) = broker.filter(|&broker| broker != dead) else { return dead };
        let noticed = Instant::now();
        loop {
            let child = &self.children[broker];
            if child.has_exited() {
                return broker;
            }
            let limit = if child.has_stopped_working() { BROKER_TOLD } else { BROKER_END };
            if noticed.elapsed() >= limit {
                return dead;
            }
            if let Ok(statement) = self.statements.recv_timeout(POLL_INTERVAL) {
                let _ = self.take(statement);
            }
        }
    }

    /// Takes statements until a process that has exited is done, or has said all that it will.
    fn take_last_output(&mut self, number: usize) -> Result<(), TrialStopped> {
        let deadline = Instant::now() + LAST_OUTPUT;
        loop {
            let has_said_all = self.children[number].has_said_all();
            while let Ok(statement) = self.statements.try_recv() {
                self.take(statement)?;
            }
            let is_over = has_said_all || Instant::now() >= deadline;
            if self.children[number].done.is_some() || is_over {
                return Ok(());
            }
            if let Ok(statement) = self.statements.recv_timeout(POLL_INTERVAL) {
                self.take(statement)?;
            }
        }
    }

    /// Lets the senders begin.
    pub fn go(&mut self) {
        self.children.iter_mut().for_each(WorkloadProcess::go);
    }

    /// A process by its number.
    pub fn child(&self, number: usize) -> &WorkloadProcess {
        &self.children[number]
    }

    /// All processes.
    pub fn children(&self) -> &[WorkloadProcess] {
        &self.children
    }

    /// Stops all processes, senders first and brokers last, and takes their last statements. Takes at most a few seconds, even if
    /// a process does not end by itself.
    pub fn stop(&mut self) {
        let mut order: Vec<usize> = (0..self.children.len()).collect();
        order.sort_by_key(|&number| match self.children[number].role {
            Role::Pub | Role::Ping | Role::Connect => 0,
            Role::Sub | Role::Pong => 1,
            Role::Broker => 2,
        });
        for number in order {
            self.children[number].ask_to_end();
            self.wait_for_end(number);
        }
        for child in &mut self.children {
            child.reap();
        }
        while let Ok(statement) = self.statements.recv_timeout(Duration::ZERO) {
            let _ = self.take(statement);
        }
    }

    fn wait_for_end(&mut self, number: usize) {
        let deadline = Instant::now() + END;
        while !self.children[number].has_exited() && Instant::now() < deadline {
            if let Ok(statement) = self.statements.recv_timeout(POLL_INTERVAL) {
                let _ = self.take(statement);
            }
        }
        // Brokers are never done. A statement that cannot be parsed does not matter any more.
        let child = &self.children[number];
        if child.role != Role::Broker && child.has_exited() {
            let _ = self.take_last_output(number);
        }
    }
}

impl Drop for ProcessGroup<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}
