//! Commands to the thread that traces.

use crate::sampling::Sampling;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use wirelap_correlate::Label;

/// A command to the thread.
#[derive(Debug)]
pub enum Command {
    /// Follow a port too.
    Port(u16),
    /// Name a row, and whom to tell when it holds.
    Label(Label, Sender<()>),
    /// The workloads begin.
    Begin(Sampling),
    /// Attach and detach alternately, for so long each.
    Alternate(Duration),
    /// Take in what is on its way, and end.
    End,
}

/// Gives commands to a tracer's thread. A thread that has ended tells so by its findings, not here.
#[derive(Clone, Debug)]
pub struct Commands(Sender<Command>);

impl Commands {
    /// The two ends.
    pub fn channel() -> (Commands, Receiver<Command>) {
        let (commands, taken) = channel();
        (Commands(commands), taken)
    }

    /// Follows a port too.
    pub fn follow_port(&self, port: u16) {
        self.give(Command::Port(port));
    }

    /// Names a row. Returns once the name holds: traffic from now on is in that row.
    pub fn label(&self, label: Label) {
        let (done, wait) = channel();
        self.give(Command::Label(label, done));
        // An error means that the thread has ended, which is told elsewhere.
        let _ = wait.recv();
    }

    /// The workloads begin: from here on the tracer's cost counts, and events are sampled.
    pub fn begin(&self, sampling: Sampling) {
        self.give(Command::Begin(sampling));
    }

    /// From here on the probes are attached and detached by turns of this length.
    pub fn alternate(&self, turn: Duration) {
        self.give(Command::Alternate(turn));
    }

    /// Gives a command.
    pub fn give(&self, order: Command) {
        let _ = self.0.send(order);
    }
}
