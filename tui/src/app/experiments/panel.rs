//! The workloads that can be started, and what the user enters.

use super::super::command::step_to;
use super::super::request::{ExperimentChoice, Experiments};
use super::form::Form;

/// The workloads that can be started, and what the user enters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExperimentsPanel {
    pub(super) known: Experiments,
    /// The middleware that is selected in the list.
    pub(super) selected: usize,
    pub(super) form: Option<Form>,
}

impl ExperimentsPanel {
    /// The workloads that can be started, as far as they are known.
    pub fn known(&self) -> &Experiments {
        &self.known
    }

    /// Index of the selected middleware in the list.
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// The form, if it is open.
    pub fn form(&self) -> Option<&Form> {
        self.form.as_ref()
    }

    pub(super) fn choices(&self) -> &[ExperimentChoice] {
        match &self.known {
            Experiments::Of(choices) => choices,
            Experiments::Reading | Experiments::None(_) => &[],
        }
    }

    pub(super) fn choice(&self) -> Option<&ExperimentChoice> {
        self.choices().get(self.selected)
    }

    pub(super) fn select(&mut self, step: isize) {
        self.selected = step_to(self.selected, step, self.choices().len());
    }
}
