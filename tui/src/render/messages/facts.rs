//! Facts about a message beside its times: its number, when it was sent, what held it up; then each of its legs.

use super::leg;
use super::summary::{in_short, result};
use crate::app::App;
use crate::render::details::fact;
use crate::text;
use crate::theme::Theme;
use crate::wireshark;
use crate::words::fate;
use ratatui::text::Line;
use wirelap_events::{Nanos, Segment};
use wirelap_history::KeptMessage;
use wirelap_report::words;

/// The facts, wrapped into `width` columns.
pub fn lines(app: &App, message: &KeptMessage, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let width = text::columns_left(width, 1);
    let mut lines = Vec::new();
    let mut add = |label: &str, value: &str| lines.extend(fact(label, value, width, theme));
    if let Some(result) = result(app) {
        add("in short", &in_short(message, &result));
    }
    if let Some(cause) = cause(message) {
        add("held up", &cause);
    }
    add("message", &identity(app, message));
    add("sent", &sent(app, message));
    if let Some(time) = message.one_way {
        add("one-way", &one_way(message, time));
    }
    let legs = message.delivery.legs.len();
    for (index, of) in message.delivery.legs.iter().enumerate() {
        let number = index + 1;
        let mark = if index == app.message_leg() && legs > 1 { " (selected)" } else { "" };
        add(&format!("leg {number}"), &format!("{}{mark}", of.flow));
        for (label, value) in leg::facts(app.snapshot(), &message.delivery, index) {
            add(label, &value);
        }
    }
    if let Some(leg) = message.delivery.legs.get(app.message_leg()) {
        add("wireshark", &wireshark::filter(leg, app.wall()));
    }
    lines
}

/// The cause that held the message up more than a typical message of its row.
fn cause(message: &KeptMessage) -> Option<String> {
    let cause = message.cause?;
    let title = words::title_in(cause.kind, Some(cause.segment));
    let time = text::unbroken(&text::time(cause.time));
    let leg = cause.leg + 1;
    let segment = cause.segment.name();
    Some(format!("{title}: {time} more than a typical message of this row, in leg {leg} {segment}"))
}

fn identity(app: &App, message: &KeptMessage) -> String {
    let delivery = &message.delivery;
    let mut parts = vec![match delivery.stamp {
        Some(stamp) if stamp.reply => format!("answer {} in stream {}", stamp.seq, stamp.stream),
        Some(stamp) => format!("number {} in stream {}", stamp.seq, stamp.stream),
        None => "no number of its own".into(),
    }];
    parts.push(format!("wirelap's number {}", delivery.message.0));
    parts.push(text::unbroken(&format!("payload {} B", text::exact(delivery.payload_len))));
    parts.extend(app.topic(message).map(|topic| format!("topic {topic}")));
    parts.push(fate(message).to_owned());
    parts.join(", ")
}

fn sent(app: &App, message: &KeptMessage) -> String {
    let at = message.began();
    let since = text::clock_millis(at - app.snapshot().since);
    let clock = app.wall().map(|wall| {
        let at = at.0.saturating_add_signed(wall);
        let day = Nanos(at % 86_400_000_000_000);
        format!(", {}.{:09} UTC", text::clock(day), at % 1_000_000_000)
    });
    format!("{since} after the start{}", clock.unwrap_or_default())
}

/// The latency, and what of it was the scheduler and the dwell.
fn one_way(message: &KeptMessage, time: Nanos) -> String {
    let segments = || message.delivery.segments().map(|(_, segments)| segments);
    let gap: Option<Nanos> =
        segments().filter_map(|segments| segments.sched_gap()).reduce(|a, b| a + b);
    let dwell: Option<Nanos> =
        segments().filter_map(|segments| segments.get(Segment::BrokerDwell)).reduce(|a, b| a + b);
    let named = [("scheduling gap", gap), ("dwell", dwell)];
    let error = message.delivery.clock_error;
    let mut parts = vec![text::unbroken(&text::time_within(time, error))];
    parts.extend(
        named.into_iter().filter_map(|(name, time)| {
            Some(format!("{name} {}", text::unbroken(&text::time(time?))))
        }),
    );
    parts.join(", ")
}
