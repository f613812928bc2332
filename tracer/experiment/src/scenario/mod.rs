//! Scenarios: what to measure and how, as TOML. Some are built in; users write others.

mod built_in;
mod compare;
mod described;
mod parse;
mod schema;
mod settings;
mod shown;
mod values;

pub use built_in::{BuiltIn, ScenarioSource, built_in};
pub use compare::compare;
pub use parse::parse;
pub use settings::ScenarioSettings;
