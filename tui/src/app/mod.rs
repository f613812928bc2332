//! The screen's state. Keys and updates go in; nothing here draws or waits.

mod action;
mod by_name;
mod columns_list;
mod command;
mod compare;
mod distribution;
mod experiments;
mod input;
pub mod keys;
pub mod log;
mod messages;
mod model;
mod overlay;
mod perform;
mod probes;
mod prompt;
mod request;
mod silence;
mod state;
#[cfg(test)]
mod tests;
pub mod threads;
mod view;

pub use action::Action;
pub use command::{Motion, ReplayControl, ScreenCommand};
pub(crate) use command::{last_place, step_to};
pub use compare::{Compared, ComparedFigure, FigureRow, MARGIN, SidePeriod};
pub use distribution::PlotKind;
pub use experiments::Form;
pub use model::{App, MAX_SCROLL};
pub use overlay::{Overlay, TextInput};
pub use probes::{ProbeHook, ProbePoint, ProbeSetup};
pub use prompt::palette;
pub use request::{
    ExperimentChoice, ExperimentRequest, ExperimentSetting, ExperimentSettings, Experiments,
    ReadShare, ReplayState, ScreenRequest, UpdateSource,
};
pub use silence::Silence;
pub use state::ScreenState;
pub use view::View;
