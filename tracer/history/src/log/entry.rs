//! An entry of the log.

use wirelap_correlate::{Reliability, Severity, VerdictKind};
use wirelap_events::{EventLosses, GroupId, Nanos, Pid};

/// Something that has happened.
#[derive(Clone, Debug, PartialEq)]
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
