//! An entry of the log.

use strum::IntoStaticStr;
use wirelap_correlate::{Reliability, Severity, VerdictKind};
use wirelap_events::human::{counted, counted_as, time_ns};
use wirelap_events::{EventLosses, GroupId, Nanos, Pid};
use wirelap_report::words;

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum LogEvent {
    /// A row has appeared.
    RowAppeared,
    /// A row delivers nothing any more.
    RowSilent,
    /// A silent row delivers again, after so long.
    RowSpeaks(Nanos),
    /// The user has muted a row: nothing more is observed of it.
    RowMuted,
    /// A row that was muted is observed again.
    RowUnmuted,
    /// A process of a row has ended.
    ProcessGone {
        /// The process's role.
        role: String,
        /// The process's name.
        comm: String,
        /// The process's id.
        pid: Pid,
    },
    /// A verdict holds from now on.
    VerdictBegan(VerdictKind, Severity),
    /// A verdict holds no more.
    VerdictEnded(VerdictKind),
    /// So many events were lost in the four seconds from the time of the entry on.
    EventsLost(EventLosses),
    /// A row can be trusted more or less than before.
    Trust(Reliability),
    /// So many messages ought to have arrived and have not.
    Overdue(u64),
    /// No message is overdue any more.
    NothingOverdue,
    /// A host that is observed by an agent does something else than before.
    Host {
        /// The host's name.
        name: String,
        /// The host's state in a few words.
        what: String,
        /// Everything that the host observes comes in time.
        is_well: bool,
    },
    /// The result of something that the user has asked for, as a sentence.
    Note(String),
}

impl LogEvent {
    /// The name in JSON.
    pub fn name(&self) -> &'static str {
        self.into()
    }

    /// The event in words, without its row.
    pub fn words(&self) -> String {
        match self {
            LogEvent::RowAppeared => "appeared".into(),
            LogEvent::RowSilent => "delivers nothing any more".into(),
            LogEvent::RowSpeaks(after) => {
                format!("delivers again, after {}", time_ns(Some(after.0)))
            }
            LogEvent::RowMuted => "muted: nothing more is observed of it".into(),
            LogEvent::RowUnmuted => "observed again".into(),
            LogEvent::ProcessGone { role, comm, pid } => {
                format!("the {role} {comm} ({}) has ended", pid.0)
            }
            LogEvent::VerdictBegan(kind, Severity::Problem) => {
                format!("a verdict began: {}", words::title(*kind))
            }
            LogEvent::VerdictBegan(kind, Severity::Note) => {
                format!("a note began: {}", words::title(*kind))
            }
            LogEvent::VerdictEnded(kind) => format!("no longer so: {}", words::title(*kind)),
            LogEvent::EventsLost(losses) => {
                format!(
                    "lost {}: {}",
                    counted(losses.events, "event"),
                    words::lost_because(*losses)
                )
            }
            LogEvent::Trust(reliability) => format!("its figures are {} now", reliability.name()),
            LogEvent::Overdue(count) => {
                counted_as(*count, "message is overdue", "messages are overdue")
            }
            LogEvent::NothingOverdue => "no message is overdue any more".into(),
            LogEvent::Host { name, what, is_well: _ } => format!("host {name}: {what}"),
            LogEvent::Note(sentence) => sentence.clone(),
        }
    }
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEntry {
    /// The time of the entry.
    pub at: Nanos,
    /// The row: its id, and its middleware, broker and address; `None` if it concerns no single row.
    pub row: Option<(GroupId, String)>,
    /// The event.
    pub event: LogEvent,
}
