//! The section "What was found": the verdicts. Also the verdict in one line for the table.
//!
//! ```text
//! What was found
//!   Nagle against delayed ACK, rumqttd (pid 77), leg 2 socket_tx
//!     costs a typical message 21.4 ms (97 % of its time)
//!     · 1,990 of 2,000 messages waited until the acknowledgement came
//!     What helps: set_tcp_nodelay(true) on the broker's sockets
//! ```

use super::participants::PathNames;
use super::words::{clean, counted, list, percent, sentence, title};
use crate::grid::hang;
use crate::why::{ReportedSeverity, ReportedVerdict, ReportedWhy};
use crate::{ObservedDetail, Pacing, RunResult, human, words};
use std::collections::BTreeSet;
use wirelap_correlate::{MIN_MESSAGES_FOR_VERDICT, VerdictKind};
use wirelap_events::Nanos;
use wirelap_events::human::moment;

/// The section's text.
pub fn text(why: &ReportedWhy, participants: &PathNames<'_>) -> String {
    let of = |severity| why.verdicts.iter().filter(move |verdict| verdict.severity == severity);
    let problems: Vec<_> = of(ReportedSeverity::Problem).collect();
    let notes: Vec<_> = of(ReportedSeverity::Note).collect();
    let mut out = String::from("What was found\n");
    if problems.is_empty() {
        out.push_str(&hang("  ", &nothing(why, participants)));
    }
    for (number, verdict) in (1..).zip(&problems) {
        let head = if problems.len() == 1 { "  ".into() } else { format!("  {number}. ") };
        out.push_str(&item(&head, verdict, participants));
    }
    if !notes.is_empty() {
        out.push_str("\nNotes (no problem)\n");
        for verdict in notes {
            out.push_str(&item("  ", verdict, participants));
        }
    }
    out
}

/// The sentence where there is no problem: that nothing is wrong, or why there is no verdict.
pub fn nothing(why: &ReportedWhy, participants: &PathNames<'_>) -> String {
    match why.examined_messages {
        n if n > 0 && !participants.is_usable() => {
            let examined = counted(n, "message");
            format!("No verdict: {examined} examined, but too many others were not captured.")
        }
        0 => format!("No message could be examined{}.", missing(participants)),
        n if n < MIN_MESSAGES_FOR_VERDICT => {
            sentence(&format!("{}{}.", too_few(n), missing(participants)))
        }
        n => format!(
            "Nothing wrong: {} examined, no avoidable delay or loss found.",
            counted(n, "message")
        ),
    }
}

/// The text for a result with too few messages for a verdict.
pub fn too_few(messages: u64) -> String {
    format!("too few messages ({messages}) for a verdict")
}

/// A part of a sentence about messages that were sent and not delivered, where that is most of them.
fn missing(participants: &PathNames<'_>) -> String {
    let (missing, sent) = participants.missing();
    if missing.saturating_mul(2) <= sent {
        return String::new();
    }
    format!("; {missing} of {sent} sent messages were not seen to be delivered")
}

fn item(head: &str, verdict: &ReportedVerdict, participants: &PathNames<'_>) -> String {
    let mut out = hang(head, &sentence(&name(verdict, participants)));
    let indent = " ".repeat(head.len().max(4));
    if let Some(cost) = cost(verdict) {
        out.push_str(&hang(&indent, &cost));
    }
    if let Some(when) = when(verdict) {
        out.push_str(&hang(&indent, &when));
    }
    for clause in verdict.evidence.iter().filter(|clause| !clause.trim().is_empty()) {
        out.push_str(&hang(&format!("{indent}· "), &clean(clause)));
    }
    if !verdict.remedy.trim().is_empty() {
        out.push_str(&hang(&format!("{indent}What helps: "), &clean(&verdict.remedy)));
    }
    out
}

/// A verdict's heading, process, leg and segment.
pub fn name(verdict: &ReportedVerdict, participants: &PathNames<'_>) -> String {
    let mut parts = vec![heading(verdict)];
    parts.extend(verdict.process.as_ref().map(|task| participants.who(task)));
    match (verdict.leg, &verdict.segment) {
        (Some(leg), Some(segment)) if participants.legs() > 1 => {
            parts.push(format!("leg {leg} {}", clean(segment)));
        }
        (_, Some(segment)) => parts.push(clean(segment)),
        (Some(leg), None) if participants.legs() > 1 => parts.push(format!("leg {leg}")),
        _ => {}
    }
    parts.join(", ")
}

fn heading(verdict: &ReportedVerdict) -> String {
    let is_bare =
        verdict.title == words::title(VerdictKind::Unexplained) || verdict.title.is_empty();
    if verdict.kind == VerdictKind::Unexplained.name() && is_bare {
        return "time that no rule explains".into();
    }
    if verdict.title.is_empty() { title(&verdict.kind) } else { clean(&verdict.title) }
}

/// The time that the cause costs a typical message, slow messages and the tail; `None` if it costs no time.
pub fn cost(verdict: &ReportedVerdict) -> Option<String> {
    let time = |ns| human::time_ns(Some(ns));
    let mut parts = Vec::new();
    if verdict.median_ns > 0 {
        let share = percent(verdict.median_share);
        parts.push(format!("a typical message {} ({share} of its time)", time(verdict.median_ns)));
    }
    if verdict.slow_messages > 0 {
        let messages = counted(verdict.slow_messages, "slow message");
        let share = percent(verdict.slow_share);
        let slow = time(verdict.slow_ns);
        parts.push(format!("{messages} {slow} each ({share} of the slow messages' extra time)"));
    }
    if verdict.tail_ns > 0 {
        let more = if parts.is_empty() { "" } else { " more" };
        let share = percent(verdict.tail_share);
        let tail = time(verdict.tail_ns);
        parts.push(format!("the slowest 1 % {tail}{more} ({share} of their extra time)"));
    }
    (!parts.is_empty()).then(|| format!("costs {}", list(&parts)))
}

/// The period in which the cause was active, counted from the beginning of the observation, and the messages that it
/// still held up at the end.
pub fn when(verdict: &ReportedVerdict) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(open) = &verdict.open {
        let messages = counted(open.messages, "message");
        let oldest = human::time_ns(Some(open.oldest_ns));
        parts.push(format!("held up {messages} at the end, the oldest for {oldest}"));
    }
    if let Some(began) = verdict.began_ns {
        let moment = |ns| moment(Nanos(ns));
        let times = verdict.times.unwrap_or(1);
        parts.push(match verdict.ended_ns {
            None if times > 1 => {
                format!("{times} times since {}, the last time at the end", moment(began))
            }
            None => format!("since {}, until the end", moment(began)),
            Some(ended) if times > 1 => {
                format!("{times} times between {} and {}", moment(began), moment(ended))
            }
            Some(ended) => format!("from {} to {}", moment(began), moment(ended)),
        });
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The most serious problem with its process and share, or `nothing wrong`; `None` if no message was examined.
pub fn headline(result: &RunResult, participants: &PathNames<'_>) -> Option<String> {
    let why = result.why.as_ref()?;
    let Some(worst) = why.problem() else {
        return match why.examined_messages {
            0 => None,
            _ if !participants.is_usable() => Some("too little was captured for a verdict".into()),
            n if n < MIN_MESSAGES_FOR_VERDICT => Some(too_few(n) + &missing(participants)),
            _ if result.trust.detail != ObservedDetail::Full => Some(format!(
                "nothing found with --detail {}, which most causes are not seen with",
                result.trust.detail.name()
            )),
            _ => Some("nothing wrong".into()),
        };
    };
    let place = worst.process.as_ref().map(|task| participants.name(task));
    let place = place.filter(|name| !name.is_empty()).map(|name| format!(" at {name}"));
    let share = largest_share(worst).map(|share| format!(" ({share})"));
    let of = if participants.is_usable() { "" } else { ", in the few messages captured" };
    Some([&heading(worst), &*place.unwrap_or_default(), &*share.unwrap_or_default(), of].concat())
}

/// A result's verdict in one line: [`headline`], its remedy, and the headings of further problems.
pub fn in_short(result: &RunResult, pacing: Pacing) -> Option<String> {
    let mut out = headline(result, &PathNames::of(result, pacing))?;
    let why = result.why.as_ref()?;
    let Some(worst) = why.problem() else { return Some(out) };
    let remedy = worst.remedy.trim().trim_end_matches('.');
    if !remedy.is_empty() {
        out = format!("{out}: {}", clean(remedy));
    }
    let problems =
        why.verdicts.iter().filter(|verdict| verdict.severity == ReportedSeverity::Problem);
    let mut more: Vec<String> = problems.skip(1).map(heading).collect();
    let mut listed = BTreeSet::from([heading(worst)]);
    more.retain(|heading| listed.insert(heading.clone()));
    if !more.is_empty() {
        out = format!("{out}; also {}", list(&more));
    }
    Some(format!("{out}; see `wirelap explain`"))
}

fn largest_share(verdict: &ReportedVerdict) -> Option<String> {
    let of = [
        (verdict.median_share, "the median"),
        (verdict.slow_share, "the slow messages"),
        (verdict.tail_share, "the tail"),
    ];
    let shown = of.into_iter().rev().max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default();
    (shown.0 >= 0.005).then(|| format!("{} of {}", percent(shown.0), shown.1))
}
