//! The list of messages, a line each, and below it what is known of the selected one.
//!
//! ```text
//! ─ messages of mqtt mosquitto 127.0.0.1:1883: slowest, 43 (n: other lists) ───
//!       SINCE START MESSAGE  ONE-WAY WHERE THE TIME WENT  CAUSE          FROM → TO
//! ▶ 00:00:06.000000      #41 3.47 ms tWr              Bd  CPU contention publisher → mosquitto → subscriber
//!   …
//! sensors/a: mosquitto waits for a CPU 3.40 ms (leg 1 runqueue); stress-ng (pid 991) had the CPU …
//! ```

use super::bars as waterfall;
use super::summary::{in_short, result};
use crate::app::App;
use crate::bars::{self, BarScale};
use crate::layout::{count, split_top, window};
use crate::render::{panel, stages};
use crate::theme::Theme;
use crate::{columns, people, text, words};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use wirelap_correlate::snapshot::SegmentStat;
use wirelap_events::{Nanos, Segment};
use wirelap_history::KeptMessage;
use wirelap_report::words::short;

/// Width of the time since the start, in columns.
const SINCE: usize = 12;
/// Width of the number, in columns.
const NUMBER: usize = 9;
/// Width of the cause, in columns.
const CAUSE: usize = 15;
/// From this width on, a line has the topic.
const TOPIC_FROM: u16 = 110;
/// Lines about the selected message; a low panel has none.
const ABOUT: u16 = 4;
/// From this height on, the selected message's waterfall is below the list.
const WATERFALL_FROM: u16 = 30;

/// Draws the list, and what is known of the selected message.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let listed = app.listed();
    let (title, rest) = split_top(area, 1);
    panel::rule(frame, title, &self::title(app, listed.len()), theme);
    if listed.is_empty() {
        return nothing(frame, rest, app);
    }
    let about = match rest.height {
        0..12 => 0,
        12..WATERFALL_FROM => ABOUT,
        height => height / 2,
    };
    let (table, about) = split_top(rest, rest.height - about);
    let (head, body) = split_top(table, 1);
    let position = app.message_position(&listed);
    let shown = window(listed.len(), position, usize::from(body.height));
    let slowest = listed.iter().filter_map(|message| message.one_way).max().unwrap_or_default();
    let page = ListPage { app, widths: Widths::of(body.width), slowest, theme };
    frame.render_widget(page.heading(), head);
    let rows = listed.iter().enumerate().skip(shown.start).take(shown.len());
    let rows: Vec<Line<'_>> = rows.map(|(at, message)| page.row(message, at == position)).collect();
    frame.render_widget(Paragraph::new(rows), body);
    if let Some(message) = listed.get(position) {
        self::about(frame, about, app, message, theme);
    }
}

fn title(app: &App, messages: usize) -> String {
    let row = app.selected().map(columns::name).unwrap_or_default();
    let filter = match app.filter() {
        "" => String::new(),
        filter => format!(" with \"{}\"", text::clean(filter)),
    };
    let count = text::exact(messages as u64);
    format!("messages of {row}: {}{filter}, {count}", app.list().name())
}

fn nothing(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let sentence = match app.filter() {
        "" => app.list().nothing().to_owned(),
        filter => format!(
            "No message of this list has \"{}\" in its number, topic, processes or cause. / changes the text, n shows the other lists.",
            text::clean(filter)
        ),
    };
    let lines = text::wrap(&sentence, text::columns_left(area.width, 4));
    let lines = lines.into_iter().map(|line| Line::raw(format!("  {line}")));
    let lines: Vec<_> = std::iter::once(Line::default()).chain(lines).collect();
    panel::lines(frame, area, lines, 0);
}

/// The topic, the steps that took most of its time, and what delayed it; the waterfall if there is room.
fn about(frame: &mut Frame<'_>, area: Rect, app: &App, message: &KeptMessage, theme: Theme) {
    let Some(result) = result(app) else { return };
    let topic = app.topic(message).map(|topic| format!("{topic}: ")).unwrap_or_default();
    let mut lines = vec![Line::styled("─".repeat(usize::from(area.width)), theme.dim())];
    let words = text::wrap(
        &format!("{topic}{}", in_short(message, &result)),
        text::columns_left(area.width, 3),
    );
    lines.extend(words.into_iter().map(|line| Line::raw(format!("  {line}"))));
    if area.height > ABOUT {
        lines.extend(waterfall::lines(app, message, area.width, theme));
    }
    panel::lines(frame, area, lines, 0);
}

/// Widths of the columns that are wider on a wide screen; 0 for one that is not shown.
struct Widths {
    bar: usize,
    cause: usize,
    topic: usize,
    ends: usize,
}

impl Widths {
    fn of(width: u16) -> Widths {
        let fixed = 2 + SINCE + 1 + NUMBER + 1 + 7;
        let mut left = text::columns_left(width, fixed);
        let mut take = |wanted: usize| {
            let taken = if left > wanted { wanted } else { 0 };
            left -= if taken > 0 { taken + 1 } else { 0 };
            taken
        };
        let cause = take(CAUSE);
        let bar = take(if width >= TOPIC_FROM { usize::from(width / 4).min(40) } else { 8 });
        let topic = if width >= TOPIC_FROM { take(usize::from(width / 8)) } else { 0 };
        Widths { bar, cause, topic, ends: left.saturating_sub(1) }
    }
}

struct ListPage<'a> {
    app: &'a App,
    widths: Widths,
    slowest: Nanos,
    theme: Theme,
}

impl ListPage<'_> {
    fn heading(&self) -> Line<'static> {
        let widths = &self.widths;
        let (since, number) = ("SINCE START", "MESSAGE");
        let mut head = format!("  {since:>SINCE$} {number:>NUMBER$} {:>7}", "ONE-WAY");
        let bar = if widths.bar >= 20 { "WHERE THE TIME WENT" } else { "STAGES" };
        for (title, width) in [
            (bar, widths.bar),
            ("CAUSE", widths.cause),
            ("TOPIC", widths.topic),
            ("FROM → TO", widths.ends),
        ] {
            if width > 0 {
                head.push(' ');
                head.push_str(&text::left(title, width));
            }
        }
        Line::styled(head, self.theme.dim())
    }

    fn row(&self, message: &KeptMessage, selected: bool) -> Line<'static> {
        let widths = &self.widths;
        let since = message.began() - self.app.snapshot().since;
        let one_way = message.one_way.map_or(text::NONE.to_owned(), text::time);
        let number = text::message_number(&message.delivery);
        let mut spans = vec![
            panel::marker(selected, self.theme),
            Span::raw(format!(
                "{} {} {}",
                text::right(&text::clock_millis(since), SINCE),
                text::right(&number, NUMBER),
                text::right(&one_way, 7)
            )),
        ];
        if widths.bar > 0 {
            spans.push(Span::raw(" "));
            spans.extend(self.bar(message));
        }
        let topic = self.app.topic(message).unwrap_or_else(|| text::NONE.to_owned());
        for (text, width) in [
            (cause(message), widths.cause),
            (topic, widths.topic),
            (ends(self.app, message, widths.ends), widths.ends),
        ] {
            if width > 0 {
                spans.push(Span::raw(format!(" {}", text::left(&text, width))));
            }
        }
        let line = Line::from(spans);
        if selected { line.style(self.theme.selected()) } else { line }
    }

    /// The segments, as shares of the message's own time, or as long as that time compared with the slowest message of the list.
    fn bar(&self, message: &KeptMessage) -> Vec<Span<'static>> {
        let room = self.widths.bar;
        let segments = shares(message);
        let share = match (self.app.scale(), message.one_way) {
            (BarScale::Time, Some(time)) => time.0 as f64 / self.slowest.0.max(1) as f64,
            _ => 1.0,
        };
        let length = bars::cells(share * room as f64).clamp(1, count(room));
        let mut spans = stages::bar(&segments, length, self.theme);
        let used: usize = spans.iter().map(Span::width).sum();
        spans.push(Span::raw(" ".repeat(room.saturating_sub(used))));
        spans
    }
}

/// The segments of a message in its order of them, with their shares of its time.
fn shares(message: &KeptMessage) -> Vec<SegmentStat> {
    let stats = message.delivery.segments().flat_map(|(leg, segments)| {
        let dwell = segments.iter().filter(|(segment, _)| *segment == Segment::BrokerDwell);
        let others = segments.iter().filter(|(segment, _)| *segment != Segment::BrokerDwell);
        let of = |(segment, time): (_, Nanos)| SegmentStat {
            leg: u8::try_from(leg + 1).unwrap_or(u8::MAX),
            segment,
            p50: time,
            p99: time,
            share: time.0 as f64,
            count: 1,
            error: Nanos(0),
        };
        dwell.chain(others).map(of).collect::<Vec<_>>()
    });
    stats.collect()
}

/// The cause that held the message up; otherwise what became of it, if it is in no latency.
fn cause(message: &KeptMessage) -> String {
    match message.cause {
        Some(cause) => short(cause.kind).to_owned(),
        None if message.one_way.is_some() => text::NONE.to_owned(),
        None => words::fate(message).to_owned(),
    }
}

/// The processes that the message passed; without those between if there is no room for all.
fn ends(app: &App, message: &KeptMessage, room: usize) -> String {
    let snapshot = app.snapshot();
    let legs = &message.delivery.legs;
    let senders = legs.iter().map(|leg| people::sender(leg, snapshot));
    let last = legs.last().map(|leg| people::reader(leg, snapshot));
    let all: Vec<String> = senders.chain(last).collect();
    let path = all.join(" → ");
    match all.as_slice() {
        [first, .., last] if text::width(&path) > room => format!("{first} → {last}"),
        _ => path,
    }
}
