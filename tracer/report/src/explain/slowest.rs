//! The slowest messages, each in a line or two: the segments that took most of its time, what delayed it, and which
//! thread had the CPU.

use super::participants::PathNames;
use super::words::{clean, exact};
use crate::grid::{MAX_WIDTH, wrap};
use crate::human;
use crate::why::{
    LegCircumstances, Preemption, ReportedHop, ReportedLeg, ReportedWorstMessage, Task,
};
use std::collections::BTreeSet;

/// Number of steps of a message that are named.
const STEPS: usize = 3;
/// Delays shorter than a twentieth of the message's time are not named.
const LEAST_DELAY: u64 = 20;

/// The first `most` messages, with a heading; empty without messages.
pub fn text(
    messages: &[ReportedWorstMessage],
    participants: &PathNames<'_>,
    most: usize,
) -> String {
    let shown = messages.iter().take(most);
    if shown.len() == 0 {
        return String::new();
    }
    let mut out = match shown.len() {
        1 => "  The slowest message:\n".to_owned(),
        _ => "  The slowest messages:\n".to_owned(),
    };
    for message in shown {
        let text = format!("{}: {}", name(message), timeline(message, participants));
        for (number, line) in wrap(&text, MAX_WIDTH - 6).iter().enumerate() {
            out.push_str(if number == 0 { "    " } else { "      " });
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// A message's number and latency.
pub fn name(message: &ReportedWorstMessage) -> String {
    let number = match message.seq {
        Some(seq) if message.reply => format!("answer {}", exact(seq.into())),
        Some(seq) => format!("number {}", exact(seq.into())),
        None => format!("message {}", exact(message.message)),
    };
    let error = message.clock_error_ns.unwrap_or(0);
    format!("{number}, {}", human::time_within_ns(Some(message.one_way_ns), error))
}

/// The steps that took most of a message's time, and what delayed it.
pub fn timeline(message: &ReportedWorstMessage, participants: &PathNames<'_>) -> String {
    let mut parts = steps(message, participants);
    let threshold = DelayThreshold(message.one_way_ns / LEAST_DELAY);
    for (number, leg) in message.legs.iter().enumerate() {
        // Time before the first send is not part of the message's latency.
        let before = if number == 0 { &[][..] } else { &leg.before };
        if number > 0 {
            let preempted = leg.circumstances.sender_preempted.as_ref();
            parts.extend(threshold.preempted("sender", preempted, participants));
        }
        parts.extend(threshold.sender(leg));
        parts.extend(threshold.off_cpu(before, participants));
        parts.extend(threshold.culprit(before.iter().chain(&leg.chain), participants));
        parts.extend(threshold.reader(&leg.circumstances, participants));
    }
    // An off-CPU interval of a broker's thread can come before its read and before its send: it is named once.
    let mut named = BTreeSet::new();
    parts.retain(|part| named.insert(part.clone()));
    parts.join("; ")
}

/// The steps that took most of its time.
fn steps(message: &ReportedWorstMessage, participants: &PathNames<'_>) -> Vec<String> {
    // A file can have more legs than any message has.
    let mut steps: Vec<(u8, &str, u64)> = (1..=u8::MAX)
        .zip(&message.legs)
        .flat_map(|(number, leg)| {
            leg.segments.iter().map(move |one| (number, one.segment.as_str(), one.time_ns))
        })
        .collect();
    steps.sort_by_key(|&(_, _, time)| std::cmp::Reverse(time));
    // Steps are named until they cover nine tenths of the time.
    let enough = message.one_way_ns.saturating_sub(message.one_way_ns / 10);
    let mut named = 0;
    let most = steps.into_iter().take(STEPS).take_while(|&(_, _, time)| {
        let missing = named < enough && time > 0;
        named = u64::saturating_add(named, time);
        missing
    });
    let part = |(leg, segment, time): (u8, &str, u64)| {
        let place = if participants.legs() > 1 { format!("leg {leg} ") } else { String::new() };
        let time = human::time_ns(Some(time));
        format!("{} {time} ({place}{})", participants.step(leg, segment), clean(segment))
    };
    most.map(part).collect()
}

/// The shortest delay that is named, in nanoseconds.
#[derive(Clone, Copy)]
struct DelayThreshold(u64);

impl DelayThreshold {
    fn after(self, from: i64, to: i64) -> Option<String> {
        let time = u64::try_from(to.saturating_sub(from)).ok()?;
        (time > 0 && time >= self.0).then(|| human::time_ns(Some(time)))
    }

    /// The reasons why the message was delayed in the sender's socket.
    fn sender(self, leg: &ReportedLeg) -> Vec<String> {
        let seen = &leg.circumstances;
        let mut parts = Vec::new();
        if seen.resent {
            parts.push("some of its bytes were lost and retransmitted".to_owned());
        } else if seen.behind_loss {
            parts.push("it waited for earlier bytes that were lost".to_owned());
        }
        let sent = leg.stages.sent.or(leg.stages.send);
        let waited = sent.zip(seen.acked_ns).and_then(|(sent, at)| self.after(sent, at));
        if let (Some(waited), Some(tcp)) = (waited, &seen.tcp) {
            let held = match (tcp.corked, tcp.nodelay) {
                (true, _) => "corked",
                (_, false) => "with Nagle's algorithm on",
                (_, true) => "with TCP_NODELAY set",
            };
            parts.push(format!("an acknowledgement came {waited} after the send, {held}"));
        }
        parts
    }

    /// Times for which the threads of a forwarder were off the CPU while they held the message, one entry for each reason.
    fn off_cpu(self, before: &[ReportedHop], participants: &PathNames<'_>) -> Vec<String> {
        let reasons = [("asleep", "slept"), ("blocked", "was blocked"), ("stopped", "was stopped")];
        let describe = |(reason, words): (&str, &str)| {
            let of_reason = || before.iter().filter(|hop| hop.rest == reason);
            // Only the part of the interval in which the message was already there delayed it.
            let time = |hop: &ReportedHop| {
                hop.woken_ns.saturating_sub(hop.left_ns?.max(0)).try_into().ok()
            };
            let time = of_reason().filter_map(time).fold(0, u64::saturating_add);
            let hop = of_reason().next_back()?;
            let duration = human::time_ns(Some(time));
            (time >= self.0.max(1))
                .then(|| format!("{} {words} for {duration}", participants.who(&hop.task)))
        };
        reasons.into_iter().filter_map(describe).collect()
    }

    /// The thread that had the CPU for longest while one of these threads waited for it.
    fn culprit<'a>(
        self,
        hops: impl Iterator<Item = &'a ReportedHop>,
        participants: &PathNames<'_>,
    ) -> Option<String> {
        let held = hops.filter_map(|hop| Some((hop, hop.holder.as_ref()?)));
        let (hop, holder) = held.max_by_key(|(_, holder)| holder.held_ns)?;
        if holder.held_ns < self.0.max(1) {
            return None;
        }
        let time = human::time_ns(Some(holder.held_ns));
        let waiting = waiting(&hop.task, participants);
        Some(match holder.task.tid {
            0 => format!("the CPU of {waiting} was idle and took {time} to run it"),
            _ if holder.task.is_same_process(&hop.task) => {
                format!("another thread of {waiting} had its CPU for {time}")
            }
            _ => format!("{} had the CPU of {waiting} for {time}", participants.who(&holder.task)),
        })
    }

    /// Time for which a thread was preempted, and the thread that had the CPU most of it.
    fn preempted(
        self,
        whose: &str,
        seen: Option<&Preemption>,
        participants: &PathNames<'_>,
    ) -> Option<String> {
        let seen = seen.filter(|seen| seen.time_ns >= self.0.max(1))?;
        let time = human::time_ns(Some(seen.time_ns));
        let by = seen.holder.as_ref().filter(|holder| holder.task.tid != 0);
        let by = by.map(|holder| format!(", mostly by {}", participants.who(&holder.task)));
        Some(format!("its {whose} was preempted for {time}{}", by.unwrap_or_default()))
    }

    /// The reasons why the message was delayed at the reader.
    fn reader(self, seen: &LegCircumstances, participants: &PathNames<'_>) -> Vec<String> {
        let mut parts = Vec::new();
        if seen.deferred {
            parts.push("its packet waited for ksoftirqd".to_owned());
        }
        parts.extend(self.preempted("reader", seen.reader_preempted.as_ref(), participants));
        parts
    }
}

fn waiting(task: &Task, participants: &PathNames<'_>) -> String {
    match (task.name.is_empty(), task.pid) {
        (true, 0) => format!("thread {}", task.tid),
        _ => clean(&participants.who(task)),
    }
}
