//! The past of a live session, as its screen keeps it.
//!
//! ```text
//!  deliveries ─▶ Collector ──Update: snapshot, slice──▶ History ─▶ figures of a window, distributions over time,
//!               (tracing thread)   (bounded channel)               single messages, a log
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`Collector`] | gathers deliveries, and hands them out with each snapshot |
//! | [`Slice`] | what was delivered between two snapshots |
//! | [`Bins`] | counts of times in logarithmic bins |
//! | [`History`] | the updates of a session, put together |
//! | `timeline`, `running` | slices of many hours, packed; the sums of those of a window |
//! | `united` | rows that have turned out to be a part of another one |
//! | [`watch`] | conditions on what happens, for a flight recorder |
//! | [`Window`] | the time that figures are of |
//! | [`Second`] | what a row delivered second by second |
//! | [`Messages`] | single messages that are kept whole |
//! | [`Log`] | what has happened |
//!
//! Time is an argument everywhere; nothing here reads a clock or does I/O.

// Figures come from traffic that anybody can send.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

mod bins;
mod collector;
mod figures;
mod history;
mod log;
mod messages;
mod muted;
mod running;
mod seconds;
mod slice;
mod timeline;
mod united;
pub mod watch;
mod window;

pub use bins::Bins;
pub use collector::Collector;
pub use history::{Column, History};
pub use log::{Log, LogEntry, LogEvent};
pub use messages::{Message, MessageFate, Messages};
pub use seconds::Second;
pub use slice::{RowSlice, SegmentSlice, Slice, Update};
pub use window::Window;
