//! Facts about one leg of a message beside its times.

use crate::waterfall::{left, wakeup};
use crate::{people, text};
use wirelap_correlate::snapshot::Snapshot;
use wirelap_events::{Circumstances, Delivery, Leg, Nagle, Nanos, Offset, Stage, TaskId, TxState};
use wirelap_report::words;

/// The facts of a leg, each with its label.
pub fn facts(
    snapshot: &Snapshot,
    delivery: &Delivery,
    index: usize,
) -> Vec<(&'static str, String)> {
    let Some(leg) = delivery.legs.get(index) else { return Vec::new() };
    let seen = &leg.circumstances;
    let mut facts = vec![("threads", threads(leg, snapshot)), ("bytes", bytes(leg, delivery))];
    facts.extend(seen.socket.tx.map(|tx| ("tcp", tcp(&tx))));
    facts.extend(acknowledged(leg).map(|value| ("acked", value)));
    let losses = losses(seen);
    if !losses.is_empty() {
        facts.push(("losses", losses.join("; ")));
    }
    facts.extend(allowed(leg).map(|value| ("asked", value)));
    for hop in &leg.chain {
        let who = people::thread(hop.task, snapshot);
        let before = left(hop).map(|before| format!("; {before}")).unwrap_or_default();
        facts.push(("woken", format!("{who} {}{before}", wakeup(hop, snapshot))));
    }
    for hop in leg.before.iter().filter(|_| index > 0) {
        let who = people::thread(hop.task, snapshot);
        let before = left(hop).map(|before| format!("; {before}")).unwrap_or_default();
        facts.push(("dwell", format!("{who} {}{before}", wakeup(hop, snapshot))));
    }
    let others = others(seen);
    if !others.is_empty() {
        facts.push(("also", others.join("; ")));
    }
    facts
}

fn threads(leg: &Leg, snapshot: &Snapshot) -> String {
    let name = |task: Option<TaskId>| {
        task.map_or_else(|| "not known".to_owned(), |task| people::thread(task, snapshot))
    };
    format!("sent by {}, read by {}", name(leg.sender), name(leg.reader))
}

/// The bytes of the leg by part, as far as they are known, and where they are in the flow.
fn bytes(leg: &Leg, delivery: &Delivery) -> String {
    let range = leg.flow_range.range;
    if range.is_empty() {
        return "not known".into();
    }
    let exact = |count: u64| text::unbroken(&format!("{} B", text::exact(count)));
    let mut parts = vec![format!("{} on this leg", exact(range.len()))];
    // A compressed or batched message has fewer bytes in the flow than its payload.
    if let Some(protocol) = range.len().checked_sub(delivery.payload_len) {
        let payload = exact(delivery.payload_len);
        parts.push(format!("payload {payload}, protocol {}", exact(protocol)));
    }
    if let Some(from) = range.start.0.checked_sub(Offset::START.0) {
        parts.push(format!("from byte {} of the flow on", text::exact(from)));
    }
    if leg.circumstances.socket.send_len > 0 {
        let send = exact(leg.circumstances.socket.send_len.into());
        parts.push(format!("the send call that brought the last byte had {send}"));
    }
    parts.join("; ")
}

/// The state of the sender's TCP at the send.
fn tcp(tx: &TxState) -> String {
    let exact = |count: u32| text::exact(count.into());
    let held = match tx.nagle {
        Nagle::Corked => "corked",
        Nagle::On => "Nagle's algorithm on",
        Nagle::Off => "TCP_NODELAY set",
    };
    let mut parts = vec![
        format!("at the send {held}"),
        format!("in flight {} B in {} segments", exact(tx.in_flight), exact(tx.segments_out)),
        format!("unsent {} B", exact(tx.unsent)),
        format!("cwnd {} segments of {} B", exact(tx.cwnd), exact(tx.mss)),
        format!("receive window {} B", exact(tx.window)),
    ];
    if tx.send_buffer > 0 {
        parts.push(format!("send buffer {} B", exact(tx.send_buffer)));
    }
    if tx.pacing > 0 {
        parts.push(format!("paced at {} B/s", text::exact(tx.pacing)));
    }
    parts.iter().map(|part| text::unbroken(part)).collect::<Vec<_>>().join(", ")
}

/// The time from the send to the acknowledgement that let the last byte go.
fn acknowledged(leg: &Leg) -> Option<String> {
    let sent = leg.times.get(Stage::Sent).or(leg.times.get(Stage::Send))?;
    let waited = leg.circumstances.socket.acked?.since(sent)?;
    let waited = text::unbroken(&text::time(waited));
    Some(format!("an acknowledgement of earlier bytes came {waited} after the send"))
}

fn losses(seen: &Circumstances) -> Vec<String> {
    let time = |time: Nanos| text::unbroken(&text::time(time));
    let mut parts = Vec::new();
    if seen.loss.resent {
        parts.push("some of its bytes were lost and retransmitted".to_owned());
    }
    if seen.loss.behind {
        parts.push("it waited for earlier bytes that were lost".into());
    }
    parts.extend(
        seen.loss.recovery.map(|by| format!("what brought them again: {}", words::recovered(by))),
    );
    let dropped = seen.loss.dropped.map(words::dropped_for);
    parts.extend(dropped.map(|why| format!("where this host saw them go: {why}")));
    if seen.loss.in_write > Nanos(0) {
        parts.push(format!(
            "bytes were missing for {} while it was written",
            time(seen.loss.in_write)
        ));
    }
    if seen.loss.in_socket > Nanos(0) {
        let missing = time(seen.loss.in_socket);
        parts.push(format!("bytes were missing for {missing} while it waited in the socket"));
    }
    if seen.loss.shrunk_window {
        parts.push("a loss before had reduced the congestion window".into());
    }
    parts
}

/// The time at which the receiver allowed its sender to send, relative to the first stage.
fn allowed(leg: &Leg) -> Option<String> {
    let at = leg.circumstances.allowed()?;
    let (_, first) = leg.times.seen().next()?;
    Some(match at.since(first) {
        Some(after) => format!("the reader asked {} after the first stage", text::time(after)),
        None => format!("the reader had asked {} before the first stage", text::time(first - at)),
    })
}

fn others(seen: &Circumstances) -> Vec<String> {
    let mut parts = Vec::new();
    if seen.path.deferred {
        parts.push("its packet waited for ksoftirqd".to_owned());
    }
    if seen.start_up {
        parts.push("one of the first messages of its connection".into());
    }
    if seen.request.awaits_commit {
        parts.push("part of a transaction whose commit its reader awaits".into());
    }
    parts.extend(seen.fan_out.map(|fan_out| {
        format!("sent to reader {} of {}, one after the other", fan_out.position, fan_out.readers)
    }));
    parts
}
