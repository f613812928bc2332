//! The live screen: middlewares side by side, drawn from immutable [`Snapshot`]s.
//!
//! - [`run`] owns the terminal until the user leaves, and restores it in every case;
//! - [`plain`] prints the same figures as lines, for an output that is no terminal;
//! - [`App`] is the screen's state without a terminal: it takes keys and snapshots, and [`render`] draws it.
//!
//! [`Snapshot`]: wirelap_correlate::snapshot::Snapshot

mod app;
mod bars;
mod chart;
mod columns;
mod layout;
mod mouse;
mod people;
mod picture;
mod plain;
pub mod render;
mod silence;
mod terminal;
mod text;
mod theme;
mod verdicts;
mod waterfall;
mod wireshark;
mod words;

pub use app::{
    Action, App, ExperimentChoice, ExperimentRequest, ExperimentSetting, ExperimentSettings,
    Experiments, ProbeHook, ProbeSetup, ReadShare, ReplayControl, ReplayState, ScreenCommand,
    ScreenRequest, Silence, UpdateSource, View,
};
pub use columns::{Column, Sort};
pub use plain::plain;
pub use terminal::{ScreenEnd, ScreenOptions, TuiError, run};
pub use theme::Theme;
