//! The lines of the log: entries that the filter lets through, with losses that follow each other put together.

use crate::text;
use wirelap_events::{EventLosses, Nanos};
use wirelap_history::{EventLog, LogEntry, LogEvent};
use wirelap_report::words;

/// Losses less than this apart are one line.
const ONE_LOSS: Nanos = Nanos::from_millis(5_000);

/// A line of the log: an entry, or several losses of events that follow each other.
#[derive(Clone, Debug)]
pub struct LogLine<'a> {
    /// The entry; of several losses, the newest.
    pub entry: &'a LogEntry,
    /// Events lost in all of them, and the time of the first.
    lost: Option<(EventLosses, Nanos)>,
}

/// The lines that the filter lets through, the newest first.
pub fn lines<'a>(log: &'a EventLog, filter: &str) -> Vec<LogLine<'a>> {
    let wanted = filter.to_lowercase();
    let mut out: Vec<LogLine<'_>> = Vec::new();
    for entry in log.iter() {
        if let LogEvent::EventsLost(losses) = entry.event {
            if let Some(LogLine { lost: Some((sum, first)), .. }) = out.last_mut()
                && *first - entry.at <= ONE_LOSS
            {
                (*sum, *first) = (sum.plus(losses), entry.at);
                continue;
            }
            out.push(LogLine { entry, lost: Some((losses, entry.at)) });
        } else {
            out.push(LogLine { entry, lost: None });
        }
    }
    if !wanted.is_empty() {
        out.retain(|line| sentence(line).to_lowercase().contains(&wanted));
    }
    out
}

/// A line in words.
pub fn sentence(line: &LogLine<'_>) -> String {
    let row = line.entry.row.as_ref().map_or_else(String::new, |(_, name)| format!("{name}: "));
    let what = match &line.entry.event {
        LogEvent::EventsLost(losses) => lost(line, *losses),
        LogEvent::RowSpeaks(after) => {
            format!("delivers again, after {}", text::unbroken(&text::time(*after)))
        }
        event => event.words(),
    };
    format!("{row}{what}")
}

fn lost(line: &LogLine<'_>, losses: EventLosses) -> String {
    let (losses, first) = line.lost.unwrap_or((losses, line.entry.at));
    let within = line.entry.at - first;
    let time = if within > Nanos(0) {
        format!(" within {}", text::unbroken(&text::time(within)))
    } else {
        String::new()
    };
    let events = text::counted(losses.events, "event");
    format!("lost {events}{time}: {}", words::lost_because(losses))
}
