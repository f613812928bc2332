//! The view "probes": what each probe reports and loses, what the tracer costs, the chosen hooks, and traffic that is not decoded.
//!
//! ```text
//! ─ probes ────────────────────────────────────────────────────────────────────
//!  events since start
//!  PROBE          EVENTS        /S      LOST    FILTERED
//!  send           54,120     2.00 k        0           –  ▁▃▅▅▅▅
//!  xmit          108,240     4.00 k ! 1,200       12,345  ▁▃▅▅▅▅
//!
//!  the tracer itself
//!  CPU now 3.1 %, since start 3.2 %                       ▂▂▃▂
//!  memory now 46.0 MiB, at most 48.0 MiB                  ▅▅▅▅
//!
//!  chosen hooks
//!  send (TCP)          tracepoint tcp_sendmsg_locked
//!  drops             ! none: …
//!
//!  traffic that is not decoded
//!  Traffic on port 5432 (127.0.0.1:5432, postgres): … → --decode 5432=PROTOCOL
//! ```
//! Where several hosts are observed by agents, these stand in place of the hooks. From 160 columns on, hooks and traffic are to the right of the events.

use super::hosts;
use super::page::{self, Page};
use crate::app::{App, ProbePoint};
use crate::text;
use crate::theme::Theme;
use crate::words::spent;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use wirelap_correlate::UnknownTraffic;
use wirelap_correlate::snapshot::{ProbeEvents, Trust};
use wirelap_events::{Nanos, Probe};
use wirelap_report::words;

/// Width of the events where hooks are beside them, in columns.
const EVENTS_WIDTH: u16 = 90;
/// Least width of the hooks beside the events.
const HOOKS_WIDTH: u16 = 68;
/// Columns of the table before the sparklines.
const TABLE: usize = 56;
/// The longest sparkline: a column for each second or so.
const SPARK: usize = 120;
/// Columns of an observation's name.
const OBSERVATION: usize = 22;

/// Draws the view.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let widths = page::widths(area, EVENTS_WIDTH, HOOKS_WIDTH);
    let [left, right] = widths.unwrap_or([area.width; 2]);
    let (mut events, mut hooks) = (Page::new(left, theme), Page::new(right, theme));
    self::events(&mut events, app);
    tracer(&mut events, app);
    trust(&mut events, &app.snapshot().trust);
    if app.snapshot().hosts.is_empty() {
        self::hooks(&mut hooks, app);
    } else {
        hosts::add(&mut hooks, &app.snapshot().hosts);
    }
    unknown(&mut hooks, app);
    if widths.is_some() {
        return page::beside(frame, area, "probes", [events, hooks], app.scroll());
    }
    events.lines.push(Line::default());
    events.lines.append(&mut hooks.lines);
    page::one(frame, area, "probes", events, app.scroll());
}

/// Adds the numbers of events that each probe has reported and lost.
fn events(page: &mut Page, app: &App) {
    let trust = &app.snapshot().trust;
    page.heading("events since start");
    if app.snapshot().at == Nanos(0) {
        return page.sentence("The probes are being attached.");
    }
    if trust.events == 0 && trust.lost() == 0 {
        page.sentence(
            "No probe has reported an event yet: nothing sends, or the filters exclude all traffic.",
        );
    }
    page.columns(&format!(
        " {}{:>14}{:>10}{:>12}{:>14}",
        text::left("PROBE", 11),
        "EVENTS",
        "/S",
        "LOST",
        "FILTERED"
    ));
    for probe in Probe::ALL {
        self::probe(page, app, probe);
    }
    page.say(
        " ",
        "FILTERED: how often a probe ran for what the filters exclude, which costs time, too.",
        page.theme.dim(),
    );
}

fn probe(page: &mut Page, app: &App, probe: Probe) {
    let trust = &app.snapshot().trust;
    let known: Option<&ProbeEvents> = trust.reported.iter().find(|one| one.probe == probe);
    let lost = trust.events_lost.iter().filter(|loss| loss.probe == probe);
    let lost = lost.map(|loss| loss.count).fold(0, u64::saturating_add);
    let filtered = known
        .and_then(|one| one.filtered)
        .map_or_else(|| text::NONE.into(), |count| text::exact_in(count, 13));
    let rate = app.probes().newest().map(|point| text::number(point.rate(probe)));
    let cells = format!(
        " {}{}{}",
        text::left(probe.name(), 11),
        text::right(&text::exact_in(known.map_or(0, |one| one.events), 14), 14),
        text::right(rate.as_deref().unwrap_or(text::NONE), 10),
    );
    let (sign, style) = if lost > 0 { ("!", page.theme.warning()) } else { (" ", Style::new()) };
    let lost = format!("{sign}{}", text::right(&text::exact_in(lost, 10), 10));
    let rates = app.probes().points().map(|point| whole(point.rate(probe)));
    let spark = text::sparkline(rates, page.room(TABLE + 10, SPARK));
    page.lines.push(Line::from(vec![
        Span::raw(cells),
        Span::styled(format!(" {lost}"), style),
        Span::raw(format!("{}  ", text::right(&filtered, 14))),
        Span::styled(spark, page.theme.spark()),
    ]));
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
fn whole(value: f64) -> u64 {
    value.clamp(0.0, 1e15) as u64
}

/// Adds the cost of wirelap itself, now and over time.
fn tracer(page: &mut Page, app: &App) {
    let cost = &app.snapshot().trust.tracer;
    page.heading("the tracer itself");
    let newest = app.probes().newest();
    let now = newest.map_or_else(|| text::NONE.into(), |point| text::cpu(point.cpu_share()));
    let cpu = format!(" CPU {now} now, {} since start", text::cpu(cost.cpu_share));
    let memory = format!(
        " memory {} now, {} at most",
        text::bytes(cost.rss_now_bytes),
        text::bytes(cost.rss_bytes)
    );
    let cpus = |point: &ProbePoint| whole(point.cpu_share() * 1e6);
    series(page, &cpu, app, cpus);
    series(page, &memory, app, |point| point.rss_bytes);
    if let Some(spent) = spent(&app.snapshot().trust) {
        page.sentence(&format!(
            "Budget {spent}. The first is of a core, the second of the programs' CPU time, both of the last period."
        ));
    }
    if let Some(bytes) = app.probe_setup().ring_bytes {
        page.sentence(&format!(
            "Ring buffer: {}; events that do not fit are lost. How full it is now is not known.",
            text::unbroken(&text::bytes(bytes))
        ));
    }
}

/// A line with a sparkline of one of the points' figures.
fn series(page: &mut Page, cells: &str, app: &App, of: impl Fn(&ProbePoint) -> u64) {
    let spark = text::sparkline(app.probes().points().map(of), page.room(48, SPARK));
    page.row(text::left(cells, 48), spark);
}

/// Why figures may be incomplete, and what helps.
fn trust(page: &mut Page, trust: &Trust) {
    if trust.lost() > 0 {
        page.warning(&format!(
            "{} events were lost because {}{}.",
            text::exact(trust.lost()),
            words::lost_because(trust.losses()),
            if trust.losses().are_all_fragmented() {
                ", each of them a datagram"
            } else if trust.losses().are_all_skipped() {
                ", for processes that are traced or not"
            } else if trust.losses().are_all_stated() || trust.losses().are_all_late() {
                ""
            } else {
                ": use a larger ring buffer (--ring-size), trace less (--ports, --pid, --cgroup), or a part of the time (--sample, --budget)"
            }
        ));
    }
    if trust.window_share < 1.0 && trust.events > 0 {
        page.warning(&format!(
            "Sampling: traced {} of the time; events a second are means that include the time in between.",
            text::unbroken(&text::share(trust.window_share))
        ));
    }
    if trust.evicted > 0 {
        page.warning(&format!(
            "{} flows or messages were evicted to limit the memory used.",
            text::exact(trust.evicted)
        ));
    }
}

/// The hook of each observation.
fn hooks(page: &mut Page, app: &App) {
    page.heading("chosen hooks");
    let hooks = &app.probe_setup().hooks;
    if hooks.is_empty() {
        return page.sentence(
            "There are no hooks: these events come from a file, or it is not known how they were observed.",
        );
    }
    for hook in hooks {
        let name = text::left(&hook.observation, OBSERVATION);
        if let Some(chosen) = &hook.hook {
            page.say(&format!(" {name}   "), chosen, Style::new());
        } else {
            let without = if hook.without.is_empty() { "" } else { ": " };
            let what = format!("none{without}{}", hook.without);
            page.say(&format!(" {name} ! "), &what, page.theme.warning());
        }
    }
}

/// Traffic that is not decoded, and what to do about it.
fn unknown(page: &mut Page, app: &App) {
    let unknown = &app.snapshot().unknown;
    page.heading("traffic that is not decoded");
    if unknown.rows.is_empty() && unknown.other_connections == 0 {
        return page.sentence("All traffic that was seen is decoded.");
    }
    for row in &unknown.rows {
        page.say(" · ", &words::traffic(row), Style::new());
        if let Some(remedy) = remedy(row) {
            page.say("   → ", &remedy, Style::new());
        }
    }
    if unknown.other_connections > 0 {
        let connections = text::counted(unknown.other_connections, "more connection");
        let bytes = text::unbroken(&text::bytes(unknown.other_bytes));
        page.say(" · ", &format!("{connections} carried {bytes}."), Style::new());
    }
    if unknown.muted_sockets > 0 {
        page.sentence(&words::muted_sockets(unknown.muted_sockets));
    }
}

/// The option that names the protocol of a port; `None` if its bytes have told already what it is.
fn remedy(row: &UnknownTraffic) -> Option<String> {
    let port = row.endpoint.filter(|_| row.protocol.is_none())?.port();
    Some(format!("if you know the protocol, name it: --decode {port}=PROTOCOL"))
}
