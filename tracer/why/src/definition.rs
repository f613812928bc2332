//! The rules of a kind of verdict, as far as they are its own.

use super::case::{RowCase, VerdictCase};
use super::clause::{Clause, Remedy};
use super::explanation::Verdict;
use wirelap_limits::{LeastCost, TimeLimits};

/// The rules of a kind of verdict. What most kinds have in common is in [`Definition::USUAL`].
pub struct Definition {
    /// The costs from which on it is told, if it is found by the parts of messages' time.
    pub limits: Option<TimeLimits>,
    /// A smaller cost of the typical message that is worth a note.
    pub note: Option<LeastCost>,
    /// The kind of thing that the time is spent on.
    pub nature: Nature,
    /// The part of it that a start-up may take.
    pub in_start_up: InStartUp,
    /// Whose doing or loss it is.
    pub bearer: Bearer,
    /// Whoever sends as fast as possible fills whatever is slowest: then this is a note.
    pub is_of_load: bool,
    /// Somebody else is to blame for it who can be named.
    pub has_culprits: bool,
    /// Finds out if a cost that passes the limits matters.
    pub is_grave: fn(&VerdictCase<'_>) -> bool,
    /// Finds out if a grave case is no problem, but worth a note.
    pub is_note: fn(&VerdictCase<'_>) -> bool,
    /// Numbers and facts that the verdict stands on.
    pub facts: fn(&VerdictCase<'_>) -> Vec<Clause>,
    /// The remedy, where it is not the usual one.
    pub remedy: fn(&VerdictCase<'_>) -> Option<Remedy>,
    /// Adds the verdicts that are found in another way than by the parts of messages' time.
    pub add_of_row: fn(&RowCase<'_>, &mut Vec<Verdict>),
}

impl Definition {
    /// A kind that costs time that can be put down to nobody in particular.
    pub const USUAL: Definition = Definition {
        limits: None,
        note: None,
        nature: Nature::Other,
        in_start_up: InStartUp::Briefly,
        bearer: Bearer::BySegment,
        is_of_load: false,
        has_culprits: false,
        is_grave: |_| true,
        is_note: |_| false,
        facts: |case| vec![case.how_often()],
        remedy: |_| None,
        add_of_row: |_, _| {},
    };
}

/// Kinds of things that the time of a verdict is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// A thread works.
    Work,
    /// A thread sleeps while there is something to do.
    Stall,
    /// A thread could do something and may not yet: it has no CPU, or waits for another one.
    ThreadWait,
    /// Bytes stay in a socket until others were acknowledged or read: these may be in a queue meanwhile.
    FullSocket,
    /// Anything else.
    Other,
}

/// The part of a start-up that a kind of verdict may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InStartUp {
    /// Lost packets, a queue before the device or on the path, no quota: none of it.
    Never,
    /// A full window or buffer: as long as these are still small.
    WhileTuning,
    /// A thread that slept, a lock, a broker that was not asked, and whatever else: for a moment.
    Briefly,
    /// Code that is loaded and compiled, and windows that grow: all of it.
    Usually,
}

/// Whose doing or loss a kind of verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bearer {
    /// The sender's before the bytes have left its socket and while it has the message, and the reader's then.
    BySegment,
    /// The sender's.
    Sender,
    /// The reader's.
    Reader,
    /// By segment, but the reader's, too, of what waits in its sender's socket.
    ReaderOfSocket,
    /// By segment, but the reader's, too, while a broker has the message.
    ReaderOfDwell,
    /// No process's.
    Nobody,
}
