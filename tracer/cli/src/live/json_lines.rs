//! Lines of JSON for other programs: one each second, and one for each entry of the log.

use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use wirelap_correlate::trust::reliability;
use wirelap_correlate::{Group, Severity, Snapshot};
use wirelap_events::Nanos;
use wirelap_events::human::escape_json;
use wirelap_history::{EventLog, LogEntry, LogEvent, RowSlice, Slice, Update};

/// The version of the lines, in each of them.
const SCHEMA: &str = "wirelap/line/1";
/// The interval between two lines with figures.
const INTERVAL: Nanos = Nanos::from_millis(1_000);

/// A line.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Line")]
pub struct JsonLine {
    /// The version of the lines: `wirelap/line/1`.
    schema: &'static str,
    /// The time in UTC (RFC 3339), by this host's clock.
    at: String,
    /// The content of the line.
    #[serde(flatten)]
    content: Content,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content {
    /// The figures of about a second.
    Second(SecondLine),
    /// An entry of the log.
    Event(EventLine),
}

/// The figures of about a second.
#[derive(Debug, Serialize, JsonSchema)]
struct SecondLine {
    /// Length of the time that the line is of, in nanoseconds.
    time_ns: u64,
    /// The rows that have appeared so far.
    rows: Vec<RowLine>,
    /// Matched over delivered messages since the beginning, all rows, 0..=1.
    matched_share: f64,
    /// Share of the time since the beginning in which events were reported, 0..=1: below 1 when sampling.
    traced_share: f64,
    /// Events lost since the beginning.
    events_lost: u64,
    /// CPU time of wirelap itself, as a share of one core.
    cpu_share: f64,
    /// Memory of wirelap itself in bytes.
    rss_bytes: u64,
}

/// A row.
#[derive(Debug, Serialize, JsonSchema)]
struct RowLine {
    /// The protocol, or the name of the workload.
    middleware: String,
    /// The broker's name; absent if messages pass none.
    #[serde(skip_serializing_if = "Option::is_none")]
    broker: Option<String>,
    /// The address that names the row; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// Messages sent since the beginning.
    sent: u64,
    /// Messages delivered since the beginning, counted for each subscriber.
    delivered: u64,
    /// Those that were followed from their send to their read.
    matched: u64,
    /// Deliveries a second now; absent if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    msg_per_s: Option<f64>,
    /// Messages that ought to have arrived by now and have not.
    overdue: u64,
    /// The one-way latency of the messages that were delivered in this time; absent if none were followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    one_way_ns: Option<TimesLine>,
    /// Trust in the row's figures: `good`, `reduced` or `unusable`.
    trust: &'static str,
    /// The verdicts that hold now, the gravest first.
    verdicts: Vec<VerdictLine>,
}

/// A distribution of times in nanoseconds.
#[derive(Debug, Serialize, JsonSchema)]
struct TimesLine {
    /// Messages.
    count: u64,
    /// Median.
    p50: u64,
    /// 99th percentile.
    p99: u64,
    /// Largest.
    max: u64,
}

/// A verdict.
#[derive(Debug, Serialize, JsonSchema)]
struct VerdictLine {
    /// Its kind: docs/verdicts.md lists all of them.
    kind: &'static str,
    /// `problem` or `note`.
    severity: &'static str,
    /// Its leg, 1 for the first; absent if it concerns no single one.
    #[serde(skip_serializing_if = "Option::is_none")]
    leg: Option<u8>,
}

/// An entry of the log.
#[derive(Debug, Serialize, JsonSchema)]
struct EventLine {
    /// The kind of entry: `row_appeared`, `row_silent`, `row_speaks`, `row_muted`, `row_unmuted`, `process_gone`, `verdict_began`,
    /// `verdict_ended`, `events_lost`, `trust`, `overdue`, `nothing_overdue`, `host` or `note`.
    event: &'static str,
    /// The row: middleware, broker and address; absent if it concerns no single one.
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<String>,
    /// The verdict's kind; absent if it is about none.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    /// The verdict's gravity, `problem` or `note`; absent if it is about none, or it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<&'static str>,
    /// The entry in words.
    text: String,
}

/// Makes lines of a session's updates.
#[derive(Debug)]
pub struct JsonLines {
    /// Nanoseconds from the events' clock to the time since 1970.
    wall_offset: i64,
    before: Option<Arc<Snapshot>>,
    log: EventLog,
    told: u64,
    /// Deliveries since the last line with figures.
    slice: Slice,
}

impl JsonLines {
    /// Nothing was told yet. `wall_offset`: nanoseconds from the events' clock to the time since 1970.
    pub fn new(wall_offset: i64) -> JsonLines {
        JsonLines {
            wall_offset,
            before: None,
            log: EventLog::default(),
            told: 0,
            slice: Slice::default(),
        }
    }

    /// Takes an update, and returns the lines that are due, each with its line feed.
    pub fn take(&mut self, update: &Update) -> String {
        let now = &update.snapshot;
        let mut text: String = self.events(update, |_| true).collect();
        if self.slice.to == Nanos(0) {
            self.slice.from = update.slice.from.max(now.since);
        }
        self.slice.merge(&update.slice);
        if self.slice.to - self.slice.from >= INTERVAL {
            text.push_str(&self.line(now.at, Content::Second(second(now, &self.slice))));
            self.slice = Slice { from: self.slice.to, to: self.slice.to, ..Slice::default() };
        }
        text
    }

    /// Takes an update, and returns a line for each new entry of the log of a kind that is wanted, with its line feed.
    pub fn events(
        &mut self,
        update: &Update,
        is_wanted: impl Fn(&LogEvent) -> bool,
    ) -> impl Iterator<Item = String> {
        let now = &update.snapshot;
        let before = self.before.replace(Arc::clone(now)).unwrap_or_default();
        self.log.compare(&before, now);
        let entries = u64::try_from(self.log.iter().len()).unwrap_or(u64::MAX);
        let all = entries.saturating_add(self.log.forgotten());
        let new = usize::try_from(all.saturating_sub(self.told)).unwrap_or(usize::MAX);
        self.told = all;
        let mut entries: Vec<&LogEntry> = self.log.iter().take(new).collect();
        entries.reverse();
        let wanted = entries.into_iter().filter(move |entry| is_wanted(&entry.event));
        wanted.map(|entry| self.line(entry.at, Content::Event(event(entry))))
    }

    fn line(&self, at: Nanos, content: Content) -> String {
        let since_1970 = at.0.saturating_add_signed(self.wall_offset);
        let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(since_1970));
        let time = time.unwrap_or(SystemTime::UNIX_EPOCH);
        let at = humantime::format_rfc3339_micros(time).to_string();
        // A line is strings and numbers: serialising it cannot fail.
        let text =
            serde_json::to_string(&JsonLine { schema: SCHEMA, at, content }).unwrap_or_default();
        format!("{}\n", escape_json(text))
    }
}

fn second(now: &Snapshot, slice: &Slice) -> SecondLine {
    let delivered = |group: &Group| slice.rows.iter().find(|row| row.group == group.id);
    SecondLine {
        time_ns: (slice.to - slice.from).0,
        rows: now.groups.iter().map(|group| row(group, now, delivered(group))).collect(),
        matched_share: now.trust.coverage,
        traced_share: now.trust.window_share,
        events_lost: now.trust.lost(),
        cpu_share: now.trust.tracer.cpu_share,
        rss_bytes: now.trust.tracer.rss_now_bytes,
    }
}

fn row(group: &Group, now: &Snapshot, delivered: Option<&RowSlice>) -> RowLine {
    let held = group.why.verdicts.iter().filter(|verdict| verdict.is_still_so());
    let one_way = delivered.map(|row| row.one_way.summary());
    RowLine {
        middleware: group.middleware.clone(),
        broker: group.broker.clone(),
        address: group.endpoint.map(|endpoint| endpoint.to_string()),
        sent: group.messages.sent,
        delivered: group.messages.delivered,
        matched: group.messages.matched,
        msg_per_s: group.rate_now.is_known().then_some(group.rate_now.msg_per_s),
        overdue: group.why.open.iter().map(|open| open.messages).fold(0, u64::saturating_add),
        one_way_ns: one_way.map(|times| TimesLine {
            count: times.count,
            p50: times.p50.0,
            p99: times.p99.0,
            max: times.max.0,
        }),
        trust: reliability(&group.doubts(&now.trust)).name(),
        verdicts: held
            .map(|verdict| VerdictLine {
                kind: verdict.kind.name(),
                severity: severity(verdict.severity),
                leg: verdict.leg,
            })
            .collect(),
    }
}

fn event(entry: &LogEntry) -> EventLine {
    let (kind, gravity) = match entry.event {
        LogEvent::VerdictBegan(kind, gravity) => (Some(kind.name()), Some(severity(gravity))),
        LogEvent::VerdictEnded(kind) => (Some(kind.name()), None),
        _ => (None, None),
    };
    EventLine {
        event: entry.event.name(),
        row: entry.row.as_ref().map(|(_, name)| name.clone()),
        kind,
        severity: gravity,
        text: entry.event.words(),
    }
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Problem => "problem",
        Severity::Note => "note",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use wirelap_correlate::Counts;
    use wirelap_events::GroupId;
    use wirelap_test_support::committed::repository;

    fn update(from_ms: u64, to_ms: u64, broker: &str, sent: u64) -> Update {
        let [from, to] = [from_ms, to_ms].map(Nanos::from_millis);
        let group = Group {
            id: GroupId(7),
            middleware: "mqtt".into(),
            broker: Some(broker.into()),
            messages: Counts { sent, ..Counts::default() },
            ..Group::default()
        };
        let snapshot = Snapshot { at: to, groups: vec![group], ..Snapshot::default() };
        let one_way = [5_000].into_iter().collect();
        let rows = vec![RowSlice { one_way, ..RowSlice::new(GroupId(7)) }];
        Update { snapshot: Arc::new(snapshot), slice: Slice { from, to, rows, ..Slice::default() } }
    }

    fn values(text: &str) -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_line_comes_each_second_and_for_each_entry() {
        let mut lines = JsonLines::new(0);
        let first = values(&lines.take(&update(0, 600, "b", 1)));
        assert_eq!(first.len(), 1);
        assert_eq!(
            (&first[0]["type"], &first[0]["event"]),
            (&"event".into(), &"row_appeared".into())
        );
        assert_eq!(first[0]["at"], "1970-01-01T00:00:00.600000Z");
        let second = values(&lines.take(&update(600, 1_200, "b", 9)));
        assert_eq!(second.len(), 1);
        let row = &second[0]["rows"][0];
        assert_eq!((&second[0]["type"], &row["sent"]), (&"second".into(), &9.into()));
        assert_eq!(
            (&row["one_way_ns"]["count"], &row["one_way_ns"]["max"]),
            (&2.into(), &5_000.into())
        );
        assert_eq!(lines.take(&update(1_200, 1_800, "b", 9)), "", "nothing is due");
    }

    #[test]
    fn names_of_others_are_escaped() {
        let text = JsonLines::new(0).take(&update(0, 1_000, "a\u{9b}31m\"\n\u{202e}b", 1));
        assert!(text.is_ascii(), "{text}");
        assert_eq!(values(&text)[1]["rows"][0]["broker"], "a\u{9b}31m\"\n\u{202e}b");
    }

    #[test]
    fn the_committed_schema_is_that_of_the_lines() {
        let path = repository("docs/schema/line-1.json");
        let text = wirelap_report::schema::text::<JsonLine>();
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == text, "run UPDATE_SCHEMA=1 cargo test -p wirelap");
    }
}
