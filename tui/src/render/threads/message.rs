//! The lanes of one message, and below them what each letter stands for.

use super::lanes::{Doing, LaneInterval, LaneKey, LaneThread, Lanes};
use super::waits::{holder_name, process};
use crate::app::App;
use crate::render::page::Page;
use crate::text;
use crate::theme::{Theme, letter};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use wirelap_correlate::snapshot::Process;
use wirelap_events::{Delivery, Nanos, Segment, Stage};

/// Columns of a lane's name.
const LABEL: usize = 10;
/// The letters of threads that had the CPU; more of them share the last one.
const HOLDERS: [char; 12] = ['x', 'y', 'z', 'w', 'v', 'u', 't', 's', 'r', 'q', 'p', 'o'];
/// The sign of a wait of which it is not known who had the CPU for most of it.
const UNKNOWN: char = '·';

/// Adds the lanes of a message; `(at, of)` is its place among the slowest.
pub fn write(page: &mut Page, app: &App, delivery: &Delivery, (at, of): (usize, usize)) {
    let lanes = Lanes::of(delivery);
    let began = text::moment(lanes.from - app.snapshot().since);
    let took = text::time(lanes.to - lanes.from);
    let place = format!("slowest message {} of {of}", at + 1);
    page.heading(&format!("{place} (← →): {took}, sent {began} after the start"));
    let columns = text::columns_left(page.width, LABEL + 2);
    if lanes.to == lanes.from || columns == 0 {
        return page.sentence("Its times are not known.");
    }
    let axis = MessageTimeAxis { from: lanes.from, to: lanes.to, columns };
    page.lines.push(path(delivery, axis, page.theme));
    for (key, intervals) in &lanes.intervals {
        page.lines.push(lane(*key, intervals, axis, page.theme));
    }
    page.columns(&axis.labels());
    legend(page, app, &lanes);
}

/// The time axis.
#[derive(Clone, Copy)]
struct MessageTimeAxis {
    from: Nanos,
    to: Nanos,
    columns: usize,
}

impl MessageTimeAxis {
    /// The columns of an interval: at least one.
    fn cells(self, from: Nanos, to: Nanos) -> std::ops::Range<usize> {
        let at = |time: Nanos| {
            let into = u128::from((time - self.from).0) * self.columns as u128;
            let column = into / u128::from((self.to - self.from).0.max(1));
            usize::try_from(column).unwrap_or(usize::MAX)
        };
        let first = at(from).min(text::columns_left(self.columns, 1));
        first..at(to).clamp(first + 1, self.columns.max(first + 1))
    }

    /// The line below the lanes: both ends of the axis.
    fn labels(self) -> String {
        let end = text::time(self.to - self.from);
        let room = text::columns_left(self.columns, text::width(&end));
        format!(" {}{}{end}", " ".repeat(LABEL), text::left("0", room))
    }
}

/// A line of single cells after a name.
fn cells(name: &str, cells: Vec<(char, Style)>) -> Line<'static> {
    let mut spans = vec![Span::raw(format!(" {}", text::left(name, LABEL)))];
    for (cell, style) in cells {
        match spans.last_mut() {
            Some(last) if last.style == style && last.content.len() < 1024 => {
                last.content.to_mut().push(cell);
            }
            _ => spans.push(Span::styled(cell.to_string(), style)),
        }
    }
    Line::from(spans)
}

/// The stages that the message passed, as in the bars of the overview.
fn path(delivery: &Delivery, axis: MessageTimeAxis, theme: Theme) -> Line<'static> {
    let mut out = vec![(' ', Style::new()); axis.columns];
    let mut put = |segment: Segment, from: Nanos, to: Nanos| {
        for at in axis.cells(from, to).filter(|_| from < to) {
            if let Some(cell) = out.get_mut(at) {
                *cell = (letter(segment), theme.segment(segment));
            }
        }
    };
    let mut read = None;
    for leg in &delivery.legs {
        let first = leg.times.seen().next().map(|(_, at)| at);
        if let (Some(read), Some(first)) = (read, first) {
            put(Segment::BrokerDwell, read, first);
        }
        leg.each_span(&mut |span| put(span.segment, span.from, span.to));
        read = leg.times.get(Stage::Read);
    }
    cells("stages", out)
}

fn lane_name(key: LaneKey) -> String {
    match key {
        LaneKey::Cpu(0 | 1, cpu) => format!("CPU {}", cpu.0),
        LaneKey::Cpu(host, cpu) => format!("{host}:CPU {}", cpu.0),
        LaneKey::Thread(_) => "CPU ?".into(),
    }
}

/// The letter of a thread of the message.
fn thread_letter(index: usize) -> char {
    ('A'..='Z').nth(index).unwrap_or('?')
}

/// The letter of a thread that had the CPU.
fn holder_letter(index: usize) -> char {
    HOLDERS[index.min(HOLDERS.len() - 1)]
}

fn lane(
    key: LaneKey,
    intervals: &[LaneInterval],
    axis: MessageTimeAxis,
    theme: Theme,
) -> Line<'static> {
    let mut out = vec![(' ', Style::new()); axis.columns];
    // What runs is drawn last, so that a short run is never hidden by a wait.
    let (waits, runs): (Vec<&LaneInterval>, Vec<&LaneInterval>) =
        intervals.iter().partition(|one| matches!(one.doing, Doing::Waits(_)));
    for one in waits.into_iter().chain(runs) {
        let drawn = match one.doing {
            Doing::Runs => (thread_letter(one.thread), theme.selected()),
            Doing::RunsPartly => (thread_letter(one.thread).to_ascii_lowercase(), theme.selected()),
            Doing::Waits(Some(holder)) => (holder_letter(holder), theme.warning()),
            Doing::Waits(None) => (UNKNOWN, theme.dim()),
        };
        for at in axis.cells(one.from, one.to) {
            if let Some(cell) = out.get_mut(at) {
                *cell = drawn;
            }
        }
    }
    cells(&lane_name(key), out)
}

/// Adds the meaning of the letters.
fn legend(page: &mut Page, app: &App, lanes: &Lanes) {
    let processes: &[Process] = app.selected().map_or(&[], |group| &group.processes);
    for (index, thread) in lanes.threads.iter().enumerate() {
        let lead = format!(" {}  ", thread_letter(index));
        page.say(&lead, &describe(thread, processes), Style::new());
    }
    for (index, one) in lanes.holders.iter().enumerate() {
        let waiter = lanes.threads.get(one.waiter).map_or(Nanos(0), |thread| thread.waited);
        let what = format!(
            "{}: had the CPU for {} while {} waited ({} in all)",
            holder_name(one.holder.task, one.holder.comm),
            text::unbroken(&text::time(one.holder.held)),
            thread_letter(one.waiter),
            text::unbroken(&text::time(waiter)),
        );
        page.say(&format!(" {}  ", holder_letter(index)), &what, page.theme.warning());
    }
    let mut all = lanes.intervals.values().flatten();
    if all.any(|one| one.doing == Doing::Waits(None)) {
        let what = "waits for a CPU; who had it for most of the wait is not known";
        page.say(&format!(" {UNKNOWN}  "), what, page.theme.dim());
    }
    if lanes.intervals.keys().any(|key| matches!(key, LaneKey::Thread(_))) {
        let what = "CPU ?: the lane of a thread whose CPU is not known, because it was running before or was not seen to be \
                    switched to";
        page.say(" ", what, page.theme.dim());
    }
}

fn describe(thread: &LaneThread, processes: &[Process]) -> String {
    let mut name = process(processes, thread.task.pid);
    if thread.task.tid.0 != thread.task.pid.0 {
        name = format!("{name}, thread {}", thread.task.tid.0);
    }
    let mut roles: Vec<String> = Vec::new();
    for role in &thread.roles {
        if !roles.contains(role) {
            roles.push(role.clone());
        }
    }
    if thread.waited > Nanos(0) {
        roles.push(format!("waited {} for a CPU", text::unbroken(&text::time(thread.waited))));
    }
    roles.extend(off_cpu(thread));
    format!("{name}: {}", roles.join(", "))
}

/// The times in which a thread did not run while it had the message, and their causes; `None` without any.
fn off_cpu(thread: &LaneThread) -> Option<String> {
    let off = &thread.off;
    let named = |time: Nanos| text::unbroken(&text::time(time));
    let mut parts = Vec::new();
    if off.waited > Nanos(0) {
        let times = text::unbroken(&text::counted(u64::from(off.preemptions), "time"));
        let by = off.holders().next().map(|by| holder_name(by.task, by.comm));
        let by = by.map_or_else(String::new, |by| format!(", most by {by}"));
        parts.push(format!("was preempted {times} for {}{by}", named(off.waited)));
    }
    if off.asleep > Nanos(0) {
        parts.push(format!("slept {}", named(off.asleep)));
    }
    (!parts.is_empty())
        .then(|| format!("then {} (small letter: it is not known when)", parts.join(" and ")))
}
