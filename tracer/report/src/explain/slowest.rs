//! The slowest messages, each in a line or two: where its time was, what held it up, who had the CPU.

use super::participants::Participants;
use super::words::{clean, exact};
use crate::grid::{MAX_WIDTH, wrap};
use crate::human;
use crate::why::{Hop, MessageLeg, Preemption, Surroundings, Task, WorstMessage};
use std::collections::BTreeSet;

/// Steps of a message that are named.
const STEPS: usize = 3;
/// What took less than this part of the message's time did not hold it up: a twentieth.
const PART: u64 = 20;

/// The first so many; nothing without messages.
pub fn text(messages: &[WorstMessage], participants: &Participants<'_>, most: usize) -> String {
    let shown = messages.iter().take(most);
    if shown.len() == 0 {
        return String::new();
    }
    let mut out = match shown.len() {
        1 => "  The slowest message:\n".to_owned(),
        _ => "  The slowest messages:\n".to_owned(),
    };
    for message in shown {
        let told = format!("{}: {}", name(message), life(message, participants));
        for (number, line) in wrap(&told, MAX_WIDTH - 6).iter().enumerate() {
            out.push_str(if number == 0 { "    " } else { "      " });
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

fn name(message: &WorstMessage) -> String {
    let number = match message.seq {
        Some(seq) if message.reply => format!("answer {}", exact(seq.into())),
        Some(seq) => format!("number {}", exact(seq.into())),
        None => format!("message {}", exact(message.message)),
    };
    format!("{number}, {}", human::time_ns(Some(message.one_way_ns)))
}

fn life(message: &WorstMessage, participants: &Participants<'_>) -> String {
    let mut parts = steps(message, participants);
    let matters = Matters(message.one_way_ns / PART);
    for (number, leg) in message.legs.iter().enumerate() {
        // What was before the first send cost the message nothing.
        let before = if number == 0 { &[][..] } else { &leg.before };
        if number > 0 {
            let preempted = leg.circumstances.sender_preempted.as_ref();
            parts.extend(matters.preempted("sender", preempted, participants));
        }
        parts.extend(matters.sender(leg));
        parts.extend(matters.rest(before, participants));
        parts.extend(matters.culprit(before.iter().chain(&leg.chain), participants));
        parts.extend(matters.reader(&leg.circumstances, participants));
    }
    // One rest of a broker's thread is before its read and before its send.
    let mut said = BTreeSet::new();
    parts.retain(|part| said.insert(part.clone()));
    parts.join("; ")
}

/// The steps that took most of its time.
fn steps(message: &WorstMessage, participants: &Participants<'_>) -> Vec<String> {
    let mut steps: Vec<(u8, &str, u64)> = (1..)
        .zip(&message.legs)
        .flat_map(|(leg, told)| {
            told.segments.iter().map(move |one| (leg, one.segment.as_str(), one.time_ns))
        })
        .collect();
    steps.sort_by_key(|&(_, _, time)| std::cmp::Reverse(time));
    // Steps are named until nine tenths of the time are.
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

/// From how many nanoseconds on something is worth telling.
#[derive(Clone, Copy)]
struct Matters(u64);

impl Matters {
    fn after(self, from: i64, to: i64) -> Option<String> {
        let time = u64::try_from(to.saturating_sub(from)).ok()?;
        (time > 0 && time >= self.0).then(|| human::time_ns(Some(time)))
    }

    /// What held it up in the sender's socket.
    fn sender(self, leg: &MessageLeg) -> Vec<String> {
        let seen = &leg.circumstances;
        let mut parts = Vec::new();
        if seen.resent {
            parts.push("some of its bytes were lost and sent again".to_owned());
        } else if seen.behind_loss {
            parts.push("earlier bytes were lost, and it waited for them".to_owned());
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

    /// How long the threads of a forwarder were off the CPU while they had the message, each cause once.
    fn rest(self, before: &[Hop], participants: &Participants<'_>) -> Vec<String> {
        let causes = [("asleep", "slept"), ("blocked", "was blocked"), ("stopped", "was stopped")];
        let told = |(cause, words): (&str, &str)| {
            let of_cause = || before.iter().filter(|hop| hop.rest == cause);
            // Before the message was there its rest cost nothing.
            let time = |hop: &Hop| hop.woken_ns.saturating_sub(hop.left_ns?.max(0)).try_into().ok();
            let time = of_cause().filter_map(time).fold(0, u64::saturating_add);
            let hop = of_cause().next_back()?;
            let rested = human::time_ns(Some(time));
            (time >= self.0.max(1))
                .then(|| format!("{} {words} for {rested}", participants.who(&hop.task)))
        };
        causes.into_iter().filter_map(told).collect()
    }

    /// Who had the CPU for longest while one of these threads waited for it.
    fn culprit<'a>(
        self,
        hops: impl Iterator<Item = &'a Hop>,
        participants: &Participants<'_>,
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

    /// Others ran in place of a thread that could have.
    fn preempted(
        self,
        whose: &str,
        seen: Option<&Preemption>,
        participants: &Participants<'_>,
    ) -> Option<String> {
        let seen = seen.filter(|seen| seen.time_ns >= self.0.max(1))?;
        let time = human::time_ns(Some(seen.time_ns));
        let by = seen.holder.as_ref().filter(|holder| holder.task.tid != 0);
        let by = by.map(|holder| format!(", mostly by {}", participants.who(&holder.task)));
        Some(format!("its {whose} was preempted for {time}{}", by.unwrap_or_default()))
    }

    /// What held it up at the reader.
    fn reader(self, seen: &Surroundings, participants: &Participants<'_>) -> Vec<String> {
        let mut parts = Vec::new();
        if seen.deferred {
            parts.push("its packet waited for ksoftirqd".to_owned());
        }
        parts.extend(self.preempted("reader", seen.reader_preempted.as_ref(), participants));
        if seen.beside_upkeep {
            parts.push("a keep-alive or discovery frame was on the same connection".to_owned());
        }
        parts
    }
}

fn waiting(task: &Task, participants: &Participants<'_>) -> String {
    match (task.name.is_empty(), task.pid) {
        (true, 0) => format!("thread {}", task.tid),
        _ => clean(&participants.who(task)),
    }
}
