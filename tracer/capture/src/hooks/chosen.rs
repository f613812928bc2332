//! The hooks that were chosen, and why others were refused.

use super::observation::KernelObservation;

/// An observation and the hook that was chosen for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenHook {
    /// The observation.
    pub observation: &'static str,
    /// The hook; `None` if this kernel has none for the observation.
    pub hook: Option<&'static str>,
    /// The part of the results that is missing without a hook.
    pub without: &'static str,
    /// The step that makes the best hook available.
    pub remedy: &'static str,
    /// Why the hooks before the chosen one (or all hooks) were refused.
    pub refused: Vec<RefusedHook>,
}

/// A hook that this kernel refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedHook {
    /// The name of the hook.
    pub hook: &'static str,
    /// The reason, in one line.
    pub reason: String,
}

/// The reason of a hook that this process has no right to.
pub(crate) fn missing_right(capability: &str) -> String {
    format!("{LACKS}{capability}")
}

/// Prefix of the reason of a hook that this process has no right to.
const LACKS: &str = "this process lacks ";

impl ChosenHook {
    /// The capability without which the observation is missing; `None` if it is not missing, or for another reason.
    pub fn lacks(&self) -> Option<&str> {
        if self.hook.is_some() {
            return None;
        }
        self.refused.iter().find_map(|refused| refused.reason.strip_prefix(LACKS))
    }

    /// An observation that has not been tried yet.
    pub(crate) fn untried(observation: &KernelObservation) -> ChosenHook {
        ChosenHook {
            observation: observation.name,
            hook: None,
            without: observation.without,
            remedy: observation.remedy,
            refused: Vec::new(),
        }
    }
}
