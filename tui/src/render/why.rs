//! The panel "why": the verdicts on the selected row, its slowest messages, and who had the CPU.
//!
//! ```text
//! ─ why: mqtt rumqttd 127.0.0.1:1883 ──────────────────────────────────────────
//!  ! Nagle against delayed ACK: rumqttd (4021), leg 2 socket_tx
//!    97 % of the median (21.9 ms), 3 % of the tail (1.20 ms)
//!    · 99 % of the messages, 21.9 ms each in the median
//!    → set_tcp_nodelay(true) in the broker
//!  the slowest 1 % (448 messages, 44.1 ms or more) took 22.6 ms longer:
//!     97 %  21.9 ms  2 t socket_tx    Nagle against delayed ACK
//!  the slowest messages:
//!    44.1 ms: 2 socket_tx 44.0 ms, 1 read 30.0 µs
//!  had the CPU while others waited for it:
//!     1.50 s  stress-ng (991), 3,988 waits
//! ```

use super::page::Page;
use super::panel;
use crate::app::App;
use crate::layout::split_top;
use crate::theme::{Theme, letter};
use crate::verdicts;
use crate::{columns, text};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use wirelap_correlate::snapshot::{Cause, Severity, Tail, TailRow, Verdict, Why, WorstMessage};
use wirelap_events::{Delivery, Holder, Nanos, Segment, TraceDetail};
use wirelap_report::words;

/// Number of the slowest messages that are shown.
const WORST: usize = 5;
/// Number of rows of a tail that are shown.
const ROWS: usize = 6;
/// Number of segments of a slow message that are shown.
const STEPS: usize = 3;

/// Draws the panel of the selected row.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let Some(group) = app.selected() else { return };
    let (title, body) = split_top(area, 1);
    let lines = lines(&group.why, body.width, theme);
    let heading = format!("why: {}", columns::name(group));
    let heading = panel::scroll_title(&heading, lines.len(), body);
    panel::rule(frame, title, &heading, theme);
    panel::lines(frame, body, lines, app.scroll());
}

fn lines(why: &Why, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let mut page = Page::new(width, theme);
    if !verdicts::is_known(why) {
        page.say(" ", "no message followed end to end yet", Style::new());
        return page.lines;
    }
    if why.is_too_little() {
        page.say(" ", &verdicts::too_few(why), Style::new());
    }
    if why.is_healthy() {
        let examined = text::exact(why.messages);
        page.say(" ", &format!("nothing wrong: {examined} messages examined"), Style::new());
    }
    if why.detail != TraceDetail::Full && !why.is_too_little() && !why.has_problem() {
        let detail = why.detail.name();
        let text =
            format!("nothing found with --detail {detail}, which most causes are not seen with");
        page.say(" ", &text, Style::new());
    }
    for verdict in &why.verdicts {
        page.verdict(verdict, why);
    }
    for tail in why.tails.iter().filter(|tail| !tail.rows.is_empty()) {
        page.tail(tail);
    }
    page.worst(&why.worst);
    page.holders(why);
    page.lines
}

impl Page {
    fn caption(&mut self, what: &str) {
        self.say(" ", what, self.theme.dim());
    }

    fn verdict(&mut self, verdict: &Verdict, why: &Why) {
        let (lead, style) = match verdict.severity {
            Severity::Problem => (" ! ", self.theme.warning()),
            Severity::Note => (" · ", self.theme.heading()),
        };
        let mut place = Vec::new();
        place.extend(verdict.process.map(|(task, comm)| verdicts::name(task, comm)));
        place.extend(verdict.leg.map(|leg| format!("leg {leg}")));
        let segment = verdict.segment.map(|segment| format!(" {}", segment.name()));
        let place = format!("{}{}", place.join(", "), segment.unwrap_or_default());
        let colon = if place.is_empty() { "" } else { ": " };
        self.say(lead, &format!("{}{colon}{place}", words::heading(verdict)), style);
        if let Some(open) = &verdict.open {
            self.say("   ", &verdicts::overdue(open), style);
        }
        if let Some(cost) = cost(verdict) {
            self.say("   ", &cost, Style::new());
        }
        if let Some(when) = verdicts::when(verdict) {
            self.say("   ", &when, Style::new());
        }
        for clause in &verdict.evidence {
            self.say("   · ", &words::clause(clause), Style::new());
        }
        let remedy = words::remedy(verdict, why);
        if !remedy.is_empty() {
            self.say("   → ", &remedy, Style::new());
        }
    }

    fn tail(&mut self, tail: &Tail) {
        self.caption(&format!(
            "the slowest {} ({} messages, {} or more) took {} longer:",
            tail_share(tail.share),
            text::exact(tail.messages),
            text::time(tail.least),
            text::time(tail.excess)
        ));
        for row in tail.rows.iter().take(ROWS) {
            self.tail_row(row);
        }
        let more = tail.rows.len().saturating_sub(ROWS);
        if more > 0 {
            let share = tail.rows.iter().skip(ROWS).map(|row| row.share).sum();
            let share = text::right(&text::percent(share), 8);
            self.say("", &format!("{}  in {more} more", text::unbroken(&share)), Style::new());
        }
    }

    fn tail_row(&mut self, row: &TailRow) {
        let minus = if row.excess_ns < 0 { "−" } else { "" };
        let time = format!("{minus}{}", text::time(Nanos(row.excess_ns.unsigned_abs())));
        let cause = match row.cause {
            Cause::Of(kind) => words::title(kind),
            Cause::Distance => "distance",
            Cause::Ordinary => "",
        };
        let letter = Span::styled(letter(row.segment).to_string(), self.theme.segment(row.segment));
        self.lines.push(Line::from(vec![
            Span::raw(format!(
                "{} {} ",
                text::right(&text::percent(row.share), 8),
                text::right(&time, 8)
            )),
            Span::raw(format!("{:>3} ", row.leg)),
            letter,
            Span::raw(format!(" {} {cause}", text::left(row.segment.name(), 12))),
        ]));
    }

    fn worst(&mut self, worst: &[WorstMessage]) {
        if !worst.is_empty() {
            self.caption("the slowest messages:");
        }
        for message in worst.iter().take(WORST) {
            self.say("   ", &life(message), Style::new());
        }
    }

    fn holders(&mut self, why: &Why) {
        if !why.holders.is_empty() {
            self.caption("had the CPU while others waited for it:");
        }
        for holder in &why.holders {
            let name = verdicts::name(holder.task, holder.comm);
            let waits = text::counted(holder.waits, "wait");
            let held = text::unbroken(&text::right(&text::time(holder.held), 8));
            self.say("", &format!("{held}  {name}, {waits}"), Style::new());
        }
    }
}

/// The time that the cause costs slow messages, the median message and the tail; `None` if it costs none.
fn cost(verdict: &Verdict) -> Option<String> {
    let slow = (verdict.slow_messages > 0).then(|| {
        format!(
            "{} slow messages, {} each ({} of the slow messages' extra time)",
            text::unbroken(&text::exact(verdict.slow_messages)),
            text::unbroken(&text::time(verdict.slow)),
            text::unbroken(&text::percent(verdict.slow_share))
        )
    });
    let parts = [
        ("median", verdict.median_share, verdict.median),
        ("tail", verdict.tail_share, verdict.tail),
    ]
    .into_iter()
    .filter(|&(_, _, time)| time > Nanos(0))
    .map(|(of, share, time)| {
        let share = text::unbroken(&text::percent(share));
        format!("{share} of the {of} ({})", text::unbroken(&text::time(time)))
    });
    let parts: Vec<String> = slow.into_iter().chain(parts).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The share of messages in a tail: `1 %`, `0.1 %`.
fn tail_share(share: f64) -> String {
    if share.is_finite() { format!("{} %", (share * 1e5).round() / 1e3) } else { text::NONE.into() }
}

/// The segments in which a slow message spent most time, and the thread that had the CPU while it waited.
fn life(message: &WorstMessage) -> String {
    let delivery = &message.delivery;
    let mut steps: Vec<(usize, Segment, Nanos)> = delivery
        .segments()
        .flat_map(|(leg, segments)| {
            segments.iter().map(|(s, time)| (leg + 1, s, time)).collect::<Vec<_>>()
        })
        .collect();
    steps.sort_by_key(|&(_, _, time)| std::cmp::Reverse(time));
    let steps = steps.iter().take(STEPS).map(|(leg, segment, time)| {
        text::unbroken(&format!("{leg} {} {}", segment.name(), text::time(*time)))
    });
    let steps = steps.collect::<Vec<_>>().join(", ");
    let holder = holder(delivery).map(|holder| {
        let name = verdicts::name(holder.task, holder.comm);
        format!("; {name} had the CPU for {}", text::unbroken(&text::time(holder.held)))
    });
    let one_way = text::unbroken(&text::time(message.one_way));
    format!("{one_way}: {steps}{}", holder.unwrap_or_default())
}

/// The thread that had the CPU for longest while a thread of this message waited for it. The idle task does not count.
fn holder(delivery: &Delivery) -> Option<Holder> {
    let hops = delivery.legs.iter().flat_map(|leg| leg.before.iter().chain(&leg.chain));
    let held = hops.map(|hop| hop.holder).filter(|holder| holder.task.tid.0 != 0);
    held.filter(|holder| holder.held > Nanos(0)).max_by_key(|holder| holder.held)
}
