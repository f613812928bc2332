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
pub use command::{Command, Motion, ReplayControl};
pub use compare::{Compared, MARGIN, Row, Side, What};
pub use distribution::Plot;
pub use experiments::Form;
pub use model::{App, MAX_SCROLL};
pub use overlay::{Input, Overlay};
pub use probes::{ProbeHook, ProbePoint, ProbeSetup};
pub use prompt::palette;
pub use request::{
    ExperimentChoice, ExperimentRequest, ExperimentSetting, ExperimentSettings, Experiments,
    ReadShare, ReplayState, Request, Source,
};
pub use silence::Silence;
pub use state::ScreenState;
pub use view::View;
