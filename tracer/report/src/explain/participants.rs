//! The names of the senders, receivers and forwarders of a result.

use super::words::clean;
use crate::why::Task;
use crate::{Pacing, ReportedProcess, ReportedReliability, RunResult, human};
use std::borrow::Cow;
use wirelap_events::Segment;

/// The name under which the kernel knows our own workloads: it cuts names after 15 bytes.
const WORKLOAD: &str = "wirelap-workloa";

/// The names of the processes that a message passes.
#[derive(Clone, Debug)]
pub struct PathNames<'a> {
    result: &'a RunResult,
    sender: String,
    receiver: String,
    forwarder: String,
    /// The process that has a message after each leg but the last: the broker, or a proxy or bridge before or behind it.
    between: Vec<String>,
    legs: u8,
}

impl<'a> PathNames<'a> {
    /// Takes the names from a result's processes.
    pub fn of(result: &'a RunResult, pacing: Pacing) -> PathNames<'a> {
        let legs = result.segments.iter().map(|row| row.leg).max().unwrap_or(1).max(1);
        let end = |roles: &[&str], otherwise: &str| match pacing {
            // Pings and answers are in one result, so each end is sender and receiver.
            Pacing::PingPong => otherwise.to_owned(),
            _ => end(&result.processes, roles, otherwise),
        };
        let mut participants = PathNames {
            result,
            sender: end(&["pub", "publisher"], "the sender"),
            receiver: end(&["sub", "subscriber"], "the receiver"),
            forwarder: forwarder(result),
            between: Vec::new(),
            legs,
        };
        participants.between = (1..legs).map(|leg| participants.after(leg)).collect();
        participants
    }

    /// The name of who has a message after a leg, as far as the slowest messages tell it; the broker's if they do not all tell the same.
    fn after(&self, leg: u8) -> String {
        let worst = self.result.why.iter().flat_map(|why| &why.worst);
        let whole = worst.filter(|message| message.legs.len() == usize::from(self.legs));
        let mut names = whole.flat_map(|message| {
            let reads = message
                .legs
                .get(usize::from(leg).saturating_sub(1))
                .and_then(|one| one.reader.as_ref());
            let sends = message.legs.get(usize::from(leg)).and_then(|one| one.sender.as_ref());
            reads.into_iter().chain(sends).map(|task| self.name(task))
        });
        let first = names.next().filter(|name| !name.is_empty());
        first.filter(|first| names.all(|name| name == *first)).unwrap_or(self.forwarder.clone())
    }

    /// True if the result's figures can be used.
    pub fn is_usable(&self) -> bool {
        self.result.trust.verdict != ReportedReliability::Unusable
    }

    /// Messages that were sent and not delivered, and all that were sent.
    pub fn missing(&self) -> (u64, u64) {
        let counts = &self.result.messages;
        (counts.sent.saturating_sub(counts.delivered), counts.sent)
    }

    /// The number of legs of a message.
    pub fn legs(&self) -> u8 {
        self.legs
    }

    /// The names of the sender and the receiver of a leg; leg 1 is the first.
    pub fn ends(&self, leg: u8) -> (&str, &str) {
        let after = |leg: u8| {
            let index = usize::from(leg).checked_sub(1)?;
            self.between.get(index).map(String::as_str)
        };
        let sender = leg.checked_sub(1).and_then(after).unwrap_or(&self.sender);
        (sender, after(leg).unwrap_or(&self.receiver))
    }

    /// The name of the broker between sender and receiver.
    pub fn forwarder(&self) -> &str {
        &self.forwarder
    }

    /// A thread's name and number, by the name of its process on this page: `mosquitto (pid 4021)`.
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

    /// A thread's name on this page, without a number; empty if it has no name.
    pub fn name(&self, task: &Task) -> String {
        let process = self.result.processes.iter().find(|process| task.is_of(process));
        match process {
            Some(process) if process.role == "broker" => self.forwarder.clone(),
            Some(process) if is_workload(&process.name) => role_in_words(&process.role),
            Some(process) if task.name.is_empty() => clean(&process.name),
            _ => clean(&task.name),
        }
    }

    /// The activity in a segment of a leg, in words.
    pub fn step(&self, leg: u8, segment: &str) -> String {
        let (from, to) = self.ends(leg);
        let (from, to) = (one_of(from), one_of(to));
        let known = Segment::ALL.into_iter().find(|known| known.name() == segment);
        let Some(segment) = known else { return clean(segment) };
        match segment {
            Segment::ClientTx => format!("{from}'s library, before the send"),
            Segment::Write => format!("{from} writes it in parts"),
            Segment::SocketTx => format!("held in {from}'s socket"),
            Segment::Loss => "lost, until it is retransmitted".into(),
            Segment::Qdisc => "queue in front of the device".into(),
            Segment::Wire => "on the wire".into(),
            Segment::StackRx => format!("network stack of {to}"),
            Segment::Wakeup => format!("{to} is being woken"),
            Segment::RunQueue => format!("{to} waits for a CPU"),
            Segment::Handoff => format!("passed between threads of {to}"),
            Segment::Busy => format!("{to} is busy when it arrives"),
            Segment::InKernel => format!("in the kernel, until {to} has read it"),
            Segment::Read => format!("{to} reads it"),
            Segment::ClientRx => format!("{to}'s library, after the read"),
            Segment::BrokerDwell => format!("{from} holds the message"),
        }
    }
}

/// True if this is the kernel's name of one of wirelap's own workloads.
pub fn is_workload(name: &str) -> bool {
    name.starts_with(WORKLOAD)
}

/// The name of the one program that has these roles; our own workloads and several programs are named by their role.
fn end(processes: &[ReportedProcess], roles: &[&str], otherwise: &str) -> String {
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

/// A message has one of several senders, and on each of its ways one of several receivers: `a subscriber` of `the subscribers`.
fn one_of(name: &str) -> Cow<'_, str> {
    match name.strip_prefix("the ").and_then(|role| role.strip_suffix('s')) {
        Some(role) => Cow::Owned(format!("a {role}")),
        None => Cow::Borrowed(name),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SegmentRow;
    use crate::why::{ReportedLeg, ReportedWhy, ReportedWorstMessage};

    const PROGRAMS: [(&str, u32, &str); 4] = [
        ("publisher", 20, "sensor"),
        ("broker", 10, "mosquitto"),
        ("proxy", 15, "socat"),
        ("subscriber", 30, "logger"),
    ];

    /// Messages that pass these programs.
    fn result(way: &[u32]) -> RunResult {
        let task = |pid: u32| {
            let name = PROGRAMS.iter().find(|program| program.1 == pid).unwrap().2.to_owned();
            Some(Task { pid, tid: pid, name, ..Task::default() })
        };
        let legs = way.windows(2).map(|ends| ReportedLeg {
            sender: task(ends[0]),
            reader: task(ends[1]),
            ..ReportedLeg::default()
        });
        let worst =
            vec![ReportedWorstMessage { legs: legs.collect(), ..ReportedWorstMessage::default() }];
        let last = u8::try_from(way.len()).unwrap() - 1;
        let process = |(role, pid, name): (&str, u32, &str)| ReportedProcess {
            role: role.into(),
            pid,
            name: name.into(),
            ..ReportedProcess::default()
        };
        RunResult {
            broker: Some("mosquitto".into()),
            segments: vec![SegmentRow { leg: last, ..SegmentRow::default() }],
            processes: PROGRAMS.map(process).into(),
            why: Some(ReportedWhy { worst, ..ReportedWhy::default() }),
            ..RunResult::default()
        }
    }

    #[test]
    fn legs_of_a_relay_are_named_by_its_ends() {
        for (way, expected) in [
            (
                &[20, 10, 15, 30][..],
                &[("sensor", "mosquitto"), ("mosquitto", "socat"), ("socat", "logger")][..],
            ),
            (
                &[20, 15, 10, 30],
                &[("sensor", "socat"), ("socat", "mosquitto"), ("mosquitto", "logger")],
            ),
            (&[20, 10, 30], &[("sensor", "mosquitto"), ("mosquitto", "logger")]),
            (&[20, 30], &[("sensor", "logger")]),
        ] {
            let result = result(way);
            let participants = PathNames::of(&result, Pacing::Foreign);
            let found: Vec<_> =
                (1..=participants.legs()).map(|leg| participants.ends(leg)).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn without_single_messages_the_broker_is_between() {
        let result = RunResult { why: None, ..result(&[20, 10, 15, 30]) };
        let participants = PathNames::of(&result, Pacing::Foreign);
        assert_eq!(participants.ends(2), ("mosquitto", "mosquitto"));
    }
}
