//! Who is who in a result: names for the ends of each leg.

use super::words::clean;
use crate::why::Task;
use crate::{Pacing, Process, Reliability, RunResult, human};
use wirelap_events::Segment;

/// The kernel's name of our own workloads: cut after 15 bytes.
const WORKLOAD: &str = "wirelap-workloa";

/// The names of those that a message passes.
#[derive(Clone, Debug)]
pub struct Participants<'a> {
    result: &'a RunResult,
    sender: String,
    receiver: String,
    forwarder: String,
    legs: u8,
}

impl<'a> Participants<'a> {
    /// From a result's processes.
    pub fn of(result: &'a RunResult, pacing: Pacing) -> Participants<'a> {
        let legs = result.segments.iter().map(|row| row.leg).max().unwrap_or(1).max(1);
        let end = |roles: &[&str], otherwise: &str| match pacing {
            // Pings and answers are taken together: each end is both.
            Pacing::PingPong => otherwise.to_owned(),
            _ => end(&result.processes, roles, otherwise),
        };
        Participants {
            result,
            sender: end(&["pub", "publisher"], "the sender"),
            receiver: end(&["sub", "subscriber"], "the receiver"),
            forwarder: forwarder(result),
            legs,
        }
    }

    /// Whether the result's figures can be used.
    pub fn is_usable(&self) -> bool {
        self.result.trust.verdict != Reliability::Unusable
    }

    /// Legs of a message.
    pub fn legs(&self) -> u8 {
        self.legs
    }

    /// Who sends and who receives on a leg, 1 for the first.
    pub fn ends(&self, leg: u8) -> (&str, &str) {
        let sender = if leg <= 1 { &self.sender } else { &self.forwarder };
        let receiver = if leg >= self.legs { &self.receiver } else { &self.forwarder };
        (sender, receiver)
    }

    /// What is between sender and receiver.
    pub fn forwarder(&self) -> &str {
        &self.forwarder
    }

    /// A thread, by the name that its process has on this page: `mosquitto (pid 4021)`.
    pub fn who(&self, task: &Task) -> String {
        let name = self.name(task);
        let host = task.host.map(|host| format!(", {}", human::host(host))).unwrap_or_default();
        match (name.is_empty(), task.pid) {
            (true, 0) => "an unknown thread".into(),
            (true, pid) => format!("pid {pid}{host}"),
            (false, 0) => name,
            (false, pid) => format!("{name} (pid {pid}{host})"),
        }
    }

    /// The same without its number; empty if it has no name.
    pub fn name(&self, task: &Task) -> String {
        let process = self.result.processes.iter().find(|process| task.is_of(process));
        match process {
            Some(process) if process.role == "broker" => self.forwarder.clone(),
            Some(process) if is_workload(&process.name) => role_in_words(&process.role),
            Some(process) if task.name.is_empty() => clean(&process.name),
            _ => clean(&task.name),
        }
    }

    /// What happens in a segment, in words.
    pub fn step(&self, leg: u8, segment: &str) -> String {
        let (from, to) = self.ends(leg);
        let known = Segment::ALL.into_iter().find(|known| known.name() == segment);
        let Some(segment) = known else { return clean(segment) };
        match segment {
            Segment::ClientTx => format!("{from}'s library, before the send"),
            Segment::Write => format!("{from} writes it in parts"),
            Segment::SocketTx => format!("held in {from}'s socket"),
            Segment::Loss => "lost on the way, until sent again".into(),
            Segment::Qdisc => "queue in front of the device".into(),
            Segment::Wire => "on the wire".into(),
            Segment::StackRx => format!("network stack of {to}"),
            Segment::Wakeup => format!("{to} is being woken"),
            Segment::RunQueue => format!("{to} waits for a CPU"),
            Segment::Handoff => format!("{to}'s threads hand it on"),
            Segment::Busy => format!("{to} is busy when it comes"),
            Segment::Read => format!("{to} reads it"),
            Segment::ClientRx => format!("{to}'s library, after the read"),
            Segment::BrokerDwell => format!("{from} has the message"),
        }
    }
}

fn is_workload(name: &str) -> bool {
    name.starts_with(WORKLOAD)
}

/// The one program of these roles by name; our own workloads and a crowd by what they do.
fn end(processes: &[Process], roles: &[&str], otherwise: &str) -> String {
    let mut names: Vec<&str> = processes
        .iter()
        .filter(|process| roles.contains(&process.role.as_str()))
        .map(|process| process.name.as_str())
        .collect();
    let several = names.len() > 1;
    names.dedup();
    match (names.as_slice(), roles.last()) {
        ([name], _) if !name.is_empty() && !is_workload(name) => clean(name),
        ([_, ..], Some(role)) if several => format!("the {role}s"),
        ([_, ..], Some(role)) => format!("the {role}"),
        _ => otherwise.to_owned(),
    }
}

fn forwarder(result: &RunResult) -> String {
    let process = result.processes.iter().find(|process| process.role == "broker");
    let known = result
        .broker
        .as_ref()
        .or_else(|| process.map(|process| &process.name).filter(|name| !is_workload(name)));
    known.filter(|name| !name.is_empty()).map_or_else(|| "the broker".into(), |name| clean(name))
}

fn role_in_words(role: &str) -> String {
    match role {
        "pub" => "the publisher".into(),
        "sub" => "the subscriber".into(),
        "ping" => "the pinging end".into(),
        "pong" => "the answering end".into(),
        "peer" => "a peer".into(),
        other => format!("the {}", clean(other)),
    }
}
