//! Commands to the thread of a tracing session.

use crate::sampling::TracedTime;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use wirelap_correlate::{BreakdownQuery, Label};
use wirelap_events::GroupId;
use wirelap_recording::KeptParts;

/// A command to the thread of a session.
#[derive(Debug)]
pub enum SessionCommand {
    /// Trace the traffic of a further port.
    Port(u16),
    /// Name a row, and report on the channel when the name is in use.
    Label(Label, Sender<()>),
    /// Make other rows of the breakdown, or list others of them.
    Breakdown(BreakdownQuery),
    /// Mute a row, so that nothing is observed of it, or end that.
    MuteRow(GroupId, bool),
    /// Send what is kept in memory.
    Kept(Sender<KeptParts>),
    /// Start to measure: the workloads begin now.
    Begin(TracedTime),
    /// Attach and detach the probes alternately; each phase has this length. After so many phases, end.
    Alternate(Duration, usize),
    /// Take the events that are still in the ring buffer, then end.
    End,
}

/// Sends commands to the thread of a session. Commands to a thread that has ended are ignored: the error of that thread is in
/// its findings.
#[derive(Clone, Debug)]
pub struct Commands(Sender<SessionCommand>);

impl Commands {
    /// A sender of commands, and the receiver for the thread.
    pub fn channel() -> (Commands, Receiver<SessionCommand>) {
        let (commands, receiver) = channel();
        (Commands(commands), receiver)
    }

    /// Traces the traffic of a further port.
    pub fn follow_port(&self, port: u16) {
        self.send(SessionCommand::Port(port));
    }

    /// Names a row. Returns once the name is in use: later traffic is counted in that row.
    pub fn label(&self, label: Label) {
        let (done, wait) = channel();
        self.send(SessionCommand::Label(label, done));
        // An error means that the thread has ended, which its findings report.
        let _ = wait.recv();
    }

    /// Makes other rows of the breakdown, or lists others of them. Rows by something else count from now on.
    pub fn breakdown(&self, query: BreakdownQuery) {
        self.send(SessionCommand::Breakdown(query));
    }

    /// Mutes a row: nothing more is observed of it, and its figures stay as they are; or ends that. A session that mutes nothing
    /// ([`Muting`](crate::Muting)) ignores it.
    pub fn mute_row(&self, group: GroupId, mute: bool) {
        self.send(SessionCommand::MuteRow(group, mute));
    }

    /// The newest events, if the session keeps some in memory.
    pub fn kept(&self) -> KeptParts {
        let (parts, wait) = channel();
        self.send(SessionCommand::Kept(parts));
        // An error means that the thread has ended, which its findings report.
        wait.recv().unwrap_or_default()
    }

    /// Starts to measure the tracer's own cost and to sample events, because the workloads begin now.
    pub fn begin(&self, traced: impl Into<TracedTime>) {
        self.send(SessionCommand::Begin(traced.into()));
    }

    /// Attaches and detaches the probes alternately from now on; each phase has the length `phase`. After so many phases, the session
    /// ends.
    pub fn alternate(&self, phase: Duration, phases: usize) {
        self.send(SessionCommand::Alternate(phase, phases));
    }

    /// Sends a command.
    pub fn send(&self, command: SessionCommand) {
        let _ = self.0.send(command);
    }
}
