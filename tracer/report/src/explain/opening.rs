//! The opening of a page: what happened, in one or two sentences.

use super::participants::PathNames;
use super::words::{counted, exact};
use crate::{Connections, Pacing, RunResult, Scenario, Topology, human};
use std::fmt::Write as _;

/// The senders, receivers and numbers of messages, and the times that these took.
pub fn text(result: &RunResult, scenario: &Scenario, participants: &PathNames<'_>) -> String {
    let mut out = if let Some(connections) = &result.connections {
        opened(connections)
    } else if result.untraced {
        untraced(result)
    } else {
        format!("{} {}", traffic(result, scenario, participants), times(result))
    };
    if let Some(error) = &result.error {
        out = format!("{out} It failed: {error}.");
    } else if result.partial {
        let why = if result.is_mostly_undelivered() {
            "Less than half of the messages were delivered."
        } else {
            "A part of the measurement was ended early."
        };
        out = format!("{out} {why}");
    }
    out
}

fn opened(connections: &Connections) -> String {
    let Connections { wanted, opened, connect_ns } = connections;
    let verb = if *opened == 1 { "was" } else { "were" };
    let opened_of = if opened == wanted {
        counted(*opened, "connection")
    } else {
        format!("{} of {}", exact(*opened), counted(*wanted, "connection"))
    };
    let time = |ns| human::time_ns(Some(ns));
    match connect_ns.count {
        0 => format!("{opened_of} {verb} opened."),
        _ => format!(
            "{opened_of} {verb} opened. Half of them took {} or less, 99 % took {} or less, and the slowest {}.",
            time(connect_ns.p50),
            time(connect_ns.p99),
            time(connect_ns.max)
        ),
    }
}

fn untraced(result: &RunResult) -> String {
    let messages = &result.messages;
    let mut parts = Vec::new();
    if messages.sent > 0 {
        let sent = counted(messages.sent, "request");
        parts.push(format!("{sent} sent, {} answered", exact(messages.delivered)));
    }
    if let Some(rtt) = &result.latency.rtt_half_ns {
        let median = human::time_ns(Some(rtt.trimmed_p50));
        parts.push(format!("half a round trip takes {median} in the median"));
    } else if result.throughput.payload_bit_per_s > 0.0 {
        let rate = human::count(result.throughput.payload_bit_per_s);
        parts.push(format!("{rate} payload bits a second, as the program reports"));
    }
    parts.push("it has no messages that can be traced, so there is nothing to explain".into());
    format!("{}.", super::words::sentence(&parts.join("; ")))
}

fn traffic(result: &RunResult, scenario: &Scenario, participants: &PathNames<'_>) -> String {
    let messages = &result.messages;
    let topology = result.topology.as_ref();
    let all = |of: fn(&Topology) -> u32, clients, one: &str| {
        let number = topology.map(of).filter(|&number| number > 1);
        number.map_or_else(|| one.to_owned(), |number| counted(number.into(), clients))
    };
    let sender = all(|of| of.publishers, "publisher", participants.ends(1).0);
    let receiver = all(|of| of.subscribers, "subscriber", participants.ends(participants.legs()).1);
    if messages.sent == 0 {
        return match messages.delivered {
            0 => "No message was seen.".into(),
            delivered => format!(
                "{} {} captured, but no send of their messages.",
                counted(delivered, "delivery"),
                if delivered == 1 { "was" } else { "were" }
            ),
        };
    }
    let size = size(result);
    let way = if participants.legs() > 1 || result.broker.is_some() {
        format!("from {sender} through {} to {receiver}", participants.forwarder())
    } else {
        format!("from {sender} to {receiver}")
    };
    let arrived = match (messages.sent, messages.delivered) {
        (_, delivered) if delivered > 0 && messages.expected.is_some_and(|all| all > delivered) => {
            let all = counted(messages.expected(), "delivery");
            format!("; they made {} of {all}", exact(delivered))
        }
        (_, 0) if result.partial_sight.is_some() => String::new(),
        (_, 0) if result.trust.to_unseen_readers > 0 => {
            "; whether they arrived cannot be observed on this host".into()
        }
        (_, 0) => "; no arrival was captured".into(),
        (sent, delivered) if sent == delivered => String::new(),
        (sent, delivered) if delivered > sent => {
            format!("; they made {}", counted(delivered, "delivery"))
        }
        (_, delivered) => format!("; {} arrived", exact(delivered)),
    };
    let verb = if messages.sent == 1 { "was" } else { "were" };
    format!(
        "{}{size} {verb} sent {way}{}{arrived}.",
        counted(messages.sent, "message"),
        pace(result, scenario).map(|pace| format!(", {pace}")).unwrap_or_default()
    )
}

/// The size of a message, as far as it is known.
fn size(result: &RunResult) -> String {
    match (result.payload_bytes, result.latency.one_way_ns.count) {
        (0, 0) => " of unknown size".into(),
        (0, _) => " without payload".into(),
        (bytes, _) => format!(" of {}", human::bytes(bytes as f64)),
    }
}

/// The pace at which messages were sent; `None` if it is not known.
fn pace(result: &RunResult, scenario: &Scenario) -> Option<String> {
    let measured = result.throughput.in_words(result.throughput.msg_per_s);
    let measured = measured.map(|rate| format!("{rate} a second"));
    match (scenario.pacing, result.rate_msg_per_s.or(scenario.rate_msg_per_s)) {
        (Pacing::PingPong, _) => Some("each after the answer to the one before".into()),
        (Pacing::Rate, Some(rate)) => {
            let asked = format!("{} a second", human::count(rate));
            Some(match result.missed_rate() {
                Some(reached) => {
                    format!("{asked} requested, {}", human::rate_not_reached(reached))
                }
                None => asked,
            })
        }
        (Pacing::BackToBack, _) => {
            let rate = measured.map(|rate| format!(": {rate}")).unwrap_or_default();
            Some(format!("as fast as the library accepted them{rate}"))
        }
        _ => measured,
    }
}

/// The times of messages that this host shows in part; `None` if there are none, or others were followed.
fn in_part(result: &RunResult) -> Option<String> {
    let seen = result.partial_sight.as_ref().filter(|seen| seen.deliveries() > 0)?;
    let why = result.view?.why_no_latency()?;
    let here = &seen.here_ns;
    let time = |ns| human::time_ns(Some(ns));
    let mut text = format!(
        "Their one-way latency is not known: {why}. On this host half of them took {} or less, 99 % {} or less, and the slowest {}.",
        time(here.p50),
        time(here.p99),
        time(here.max)
    );
    let acknowledged = &seen.acknowledged_ns;
    if acknowledged.count > 0 {
        let _ = write!(
            text,
            " Half of them had arrived at the other host at most {} after their send, 99 % at most {}: TCP acknowledged them then.",
            time(acknowledged.p50),
            time(acknowledged.p99)
        );
    }
    Some(text)
}

fn times(result: &RunResult) -> String {
    if let Some(text) = in_part(result) {
        return text;
    }
    let times = &result.latency.one_way_ns;
    let error = result.latency.clock_error_ns.unwrap_or_default();
    let time = |ns, error| human::time_within_ns(Some(ns), error);
    // What may be no time at all is at most the most that it can be.
    let at_most = |ns: u64, error: u64| {
        if ns <= error { human::time_ns(Some(ns.saturating_add(error))) } else { time(ns, error) }
    };
    match times.count {
        0 => "None was followed from its send to its read, so no latency is known.".into(),
        1 => format!("The one that was followed took {} on its way.", time(times.max, error.max)),
        _ => format!(
            "Half of them took {} or less on their way, 99 % took {} or less, and the slowest {}.",
            at_most(times.p50, error.p50),
            at_most(times.p99, error.p99),
            time(times.max, error.max)
        ),
    }
}
