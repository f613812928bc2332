//! Messages that ought to have arrived by now, and who holds them up.

use super::explanation::{Severity, Verdict, VerdictKind as Kind, Why};
use super::remedy::{Circumstance, remedy};
use super::rules::sort;
use super::setting::Setting;
use super::timeline::Period;
use wirelap_events::{Comm, Doing, Nanos, OffCpuReason, Segment, TaskId};

/// Where messages are that have not arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Whereabouts {
    /// On the way to the receiver's socket.
    Network,
    /// In the broker's receive queue.
    BrokerQueue,
    /// The broker has read them and has not passed them on.
    Broker,
    /// The broker has them, and nobody has asked for them.
    Unasked,
    /// In a reader's receive queue.
    ReaderQueue,
}

impl Whereabouts {
    /// Every place.
    pub const ALL: [Whereabouts; 5] = [
        Whereabouts::Network,
        Whereabouts::BrokerQueue,
        Whereabouts::Broker,
        Whereabouts::Unasked,
        Whereabouts::ReaderQueue,
    ];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Whereabouts::Network => "network",
            Whereabouts::BrokerQueue => "broker_receive_queue",
            Whereabouts::Broker => "broker",
            Whereabouts::Unasked => "broker_unasked",
            Whereabouts::ReaderQueue => "reader_receive_queue",
        }
    }

    /// In words, after the number of messages: `in the broker's receive queue`.
    pub const fn words(self) -> &'static str {
        match self {
            Whereabouts::Network => "on the way to the receiver's socket",
            Whereabouts::BrokerQueue => "unread in the broker's receive queue",
            Whereabouts::Broker => "read by the broker and not passed on",
            Whereabouts::Unasked => "in the broker, and no reader has asked since they came",
            Whereabouts::ReaderQueue => "unread in the reader's receive queue",
        }
    }
}

/// Messages that ought to have arrived by now, in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdue {
    /// How many.
    pub messages: u64,
    /// How long ago the oldest of them was sent.
    pub oldest: Nanos,
    /// Where they are.
    pub place: Whereabouts,
    /// On which leg, 1 for the first.
    pub leg: u8,
    /// The process that has them, or that sent them where they are on the network; `None` if it is not known.
    pub process: Option<(TaskId, Comm)>,
    /// What that process was doing a moment ago; `None` if nobody looked.
    pub doing: Option<Doing>,
}

impl Why {
    /// Takes in what is open at `now`, and names who holds it up.
    pub(crate) fn hold_up(&mut self, open: Vec<Overdue>, setting: &Setting, now: Nanos) {
        // What a broker has for a reader that does not read is not the broker's doing.
        let reader_is_it = open.iter().any(|one| one.place == Whereabouts::ReaderQueue);
        for one in &open {
            if reader_is_it && one.place == Whereabouts::Broker {
                continue;
            }
            let Some(verdict) = verdict(one, setting, now) else { continue };
            let same = self.verdicts.iter_mut().find(|known| {
                known.kind == verdict.kind
                    && known.process.map(|(task, _)| task.pid)
                        == verdict.process.map(|(task, _)| task.pid)
            });
            match same {
                Some(known) => {
                    known.severity = Severity::Problem;
                    known.open = verdict.open;
                    known.evidence.splice(0..0, verdict.evidence);
                    if let Some(period) = &mut known.period {
                        period.ended = None;
                    }
                }
                None => self.verdicts.push(verdict),
            }
        }
        self.open = open;
        sort(&mut self.verdicts);
    }
}

fn verdict(open: &Overdue, setting: &Setting, now: Nanos) -> Option<Verdict> {
    let (kind, segment) = kind(open)?;
    let at_broker = matches!(open.place, Whereabouts::BrokerQueue | Whereabouts::Broker);
    let rest = match open.doing {
        Some(Doing::Stopped) => Some(OffCpuReason::Stopped),
        Some(Doing::Blocked) => Some(OffCpuReason::Blocked),
        Some(Doing::Asleep) => Some(OffCpuReason::Asleep),
        Some(Doing::Running) | None => None,
    };
    let are = if open.messages == 1 { "message is" } else { "messages are" };
    let mut evidence = vec![format!(
        "now {} {are} {}, the oldest for {}",
        open.messages,
        open.place.words(),
        open.oldest
    )];
    evidence.extend(
        open.doing
            .filter(|_| open.place != Whereabouts::Network)
            .map(|doing| doing_words(doing).to_owned()),
    );
    let began = setting.since.map(|since| now - open.oldest - since);
    Some(Verdict {
        leg: Some(open.leg),
        segment: Some(segment),
        process: open.process,
        period: began.map(|began| Period { began, ended: None, times: 1 }),
        open: Some(*open),
        evidence,
        remedy: remedy(kind, setting, Circumstance { segment, at_broker, rest, dropped: None }),
        ..Verdict::new(kind, Severity::Problem)
    })
}

/// Whose doing it is, as far as what the process does tells. `None` where that is not known: a broker that sleeps may have
/// done with what it read.
fn kind(open: &Overdue) -> Option<(Kind, Segment)> {
    let runs = open.doing == Some(Doing::Running);
    let is_off = matches!(open.doing, Some(Doing::Stopped | Doing::Blocked));
    Some(match open.place {
        // What left one socket of this host and is not in the other was lost, and TCP sends it again.
        Whereabouts::Network => (Kind::Retransmission, Segment::StackRx),
        Whereabouts::BrokerQueue if runs => (Kind::BrokerCpuBound, Segment::Busy),
        Whereabouts::BrokerQueue => (Kind::BrokerStalled, Segment::Wakeup),
        Whereabouts::Broker if is_off => (Kind::BrokerStalled, Segment::BrokerDwell),
        Whereabouts::Broker => return None,
        Whereabouts::Unasked if is_off => (Kind::ClientStalled, Segment::BrokerDwell),
        Whereabouts::Unasked => (Kind::FetchWait, Segment::BrokerDwell),
        Whereabouts::ReaderQueue if runs => (Kind::ReaderBusy, Segment::Busy),
        Whereabouts::ReaderQueue => (Kind::ClientStalled, Segment::Wakeup),
    })
}

const fn doing_words(doing: Doing) -> &'static str {
    match doing {
        Doing::Stopped => "its threads are stopped (SIGSTOP, a debugger)",
        Doing::Blocked => {
            "a thread of it is blocked in the kernel without taking signals, as for a disk"
        }
        Doing::Asleep => "its threads sleep, though there is something to do",
        Doing::Running => "a thread of it is running, at something else",
    }
}
