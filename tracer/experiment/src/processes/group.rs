//! The processes of one trial together.

use super::child::{Child, Statement};
use super::installation::Installation;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use wirelap_contract::{Role, Spec};
use wirelap_process::Failure;
use wirelap_process::Signals;

/// How long a process may take to be ready.
const START: Duration = Duration::from_secs(30);

/// How long a process may take to end when it is told to.
const END: Duration = Duration::from_secs(3);

/// How long the last words of a process that has exited may take through the pipe.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// How long the death of a broker may take to come to light after its clients'.
const BROKER_DEATH: Duration = Duration::from_millis(500);

/// How often signals and deaths are looked for.
const LOOK: Duration = Duration::from_millis(10);

/// Something that a process said.
pub type Heard = (usize, Statement);

/// Why a trial cannot go on.
#[derive(Debug)]
pub enum Trouble {
    /// The user wants to stop; the signal's name.
    Interrupted(&'static str),
    /// Something went wrong.
    Failed(Failure),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Trouble {
        Trouble::Failed(failure)
    }
}

/// The processes of a trial. Dropping it stops them all.
pub struct ProcessGroup<'a> {
    installation: &'a Installation,
    signals: &'a Signals,
    children: Vec<Child>,
    heard: Receiver<Heard>,
    say: Sender<Heard>,
}

impl<'a> ProcessGroup<'a> {
    /// Nobody yet.
    pub fn new(installation: &'a Installation, signals: &'a Signals) -> ProcessGroup<'a> {
        let (say, heard) = channel();
        ProcessGroup { installation, signals, children: Vec::new(), heard, say }
    }

    /// Starts a process and gives its number.
    ///
    /// # Errors
    /// It cannot be executed.
    pub fn start(&mut self, spec: &Spec, title: String, truth: bool) -> Result<usize, Trouble> {
        let number = self.children.len();
        let truth = truth && spec.role != Role::Broker;
        let child = Child::start(self.installation, spec, title, number, truth, self.say.clone())?;
        self.children.push(child);
        Ok(number)
    }

    /// Waits until a process is ready.
    ///
    /// # Errors
    /// It dies, takes too long, or the user interrupts.
    pub fn wait_ready(&mut self, number: usize) -> Result<(), Trouble> {
        let deadline = Instant::now() + START;
        while self.children[number].ready.is_none() {
            if Instant::now() > deadline {
                let child = &self.children[number];
                return Err(Trouble::Failed(Failure::Measured(format!(
                    "{} was not ready after {} s",
                    child.title,
                    START.as_secs()
                ))));
            }
            self.listen()?;
        }
        Ok(())
    }

    /// Takes in what was said within a short time.
    ///
    /// # Errors
    /// A process died before it was done, or the user interrupts.
    pub fn listen(&mut self) -> Result<(), Trouble> {
        if let Some(name) = self.signals.caught() {
            return Err(Trouble::Interrupted(name));
        }
        match self.heard.recv_timeout(LOOK) {
            Ok(heard) => self.take(heard),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                self.look_for_deaths()
            }
        }
    }

    fn take(&mut self, (number, said): Heard) -> Result<(), Trouble> {
        let child = &mut self.children[number];
        match said {
            Statement::Ready(ready) => child.ready = Some(ready),
            Statement::Done(done) => child.done = Some(done),
            Statement::Nonsense(what) => {
                return Err(Failure::Measured(format!("{}: {what}", child.title)).into());
            }
        }
        Ok(())
    }

    fn look_for_deaths(&mut self) -> Result<(), Trouble> {
        let dead = |child: &Child| child.done.is_none() && child.has_exited();
        let Some(mut number) = self.children.iter().position(dead) else { return Ok(()) };
        // What it said last may still be on its way through the pipe.
        self.hear_out(number, LAST_WORDS)?;
        if self.children[number].done.is_none() {
            number = self.first_cause(number);
        }
        let child = &mut self.children[number];
        if child.done.is_some() {
            return Ok(());
        }
        let pid = child.working_pid();
        let when = if child.ready.is_some() { "in mid-run" } else { "before it was ready" };
        let epitaph = child.epitaph(when);
        Err(Failure::Measured(format!("{} (pid {pid}) {epitaph}", child.title)).into())
    }

    /// A client of a broker that dies may notice before we do: then the broker is to be named.
    fn first_cause(&mut self, dead: usize) -> usize {
        let broker = self.children.iter().position(|child| child.role == Role::Broker);
        let Some(broker) = broker.filter(|&broker| broker != dead) else { return dead };
        let deadline = Instant::now() + BROKER_DEATH;
        while Instant::now() < deadline {
            if self.children[broker].has_exited() {
                return broker;
            }
            if let Ok(heard) = self.heard.recv_timeout(LOOK) {
                let _ = self.take(heard);
            }
        }
        dead
    }

    /// Listens until a process is done, or for a time.
    fn hear_out(&mut self, number: usize, time: Duration) -> Result<(), Trouble> {
        let deadline = Instant::now() + time;
        while self.children[number].done.is_none() {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { break };
            match self.heard.recv_timeout(left) {
                Ok(heard) => self.take(heard)?,
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Lets the senders begin.
    pub fn go(&mut self) {
        self.children.iter_mut().for_each(Child::go);
    }

    /// A process by its number.
    pub fn child(&self, number: usize) -> &Child {
        &self.children[number]
    }

    /// All processes.
    pub fn children(&self) -> &[Child] {
        &self.children
    }

    /// Stops all processes, senders first and brokers last, and hears them out. Takes at most a few
    /// seconds, whatever they do.
    pub fn stop(&mut self) {
        let mut order: Vec<usize> = (0..self.children.len()).collect();
        order.sort_by_key(|&number| match self.children[number].role {
            Role::Pub | Role::Ping => 0,
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
        while let Ok(heard) = self.heard.recv_timeout(Duration::ZERO) {
            let _ = self.take(heard);
        }
    }

    fn wait_for_end(&mut self, number: usize) {
        let deadline = Instant::now() + END;
        while !self.children[number].has_exited() && Instant::now() < deadline {
            if let Ok(heard) = self.heard.recv_timeout(LOOK) {
                let _ = self.take(heard);
            }
        }
        // Nonsense said at the end no longer matters.
        let _ = self.hear_out(number, LAST_WORDS);
    }
}

impl Drop for ProcessGroup<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}
