//! The past of a live session, as its screen keeps it.
//!
//! ```text
//!  deliveries ─▶ Collector ──Update: snapshot, slice──▶ History ─▶ figures of a window, distributions over time,
//!               (tracing thread)   (bounded channel)               single messages, a log
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`DeliveryCollector`] | gathers deliveries, and hands them out with each snapshot |
//! | [`Slice`] | what was delivered between two snapshots |
//! | [`Bins`] | counts of times in logarithmic bins |
//! | [`SessionHistory`] | the updates of a session, put together |
//! | `timeline`, `running` | slices of many hours, packed; the sums of those of a window |
//! | `united` | rows that have turned out to be a part of another one |
//! | [`watch`] | conditions on what happens, for a flight recorder |
//! | [`FigureWindow`] | the time that figures are of |
//! | [`Second`] | what a row delivered second by second |
//! | [`MessageStore`] | single messages that are kept whole |
//! | [`EventLog`] | what has happened |
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
pub use collector::DeliveryCollector;
pub use history::{SessionHistory, TimeColumn};
pub use log::{EventLog, LogEntry, LogEvent};
pub use messages::{KeptMessage, MessageFate, MessageStore};
pub use seconds::Second;
pub use slice::{RowSlice, SegmentSlice, Slice, Update};
pub use window::FigureWindow;
