//! The comparison as lines, for an output that is no terminal.

use crate::columns::{self, Column, ColumnChoice};
use crate::{text, words};
use std::fmt::Write;
use wirelap_correlate::snapshot::{Group, Snapshot};
use wirelap_report::{ReportedLocalRequests, ReportedPartial, words as report_words};

/// Number of segments that are named for each row.
const TOP_SEGMENTS: usize = 4;

/// The snapshot as a block of lines of at most `width` columns (at least 40), without colours or control characters.
/// The block ends with a newline:
///
/// ```text
/// 00:00:12 matched 100 % · lost 0 events · traced 100 % of the time · tracer 3.2 % CPU, 48.0 MiB
/// MIDDLEWARE            MSG/S     P50     P99 …
/// mqtt mosquitto       2.00 k 48.1 µs  121 µs …
///   time: 2 broker_dwell 41.0 %, 1 wakeup 12.2 %, …
/// ! Lost 12 events, …
/// ```
pub fn plain(snapshot: &Snapshot, width: u16) -> String {
    let width = width.max(crate::layout::MIN_WIDTH);
    let mut out = String::new();
    push_wrapped(&mut out, "", &headline(snapshot), width);
    if snapshot.groups.is_empty() {
        for sentence in words::nothing_yet(snapshot) {
            push_wrapped(&mut out, "", &sentence, width);
        }
    } else {
        table(&mut out, snapshot, width);
    }
    for warning in words::warnings(snapshot) {
        push_wrapped(&mut out, "! ", &warning, width);
    }
    out
}

fn headline(snapshot: &Snapshot) -> String {
    let mut line = text::clock(snapshot.at - snapshot.since);
    let mut separator = " ";
    let parts = words::trust_parts(snapshot).into_iter().map(|(part, _)| part);
    // Of files that are read, the cost was not measured.
    let cost = (snapshot.trust.tracer.rss_bytes > 0).then(|| words::tracer(&snapshot.trust));
    for part in parts.chain(cost) {
        let _ = write!(line, "{separator}{}", text::unbroken(&part));
        separator = " · ";
    }
    line
}

fn table(out: &mut String, snapshot: &Snapshot, width: u16) {
    let groups = &snapshot.groups;
    let has_errors = groups.iter().any(|group| group.one_way_error.count > 0);
    let columns = ColumnChoice::default().fitting(width, has_errors);
    let column_width = |column: &Column| column.width_with(has_errors);
    let fixed: u16 = columns.iter().skip(1).map(|column| column_width(column) + 1).sum();
    let reliability = |group: &Group| columns::reliability(group, &snapshot.trust);
    let whole =
        |group: &Group| text::width(&columns::name(group)) + text::width(reliability(group).mark());
    let longest = groups.iter().map(whole).max().unwrap_or(0);
    let name_width = usize::from(width - fixed).min(longest.max(usize::from(Column::Name.width())));
    let row = |name: &str, cell: &dyn Fn(Column) -> String| {
        let mut line = text::left(name, name_width);
        for column in columns.iter().skip(1) {
            line.push(' ');
            let width = usize::from(column_width(column));
            let cell = cell(*column);
            line.push_str(&if column.is_text() {
                text::left(&cell, width)
            } else {
                text::right(&cell, width)
            });
        }
        line
    };
    push(out, &row(Column::Name.title(), &|column| column.title().into()), width);
    for group in (0..groups.len()).filter(|&at| columns::is_shown(groups, at)).map(|at| &groups[at])
    {
        let reliability = reliability(group);
        let name = columns::marked_name(group, reliability, name_width);
        push(out, &row(&name, &|column| column.cell(group, reliability)), width);
        for doubt in group.doubts(&snapshot.trust) {
            let lead = format!("  {}", doubt.reliability.mark());
            let text =
                format!("{}: {}", doubt.reliability.name(), report_words::doubt(&doubt.reason));
            push_wrapped(out, &lead, &text, width);
        }
        if let Some(time) = top_segments(group) {
            push_wrapped(out, "  ", &time, width);
        }
        if let Some(seen) = &group.partial {
            let seen = ReportedPartial::from(&**seen);
            push_wrapped(out, "  ", &seen.counts(), width);
            for (name, line) in seen.lines() {
                let lead = if name.is_empty() { "    ".into() } else { format!("  {name}: ") };
                push_wrapped(out, &lead, &line, width);
            }
        }
        let requests = group.requests.as_deref().and_then(ReportedLocalRequests::of);
        for (name, line) in requests.iter().flat_map(ReportedLocalRequests::lines) {
            let lead = if name.is_empty() { "    ".into() } else { format!("  {name}: ") };
            push_wrapped(out, &lead, &line, width);
        }
        for note in report_words::group_notes(group) {
            push_wrapped(out, "  - ", &note, width);
        }
    }
}

/// The segments that took most of the time, each as leg, segment and share; `None` if none took any.
fn top_segments(group: &Group) -> Option<String> {
    let mut segments: Vec<_> = group.segments.iter().filter(|stat| stat.share > 0.0).collect();
    segments.sort_by(|a, b| b.share.total_cmp(&a.share));
    let named: Vec<String> = segments
        .into_iter()
        .take(TOP_SEGMENTS)
        .map(|stat| {
            let share = text::share(stat.share);
            text::unbroken(&format!("{} {} {share}", stat.leg, stat.segment.name()))
        })
        .collect();
    (!named.is_empty()).then(|| format!("time: {}", named.join(", ")))
}

fn push(out: &mut String, line: &str, width: u16) {
    out.push_str(text::truncate(line, usize::from(width)).trim_end());
    out.push('\n');
}

fn push_wrapped(out: &mut String, lead: &str, sentence: &str, width: u16) {
    let room = text::columns_left(width, text::width(lead));
    for (index, line) in text::wrap(sentence, room).into_iter().enumerate() {
        let lead = if index == 0 { lead.to_owned() } else { " ".repeat(text::width(lead)) };
        push(out, &format!("{lead}{line}"), width);
    }
}
