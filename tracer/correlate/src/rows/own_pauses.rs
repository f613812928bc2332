//! The pauses of a row that is or was muted.

use wirelap_events::Nanos;
use wirelap_figures::Pauses;

/// The pauses of a row that is or was muted: those of the observation, and the times in which it was muted.
#[derive(Clone, Debug)]
pub struct OwnPauses {
    pub pauses: Pauses,
    /// Since when it is muted.
    pub muted: Option<Nanos>,
}
