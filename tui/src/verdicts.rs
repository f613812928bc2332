//! A row's verdicts in few words: why its messages took so long.

use crate::text;
use wirelap_correlate::snapshot::{Overdue, Severity, Verdict, Why};
use wirelap_events::{Comm, Nanos, TaskId, TraceDetail};
use wirelap_report::words;

/// True if any message was examined or any verdict found.
pub fn is_known(why: &Why) -> bool {
    why.messages > 0 || !why.verdicts.is_empty() || !why.open.is_empty()
}

/// The verdicts that are problems, the most serious first.
pub fn problems(why: &Why) -> impl Iterator<Item = &Verdict> {
    why.verdicts.iter().filter(|verdict| verdict.severity == Severity::Problem)
}

/// The text of the column "why": `Nagle 97 %`, `nothing wrong`, `too few (12)`, or a dash if nothing was examined.
pub fn cell(why: &Why) -> String {
    match problems(why).next() {
        Some(worst) if worst.open.is_some() => format!("{} now", words::short(worst.kind)),
        Some(worst) => match largest_share(worst) {
            Some(share) => {
                format!("{} {}", words::short_in(worst.kind, worst.segment), text::percent(share))
            }
            None => words::short_in(worst.kind, worst.segment).to_owned(),
        },
        None if is_known(why) && why.is_too_little() => {
            format!("too few ({})", text::exact(why.messages))
        }
        None if is_known(why) && why.detail == TraceDetail::Full => "nothing wrong".to_owned(),
        None if is_known(why) => "nothing found".to_owned(),
        None => text::NONE.to_owned(),
    }
}

/// The text of one line: the most serious problem with its process, and the number of further problems.
pub fn line(why: &Why) -> String {
    let Some(worst) = problems(why).next() else {
        return if is_known(why) && why.is_too_little() { too_few(why) } else { cell(why) };
    };
    let mut line = words::heading(worst).into_owned();
    if let Some((task, comm)) = worst.process {
        line = format!("{line} at {}", name(task, comm));
    }
    if let Some(open) = &worst.open {
        line = format!("{line}, now: {}", overdue(open));
    } else if let Some(share) = largest_share(worst) {
        let of = match worst {
            worst if worst.median_share >= share => "median",
            worst if worst.slow_share >= share => "slow messages' extra time",
            _ => "tail",
        };
        line = format!("{line}, {} of the {of}", text::unbroken(&text::percent(share)));
    }
    match problems(why).count() - 1 {
        0 => line,
        more => format!("{line}; {more} more"),
    }
}

/// The text for a row with too few messages for a verdict.
pub fn too_few(why: &Why) -> String {
    format!("too few messages ({}) for a verdict", text::exact(why.messages))
}

/// Messages that are overdue, and where they are: `open 132, oldest 4.10 s, unread in the broker's receive queue,
/// mosquitto (4021)`.
pub fn overdue(open: &Overdue) -> String {
    let oldest = text::unbroken(&text::time(open.oldest));
    let who = open.process.map(|(task, comm)| format!(", {}", name(task, comm)));
    let messages = text::exact(open.messages);
    let place = words::place(open.place);
    format!("open {messages}, oldest {oldest}, {place}{}", who.unwrap_or_default())
}

/// The period in which the cause was active, in seconds since the start, and whether it still is: `since 12.0 s, still so`,
/// `was 14.0 s to 17.0 s, no longer`, `5 times since 3.0 s, and now`. `None` if the period is not known.
pub fn when(verdict: &Verdict) -> Option<String> {
    let period = verdict.period?;
    let at = |at: Nanos| text::unbroken(&text::moment(at));
    let began = at(period.began);
    let ended = period.ended.filter(|_| !verdict.is_still_so());
    Some(match (ended.map(at), period.times) {
        (None, 0 | 1) => format!("since {began}, still so"),
        (None, times) => format!("{times} times since {began}, and now"),
        (Some(ended), 0 | 1) => format!("was {began} to {ended}, no longer"),
        (Some(ended), times) => format!("{times} times, {began} to {ended}, no longer"),
    })
}

/// The largest of the verdict's shares: of the median, of the slow messages' extra time, and of the tail. `None` below
/// half a percent.
pub fn largest_share(verdict: &Verdict) -> Option<f64> {
    let share = verdict.median_share.max(verdict.slow_share).max(verdict.tail_share);
    (share.is_finite() && share >= 0.005).then_some(share)
}

/// A process as `mosquitto (4021)`, or `pid 4021` if its name is not known.
pub fn name(task: TaskId, comm: Comm) -> String {
    match comm.as_str() {
        "" => format!("pid {}", task.pid.0),
        name => format!("{} ({})", text::clean(name), task.pid.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_correlate::snapshot::{Period, VerdictKind};
    use wirelap_events::{Pid, Tid};

    fn verdict(kind: VerdictKind, severity: Severity, median_share: f64) -> Verdict {
        Verdict {
            process: Some((TaskId { pid: Pid(7), tid: Tid(8) }, Comm::from_name("rumqttd"))),
            median_share,
            tail_share: 0.1,
            ..Verdict::new(kind, severity)
        }
    }

    #[test]
    fn the_gravest_problem_stands_for_all_and_notes_for_nothing() {
        let mut why = Why::default();
        assert_eq!(cell(&why), "–");
        why.messages = 3;
        why.verdicts = vec![verdict(VerdictKind::IdleWakeup, Severity::Note, 0.5)];
        assert_eq!(cell(&why), "too few (3)");
        assert_eq!(line(&why), "too few messages (3) for a verdict");
        why.messages = 30;
        assert_eq!((cell(&why), line(&why)), ("nothing wrong".into(), "nothing wrong".into()));
        why.verdicts.push(verdict(VerdictKind::NagleDelayedAck, Severity::Problem, 0.97));
        assert_eq!(cell(&why), "Nagle 97 %");
        assert!(line(&why).starts_with("Nagle against delayed ACK at rumqttd (7), 97"));
        why.verdicts.push(verdict(VerdictKind::Duplicates, Severity::Problem, 0.0));
        assert!(line(&why).ends_with("of the median; 1 more"));
    }

    #[test]
    fn a_verdict_tells_when_it_was_so() {
        let mut verdict = verdict(VerdictKind::BrokerStalled, Severity::Problem, 0.5);
        assert_eq!(when(&verdict), None);
        let began = Nanos::from_millis(14_020);
        let mut told = |ended: Option<u64>, times| {
            let ended = ended.map(Nanos::from_millis);
            verdict.period = Some(Period { began, ended, times });
            when(&verdict).map(|when| when.replace('\u{a0}', " "))
        };
        assert_eq!(told(None, 1).unwrap(), "since 14.0 s, still so");
        assert_eq!(told(Some(17_300), 1).unwrap(), "was 14.0 s to 17.3 s, no longer");
        assert_eq!(told(Some(90_000), 5).unwrap(), "5 times, 14.0 s to 90.0 s, no longer");
        assert_eq!(told(None, 5).unwrap(), "5 times since 14.0 s, and now");
    }
}
