//! The section "How reliable this is": coverage, losses, clock, wirelap's own cost.

use super::words::{counted, exact, percent};
use crate::grid::hang;
use crate::{Environment, GroundTruth, RunResult, human};
use wirelap_correlate::trust::WHOLE_TIME;
use wirelap_events::Count;
use wirelap_events::human::share;

/// The section's heading and sentences; `None` if nothing was traced.
pub fn text(result: &RunResult, environment: &Environment) -> Option<String> {
    if result.untraced {
        return None;
    }
    let doubts = doubts(result);
    let mut out = String::from("How reliable this is\n");
    out.push_str(&hang("  ", &coverage(result)));
    out.push_str(&hang(
        "  ",
        &match doubts.as_slice() {
            [] => "No event was lost, every payload byte was captured, every frame was decoded."
                .to_owned(),
            doubts => format!("Limits: {}.", doubts.join("; ")),
        },
    ));
    out.push_str(&hang("  ", &clock(result, environment)));
    let tracer = &result.trust.tracer;
    // A file that others captured has no figures about wirelap's own cost.
    if tracer.rss_bytes > 0 {
        let used = human::own_use(tracer);
        out.push_str(&hang("  ", &format!("While it measured, wirelap itself used {used}.")));
    }
    if let Some(slowdown) = &tracer.slowdown {
        let cost = human::slowdown(slowdown);
        let turns = slowdown.turns;
        out.push_str(&hang(
            "  ",
            &format!("Measured in {turns} turns, alternately with and without probes: {cost}."),
        ));
    }
    if let Some(medians) = human::without_tracing(&result.latency) {
        out.push_str(&hang("  ", &format!("Without tracing: {medians}.")));
    }
    if let Some(why) = tracer.slowdown_unknown {
        out.push_str(&hang("  ", &format!("{}.", human::cost_unknown(why))));
    }
    for note in &result.notes {
        out.push_str(&hang("  Note: ", &super::words::clean(note)));
    }
    Some(out)
}

/// Number of deliveries that were followed from end to end, and of those that were not.
fn coverage(result: &RunResult) -> String {
    let messages = &result.messages;
    // With sampling, only deliveries inside the traced windows can be followed.
    let (whole, which) = if is_sampled(result) {
        ((Count(messages.matched) + messages.uncovered).0, " in the traced windows")
    } else {
        (messages.delivered, "")
    };
    let mut text = match whole {
        0 if messages.delivered > 0 => "No delivery fell into a traced window.".into(),
        0 => "Nothing was delivered, so nothing could be followed from end to end.".into(),
        _ => format!(
            "{} of {}{which} were followed from the first send to the last read ({}).",
            exact(messages.matched),
            counted(whole, "delivery"),
            share(result.trust.coverage)
        ),
    };
    let mut sides = Vec::new();
    // In earlier reports, sends that nobody was seen to read are among the uncovered deliveries.
    let not_matched = messages.delivered.saturating_sub(messages.matched).min(messages.uncovered);
    if not_matched > 0 {
        sides.push(format!(
            "{} could not be matched with their sends",
            counted(not_matched, "delivery")
        ));
    }
    if messages.expected() > messages.delivered && messages.delivered > 0 {
        let missing = messages.expected().saturating_sub(messages.delivered);
        sides.push(match messages.expected {
            Some(_) => format!("{} did not arrive", counted(missing, "delivery")),
            None => format!("{} sent without a captured arrival", counted(missing, "message")),
        });
    }
    if messages.duplicates > 0 {
        sides.push(format!("{} arrived again", counted(messages.duplicates, "message")));
    }
    if !sides.is_empty() {
        text = format!("{text} {}.", super::words::sentence(&sides.join("; ")));
    }
    text
}

fn is_sampled(result: &RunResult) -> bool {
    result.trust.window_share < WHOLE_TIME
}

/// Every limit of the figures: losses, sampling, bytes that were not decoded.
fn doubts(result: &RunResult) -> Vec<String> {
    let trust = &result.trust;
    let mut doubts = Vec::new();
    if trust.lost() > 0 {
        let lost = trust.events_lost.iter().filter(|(_, count)| **count > 0);
        let by: Vec<String> = lost
            .map(|(probe, count)| format!("{} {}", super::words::clean(probe), exact(*count)))
            .collect();
        doubts.push(format!(
            "{} lost ({}), because {}",
            counted(trust.lost(), "event"),
            by.join(", "),
            crate::words::lost_because(trust.losses())
        ));
    }
    let sampled = is_sampled(result);
    if sampled {
        doubts.push(format!("traced {} of the time only", percent(trust.window_share)));
    }
    let mut add = |count: u64, what: &str, then: &str| {
        if count > 0 {
            doubts.push(format!("{} {then}", counted(count, what)));
        }
    };
    add(trust.unseen_sent.packets, "packet", "not captured when sent");
    add(trust.unseen_received.packets, "packet", "not captured when received");
    add(trust.uncaptured_bytes, "payload byte", "not captured");
    // With sampling, all bytes between two windows are undecoded: the sampling itself is listed instead.
    add(if sampled { 0 } else { trust.undecoded_bytes }, "byte", "not decoded");
    add(trust.unread_packets, "packet", "of QUIC not read, or not in the capture");
    add(trust.unread_messages, "message", "in batches that could not be decoded, and not counted");
    add(trust.cut_short, "message", "given up by its sender when a part of it was sent");
    add(trust.encrypted, "message", "encrypted by the protocol, and not counted");
    add(trust.encrypted_connections, "encrypted connection", "not read");
    add(trust.evicted, "flow or message", "evicted to limit the memory used");
    add(trust.telescoping_violations, "message", "whose steps do not add up");
    if let Some(truth) = &result.ground_truth {
        let wrong = wrong(truth);
        add(wrong, "message", "on which the trace and the programs' own records disagree");
    }
    doubts
}

fn wrong(truth: &GroundTruth) -> u64 {
    (Count(truth.contradicted()) + truth.unknown).0
}

/// By which clock the times are, and how exact it is.
pub fn clock(result: &RunResult, environment: &Environment) -> String {
    if let Some((within, at_most)) = result.trust.between_hosts() {
        return clocks(result, within, at_most);
    }
    if result.trust.packets_only {
        return "All times are the timestamps of packets, by the clock of the capturing host, with the resolution of the capturing \
                program: send and read times are not known."
            .into();
    }
    let source = environment.clock_source.as_ref();
    let source = source.map(|name| format!(" ({})", super::words::clean(name))).unwrap_or_default();
    let mut text = format!("All times are of this host's one clock, CLOCK_MONOTONIC{source}");
    if let Some(truth) = result.ground_truth.as_ref().filter(|truth| truth.compared > 0) {
        let verdict = match wrong(truth) {
            0 => "agree with it",
            _ => "were compared with it",
        };
        text = format!(
            "{text}; the programs' own records of {} {verdict}",
            counted(truth.compared, "message")
        );
    }
    format!("{text}.")
}

/// The sentence about the clocks of several hosts.
fn clocks(result: &RunResult, within: u64, at_most: u64) -> String {
    let clock =
        result.trust.hosts.iter().map(|host| &host.clock).chain(&result.trust.clocks).next();
    let first = clock.map(|clock| super::words::clean(&clock.first)).unwrap_or_default();
    format!(
        "All times are by the clock of the host of {first}; times between hosts are within {} of the truth if the minimum \
         delay is the same in both directions, and within {} in any case.",
        human::time_ns(Some(within)),
        human::time_ns(Some(at_most))
    )
}
