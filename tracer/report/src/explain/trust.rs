//! How sure all this is.

use super::words::{counted, exact, percent};
use crate::grid::hang;
use crate::{Environment, GroundTruth, RunResult, human};
use wirelap_events::human::share;

/// Heading and sentences; `None` where nothing was traced.
pub fn text(result: &RunResult, environment: &Environment) -> Option<String> {
    if result.untraced {
        return None;
    }
    let doubts = doubts(result);
    let mut out = String::from("How sure we are\n");
    out.push_str(&hang("  ", &coverage(result)));
    out.push_str(&hang(
        "  ",
        &match doubts.as_slice() {
            [] => "No event was lost, every payload byte was captured, every frame was read."
                .to_owned(),
            doubts => format!("Read with care: {}.", doubts.join("; ")),
        },
    ));
    out.push_str(&hang("  ", &clock(result, environment)));
    let tracer = &result.trust.tracer;
    // Of a file it used nothing while the file was made.
    if tracer.rss_bytes > 0 {
        let used = human::bytes(tracer.rss_bytes as f64);
        let text = format!(
            "While it measured, wirelap itself used {:.2} cores and {used}.",
            tracer.cpu_share
        );
        out.push_str(&hang("  ", &text));
    }
    if let Some(slowdown) = &tracer.slowdown {
        let cost = human::slowdown(slowdown);
        let turns = slowdown.turns;
        out.push_str(&hang(
            "  ",
            &format!("Measured by {turns} turns with the probes attached and detached: {cost}."),
        ));
    }
    for note in &result.notes {
        out.push_str(&hang("  Note: ", &super::words::clean(note)));
    }
    Some(out)
}

/// How many were followed, and how many were not, on either side.
fn coverage(result: &RunResult) -> String {
    let messages = &result.messages;
    // Of what passed between two windows nothing was to be followed.
    let (whole, which) = if is_sampled(result) {
        (messages.matched.saturating_add(messages.uncovered), " in the traced windows")
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
    if messages.uncovered > 0 {
        sides.push(format!(
            "{} could not be joined to their sends",
            counted(messages.uncovered, "delivery")
        ));
    }
    if messages.sent > messages.delivered && messages.delivered > 0 {
        let missing = messages.sent.saturating_sub(messages.delivered);
        sides.push(format!("{} sent and not seen to arrive", counted(missing, "message")));
    }
    if messages.duplicates > 0 {
        sides.push(format!("{} came again", counted(messages.duplicates, "message")));
    }
    if !sides.is_empty() {
        text = format!("{text} {}.", super::words::sentence(&sides.join("; ")));
    }
    text
}

fn is_sampled(result: &RunResult) -> bool {
    result.trust.window_share < 0.999
}

/// Every reason to doubt.
fn doubts(result: &RunResult) -> Vec<String> {
    let trust = &result.trust;
    let mut doubts = Vec::new();
    if trust.lost() > 0 {
        let lost = trust.events_lost.iter().filter(|(_, count)| **count > 0);
        let by: Vec<String> = lost
            .map(|(probe, count)| format!("{} {}", super::words::clean(probe), exact(*count)))
            .collect();
        doubts.push(format!("{} lost ({})", counted(trust.lost(), "event"), by.join(", ")));
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
    add(trust.unseen_sent.packets, "packet", "not seen when sent");
    add(trust.unseen_received.packets, "packet", "not seen when received");
    add(trust.uncaptured_bytes, "payload byte", "not captured");
    // Between two windows everything passes undecoded, and that has just been said.
    add(if sampled { 0 } else { trust.undecoded_bytes }, "byte", "in no frame that was found");
    add(trust.unread_messages, "message", "in batches that could not be opened, and in no count");
    add(trust.evicted, "flow or message", "given up to keep memory bounded");
    add(trust.telescoping_violations, "message", "whose steps do not add up");
    if let Some(truth) = &result.ground_truth {
        let wrong = wrong(truth);
        add(wrong, "message", "on which the trace and the programs' own records disagree");
    }
    doubts
}

fn wrong(truth: &GroundTruth) -> u64 {
    truth.violations.saturating_add(truth.order_violations).saturating_add(truth.unknown)
}

fn clock(result: &RunResult, environment: &Environment) -> String {
    if let Some((within, at_most)) = result.trust.between_hosts() {
        return clocks(result, within, at_most);
    }
    if result.trust.packets_only {
        return "All times are those in the file, by the clock of the host that captured it, as exactly as the program that \
                captured stamped packets."
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

/// What captures of several hosts have for a clock.
fn clocks(result: &RunResult, within: u64, at_most: u64) -> String {
    let clock =
        result.trust.hosts.iter().map(|host| &host.clock).chain(&result.trust.clocks).next();
    let first = clock.map(|clock| super::words::clean(&clock.first)).unwrap_or_default();
    format!(
        "All times are told by the clock of the host of {first}; those between hosts are right to {} if the shortest way takes \
         as long in both directions, and to {} however that is.",
        human::time_ns(Some(within)),
        human::time_ns(Some(at_most))
    )
}
