//! Why a row's messages took so long, in few words.

use crate::text;
use wirelap_correlate::snapshot::{Severity, Verdict, VerdictKind, Why};
use wirelap_events::{Comm, TaskId};

/// Whether anything was examined or found.
pub fn is_known(why: &Why) -> bool {
    why.messages > 0 || !why.verdicts.is_empty()
}

/// What ought to be changed, the gravest first.
pub fn problems(why: &Why) -> impl Iterator<Item = &Verdict> {
    why.verdicts.iter().filter(|verdict| verdict.severity == Severity::Problem)
}

/// For a column: `Nagle 97 %`, `nothing wrong`, a dash where nothing was examined.
pub fn cell(why: &Why) -> String {
    match problems(why).next() {
        Some(worst) => match largest_share(worst) {
            Some(share) => format!("{} {}", short(worst.kind), percent(share)),
            None => short(worst.kind).to_owned(),
        },
        None if is_known(why) => "nothing wrong".to_owned(),
        None => text::NONE.to_owned(),
    }
}

/// For a line: the gravest with its place, and how many more there are.
pub fn line(why: &Why) -> String {
    let Some(worst) = problems(why).next() else { return cell(why) };
    let mut line = worst.kind.title().to_owned();
    if let Some((task, comm)) = worst.process {
        line = format!("{line} at {}", name(task, comm));
    }
    if let Some(share) = largest_share(worst) {
        let of = if worst.median_share >= worst.tail_share { "median" } else { "tail" };
        line = format!("{line}, {} of the {of}", text::unbroken(&percent(share)));
    }
    match problems(why).count() - 1 {
        0 => line,
        more => format!("{line}; {more} more"),
    }
}

/// The greater of its parts of the median and of the tail.
pub fn largest_share(verdict: &Verdict) -> Option<f64> {
    let share = verdict.median_share.max(verdict.tail_share);
    (share.is_finite() && share >= 0.005).then_some(share)
}

/// Whole percents; a damaged share is held within what has a meaning.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return text::NONE.to_owned();
    }
    let percents = (share.clamp(-10.0, 10.0) * 100.0).round();
    let minus = if percents < 0.0 { "−" } else { "" };
    format!("{minus}{} %", percents.abs())
}

/// `mosquitto (4021)`; the number alone where there is no name.
pub fn name(task: TaskId, comm: Comm) -> String {
    match comm.as_str() {
        "" => format!("pid {}", task.pid.0),
        name => format!("{} ({})", text::clean(name), task.pid.0),
    }
}

/// A verdict in at most fifteen columns.
pub const fn short(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::NagleDelayedAck => "Nagle",
        VerdictKind::Corked => "corked",
        VerdictKind::SenderBatching => "batching",
        VerdictKind::FetchWait => "fetch wait",
        VerdictKind::ReceiveWindow => "receive window",
        VerdictKind::CongestionWindow => "cwnd",
        VerdictKind::Pacing => "pacing",
        VerdictKind::SendBuffer => "send buffer",
        VerdictKind::LateWrite => "late write",
        VerdictKind::Retransmission => "retransmission",
        VerdictKind::QueueOverflow => "queue overflow",
        VerdictKind::QdiscQueueing => "qdisc",
        VerdictKind::RunQueueContention => "CPU contention",
        VerdictKind::IdleWakeup => "idle wakeups",
        VerdictKind::SoftirqDeferral => "ksoftirqd",
        VerdictKind::BrokerCpuBound => "broker's CPU",
        VerdictKind::BrokerStalled => "broker stalled",
        VerdictKind::ClientStalled => "client stalled",
        VerdictKind::ReaderBusy => "reader busy",
        VerdictKind::NeverDelivered => "never delivered",
        VerdictKind::Duplicates => "duplicates",
        VerdictKind::Upkeep => "keep-alive",
        VerdictKind::SharedMemory => "shared memory",
        VerdictKind::Unexplained => "unexplained",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use wirelap_events::{Nanos, Pid, Tid};

    fn verdict(kind: VerdictKind, severity: Severity, median_share: f64) -> Verdict {
        Verdict {
            kind,
            severity,
            leg: None,
            segment: None,
            process: Some((TaskId { pid: Pid(7), tid: Tid(8) }, Comm::from_name("rumqttd"))),
            median: Nanos(0),
            median_share,
            tail: Nanos(0),
            tail_share: 0.1,
            evidence: vec![],
            remedy: String::new(),
        }
    }

    #[test]
    fn every_verdict_has_short_words_of_its_own() {
        let words: HashSet<_> = VerdictKind::ALL.into_iter().map(short).collect();
        assert_eq!(words.len(), VerdictKind::ALL.len());
        assert!(words.iter().all(|word| text::width(word) <= 15));
    }

    #[test]
    fn the_gravest_problem_stands_for_all_and_notes_for_nothing() {
        let mut why = Why::default();
        assert_eq!(cell(&why), "–");
        why.messages = 3;
        why.verdicts = vec![verdict(VerdictKind::IdleWakeup, Severity::Note, 0.5)];
        assert_eq!((cell(&why), line(&why)), ("nothing wrong".into(), "nothing wrong".into()));
        why.verdicts.push(verdict(VerdictKind::NagleDelayedAck, Severity::Problem, 0.97));
        assert_eq!(cell(&why), "Nagle 97 %");
        assert!(line(&why).starts_with("Nagle against delayed ACK at rumqttd (7), 97"));
        why.verdicts.push(verdict(VerdictKind::Duplicates, Severity::Problem, 0.0));
        assert!(line(&why).ends_with("of the median; 1 more"));
    }

    #[test]
    fn shares_from_nowhere_are_held_within_reason() {
        assert_eq!([0.97, -0.03, f64::MAX].map(percent), ["97 %", "−3 %", "1000 %"]);
        assert_eq!(percent(f64::NAN), "–");
    }
}
