//! The trust in a result, in one line.

use crate::human;
use crate::{
    GroundTruth, ObservedDetail, ReportedMuted, ReportedTracingBudget, ReportedTrust,
    ReportedUnseen, RunResult, SeenFrom,
};
use wirelap_correlate::trust::WHOLE_TIME;
use wirelap_events::human::column::cpu;
use wirelap_events::human::{counted, exact};
use wirelap_events::{Count, Nanos};

/// For how long the user had muted a row.
fn muted(muted: ReportedMuted) -> String {
    let last = if muted.now { ", up to the end" } else { "" };
    format!("muted by the user for {}{last}", Nanos(muted.time_ns))
}

/// The trust in a result, in one sentence.
pub fn trust_line(result: &RunResult) -> String {
    let messages = &result.messages;
    let trust = &result.trust;
    if let Some(connections) = &result.connections {
        return format!(
            "{} of {} opened, by the client's own count",
            exact(connections.opened),
            counted(connections.wanted, "connection")
        );
    }
    if result.untraced {
        return match messages.sent {
            0 => "not traced".into(),
            sent => format!("{sent} sent, {} answered · not traced", messages.delivered),
        };
    }
    let in_part = result.partial_sight.as_ref().filter(|seen| seen.deliveries() > 0);
    let mut parts = vec![if let Some(seen) = in_part.filter(|_| messages.matched == 0) {
        let view = result.view.map_or("seen in part", SeenFrom::in_words);
        format!("{} sent, {}: {view}", messages.sent, seen.counts())
    } else if messages.delivered == 0 && trust.to_unseen_readers > 0 {
        format!("{} sent, reads not observable on this host", messages.sent)
    } else {
        let expected = messages.expected.map(|all| format!(" of {all}")).unwrap_or_default();
        format!(
            "{} sent, {}{expected} delivered, {} followed end to end",
            messages.sent, messages.delivered, messages.matched
        )
    }];
    parts.extend(
        in_part
            .filter(|_| messages.matched > 0)
            .map(super::super::partial::ReportedPartial::counts),
    );
    if in_part.is_none() {
        let view = result.view.filter(|view| view.why_no_latency().is_some());
        parts.extend(view.map(|view| view.in_words().to_owned()));
    }
    parts.extend(result.muted.map(muted));
    if trust.packets_only {
        parts.push("packets only: send and read times are not known".into());
    }
    let unseen = unseen(result);
    match trust.lost() {
        0 if unseen.is_none() => parts.push("no event lost".into()),
        0 => {}
        lost if trust.losses().are_all_stated() => {
            parts.push(format!("{lost} packets missing by the file's own count"));
        }
        lost => parts.push(format!("{lost} events lost ({})", losses(result))),
    }
    parts.extend(unseen);
    match trust.detail {
        ObservedDetail::Ends => parts.push("only sends and reads observed".into()),
        ObservedDetail::Path => parts.push("scheduler not observed".into()),
        ObservedDetail::Full => {}
    }
    if trust.window_share < WHOLE_TIME {
        parts.push(format!("sampled {:.0} % of the time", trust.window_share * 100.0));
    }
    parts.extend(trust.budget.as_ref().and_then(budget));
    parts.extend(cut(result));
    let mut add = |count: u64, one: &str, several: &str| {
        if count > 0 {
            parts.push(format!("{count} {}", human::one_or(count, one, several)));
        }
    };
    add(messages.duplicates, "duplicate", "duplicates");
    add(messages.retained, "retained", "retained");
    add(trust.uncaptured_bytes, "payload byte not captured", "payload bytes not captured");
    // With sampling, all bytes between two windows are undecoded: the sampling itself is listed instead.
    let undecoded = if trust.window_share < WHOLE_TIME { 0 } else { trust.undecoded_bytes };
    add(undecoded, "byte not decoded", "bytes not decoded");
    add(trust.unread_packets, "packet of QUIC not read", "packets of QUIC not read");
    let batches = "in batches that could not be decoded";
    add(trust.unread_messages, &format!("message {batches}"), &format!("messages {batches}"));
    add(trust.cut_short, "message given up by its sender", "messages given up by their sender");
    add(trust.encrypted, "encrypted message", "encrypted messages");
    add(
        trust.encrypted_connections,
        "encrypted connection not read",
        "encrypted connections not read",
    );
    add(trust.evicted, "flow or message evicted", "flows or messages evicted");
    add(
        trust.telescoping_violations,
        "message whose segments do not add up",
        "messages whose segments do not add up",
    );
    if let Some(truth) = &result.ground_truth {
        parts.push(truth_part(truth));
    }
    parts.extend(clocks(trust));
    // A file that others captured has no figures about wirelap's own cost.
    if trust.tracer.rss_bytes > 0 || !trust.packets_only {
        parts.push(format!("tracer {}", human::own_use(&trust.tracer)));
    }
    parts.extend(trust.tracer.slowdown.as_ref().map(human::slowdown));
    parts.extend(trust.tracer.slowdown_unknown.map(human::cost_unknown));
    parts.join(" · ")
}

/// The distance that the clocks of the hosts may have.
fn clocks(trust: &ReportedTrust) -> Option<String> {
    let (within, at_most) = trust.between_hosts()?;
    let (within, at_most) = (human::time_ns(Some(within)), human::time_ns(Some(at_most)));
    let hosts = match trust.hosts.len() {
        0 | 1 => "two".to_owned(),
        others => others.saturating_add(1).to_string(),
    };
    Some(format!("clocks of {hosts} hosts within {within}, at most {at_most}"))
}

/// Messages of which the observation did not see all.
fn cut(result: &RunResult) -> Option<String> {
    let cut = (Count(result.messages.cut) + result.messages.unfinished).0;
    let by = match result.muted {
        Some(_) => "cut by a pause",
        None if result.trust.window_share < WHOLE_TIME => "cut at a window's edge",
        None => "perhaps under way when wirelap began",
    };
    (cut > 0).then(|| format!("{} {by}", exact(cut)))
}

/// The limit of what tracing may cost, and its cost in the last period; `None` if nobody asked for a budget.
fn budget(budget: &ReportedTracingBudget) -> Option<String> {
    let probes = match budget.probes_share {
        Some(share) => format!("{} of the programs' time", cpu(share)),
        None => "probes not measured".into(),
    };
    Some(format!("budget {}: {} of a core, {probes}", cpu(budget.share?), cpu(budget.own_share)))
}

/// The packets that were not captured; `None` if there are none.
fn unseen(result: &RunResult) -> Option<String> {
    let (sent, received) = (result.trust.unseen_sent, result.trust.unseen_received);
    if result.trust.packets_only {
        let all = sent.plus(received);
        let (packets, bytes) = (all.packets, human::bytes(all.bytes as f64));
        return (packets > 0).then(|| {
            format!("packets acknowledged and not captured: {packets} or more ({bytes})")
        });
    }
    let way = |unseen: ReportedUnseen, when: &str| {
        let packets = human::one_or(unseen.packets, "packet", "packets");
        let bytes = human::bytes(unseen.bytes as f64);
        (unseen.packets > 0).then(|| format!("{} {packets} when {when} ({bytes})", unseen.packets))
    };
    let ways: Vec<String> =
        [way(sent, "sent"), way(received, "received")].into_iter().flatten().collect();
    (!ways.is_empty()).then(|| format!("no probe saw at least {}", ways.join(" and ")))
}

fn losses(result: &RunResult) -> String {
    let trust = &result.trust;
    let lost = trust.events_lost.iter().filter(|(_, count)| **count > 0);
    let by = lost.map(|(probe, count)| format!("{probe} {count}")).collect::<Vec<_>>().join(", ");
    match trust.skipped_runs {
        0 => by,
        runs => format!("{by}; {runs} of them runs that the kernel skipped"),
    }
}

fn truth_part(truth: &GroundTruth) -> String {
    match (Count(truth.contradicted()) + truth.unknown).0 {
        0 => format!("agrees with the workloads on all {} compared", truth.compared),
        _ => format!(
            "DISAGREES with the workloads: of {} compared, {} longer than publish → deliver (worst by {}), \
             {} out of order, {} sent first by another process, {} unknown",
            truth.compared,
            truth.violations,
            human::time_ns(Some(truth.worst_violation_ns)),
            truth.order_violations,
            truth.other_senders,
            truth.unknown
        ),
    }
}
